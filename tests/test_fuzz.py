"""Short runs of the fuzzers: `python -m tests.fuzz` runs each a million times."""

from __future__ import annotations

import random

import pytest

from .command import Command
from .fuzz import FRONTS, main
from .spoiling import mutated, mutated_json

SLOW = {"whole bundles": 30, "replays": 30, "configurations": 60}


@pytest.mark.parametrize("name", FRONTS)
def test_malformed_input_is_refused_or_harmless(name: str) -> None:
    """Refusals have one line, and no malformed input is accepted."""
    front, _ = FRONTS[name]
    count = SLOW.get(name, 400)
    assert front(count, 1) == count


def test_inputs_are_malformed_in_many_ways() -> None:
    """A fuzzer that repeats itself or changes no byte would be useless."""
    rng, text = random.Random(1), '{"a": [1, 2.5, "b"], "c": {"d": null}}'
    fed = [mutated_json(text, rng) for _ in range(1000)]
    assert len(set(fed)) > 500
    assert sum(one == text.encode() for one in fed) < 10
    assert {len(mutated(b"0123456789", rng)) for _ in range(1000)} >= {0, 5, 10, 11, 19}


def test_the_command_lists_its_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cases are the help text, an invalid number, an unknown name and a valid one."""
    fuzz = Command("tests.fuzz", main, monkeypatch, capsys)
    code, output, _ = fuzz("--help")
    assert code == 0
    assert all(name in " ".join(output.split()) for name in FRONTS)
    assert "invalid int value: 'many'" in fuzz("many")[2]
    assert "unknown front 'cards', known are: message decoders, " in fuzz(5, "cards")[2]
    assert fuzz.good(50, "calibrations").startswith("calibrations: 50 inputs, 0 wrong, ")
