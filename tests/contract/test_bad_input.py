"""Inputs that every simulator refuses, with robot, field and expectation in the message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain, SimulationError, Terrain
from solo_doi.solo12.state import standing

from .simulators import LOCOMOTION, Make, default_targets, differences, hold

FIELDS = tuple(vars(standing(LOCOMOTION, 1)))
ROBOTS = 4


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_target_that_is_no_number_names_robot_and_joint(make: Make, bad: float) -> None:
    """The message identifies one diverged policy among thousands."""
    target = default_targets(ROBOTS)
    target[2, 4] = bad
    with pytest.raises(SimulationError, match=rf"target of robot 2, joint FR_HFE, is {bad}"):
        make(num_robots=ROBOTS).step(target)


def test_a_target_beyond_the_joint_names_both_and_the_range(make: Make) -> None:
    """The range of FL_HFE ends at a quarter turn."""
    target = default_targets(ROBOTS)
    target[1, 1] = 1.6
    with pytest.raises(
        SimulationError, match=r"target of robot 1, joint FL_HFE, is 1.600 rad.*within \+-1.571"
    ):
        make(num_robots=ROBOTS).step(target)


def test_a_refused_step_leaves_the_state_unchanged(make: Make) -> None:
    """The caller may correct its target and continue; the memory of the lag stays intact."""
    simulator, undisturbed = make(num_robots=2), make(num_robots=2)
    bad = default_targets(2)
    bad[1, 0] = np.nan
    with pytest.raises(SimulationError):
        simulator.step(bad)
    assert differences(hold(simulator, 0.1), hold(undisturbed, 0.1)) == []


@pytest.mark.parametrize("shape", [(12,), (ROBOTS, 11), (ROBOTS - 1, 12), (ROBOTS, 4, 12)])
def test_targets_of_another_shape_are_refused(make: Make, shape: tuple[int, ...]) -> None:
    """Broadcasting one robot's target to all would hide the mistake."""
    with pytest.raises(SimulationError, match=r"target has shape .*, expected \(4, 12\)"):
        make(num_robots=ROBOTS).step(np.zeros(shape))


@pytest.mark.parametrize("field", FIELDS)
def test_a_motion_that_is_no_number_names_robot_and_field(make: Make, field: str) -> None:
    """Robots 1 and 3 are reset and the second motion is bad, so the message names robot 3."""
    motion = standing(LOCOMOTION, 2)
    getattr(motion, field)[1, 2] = np.nan
    with pytest.raises(SimulationError, match=rf"{field} of robot 3.* is nan"):
        make(num_robots=ROBOTS).reset(motion, robots=[1, 3])


@pytest.mark.parametrize("field", FIELDS)
def test_a_motion_for_another_number_of_robots_is_refused(make: Make, field: str) -> None:
    """Each field is checked, the last as well as the first."""
    motion = standing(LOCOMOTION, 2)
    motion = replace(motion, **{field: getattr(motion, field)[:1]})
    with pytest.raises(
        SimulationError, match=rf"{field} has shape \(1, \d+\), expected \(2, \d+\)"
    ):
        make(num_robots=ROBOTS).reset(motion, robots=[1, 3])


def test_a_quaternion_of_another_length_is_refused(make: Make) -> None:
    """A quaternion of half length is an error; rounding to single precision is not."""
    simulator, motion = make(num_robots=ROBOTS), standing(LOCOMOTION, 2)
    motion.base_quaternion[1] = [0.5, 0, 0, 0]
    with pytest.raises(
        SimulationError, match=r"base_quaternion of robot 3 has norm 0.5, expected 1"
    ):
        simulator.reset(motion, robots=[1, 3])
    motion.base_quaternion[1] = np.array([0.6, 0, 0.8, 0], dtype=np.float32)
    simulator.reset(motion, robots=[1, 3])


def test_joints_far_beyond_their_ends_are_refused(make: Make) -> None:
    """Degrees instead of radians are refused; a soft stop a few hundredths deep is valid."""
    simulator, motion = make(num_robots=ROBOTS), standing(LOCOMOTION, 2)
    motion.joint_position[1, 1] = np.pi / 2 + 0.05
    simulator.reset(motion, robots=[1, 3])
    motion.joint_position[1, 1] = 34.0
    with pytest.raises(
        SimulationError, match=r"joint_position of robot 3, joint FL_HFE, is 34.000 rad"
    ):
        simulator.reset(motion, robots=[1, 3])


def test_a_held_target_is_checked_like_any_other(make: Make) -> None:
    simulator, motion = make(num_robots=ROBOTS), standing(LOCOMOTION, 2)
    target = motion.joint_position.copy()
    target[1, 0] = 1.2
    with pytest.raises(SimulationError, match=r"target of robot 3, joint FL_HAA, is 1.200 rad"):
        simulator.reset(motion, robots=[1, 3], target=target)
    with pytest.raises(SimulationError, match=r"target has shape \(12,\), expected \(2, 12\)"):
        simulator.reset(motion, robots=[1, 3], target=target[0])


@pytest.mark.parametrize("robots", [[0, 4], [-1, 0]])
def test_robots_that_do_not_exist_are_refused(make: Make, robots: list[int]) -> None:
    """Numpy would read -1 as the last robot."""
    absent = next(robot for robot in robots if not 0 <= robot < ROBOTS)
    with pytest.raises(SoloError, match=rf"Robot {absent} was asked for, the simulator has 0 to 3"):
        make(num_robots=ROBOTS).reset(standing(LOCOMOTION, 2), robots=robots)


@pytest.mark.parametrize("robots", [np.array([True, False, True, False]), [0.0, 1.0], [[0, 1]]])
def test_robots_are_chosen_by_a_list_of_indices(make: Make, robots: object) -> None:
    """A mask that is read as indices would reset robots 0 and 1."""
    with pytest.raises(SoloError, match="chosen by a list of indices"):
        make(num_robots=ROBOTS).reset(standing(LOCOMOTION, 2), robots=robots)  # type: ignore[arg-type]


def test_resetting_no_robot_is_allowed(make: Make) -> None:
    """Most control steps end no episode."""
    simulator, undisturbed = make(num_robots=2), make(num_robots=2)
    simulator.reset(standing(LOCOMOTION, 0), robots=[])
    assert differences(hold(simulator, 0.1), hold(undisturbed, 0.1)) == []


def test_a_domain_for_another_number_of_robots_is_refused(make: Make) -> None:
    with pytest.raises(SoloError, match="domain is for 3 robots, 2 were to be set"):
        make(num_robots=ROBOTS).set_domain(Domain.nominal(3), robots=[1, 3])


def test_a_push_or_kick_that_is_no_number_is_refused(make: Make) -> None:
    """Forces and velocities are checked in the same way as targets."""
    simulator, push_w = make(num_robots=2), np.zeros((2, 3))
    push_w[1, 2] = np.nan
    with pytest.raises(SimulationError, match="push_w of robot 1 is nan"):
        simulator.step(default_targets(2), push_w)
    with pytest.raises(SimulationError, match="linear_w of robot 1 is nan"):
        simulator.kick(np.array([1]), push_w[1:], np.zeros((1, 3)))
    with pytest.raises(SimulationError, match=r"angular_b has shape \(3,\), expected \(1, 3\)"):
        simulator.kick(np.array([1]), np.zeros((1, 3)), np.zeros(3))


def test_a_terrain_for_another_number_of_robots_is_refused(make: Make) -> None:
    """Each robot has its own ground."""
    with pytest.raises(SoloError, match="terrain is for 3 robots, the simulator for 4"):
        make(num_robots=ROBOTS, terrain=Terrain.flat(3))


@pytest.mark.parametrize("config", [{"num_robots": 0}, {"decimation": 0}, {"physics_dt": 0.0}])
def test_a_configuration_without_robots_or_time_is_refused(
    make: Make, config: dict[str, float]
) -> None:
    with pytest.raises(SoloError, match="must be above zero"):
        make(**config)
