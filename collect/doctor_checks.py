"""Checks that collection contributes to solo-doctor: the interpreter of Isaac Gym, and its GPU."""

from __future__ import annotations

import json
import os
from pathlib import Path

from solo_doi.common.child_python import run_program
from solo_doi.common.doctor import Finding, HealthCheck
from solo_doi.common.errors import SoloError
from solo_doi.sim.isaac_config import PYTHON_VARIABLE

from .isaac_setup import ISAAC_WORKER

ABOUT = """sys.path.insert(0, {worker!r})
import json
from solo_isaac.device import about_machine, refuse_unsupported
about = about_machine("cuda:0")
refuse_unsupported(about)
print("\\n" + json.dumps(about))
"""
"""Program for Isaac Gym's Python; Isaac Gym itself prints lines before the result."""
MAKE_INTERPRETER = (
    "conda create -n isaac python=3.8 && "
    "conda run -n isaac pip install torch==2.4.1 'numpy<1.24' ninja && "
    "conda run -n isaac pip install -e isaacgym/python && "
    f"export {PYTHON_VARIABLE}=$(conda run -n isaac which python)"
)
"""Commands of the page on Isaac Gym; its archive must be unpacked in the current directory."""


def check_isaac() -> Finding:
    """Check that the named Python imports Isaac Gym and that its GPU is supported."""
    python = os.environ.get(PYTHON_VARIABLE)
    if not python:
        return Finding(False, f"{PYTHON_VARIABLE} is not set", MAKE_INTERPRETER)
    program = ABOUT.format(worker=str(ISAAC_WORKER))
    try:
        answer = run_program(Path(python).expanduser(), program, MAKE_INTERPRETER)
    except SoloError as error:
        found = str(error).removesuffix(f"; {MAKE_INTERPRETER}")
        return Finding(False, found, MAKE_INTERPRETER)
    about = json.loads(answer.splitlines()[-1])
    found = f"Isaac Gym {about['isaacgym']} in Python {about['python']}"
    if about["capability"] is None:
        return Finding(False, f"{found}, but torch finds no GPU", "solo-collect --sim mujoco")
    major, minor = about["capability"]
    return Finding(True, f"{found}, {about['gpu']}, compute capability {major}.{minor}")


CHECKS = (HealthCheck("Isaac Gym", "simulation on a GPU (--sim isaacgym)", check_isaac),)
