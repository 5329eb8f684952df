"""One-command demonstration: every stage from collection to dry runs."""
