"""Motion of a log, and the video of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deploy.cli import video
from deploy.logs.log_motion import log_motion
from deploy.messages.conversions import state_message
from deploy.messages.generated import robot_state
from deploy.messages.lcm_link import STATE_CHANNEL
from deploy.recorder.recorder import write_log
from deploy.robots.simulated.mujoco_solo import MujocoSolo
from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS
from solo_doi.solo12.rotations import from_rpy, multiply
from solo_doi.solo12.state import JointCommand, standing


@pytest.fixture(scope="module")
def states() -> list[robot_state]:
    """States of a robot that stands still."""
    setup = CONTROL_SETUPS["locomotion"]
    robot = MujocoSolo()
    robot._body.place(standing(setup, 1), np.zeros(3), np.zeros(3))
    found = []
    for _ in range(200):
        command = JointCommand(position=setup.default_pose, kp=setup.kp, kd=setup.kd)
        robot.drive(command, robot.time)
        found.append(state_message(robot.sense()))
    return found


def test_a_standing_robot_is_on_the_ground_at_even_times(states: list[robot_state]) -> None:
    motion = log_motion(states, 0.05)
    assert motion.position_w.shape == (4, 1, 3)
    assert motion.joint_position.shape == (4, 1, NUM_JOINTS)
    assert np.abs(motion.position_w[:, 0, :2]).max() < 0.02
    assert motion.position_w[:, 0, 2] == pytest.approx(0.24, abs=0.03)


def test_the_first_heading_is_ahead(states: list[robot_state]) -> None:
    """The yaw of an IMU starts anywhere."""
    turned = []
    for state in states:
        copy = robot_state.decode(state.encode())
        rotated = multiply(np.array(from_rpy(0.0, 0.0, 2.0)), np.array(state.quaternion))
        copy.quaternion = rotated.tolist()
        turned.append(copy)
    before = log_motion(states, 0.05)
    after = log_motion(turned, 0.05)
    np.testing.assert_allclose(after.quaternion, before.quaternion, atol=1e-5)
    np.testing.assert_allclose(after.position_w, before.position_w, atol=1e-5)


def test_a_video_is_drawn_of_a_log(
    states: list[robot_state], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    monkeypatch.setattr(video, "VIDEO_SIZE", (24, 32))
    write_log([(0, STATE_CHANNEL, state.encode()) for state in states], tmp_path / "log.lcm")
    try:
        path = video.write_video(tmp_path)
    except MissingPackageError as error:
        pytest.skip(str(error))
    with Image.open(path) as image:
        assert image.size == (32, 24)
        assert image.n_frames >= 2


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log([], tmp_path / "log.lcm")
    with pytest.raises(SoloError, match="nothing to draw"):
        video.write_video(tmp_path)
    monkeypatch.setattr(video.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="--video"):
        video.need_renderer()
