"""Records of a run that a bundle quotes: its provenance and the evaluation of its skills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.policies.bundle.contract import digest, parse_json
from solo_doi.runs.run_files import RunFiles

QUOTED_MEASURES = (
    "return_pct",
    "vx",
    "falls",
    "success",
    "height_mean",
    "clearance",
    "frequency",
)


def read_made_from(run: Path) -> dict[str, Any]:
    """Return the run's name, its provenance and the rule by which its skills were selected."""
    made_from: dict[str, Any] = {"run": run.resolve().name}
    provenance = RunFiles(run).provenance
    if provenance.is_file():
        made_from |= read_object(provenance)
    rule = _selection_rule(run)
    if rule is not None:
        made_from["selection"] = rule
    return made_from


def read_skill_evaluations(run: Path) -> tuple[dict[str, Any], ...]:
    """Return the measures of every skill and whether it was selected; empty without an evaluation.

    Raises:
        SoloError: The evaluation is damaged, or describes another policy than the run's.
    """
    path = RunFiles(run).evaluation_metrics
    if not path.is_file():
        return ()
    metrics = read_object(path)
    found = metrics.get("made_from", {}).get("policy")
    expected = digest(RunFiles(run).policy.read_bytes())
    if found != expected:
        raise SoloError(
            f"{path}: is about another policy ({str(found)[:12]} for {expected[:12]}). "
            "Evaluate the run again."
        )
    try:
        return tuple(_quoted(skill, metrics.get("selected")) for skill in metrics["skills"])
    except (KeyError, TypeError) as error:
        raise _not_an_evaluation(path, error) from error


def _quoted(skill: dict[str, Any], selected: list[int] | None) -> dict[str, Any]:
    """Return the part of a skill's metrics that goes into the contract."""
    quoted = {"skill": skill["skill"], "selected": None}
    if selected is not None:  # None: no transfer table, so nothing was selected or rejected
        quoted["selected"] = skill["skill"] in selected
    for name in QUOTED_MEASURES:
        quoted[name] = skill[name]
    return quoted


def _selection_rule(run: Path) -> str | None:
    """Return the rule by which solo-eval selected skills; None if it selected none."""
    path = RunFiles(run).evaluation_metrics
    if not path.is_file():
        return None
    selection = read_object(path).get("selection")
    if selection is None:
        return None
    try:
        return str(selection["rule"])
    except (KeyError, TypeError) as error:
        raise _not_an_evaluation(path, error) from error


def _not_an_evaluation(path: Path, error: Exception) -> SoloError:
    return SoloError(f"{path}: not written by solo-eval ({error}). Evaluate the run again.")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file."""
    try:
        content = parse_json(path.read_text())
    except (OSError, ValueError) as error:
        raise SoloError(
            f"{path}: cannot be read ({reason(error)}). Remove it, or make it again."
        ) from error
    if not isinstance(content, dict):
        raise SoloError(f"{path}: holds a {type(content).__name__}, expected a dictionary.")
    return content
