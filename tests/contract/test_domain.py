"""Contract of every simulator: physical parameters that vary between robots."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain

from .simulators import (
    KNEE,
    LOCOMOTION,
    Make,
    default_targets,
    hold,
    in_the_air,
)


def test_rotor_inertia_slows_joints_or_is_refused(make: Make) -> None:
    """An engine without a domain field must refuse it.

    Ignoring it silently would make results invalid.
    """
    simulator = make(num_robots=2)
    domain = Domain.nominal(2, armature=np.array([0.0, 0.005]))
    if "armature" in simulator.unsupported_domain:
        with pytest.raises(
            SoloError, match=r"'armature' than 0.0; robot 1 asks for 0.005.*use MuJoCo"
        ):
            simulator.set_domain(domain)
        return
    simulator.set_domain(domain)
    simulator.reset(in_the_air(2))
    state = hold(simulator, 0.04, default_targets(2) + 0.1)
    light, heavy = state.joint_position[:, KNEE] - LOCOMOTION.default_pose[KNEE]
    assert 0 < heavy < 0.5 * light


def test_constant_parameters_are_refused_after_the_first_step(make: Make) -> None:
    """Isaac Gym cannot change masses on a GPU.

    `possible_domain` keeps them; a change is an error.
    """
    simulator = make(num_robots=3)
    first = Domain.nominal(3, added_mass=np.array([0.1, 0.2, 0.3]))
    simulator.set_domain(first)
    simulator.step(default_targets(3))
    other = Domain.nominal(2, added_mass=0.5, friction=0.7)
    if "added_mass" in simulator.constant_domain:
        with pytest.raises(
            SoloError,
            match=r"cannot change 'added_mass'.*robot 2 has 0.3 and is to get 0.5.*before",
        ):
            simulator.set_domain(other, robots=[2, 0])
    possible = simulator.possible_domain(other, [2, 0])
    simulator.set_domain(possible, robots=[2, 0])
    assert possible.friction.tolist() == [0.7, 0.7]
    lasts = "added_mass" in simulator.constant_domain
    assert simulator.domain.added_mass.tolist() == ([0.1, 0.2, 0.3] if lasts else [0.5, 0.2, 0.5])


def test_the_default_engine_varies_every_domain_field(engine: str, make: Make) -> None:
    """Other engines may lack only the rotor's inertia.

    Isaac Gym keeps masses and inertias for the life of a robot.
    """
    simulator = make()
    assert simulator.unsupported_domain <= ({"armature"} if engine == "pybullet" else set())
    assert simulator.constant_domain <= (
        {"added_mass", "armature"} if engine == "isaacgym" else set()
    )
