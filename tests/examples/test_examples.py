"""The examples, run as a user runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import solo_doi
from solo_doi.solo12.observation import LAYOUTS
from tests.algorithm.runs import EXPERT_TERMS, write_made_up

SMALL = """
import numpy as np
import solo_doi
from solo_doi.evaluate import write_evaluation
from solo_doi.evaluate.metrics import skill_diversity
from tests.algorithm.runs import tiny

solo_doi.TrainConfig = tiny
write_evaluation.EXPERT_ROBOTS = 4
skill_diversity.embed = lambda expert, others, *_: [
    np.array(features[:, :2]) for features in (expert, *others)
]
"""
"""Options that shorten training, the expert's rollouts and their map to a second."""
FOLDER = Path(solo_doi.__file__).parent / "examples"
ROOT = Path(solo_doi.__file__).parents[1]


def run(program: str, folder: Path, *arguments: str) -> str:
    """Run a program in a folder and return its output."""
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def code_of(notebook: Path) -> str:
    """Return the code cells of a notebook as one program."""
    cells = json.loads(notebook.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_examples_are_short_and_have_no_outputs() -> None:
    """Examples have at most 30 lines; outputs of a notebook would change with every run."""
    programs = {path.name: path.read_text() for path in FOLDER.glob("*.py")}
    programs |= {path.name: code_of(path) for path in FOLDER.glob("*.ipynb")}
    assert len(programs) == 3
    for name, text in programs.items():
        assert len(text.splitlines()) <= 30, name
    for path in FOLDER.glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_a_bundle_runs_in_a_simulator(tmp_path: Path) -> None:
    """Every skill of the shipped bundle walks forward."""
    text = run((FOLDER / "run_bundle.py").read_text(), tmp_path)
    found = [float(number) for number in re.findall(r"([-+][\d.]+) m forward", text)]
    assert len(found) == 5
    assert min(found) > 0.5


def test_the_notebook_runs(tmp_path: Path) -> None:
    """The code cells run as a plain program."""
    assert "joint_position" in run(code_of(FOLDER / "skills.ipynb"), tmp_path)


def test_skills_are_trained_evaluated_and_exported(tmp_path: Path) -> None:
    """The data are made up and have the observation of the locomotion task."""
    folder = tmp_path / "datasets" / "locomotion"
    terms = {term.name: term.size for term in LAYOUTS["locomotion"].terms}
    write_made_up(folder / "coverage", terms=terms)
    write_made_up(folder / "demonstrations", terms=EXPERT_TERMS, actions=False, seed=1)
    text = run(SMALL + (FOLDER / "train_and_evaluate.py").read_text(), tmp_path)
    assert text.count("nats from the expert") == 3
    assert text.count("% of the expert") == 3
    assert text.endswith("runs/example/skills.onnx: 3 skills\n")
