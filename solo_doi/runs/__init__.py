"""The run directory and its owner: names, configuration, provenance, metrics, sweeps."""
