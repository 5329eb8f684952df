"""What every room may use: errors, files, settings, progress, provenance."""
