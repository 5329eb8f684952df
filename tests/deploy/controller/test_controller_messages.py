"""Messages of a controller: velocity commands, joint commands, status."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deploy.common.deploy_config import ControllerConfig
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import COMMAND_LIFETIME_NS
from deploy.messages.lcm_link import Request
from solo_doi.policies.bundle.reader import Bundle
from tests.deploy.stage import Counting, Stage, shipped
from tests.policies.bundles import skill_policy, write


@pytest.fixture(scope="module")
def steerable(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Return skills that accept commands from -1 to 1 around 0, with a wide envelope."""
    policy = skill_policy(reach=0.05)
    mean, std = policy.state_mean.copy(), policy.state_std.copy()
    mean[-3:], std[-3:] = (0.5, 0.0, 0.0), np.float32(1 / np.sqrt(3))
    std[:-3] = 10.0
    path = tmp_path_factory.mktemp("steerable") / "skills.onnx"
    return Bundle(write(path, replace(policy, state_mean=mean, state_std=std)))


# --- Velocity commands ---------------------------------------------------------------------------


def test_skills_of_one_command_get_that_command() -> None:
    """Such skills have one command, so any requested velocity has no effect."""
    bundle = Counting(shipped())
    stage = Stage(bundle)  # type: ignore[arg-type]
    stage.ready()
    stage.tick(Request.WALK, velocity=np.array([-3.0, 2.0, 1.0]))
    stage.run(100)
    seen = np.array(bundle.observations)[:, -3:]
    np.testing.assert_array_equal(
        seen, np.tile(np.float32(shipped().contract.command), (len(seen), 1))
    )
    assert shipped().contract.command[0] == pytest.approx(1.0)


def test_velocity_commands_change_slowly_and_stay_in_range(steerable: Bundle) -> None:
    """The command starts at zero, changes by at most 1 m/s^2 and stays in the trained range."""
    bundle = Counting(steerable)
    stage = Stage(bundle)  # type: ignore[arg-type]
    stage.ready()
    stage.tick(Request.WALK, velocity=np.array([9.0, -9.0, 0.1]))
    stage.run(2000)
    assert stage.state is ControllerState.WALK, stage.controller.fault
    seen = np.array(bundle.observations)[:, -3:]
    assert np.abs(np.diff(seen, axis=0)).max() <= 0.02 + 1e-6
    np.testing.assert_allclose(seen[0], [0.02, -0.02, 0.02], atol=1e-6)
    np.testing.assert_allclose(seen[-1], [1.5, -1.0, 0.1], atol=1e-5)


@pytest.mark.parametrize("end", [Request.STOP, Request.SIT, Request.DAMP])
def test_a_velocity_is_forgotten_when_the_walk_ends(steerable: Bundle, end: Request) -> None:
    """The next walk starts with a velocity of zero."""
    bundle = Counting(steerable)
    stage = Stage(bundle)  # type: ignore[arg-type]
    stage.ready()
    stage.tick(Request.WALK, velocity=np.array([0.5, 0.0, 0.0]))
    stage.run(100)
    stage.tick(end)
    stage.run(1500)  # stand, or lie down and be idle
    if end is Request.DAMP:
        stage.tick(Request.REARM)
    if end is not Request.STOP:
        stage.ready()
    bundle.observations.clear()
    stage.tick(Request.WALK)
    stage.run(100)
    assert stage.state is ControllerState.WALK
    np.testing.assert_array_equal(np.array(bundle.observations)[:, -3:], 0.0)


def test_a_fault_ends_the_influence_of_the_stick(steerable: Bundle) -> None:
    """The steps of a latched stop shrink without a command."""
    bundle = Counting(steerable)
    stage = Stage(bundle)  # type: ignore[arg-type]
    stage.ready()
    stage.tick(Request.WALK)
    stage.run(100)
    stage.delay_ns = 50_000_000
    stage.until(ControllerState.STAND)
    assert stage.controller.fault is not None
    bundle.observations.clear()
    for _ in range(300):
        stage.tick(velocity=np.array([1.5, 0.0, 0.0]))
    assert (np.diff(np.array(bundle.observations)[:, -3]) <= 0.0).all()


# --- Messages ------------------------------------------------------------------------------------


def test_every_command_names_its_state_and_skill() -> None:
    """Each command contains its state, skill and expiry."""
    stage = Stage(skill=3)
    stage.walking()
    command = stage.commands[-1]
    assert (command.session, command.robot_session) == (stage.controller.session, 7)
    assert (command.state_sequence, command.time_ns) == (stage.sequence, stage.now_ns)
    assert (command.expires_ns, command.heartbeat_ns) == (
        stage.now_ns + COMMAND_LIFETIME_NS,
        stage.now_ns,
    )
    assert (command.bundle.hex(), command.skill) == (shipped().hash, 3)
    sequences = [command.sequence for command in stage.commands]
    assert sequences == [*range(1, len(sequences) + 1)]
    command.encode()


def test_status_has_state_and_estimate() -> None:
    """Consoles and logs use the status."""
    stage = Stage(skill=3)
    stage.tick()
    status = stage.controller.status(123)
    assert (status.state, status.skill, status.fault, status.time_ns) == (
        ControllerState.IDLE,
        3,
        0,
        123,
    )
    np.testing.assert_allclose(status.gravity, [0, 0, -1], atol=1e-3)
    status.encode()


def test_times_can_be_configured() -> None:
    """A shorter duration of standing up takes effect."""
    stage = Stage(config=ControllerConfig(stand_seconds=0.5))
    stage.tick()
    stage.tick(Request.STAND)
    stage.run(499)
    assert stage.state is ControllerState.STAND
    stage.run(2)
    assert stage.state is ControllerState.READY
