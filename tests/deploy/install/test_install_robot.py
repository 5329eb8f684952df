"""Environment of a robot's computer: refusals, pinned versions, no incomplete folder."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.cli.deploy import main
from deploy.common.deploy_config import DeployConfig
from deploy.common.robot_python import check_robot_python
from deploy.install import install_robot, installed_wheel
from deploy.install.install_robot import DONE_FILE, PYTHONS, REQUIREMENTS, install
from deploy.launch.preflight import check
from solo_doi import __version__
from solo_doi.common.errors import SoloError

ROOT = Path(__file__).parents[3]
NEEDS_OLDER = {"numpy", "onnxruntime", "websockets"}
"""The vendor's library needs an older numpy, and Python 3.10 older versions of the others."""


def python(folder: Path, script: str) -> Path:
    """Write an interpreter that runs a shell script; its arguments are $*."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def refusal(out: Path, interpreter: Path = Path(sys.executable)) -> str:
    """Return the error of a failed installation, which leaves no folder."""
    existed = out.exists()
    with pytest.raises(SoloError) as error:
        install(out, "native", interpreter)
    assert out.exists() == existed
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    """The message distinguishes finished from incomplete ones."""
    out = tmp_path / "robot"
    out.mkdir()
    assert refusal(out).startswith(
        f"{out}: exists, and is not a finished robot environment. Remove it"
    )
    (out / DONE_FILE).write_text("{}")
    assert refusal(out).startswith(f"{out}: is a finished robot environment. Remove it")


@pytest.mark.parametrize("version", ["3.9", "3.12"])
def test_a_python_without_wheels_is_refused(version: str, tmp_path: Path) -> None:
    """The error contains the version and the valid ones."""
    interpreter = python(tmp_path, f"echo {version}")
    expected = f"{interpreter}: is Python {version}; expected 3.10 or 3.11. Name one with --python."
    assert refusal(tmp_path / "robot", interpreter) == expected


def test_a_python_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The error is one line without a traceback."""
    assert "no Python that can be run (No such file or directory)" in refusal(
        tmp_path / "robot", tmp_path / "python"
    )


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "x86_64"), ("Linux", "armv7l")])
def test_another_machine_is_refused(
    system: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wheels exist for two machines."""
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert refusal(tmp_path / "robot").startswith(
        f"This is {system} on {machine}; a robot's computer runs Linux on"
    )


def fake_python(folder: Path, failing: str, answer: str = "") -> Path:
    """Write an interpreter that makes environments, with one step that fails; others answer."""
    pattern = failing.replace(" ", "?")
    inner = f"""case "$*" in *{pattern}*) echo "no such wheel" >&2; exit 1;; esac; echo {answer}"""
    make = 'mkdir -p "$5/bin"; cp "$0.inner" "$5/bin/python"'
    script = f"""case "$*" in *venv*) {make};; *) echo {PYTHONS[0]};; esac"""
    interpreter = python(folder, script)
    (folder / "python.inner").write_text(f"#!/bin/sh\n{inner}\n")
    (folder / "python.inner").chmod(0o755)
    return interpreter


@pytest.mark.parametrize(
    "failing", ["--requirement", "--editable", "pip --disable-pip-version-check check", "import"]
)
def test_a_failing_step_leaves_no_folder(failing: str, tmp_path: Path) -> None:
    """The error contains the output of the step, and the folder is removed."""
    assert "no such wheel" in refusal(tmp_path / "robot", fake_python(tmp_path, failing))


def test_without_a_checkout_a_wheel_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed wheel has no pyproject.toml beside it; a wheel is built from its files."""
    monkeypatch.setattr(install_robot, "HERE", tmp_path / "deploy" / "install")
    written = []

    def write(folder: Path) -> Path:
        written.append(folder)
        return folder / "solo_doi.whl"

    monkeypatch.setattr(install_robot, "write_wheel", write)
    text = refusal(tmp_path / "robot", fake_python(tmp_path, "solo_doi.whl"))
    assert "--no-index" in text
    assert "no such wheel" in text
    assert not written[0].exists()


def test_without_checkout_and_installation_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code may have been copied by hand."""
    monkeypatch.setattr(install_robot, "HERE", tmp_path / "deploy" / "install")
    monkeypatch.setattr(installed_wheel, "DISTRIBUTION", "solo-doi-that-is-not-there")
    text = refusal(tmp_path / "robot", fake_python(tmp_path, "nothing"))
    assert "is not installed, and no pyproject.toml is beside its code. Install it, or" in text


def test_the_command_line_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`solo-deploy install-robot` prints the error on one line."""
    monkeypatch.setattr("sys.argv", ["solo-deploy", "install-robot", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1


def test_it_starts_without_anything_installed() -> None:
    """A robot's computer has a checkout and a bare Python; -S hides all packages."""
    command = [sys.executable, "-S", "-m", "deploy.install.install_robot", "--help"]
    assert (
        "--driver"
        in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )


def pins(path: Path) -> dict[str, set[str]]:
    """Return versions by package, one per Python if they differ."""
    found: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        line = line.removesuffix(" \\")
        if line and line[0] not in "#- ":
            needs = r"; (python_version (<|>=) \"3\.11\"|platform_machine == \"x86_64\")"
            match = re.fullmatch(rf"([\w.-]+)==([\w.]+)({needs})?(  #.*)?", line)
            assert match, f"{path.name}: {line!r} is no exact version"
            found.setdefault(match[1].lower(), set()).add(match[2])
    return found


@pytest.mark.parametrize("driver", REQUIREMENTS)
def test_versions_are_exact_and_those_of_the_laboratory(driver: str) -> None:
    """Packages of both environments have the same version, where the vendor's library allows it."""
    robot, laboratory = pins(REQUIREMENTS[driver]), pins(ROOT / ".ci" / "constraints.txt")
    shared = robot.keys() & laboratory.keys() - NEEDS_OLDER
    assert {name: robot[name] for name in shared} == {name: laboratory[name] for name in shared}
    assert not robot.keys() & {"torch", "mujoco", "pybullet", "onnx", "h5py", "matplotlib"}


@pytest.mark.parametrize("driver", REQUIREMENTS)
def test_every_version_has_hashes(driver: str) -> None:
    """pip installs only files with these hashes; nothing else may be in the requirements."""
    text = REQUIREMENTS[driver].read_text()
    assert len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) > 5
    pinned = r"([\w.-]+==[^\s;]+(; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+)"
    rest = re.sub(rf"^{pinned}$", "", text, flags=re.MULTILINE)
    lines = [line for line in rest.splitlines() if line and not line.startswith("#")]
    assert lines in ([], ["-r robot-requirements.txt"])


def test_the_interpreter_is_executable_by_its_owner_only(tmp_path: Path) -> None:
    """Capabilities of the file would belong to every user otherwise."""
    interpreter = fake_python(tmp_path, "nothing", answer=__version__)
    made = install(tmp_path / "robot", "native", interpreter)
    assert made.stat().st_mode & 0o077 == 0


def test_an_interpreter_without_the_driver_is_refused(tmp_path: Path) -> None:
    """The error contains the command that makes one."""
    broken = python(tmp_path, "echo \"No module named 'libmaster_board_sdk_pywrap'\" >&2; exit 1")
    with pytest.raises(
        SoloError,
        match=r"libmaster_board_sdk_pywrap'; it cannot run the driver 'sdk'. .*install-robot",
    ):
        check_robot_python(broken, "sdk")


def test_an_interpreter_with_another_version_is_refused(tmp_path: Path) -> None:
    """Robot process and controller must have the same version."""
    with pytest.raises(
        SoloError, match=f"has version 0.0.9 of this project, not {re.escape(__version__)}"
    ):
        check_robot_python(python(tmp_path, "echo 0.0.9"), "native")
    check_robot_python(python(tmp_path, f"echo {__version__}"), "native")


def test_a_deployment_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """Interpreters are tested for both drivers; a simulation needs this interpreter."""
    missing = DeployConfig(robot="virtual", robot_python=tmp_path / "python")
    for config, part in (
        (missing, "it cannot run the driver 'native'"),
        (replace(missing, driver="sdk"), "it cannot run the driver 'sdk'"),
        (
            replace(missing, robot="mock"),
            "--robot-python is for a master board, not for --robot mock",
        ),
    ):
        with pytest.raises(SoloError, match=part):
            check(config)
