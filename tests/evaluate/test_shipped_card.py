"""The card of the shipped skills describes the present files, not earlier ones."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from solo_doi.evaluate.cache import made_from
from solo_doi.evaluate.shipped import SHIPPED_EXPERT, SHIPPED_RUN

CARD = (SHIPPED_RUN / "README.md").read_text()
METRICS = json.loads((SHIPPED_RUN / "evaluation" / "metrics.json").read_text())


def test_the_evaluation_is_of_the_shipped_policy() -> None:
    """The hashes of the files agree."""
    assert METRICS["made_from"] == made_from(SHIPPED_RUN, SHIPPED_EXPERT)


def test_the_command_is_that_of_the_run() -> None:
    """The command has the eps and seed of the run."""
    config = yaml.safe_load((SHIPPED_RUN / "config.yaml").read_text())
    assert f"`solo-train --eps {config['eps']:g} --seed {config['seed']}`" in CARD


def test_the_tables_are_those_of_the_evaluation() -> None:
    """This includes every skill and every condition of the selection."""
    for skill in METRICS["skills"]:
        cells = [
            f"{skill['skill']}",
            f"{skill['return_pct']:.0f}",
            f"{skill['vx']:.2f}",
            f"{skill['falls']}",
            f"{1000 * skill['height_mean']:.0f}",
            f"{1000 * skill['height_std']:.1f}",
            f"{1000 * skill['clearance']:.0f}",
        ]
        assert "| " + " | ".join(cells) + " |" in CARD
    for row in METRICS["transfer"]:
        assert f"{row['vx']:.2f} m/s, {row['falls']} falls, {100 * row['success']:.0f}%" in CARD
    assert METRICS["selected"] == [*range(len(METRICS["skills"]))]
    assert "all five are selected" in CARD


def test_the_library_ships_the_expert_that_data_were_collected_with() -> None:
    """The library has a copy, since it must not depend on the collection."""
    collected = Path(__file__).parents[2] / "collect" / "checkpoints" / "locomotion" / "expert.pt"
    assert SHIPPED_EXPERT.read_bytes() == collected.read_bytes()
