"""Rights of an interpreter: the command that grants them, and the refusal of shared ones."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from deploy.common import interpreter_rights
from deploy.common.deploy_config import DeployConfig
from deploy.common.interpreter_rights import check_owner_only, rights_command
from deploy.doctor import computer_checks
from deploy.launch.preflight import check_robot
from solo_doi.common.errors import SoloError


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return an interpreter in an environment of its own."""
    path = tmp_path / "bin" / "python"
    path.parent.mkdir()
    path.write_text("#!/bin/sh")
    path.chmod(0o755)
    return path


@pytest.fixture
def capable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every file capabilities."""
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"caps")


def test_a_copy_is_granted_rights_for_its_owner(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command names the file itself, and closes it to others."""
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "prefix", str(python.parents[1]))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    capabilities = "cap_net_raw,cap_sys_nice,cap_ipc_lock+ep"
    assert rights_command() == f"sudo setcap {capabilities} {python} && chmod 700 {python}"


def test_a_python_of_the_system_is_not_granted_rights(
    python: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every user runs it; the command makes a copy first."""
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(python)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    monkeypatch.setattr(sys, "prefix", str(environment))
    command = rights_command()
    assert command.startswith("solo-deploy install-robot && sudo setcap ")
    assert command.endswith(f" {tmp_path}/.venv-robot/bin/python")


@pytest.mark.usefixtures("capable")
@pytest.mark.parametrize(("mode", "refused"), [(0o755, True), (0o710, True), (0o701, True),
                                               (0o700, False), (0o500, False)])  # fmt: skip
def test_shared_capabilities_are_refused(python: Path, mode: int, refused: bool) -> None:
    """A link to the interpreter is as good as the interpreter."""
    python.chmod(mode)
    link = python.with_name("python3")
    link.symlink_to(python)
    if not refused:
        check_owner_only(link)
        return
    with pytest.raises(SoloError, match=rf"every user may run it: .*chmod 700 {python}$"):
        check_owner_only(link)


def test_an_interpreter_without_capabilities_may_be_shared(python: Path) -> None:
    """The files of most computers have none."""
    assert not interpreter_rights._has_capabilities(python)
    check_owner_only(python)


@pytest.mark.usefixtures("capable")
def test_a_real_robot_and_the_doctor_refuse_it(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started."""
    config = DeployConfig(robot="real", interface="enp5s0", robot_python=python)
    with pytest.raises(SoloError, match="every user may run it"):
        check_robot(config)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(computer_checks.socket, "socket", lambda *_: io.StringIO())
    finding = computer_checks.check_raw_ethernet()
    assert (finding.good, finding.fix) == (False, f"chmod 700 {python}")
