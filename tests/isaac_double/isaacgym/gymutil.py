"""The one helper of gymutil that is used."""

from __future__ import annotations


def parse_device_str(device_str: str) -> tuple[str, int]:
    """Split `cuda:1` into kind and number."""
    kind, _, number = device_str.partition(":")
    if kind not in ("cpu", "cuda") or (kind == "cpu" and number):
        raise ValueError(f"Invalid device string {device_str!r}")
    return kind, int(number or 0)
