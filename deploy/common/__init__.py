"""Code that all processes of a deployment share; imports nothing else of deploy."""
