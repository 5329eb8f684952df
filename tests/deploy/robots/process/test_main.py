"""How the robot process is put together from a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.messages.authentication import write_key
from deploy.robots.process import __main__ as module
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.common import settings


class MadeError(Exception):
    """Ends the program once its robot process was made."""


@pytest.mark.parametrize(
    ("robot", "operator", "person"),
    [
        ("real", "script", True),
        ("real", "keyboard", True),
        ("mock", "gamepad", True),
        ("mock", "script", False),
    ],
)
def test_who_is_a_person_is_timed_by_the_robot(
    robot: str, operator: str, person: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the one who goes through the script of a real robot.

    From another process than the controller.
    """
    made: list[object] = []

    def process(*_: object, **options: object) -> None:
        made.append(options["person"])
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
