"""Episodes in an engine that cannot change the mass of a robot.

The mass is drawn once, all other parameters for every episode.
"""

from __future__ import annotations

import numpy as np

from solo_doi.sim import IsaacConfig, SimConfig, make_simulator
from solo_doi.sim.domain import NOMINAL
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask


def test_a_robot_keeps_its_mass_and_gets_another_friction(isaac_double: IsaacConfig) -> None:
    """Over three episodes of two steps, masses differ between robots but not between episodes."""
    config = LocomotionConfig(randomisation="robust", episode_steps=2)
    with make_simulator("isaacgym", SimConfig(num_robots=4, isaac=isaac_double)) as simulator:
        task = LocomotionTask(simulator, config, np.random.default_rng(0))
        first = simulator.domain
        for _ in range(6):
            task.step(np.zeros((4, 12)))
        last = simulator.domain
    kept = {name for name in NOMINAL if np.array_equal(getattr(first, name), getattr(last, name))}
    assert kept == {"added_mass", "armature"}
    assert len(np.unique(last.added_mass)) == 4
    assert (first.friction != last.friction).all()
