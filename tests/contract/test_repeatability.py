"""Contract of every simulator: the same inputs give the same numbers."""

from __future__ import annotations

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain
from solo_doi.solo12.state import standing

from .simulators import (
    LOCOMOTION,
    Make,
    default_targets,
    differences,
    random_targets,
)


def test_resetting_some_robots_leaves_the_others_bit_identical(make: Make) -> None:
    """A reset of one robot does not change the others."""
    disturbed, alone = make(num_robots=4), make(num_robots=4)
    targets = random_targets(4, 40)
    for step, target in enumerate(targets):
        if step in (10, 25):
            other = Domain.nominal(2, friction=0.4, added_mass=0.3, kp_scale=1.1)
            disturbed.set_domain(disturbed.possible_domain(other, [1, 3]), robots=[1, 3])
            disturbed.reset(standing(LOCOMOTION, 2), robots=[1, 3])
        state, reference = disturbed.step(target), alone.step(target)
        assert differences(state[[0, 2]], reference[[0, 2]]) == []
    assert "base_position_w" in differences(state[[1, 3]], reference[[1, 3]])


def test_same_inputs_give_the_same_trajectory(make: Make) -> None:
    """Two instances are equal to the last bit; other targets give another trajectory."""
    targets, first, second = random_targets(2, 50), make(num_robots=2), make(num_robots=2)
    for target in targets:
        state, again = first.step(target), second.step(target)
        assert differences(state, again) == []
    other = make(num_robots=2)
    for target in random_targets(2, 50, seed=1):
        another = other.step(target)
    assert "joint_position" in differences(state, another)


def test_a_reset_robot_has_no_memory(make: Make) -> None:
    """After a stumble, a push and a reset, a robot moves like a new one, alone or in a batch."""
    used, fresh = make(num_robots=3), make(num_robots=1)
    for target in random_targets(3, 30):
        used.step(target, push_w=np.full((3, 3), 1.0))
    used.reset(standing(LOCOMOTION, 3))
    for target in random_targets(3, 30, seed=1):
        state, reference = used.step(target), fresh.step(target[1:2])
    assert differences(state[1:2], reference) == []


def test_simulators_in_one_process_do_not_disturb_each_other(make: Make) -> None:
    """A second simulator is made, stepped and closed in between.

    The numbers stay equal to the last bit.
    """
    targets, alone = random_targets(2, 30), make(num_robots=2)
    expected = [alone.step(target) for target in targets]
    simulator, neighbour = make(num_robots=2), make(num_robots=3)
    for step, (target, reference) in enumerate(zip(targets, expected, strict=True)):
        if step < 20:
            neighbour.step(default_targets(3) - 0.3)
        elif step == 20:
            neighbour.close()
        assert differences(simulator.step(target), reference) == []


def test_a_saved_simulation_continues_with_the_same_numbers_or_is_refused(
    engine: str, make: Make
) -> None:
    """Training resumes exactly, including lag and domain.

    An engine without this ability raises an error.
    """
    simulator, targets = make(num_robots=2), random_targets(2, 30)
    simulator.set_domain(
        Domain.nominal(2, friction=np.array([0.5, 1.2]), motor_lag=np.array([0.01, 0.035]))
    )
    for target in targets[:15]:
        simulator.step(target)
    try:
        saved = simulator.save()
    except SoloError as error:
        assert engine != "mujoco"
        assert simulator.name in str(error)  # noqa: PT017
        return
    expected = [simulator.step(target) for target in targets[15:]]
    resumed = make(num_robots=2)
    resumed.load(saved)
    for target, reference in zip(targets[15:], expected, strict=True):
        assert differences(resumed.step(target), reference) == []
