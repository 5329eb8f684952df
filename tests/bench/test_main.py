"""The command of the benchmarks, without the packages for tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHOUT_PYTEST = """
import runpy, sys
sys.modules["pytest"] = None
runpy.run_module("tests.bench", run_name="__main__", alter_sys=True)
"""


def test_a_missing_package_is_one_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.endswith(  # PyBullet prints a line when it is imported
        "python -m tests.bench: needs the package 'pytest', which cannot be imported. Install the "
        "packages for tests: pip install -c .ci/constraints.txt -e '.[dev]'\n"
    )
