"""The whole chain of commands at the smallest scale: collect, train, evaluate, export."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from solo_doi.policies.bundle.reader import Bundle

PROGRAMS = {
    "solo-collect": "from collect.cli.collect import main; main()",
    "solo-train": "from solo_doi.cli.train import train_main; train_main()",
    "solo-eval": "from solo_doi.cli.evaluate import main; main()",
    "solo-export": "from solo_doi.cli.export import main; main()",
}
SHORT = """
--outer 3 --subset 500 --classifier.updates 5 --value.expert-updates 5 --value.updates 2
--discriminator.updates 2 --policy.updates 5 --policy.hidden 16
"""


def run(line: str, folder: Path) -> None:
    """Run one command line."""
    program, *words = line.split()
    subprocess.run(
        [sys.executable, "-c", PROGRAMS[program], *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_from_checkpoints_to_a_bundle(tmp_path: Path) -> None:
    """Every command finds the results of the previous one at the default paths."""
    run("solo-collect --task locomotion --scale 0.005", tmp_path)
    run(f"solo-train --out runs/short {SHORT}", tmp_path)
    run("solo-eval runs/short --episodes 4 --steps 100 --pictures False", tmp_path)
    run("solo-export runs/short", tmp_path)
    bundle = Bundle(tmp_path / "runs" / "short" / "skills.onnx")
    metrics = json.loads((tmp_path / "runs" / "short" / "evaluation" / "metrics.json").read_text())
    assert bundle.num_skills == len(metrics["skills"]) == 5
    assert [skill["vx"] for skill in bundle.contract.skills] == [
        skill["vx"] for skill in metrics["skills"]
    ]
