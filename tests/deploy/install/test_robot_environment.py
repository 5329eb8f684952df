"""Code on a robot's computer loads few packages and runs on Python 3.10."""

from __future__ import annotations

import ast
import functools
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.install.install_robot import DONE_FILE
from tests.contract.board_runs import need_sdk

ROOT = Path(__file__).parents[3]
WHOLE = ", ".join(
    (
        "deploy.cli.deploy",
        "deploy.launch.supervisor",
        "deploy.controller.controller_process",
        "deploy.robots.process.__main__",
        "deploy.console.keyboard",
        "deploy.console.gamepad",
    )
)
ODRI = (
    "deploy.robots.odri.solo12, deploy.robots.odri.drivers.sdk_board, "
    "deploy.robots.odri.drivers.native_board"
)
LOADED = """
import json, sys
print(json.dumps({name: getattr(module, "__file__", None) for name, module in sys.modules.items()}))
"""
ROBOT = """
from deploy.common.deploy_config import DeployConfig
from deploy.robots.registry import make_robot
from deploy.common.robot_error import RobotError
try:
    make_robot(DeployConfig(robot="virtual", driver="sdk"))
except RobotError:
    pass  # there is no cable, which is found out after all imports
"""


@functools.cache
def loaded(program: str) -> dict[str, str | None]:
    """Return all modules after a program, with their files."""
    command = [sys.executable, "-c", f"{program}\n{LOADED}"]
    content: dict[str, str | None] = json.loads(
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    )
    return content


def modules(program: str) -> dict[str, str | None]:
    """Modules that a program loads beyond those of a bare interpreter, with their files."""
    return {name: file for name, file in loaded(program).items() if name not in loaded("")}


def packages(program: str) -> set[str]:
    """Installed packages that a program loads."""
    return {
        name.split(".")[0]
        for name, file in modules(program).items()
        if file and "-packages" in file
    }


def test_the_robot_process_loads_little() -> None:
    """All drivers work without torch, simulator and ONNX."""
    allowed = packages("import numpy, yaml, lcm")
    assert packages(ROBOT) <= allowed
    assert packages("import rich") - allowed == {"rich"}  # the check above can fail


@pytest.fixture(scope="module")
def sources() -> list[Path]:
    """Return all files of this project that a robot's computer loads."""
    files = [Path(file) for file in modules(f"import {WHOLE}, {ODRI}").values() if file]
    ours = sorted(file for file in files if ROOT in file.parents and "-packages" not in str(file))
    assert len(ours) > 50
    return ours


def vermin(*files: Path) -> subprocess.CompletedProcess[str]:
    """Run vermin, which determines whether files need more than Python 3.10."""
    # As a module: the script may belong to another environment.
    program = "from vermin import main; main()"
    command = [
        sys.executable,
        "-c",
        program,
        "-t=3.10-",
        "--no-tips",
        "--violations",
        *map(str, files),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_grammar_and_library_are_those_of_python_3_10(sources: list[Path]) -> None:
    """Syntax, functions and arguments of later versions are not allowed."""
    for path in sources:
        ast.parse(path.read_text(), feature_version=(3, 10))
    result = vermin(*sources)
    assert result.returncode == 0, result.stdout


def test_a_newer_library_would_be_found(tmp_path: Path) -> None:
    """This shows that the test above can fail."""
    (tmp_path / "new.py").write_text("from typing import Self\n")
    assert "Target versions not met" in vermin(tmp_path / "new.py").stdout


@pytest.fixture
def environment() -> Path:
    """Folder of an environment that install-robot made."""
    folder = Path(need_sdk()).parents[1]
    if not (folder / DONE_FILE).is_file():
        pytest.skip(f"{folder} was not made by solo-deploy install-robot")
    return folder


def test_the_environment_alone_deploys(environment: Path, tmp_path: Path) -> None:
    """Its solo-deploy runs controller, skill and robot process, here a mock.

    The environment has no torch.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        url = f"udpm://239.255.76.67:{probe.getsockname()[1]}?ttl=0"
    command = [
        environment / "bin" / "solo-deploy",
        "--mock",
        "--fast",
        "--seconds",
        "1",
        "--url",
        url,
    ]
    ran = subprocess.run(
        [*command, "--out", tmp_path / "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    states = [
        entry["state"]
        for entry in json.loads((tmp_path / "run" / "summary.json").read_text())["history"]
    ]
    assert states == ["IDLE", "STAND", "READY", "WALK", "STAND", "READY", "SIT", "IDLE"]
    packages = subprocess.run(
        [environment / "bin" / "pip", "list"], capture_output=True, text=True, check=True
    ).stdout
    assert not {"torch", "mujoco", "pybullet", "onnx"} & set(packages.split())
