"""The run directory: names, configuration, provenance, metrics, sweeps."""
