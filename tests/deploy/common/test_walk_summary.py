"""Walk summaries: equal JSON keys for every source, in both directions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deploy.common.walk_summary import WalkSummary, summarise_true_path

MEASURED = WalkSummary(walked_seconds=4.0, distance=3.5, velocity=0.9, falls=1, energy=20.0)
KEYS = ["walked_seconds", "distance", "velocity", "falls", "energy"]


def test_a_measured_walk_has_no_optional_keys() -> None:
    """A simulator has neither a command nor an estimate."""
    assert list(MEASURED.to_json()) == KEYS


def test_an_estimated_walk_has_the_command_and_is_marked() -> None:
    """This includes a command of zero."""
    estimated = replace(MEASURED, commanded=0.0, estimated=True).to_json()
    assert list(estimated) == [*KEYS, "commanded", "estimated"]
    assert (estimated["commanded"], estimated["estimated"]) == (0.0, True)


@pytest.mark.parametrize("walk", [MEASURED, replace(MEASURED, commanded=1.0, estimated=True)])
def test_json_keeps_a_summary(walk: WalkSummary) -> None:
    """The conversion goes through text, as in the report files."""
    assert WalkSummary.from_json(json.loads(json.dumps(walk.to_json()))) == walk


def test_a_walk_that_was_cut_off_has_no_duration() -> None:
    """Its end is unknown, but its rows count."""
    track = [[k / 100, k / 100, 0.0, 0.25, 1.0, 0.0, 0.0, 0.5] for k in range(300)]
    walk = summarise_true_path(track, [{"time": 1.0, "state": "WALK"}])
    assert walk.walked_seconds == 0.0
    assert walk.distance == pytest.approx(1.99)
    assert walk.energy == pytest.approx(100.0)
