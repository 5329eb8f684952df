"""The harness of benchmarks: judging and printing, with made-up measurements."""

from __future__ import annotations

import json

import pytest

from solo_doi.common.errors import UnknownNameError

from .harness import BENCHMARKS, Benchmark, Pairs, benchmark, chosen, interleaved

PAIRS = [
    (8.0, 10.0),
    (9.0, 10.0),
    (7.0, 10.0),
    (30.0, 10.0),
    (9.0, 10.0),
]  # ratios 0.8 0.9 0.7 3.0 0.9


def measured() -> Pairs:
    """Made-up measurements, one of them disturbed."""
    return PAIRS


def test_a_figure_is_the_median_of_ratios_with_its_spread() -> None:
    """One pair that another process disturbed (ratio 3.0) does not change the median."""
    figure = json.loads(Benchmark(measured, "steps/s", at_least=0.85).run("made_up").line())
    assert figure == {
        "name": "made_up",
        "value": 9.0,
        "unit": "steps/s",
        "reference": 10.0,
        "ratio": 0.9,
        "target": ">= 0.85",
        "ok": True,
        "spread": [0.7, 3.0],
    }


@pytest.mark.parametrize(
    ("target", "ok"),
    [
        ({"at_least": 0.95}, False),
        ({"at_most": 0.95}, True),
        ({"at_most": 0.85}, False),
        ({}, None),
    ],
)
def test_targets_have_a_direction(target: dict[str, float], ok: bool | None) -> None:
    """Speeds should be high, costs low; without a target a figure is only reported."""
    assert Benchmark(measured, "s", **target).run("made_up").ok is ok


def test_a_row_contains_whether_the_target_was_met() -> None:
    """The row is Markdown and names the two quantities compared."""
    missed = Benchmark(measured, "s", at_least=0.95).run("made_up").row("a against b")
    assert missed == "| `made_up`: a against b | 9 s | 10 | 0.9 | 0.7 to 3 | >= 0.95 | **missed** |"
    assert Benchmark(measured, "s").run("made_up").row("").endswith("|  |  |")


def test_fewer_than_five_pairs_are_refused() -> None:
    """A median of fewer pairs is too noisy on a shared machine."""
    with pytest.raises(ValueError, match="'hasty' measured 4 pairs, expected at least 5"):
        Benchmark(lambda: PAIRS[:4], "s").run("hasty")


def test_measurements_alternate_after_a_warm_up() -> None:
    """The order changes from pair to pair, so a cold or busy machine slows both sides equally."""
    calls: list[str] = []

    def record(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    pairs = interleaved(lambda: record("value"), lambda: record("reference"), 4)
    assert calls[:2] == ["value", "reference"]
    assert calls[2:] == ["value", "reference", "reference", "value"] * 2
    assert pairs == [(3.0, 4.0), (6.0, 5.0), (7.0, 8.0), (10.0, 9.0)]


def test_benchmarks_register_and_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decorator registers a benchmark; an empty list of names chooses all."""
    for name in list(BENCHMARKS):
        monkeypatch.delitem(BENCHMARKS, name)
    benchmark(unit="s")(measured)
    assert list(chosen([])) == ["measured"]
    summary = chosen(["measured"])["measured"].summary
    assert summary == "Made-up measurements, one of them disturbed."
    with pytest.raises(
        UnknownNameError, match=r"Unknown benchmark 'mesured'. Did you mean 'measured'\?"
    ):
        chosen(["mesured"])
    monkeypatch.delitem(BENCHMARKS, "measured")
