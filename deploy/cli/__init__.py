"""The command solo-deploy."""
