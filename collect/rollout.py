"""Rolls episodes out and returns them as arrays of a dataset."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solo_doi.sim.simulator import Simulator
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.observation import Inputs
from solo_doi.tasks import rewards
from solo_doi.tasks.episode import Draws
from solo_doi.tasks.locomotion import LocomotionTask, StepMemory, group_rewards

Act = Callable[[int, np.ndarray], np.ndarray]
"""Control step and observations (N, 48) to raw actions (N, 12)."""


def roll_out(
    simulator: Simulator, draws: Draws, command: np.ndarray, act: Act
) -> dict[str, np.ndarray]:
    """Simulate all episodes side by side; arrays have leading dimensions (N, T). No episode ends early."""
    layout, setup = LocomotionTask.layout, LocomotionTask.setup
    steps, robots = draws.action.shape[:2]
    commands = np.tile(command, (robots, 1))
    home = np.tile(setup.default_pose, (robots, 1))
    simulator.set_domain(draws.domain)
    state = simulator.reset(draws.motion, target=home)
    before = StepMemory(home, state.foot_position_w, np.ones(state.foot_contact.shape, dtype=bool))
    action = np.zeros((robots, home.shape[1]), dtype=np.float32)
    arrays = {
        "observations": np.empty((robots, steps, layout.size), dtype=np.float32),
        "next_observations": np.empty((robots, steps, layout.size), dtype=np.float32),
        "actions": np.empty((robots, steps, home.shape[1]), dtype=np.float32),
        "rewards": np.empty((robots, steps), dtype=np.float32),
        "infos/base_position": np.empty((robots, steps, 3), dtype=np.float32),
        "infos/base_quaternion": np.empty((robots, steps, 4), dtype=np.float32),
        "infos/reward_groups": np.empty((robots, steps, 2), dtype=np.float32),
        "infos/fallen": np.empty((robots, steps), dtype=bool),
    }

    def observe(step: int) -> np.ndarray:
        inputs = Inputs(motion=state, previous_action=action.astype(np.float64), command=commands)
        return layout.build(inputs) + draws.noise[step] + draws.bias

    observation = observe(0)
    for step in range(steps):
        action = act(step, observation)
        target = joint_target(action.astype(np.float64), setup)
        pushed = np.flatnonzero(draws.kick[step].any(axis=-1))
        if pushed.size:
            simulator.kick(pushed, draws.kick[step, pushed, :3], draws.kick[step, pushed, 3:])
        state = simulator.step(target)
        arrays["observations"][:, step], arrays["actions"][:, step] = observation, action
        observation = observe(step + 1)
        arrays["next_observations"][:, step] = observation
        arrays["rewards"][:, step] = rewards.tracking_return(state, commands)
        arrays["infos/base_position"][:, step] = state.base_position_w
        arrays["infos/base_quaternion"][:, step] = state.base_quaternion
        arrays["infos/reward_groups"][:, step] = group_rewards(state, target, before, commands)
        arrays["infos/fallen"][:, step] = LocomotionTask.fallen(state)
        before = StepMemory(target, state.foot_position_w, state.foot_contact)
    return arrays
