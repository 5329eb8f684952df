"""The controller's process: real-time priority of its parts, bundles and errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.controller import controller_process as module
from deploy.controller.controller_process import CONTROLLER_PRIORITY, control
from deploy.launch.deployment_report import find_problems
from deploy.launch.skill_checks import check_skills
from deploy.messages.authentication import write_key
from solo_doi.common import settings
from solo_doi.policies.bundle import shipped
from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED, SKILLS_FOLDER
from solo_doi.policies.bundle.signature import check_signature, sign, write_key_pair


class StoppedError(Exception):
    """Raised to end the controller after its loop was made."""


@pytest.mark.parametrize("operator", ["script", "keyboard"])
def test_the_reader_of_messages_is_urgent_and_the_log_writer_is_not(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads and processes inherit their priority; the first subscription starts LCM's reader."""
    order: list[object] = []

    class Recorder:
        def __init__(self, *_: object) -> None:
            order.append("recorder")

    class LcmLink:
        def __init__(self, *_: object) -> None:
            """Join."""

        def subscribe(self, channel: str, _: object, queue: int = 30) -> None:
            order.append(channel)

    class Loop:
        def __init__(self, _: object, link: LcmLink, *__: object) -> None:
            link.subscribe("SOLO_STATE", None)
            raise StoppedError

    for double in (Recorder, LcmLink, Loop):
        monkeypatch.setattr(module, double.__name__, double)
    monkeypatch.setattr(module, "prepare_aloud", lambda priority, _: order.append(priority))
    monkeypatch.setattr(module, "rehearse", lambda bundle: order.append(bundle.path))
    write_key(tmp_path / KEY_FILE)
    settings.write(DeployConfig(operator=operator), tmp_path / CONFIG_FILE)  # type: ignore[arg-type]
    with pytest.raises(StoppedError):
        control(tmp_path)
    heard = ["SOLO_STATE"] if operator == "script" else ["SOLO_OPERATOR", "SOLO_STATE"]
    assert order == [SHIPPED, "recorder", CONTROLLER_PRIORITY, *heard]


@pytest.fixture
def signed(tmp_path: Path) -> DeployConfig:
    """Return a deployment that trusts one key, and a bundle signed with it."""
    bundle, key = tmp_path / "skills.onnx", tmp_path / "key"
    shutil.copy(SHIPPED, bundle)
    trust = write_key_pair(key)
    sign(bundle, key)
    return DeployConfig(robot="mock", fast=True, bundle=bundle, trust=trust)


def test_a_bundle_that_is_replaced_after_preflight_is_refused(
    signed: DeployConfig, tmp_path: Path
) -> None:
    """The replacement is a complete bundle with an untrusted signature."""
    check_skills(signed)
    shutil.copy(SKILLS_FOLDER / "steerable" / "skills.onnx", tmp_path / "skills.onnx")
    (tmp_path / "run").mkdir()
    settings.write(signed, tmp_path / "run" / CONFIG_FILE)
    with pytest.raises(BundleError, match="not signed by the holder of"):
        control(tmp_path / "run")


def test_the_signed_bytes_are_loaded(
    signed: DeployConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be replaced between the check of its signature and its loading."""

    def replacing(bundle: Path, trust: Path) -> bytes:
        content = check_signature(bundle, trust)
        shutil.copy(SKILLS_FOLDER / "steerable" / "skills.onnx", bundle)
        return content

    monkeypatch.setattr(shipped, "check_signature", replacing)
    assert shipped.load_bundle(signed.bundle, signed.trust).hash == Bundle(SHIPPED).hash


def test_incidents_keep_the_bytes_that_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle's file is replaced after it was loaded; folder and incident have the old one."""
    bundle, run = tmp_path / "mine.onnx", tmp_path / "run"
    shutil.copy(SHIPPED, bundle)
    run.mkdir()

    def replace_and_fail(*_: object, **__: object) -> str:
        shutil.copy(SKILLS_FOLDER / "steerable" / "skills.onnx", bundle)
        raise ZeroDivisionError

    monkeypatch.setattr(module.Loop, "_run_lockstep", replace_and_fail)
    monkeypatch.setattr(module, "StopRequest", lambda: lambda: False)
    write_key(run / KEY_FILE)
    settings.write(DeployConfig(robot="mock", fast=True, bundle=bundle), run / CONFIG_FILE)
    with pytest.raises(ZeroDivisionError):
        control(run)
    for folder in (run, run / "incident-1"):
        assert (folder / "skills.onnx").read_bytes() == SHIPPED.read_bytes()


def test_a_mistake_in_the_program_is_in_report_and_incident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report contains the place of the error; the log is written although the process ends."""

    def divide(*_: object, **__: object) -> str:
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(module.Loop, "_run_lockstep", divide)
    monkeypatch.setattr(module, "StopRequest", lambda: lambda: False)
    write_key(tmp_path / KEY_FILE)
    settings.write(DeployConfig(robot="mock", fast=True), tmp_path / CONFIG_FILE)
    with pytest.raises(ZeroDivisionError):
        control(tmp_path)
    report = json.loads((tmp_path / module.CONTROLLER_REPORT_FILE).read_text())
    assert "program failed: ZeroDivisionError in test_controller_process.py:" in report["ended"]
    assert (tmp_path / "incident-1" / "cause.txt").read_text() == report["ended"] + "\n"
    assert (tmp_path / "log.lcm").exists()
    found = find_problems(report, {"fault": None}, None, DeployConfig(robot="mock", fast=True), 1.0)
    assert found == [report["ended"]]
