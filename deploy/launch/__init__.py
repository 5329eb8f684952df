"""One deployment from preflight to report."""
