"""Decoders with random input; the program `fuzz` does the same with a million inputs."""

from __future__ import annotations

import sys

import pytest

from .fuzz import DECODERS, fuzz, main


def test_rubbish_neither_raises_nor_passes() -> None:
    """Every decoder must also get inputs that it accepts."""
    outcomes = fuzz(20_000)
    for name in DECODERS:
        assert any(name in outcome for outcome in outcomes), name
    assert outcomes["no frame, nothing"] > 1000


def test_an_invalid_count_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line shows the usage, without a traceback."""
    monkeypatch.setattr(sys, "argv", ["fuzz", "abc"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "argument count: invalid int value: 'abc'" in capsys.readouterr().err
