"""The Python code of all pages runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .markdown import FENCE, ROOT, pages


def python_code(page: Path) -> str:
    """Join the Python blocks of a page: later blocks use the names of earlier ones."""
    blocks = FENCE.findall(page.read_text())
    return "\n".join(code for language, code in blocks if language == "python")


GUIDES = {"add_task.md", "add_simulator.md", "add_metric.md", "add_safety_check.md"}
PAGES = [page for page in pages() if python_code(page)]


def test_every_guide_has_code() -> None:
    assert {page.name for page in PAGES} >= GUIDES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """A process for each page: what an example registers stays there."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", python_code(page)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
