"""The master board's wire protocols: packets, frames, cable."""
