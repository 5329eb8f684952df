"""Metrics of evaluated runs made up by hand, and the tables of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.evaluate.compare_runs import MEASURES


def metrics(seed: int = 0, **changes: Any) -> dict[str, Any]:  # any entry of metrics.json
    """Return the metrics of an evaluation, with numbers drawn by a seed."""
    rng = np.random.default_rng(seed)
    drawn = {name: float(rng.uniform(0, 2)) for name in MEASURES} | {
        "return_pct_mean": float(rng.uniform(50, 100))
    }
    drawn["return_pct_worst"] = drawn["return_pct_mean"] - 20
    found: dict[str, Any] = {name: value for name, value in drawn.items() if "/" not in name}
    for number, name in enumerate(("visibly_different", "clearly_different", "two_gaits")):
        found[name] = list(range((seed + number) % 4))
    found["falls_pooled"] = {"falls": seed, "rollouts": 500, "share": seed / 500}
    gaps = rng.normal(size=(2, 3)).tolist()
    terms = ("classifier", "discriminator")
    found["policy_divergence"] = {
        name: {"minus_phi": gap} for name, gap in zip(terms, gaps, strict=True)
    }
    return found | {
        "run": f"run{seed}",
        "objective": "doi",
        "multipliers": "learned",
        "eps": 2.0,
        "seed": seed,
        **changes,
    }


def alone(seed: int = 0) -> dict[str, Any]:
    """Return the metrics of an evaluation with a single skill."""
    return {
        "run": f"run{seed}",
        "objective": "smodice",
        "multipliers": "learned",
        "eps": 2.0,
        "seed": seed,
        "skills": [{"return_pct": 97.5}],
    }


def table(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of two Markdown tables by their first cell, as cells by column."""
    found: dict[str, dict[str, str]] = {}
    for part in path.read_text().split("\n\n"):
        header, rule, *rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()
        ]
        assert set(rule) == {"---"}
        assert {len(row) for row in rows} == {len(header)} == {len(rule)}
        assert len(header) <= 12  # wider ones cannot be read
        for row in rows:
            found.setdefault(row[0], {}).update(zip(header, row, strict=True))
    return found
