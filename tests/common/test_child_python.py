"""Python child processes do not import from the current directory."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collect.collector import _executor
from solo_doi.common.child_python import child_environment, module_command, program_command
from solo_doi.sim import IsaacConfig, SimConfig, make_simulator

from .hostile_folder import HostileFolder

ROOT = Path(__file__).parents[2]
MODULES = (
    "deploy.controller.controller_process",
    "deploy.recorder.recorder",
    "deploy.robots.process",
    "deploy.robots.virtual_board",
    "deploy.service.bench_process",
    "deploy.install.install_robot",
)
TRAIN = "from solo_doi.cli.train import train_main; train_main()"
MAY_NAME_FLAGS = {"solo_doi/common/child_python.py", "deploy/install/install_robot.py"}
"""The helper itself, and `python -I -m pip`."""


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    """A folder of hostile files."""
    return HostileFolder(tmp_path)


@pytest.fixture
def without_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the protection of newer Pythons, which Python 3.10 on the robot lacks."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=folder, env=child_environment(), capture_output=True, text=True, timeout=240
    )


@pytest.mark.usefixtures("without_help")
def test_hostile_files_are_run_by_plain_commands(hostile: HostileFolder) -> None:
    """This shows that the tests below can fail: `-m` and `-c` import from the current directory."""
    run([sys.executable, "-m", "deploy.robots.process"], hostile.path)
    assert hostile.executed()
    run([sys.executable, "-c", "import random"], hostile.path)
    assert "random" in hostile.executed()


@pytest.mark.usefixtures("without_help")
@pytest.mark.parametrize("module", MODULES)
def test_a_module_runs_without_the_current_directory(module: str, hostile: HostileFolder) -> None:
    """Each kind of process reaches the parsing of its arguments."""
    ran = run(module_command(module, "--help"), hostile.path)
    assert hostile.executed() == set(), ran.stderr
    assert "No module named" not in ran.stderr


@pytest.mark.usefixtures("without_help")
def test_a_program_runs_without_the_current_directory(hostile: HostileFolder) -> None:
    """The program is the training that a sweep starts."""
    ran = run(program_command(TRAIN, "--help"), hostile.path)
    assert ran.returncode == 0, ran.stderr
    assert "usage" in ran.stdout.lower()
    assert hostile.executed() == set()


def test_arguments_and_names_are_those_of_python_m(tmp_path: Path) -> None:
    """A module gets its own file and arguments, and the name `__main__`."""
    (tmp_path / "shown.py").write_text("import sys; print(__name__, sys.argv)\n")
    command = module_command("shown", "--first", "a b")
    environment = {**child_environment(), "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == f"__main__ {[str(tmp_path / 'shown.py'), '--first', 'a b']}\n"


def test_exit_codes_pass(tmp_path: Path) -> None:
    """Modules may end by `sys.exit`."""
    (tmp_path / "ending.py").write_text("raise SystemExit(7)\n")
    environment = {**child_environment(), "PYTHONPATH": str(tmp_path)}
    assert subprocess.run(module_command("ending"), env=environment).returncode == 7


def test_empty_entries_of_the_path_are_dropped(
    hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PYTHONPATH=/opt/lib:$PYTHONPATH` leaves an empty entry.

    Python reads it as current directory.
    """
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", "/opt/lib", "", "/opt/other", "")))
    assert child_environment()["PYTHONPATH"] == os.pathsep.join(("/opt/lib", "/opt/other"))
    ran = run(program_command("import random"), hostile.path)
    assert ran.returncode == 0, ran.stderr
    assert hostile.executed() == set()
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    assert "PYTHONPATH" not in child_environment()


@pytest.mark.usefixtures("without_help")
def test_the_isaac_worker_starts_in_a_hostile_folder(
    isaac_slow_start: IsaacConfig, hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has its own interpreter, here one with a double of Isaac Gym."""
    monkeypatch.chdir(hostile.path)
    with make_simulator("isaacgym", SimConfig(isaac=isaac_slow_start)):
        pass
    assert hostile.executed() == set()


def test_workers_of_a_collection_start_in_a_hostile_folder(
    hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python starts these workers with `-c`."""
    for name in ("PYTHONSAFEPATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # restored after the test
    monkeypatch.chdir(hostile.path)
    with _executor(1, ray=False) as submit:
        failure = submit(None, Path("nowhere")).exception()  # type: ignore[arg-type]
    assert isinstance(failure, AttributeError), failure  # of the worker, about the missing job
    assert hostile.executed() == set()


def test_no_other_module_starts_python_by_itself() -> None:
    """The flags that run a module or a program are in one helper."""
    found = set()
    for package in ("solo_doi", "collect", "deploy"):
        for path in (ROOT / package).rglob("*.py"):
            constants = [
                node
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Constant)
            ]
            if any(node.value in ("-m", "-c") for node in constants):
                found.add(str(path.relative_to(ROOT)))
    assert found == MAY_NAME_FLAGS
