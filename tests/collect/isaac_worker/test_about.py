"""Commands of the worker for users."""

from __future__ import annotations

import json
import os
import subprocess

from collect.isaac_setup import ISAAC_WORKER
from solo_doi.sim import IsaacConfig


def test_the_worker_prints_versions_and_gpu(isaac_slow_start: IsaacConfig) -> None:
    """`python -m solo_isaac about` prints versions and GPU, as in the file of the self-test."""
    command = [str(isaac_slow_start.python), "-m", "solo_isaac", "about"]
    environment = os.environ | {"PYTHONPATH": str(ISAAC_WORKER)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    about = json.loads(result.stdout)
    assert about["isaacgym"] == "1.0"
    assert about["device"] == "cuda:0"
    assert {"python", "torch", "numpy", "cuda", "driver", "gpu", "capability"} <= set(about)
