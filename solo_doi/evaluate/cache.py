"""What earlier evaluations left: used where it tells what is asked, and never lost to one that asks for less."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from solo_doi.common import settings as settings_files
from solo_doi.data.shard import file_hash
from solo_doi.runs.run_files import RunFiles

from .definitions import DEFINITIONS, MEASURES_VERSION
from .eval_config import EvalConfig
from .source import policy_file

METRICS_JSON, REPORT_FILE = "metrics.json", "report.html"
PARTS = ("transfer", "history")
"""What is evaluated only if asked for, under its name in metrics.json; pictures are the third such part."""


def made_from(run: Path, expert_file: Path) -> dict[str, str]:
    """Hashes of the policies an evaluation tells of."""
    files = {"policy": policy_file(run), "expert": expert_file, "smodice": RunFiles(run).expert}
    return {
        name: file_hash(path) for name, path in files.items() if name != "smodice" or path.is_file()
    }


def read_earlier(run: Path, out: Path) -> dict[str, Any]:
    """Read `metrics.json` if it is about the policy that is there now; empty if not."""
    try:
        metrics = json.loads((out / METRICS_JSON).read_text())
        told = metrics["made_from"]["policy"] == file_hash(policy_file(run)) and isinstance(
            metrics["evaluation"], dict
        )
        return metrics if told else {}
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ):  # none, damaged, or of another program: made anew
        return {}


def with_earlier(config: EvalConfig, before: dict[str, Any], out: Path) -> EvalConfig:
    """Return settings that ask for what there is, too: a page beside numbers of other settings would mislead."""
    if "transfer" in before and not config.transfer:
        episodes = before["evaluation"].get("estimator_episodes", config.estimator_episodes)
        config = replace(config, estimator_episodes=episodes)
    return replace(
        config,
        transfer=config.transfer or "transfer" in before,
        history=config.history or "history" in before,
        pictures=config.pictures or (bool(before) and (out / REPORT_FILE).is_file()),
    )


def same_settings(before: dict[str, Any], run: Path, expert_file: Path, config: EvalConfig) -> bool:
    """Whether an earlier evaluation measured the same, in the same way, whatever parts it has."""
    expected = {
        "made_from": made_from(run, expert_file),
        "definitions": DEFINITIONS,
        "measures": MEASURES_VERSION,
    }
    asked = _without_parts(settings_files.to_dict(config))
    return (
        all(before.get(name) == value for name, value in expected.items())
        and _without_parts(before["evaluation"]) == asked
    )


def has_all(before: dict[str, Any], config: EvalConfig, out: Path) -> bool:
    """Whether an earlier evaluation has every part that is asked for."""
    pictures = not config.pictures or (out / REPORT_FILE).is_file()
    return pictures and all(name in before for name in PARTS if getattr(config, name))


def _without_parts(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in (*PARTS, "pictures")}
