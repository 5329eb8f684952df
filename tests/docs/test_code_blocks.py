"""The Python code of all pages runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from solo_doi.solo12.observation import LAYOUTS
from tests.algorithm.runs import EXPERT_TERMS, write_made_up
from tests.examples.test_examples import SMALL

from .markdown import FENCE, ROOT, pages


def python_code(page: Path) -> str:
    """Join the Python blocks of a page: later blocks use the names of earlier ones."""
    blocks = FENCE.findall(page.read_text())
    return "\n".join(code for language, code in blocks if language == "python")


SHORT = """
full = solo_doi.EvalConfig
solo_doi.EvalConfig = lambda **settings: full(**settings | {"episodes": 4, "steps": 100})
"""
"""Options for an evaluation of a few seconds; `SMALL` does the same for training."""
GUIDES = {"add_task.md", "add_simulator.md", "add_metric.md", "add_safety_check.md"}
README = ROOT / "README.md"
PAGES = [page for page in pages() if python_code(page) and page != README]


def run(code: str, folder: Path) -> None:
    """Run code in a process of its own, so that its registrations do not affect other tests."""
    ended = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_every_guide_has_code() -> None:
    assert {page.name for page in PAGES} >= GUIDES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    run(python_code(page), tmp_path)


def test_code_of_the_readme_runs(tmp_path: Path) -> None:
    """The data are made up, with few updates and short rollouts."""
    folder = tmp_path / "demo" / "locomotion"
    terms = {term.name: term.size for term in LAYOUTS["locomotion"].terms}
    write_made_up(folder / "coverage", terms=terms)
    write_made_up(folder / "demonstrations", terms=EXPERT_TERMS, actions=False, seed=1)
    code = python_code(README)
    assert len(code.strip().splitlines()) <= 12
    run(SMALL + SHORT + code, tmp_path)
