"""Assembly of the robot process from a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.messages.authentication import write_key
from deploy.robots.process import __main__ as module
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.common import settings


class MadeError(Exception):
    """Raised to end the program after its robot process was made."""


@pytest.mark.parametrize(
    ("robot", "operator", "person"),
    [
        ("real", "script", True),
        ("real", "keyboard", True),
        ("mock", "gamepad", True),
        ("mock", "script", False),
    ],
)
def test_a_person_has_a_timeout_in_the_robot_process(
    robot: str, operator: str, person: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This includes an operator who steps through the script of a real robot.

    The operator's process is separate from the controller.
    """
    made: list[object] = []

    def process(*_: object, **options: object) -> None:
        made.append(options["separate_operator"])
        raise MadeError

    monkeypatch.setattr(module, "make_robot", lambda _: MockSolo())
    monkeypatch.setattr(module, "RobotProcess", process)
    monkeypatch.setattr(module, "prepare_aloud", lambda *_: [])
    for name in ("LcmLink", "StopRequest"):
        monkeypatch.setattr(module, name, lambda *_: None)
    write_key(tmp_path / KEY_FILE)
    settings.write(DeployConfig(robot=robot, operator=operator), tmp_path / CONFIG_FILE)  # type: ignore[arg-type]
    with pytest.raises(MadeError):
        module.main(tmp_path)
    assert made == [person]
