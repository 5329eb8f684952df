"""Shared by all packages: errors, files, settings, progress, provenance."""
