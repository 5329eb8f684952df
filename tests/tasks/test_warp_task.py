"""Navigation in MuJoCo Warp: boxes and walls that move between episodes."""

from __future__ import annotations

import numpy as np

from solo_doi.sim import SimConfig, WarpConfig
from solo_doi.tasks import make_task, task_type
from solo_doi.tasks.task import Task

ROBOTS = 4


def started(engine: str, warp: WarpConfig) -> Task:
    """Start short episodes, so that grounds, masses and frictions change while the robots move."""
    declared = task_type("navigation")
    simulator = declared.make_simulator(engine, SimConfig(num_robots=ROBOTS, warp=warp))
    config = declared.config_type(episode_steps=8, early_end=False)
    return make_task("navigation", simulator, np.random.default_rng(3), config)


def test_navigation_is_the_same_as_in_mujoco(warp_cpu: WarpConfig) -> None:
    """Over three episodes, observations with their height scans agree within rounding.

    Robots step on boxes, so contacts of boxes are compared, too.
    """
    actions = np.random.default_rng(0).normal(0, 0.3, (20, ROBOTS, 12))
    warp, mujoco = started("warp", warp_cpu), started("mujoco", warp_cpu)
    with warp.simulator, mujoco.simulator:
        for action in actions:
            one, other = warp.step(action), mujoco.step(action)
            np.testing.assert_allclose(one.observation, other.observation, atol=0.02)
            np.testing.assert_allclose(one.reward, other.reward, atol=0.02)
            np.testing.assert_array_equal(one.timed_out, other.timed_out)
