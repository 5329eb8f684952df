"""Shared by all rooms: errors, files, settings, progress, provenance."""
