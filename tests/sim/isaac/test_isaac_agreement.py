"""The shipped expert, in MuJoCo and through client and worker on the double.

This tests the communication, not PhysX.
"""

from __future__ import annotations

import numpy as np
import pytest

from collect.shipped_checkpoints import shipped_checkpoints
from solo_doi.evaluate.rollouts.recording import Recording, record
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.sim import IsaacConfig, SimConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

SETTLED = round(1.0 / CONTROL_DT)
ROBOTS, STEPS = 8, 200


def walk(engine: str, isaac: IsaacConfig) -> Recording:
    """Walk for four seconds at 1 m/s, from random poses, without disturbances."""
    config = LocomotionConfig(
        randomisation="none",
        episode_steps=10**6,
        early_end=False,
        forward_share=1.0,
        command_steps=10**6,
    )
    policy = read_policy(shipped_checkpoints("locomotion") / "expert.pt")
    with make_simulator(engine, SimConfig(num_robots=ROBOTS, isaac=isaac)) as simulator:
        task = LocomotionTask(simulator, config, np.random.default_rng(0))
        return record(task, lambda observation: policy.mean_action(observation, 0), STEPS)


def test_the_expert_walks_equally_in_mujoco_and_through_the_worker(
    isaac_double: IsaacConfig,
) -> None:
    """Velocities agree within 3 %, without falls."""
    mujoco, isaac = (walk(engine, isaac_double) for engine in ("mujoco", "isaacgym"))
    assert not mujoco.ever_fallen.any()
    assert not isaac.ever_fallen.any()
    speeds = [
        float(recording.linear_velocity_b[SETTLED:, :, 0].mean()) for recording in (mujoco, isaac)
    ]
    assert speeds[0] > 0.9
    assert speeds[1] == pytest.approx(speeds[0], rel=0.03)
