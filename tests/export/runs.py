"""Files of solo-train and solo-eval that solo-export reads."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from solo_doi.policies.bundle.contract import digest
from tests.policies.bundles import SKILLS

NUMBERS = {
    "return_pct": 97.5,
    "vx": 1 / 3,
    "falls": 1,
    "success": 0.95,
    "height_mean": 0.24,
    "clearance": 0.03,
}
METRICS: dict[str, Any] = {
    "selected": [0, 2],
    "skills": [
        {"skill": skill, **NUMBERS, "frequency": None if skill else 2.5, "other": 1}
        for skill in range(SKILLS)
    ],
}
CONFIG = """task: locomotion
projection: []
classifier:
  terms: [linear_velocity.x, linear_velocity.y, angular_velocity.z]
discriminator:
  terms: [linear_velocity, angular_velocity, gravity, joint_position]
"""
"""Part of the configuration of a 0.1 run that records the task and terms of its training."""
PROVENANCE = {"data": {"crc32": 123}, "expert": {"crc32": 456}, "software": {"torch": "1.2.3"}}


def evaluated_as_it_is(run: Path) -> None:
    """Make the evaluation, if there is one, refer to the present policy."""
    path, policy = run / "evaluation" / "metrics.json", run / "policy.h5"
    with contextlib.suppress(ValueError):
        metrics = json.loads(path.read_text())
        if isinstance(metrics, dict) and policy.is_file():
            path.write_text(
                json.dumps(metrics | {"made_from": {"policy": digest(policy.read_bytes())}})
            )
