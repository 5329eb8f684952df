"""Decoders meet rubbish; the program `fuzz` does the same with a million inputs."""

from __future__ import annotations

from .fuzz import DECODERS, fuzz


def test_rubbish_neither_raises_nor_passes() -> None:
    """Every decoder must have seen inputs it accepts, or the test would show nothing."""
    outcomes = fuzz(20_000)
    for name in DECODERS:
        assert any(name in outcome for outcome in outcomes), name
    assert outcomes["no frame, nothing"] > 1000
