"""Rollouts for learning: one block of (steps, robots) per iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.tasks.features import FeatureSet
from solo_doi.tasks.task import Task

from .networks import GaussianPolicy, Normaliser


@dataclass
class Rollout:
    """Tensors of one iteration, overwritten by the next; leading dimensions (steps, robots)."""

    raw: Tensor  # observation as the task gives it
    observation: Tensor  # normalised
    final: Tensor  # normalised observation after each step, before any reset
    action: Tensor
    log_prob: Tensor
    mean: Tensor
    reward: Tensor
    score: Tensor  # tracking of the command, in (0, 1]
    features: Tensor
    age: Tensor  # control steps since the episode began, before the step
    free: Tensor  # True where the episode allows skills to differ
    fallen: Tensor  # 1 where the episode ended by a fall
    ended: Tensor  # 1 where the episode ended for any reason

    @classmethod
    def empty(cls, steps: int, robots: int, task: type[Task], features: FeatureSet) -> Rollout:
        """Allocate the tensors, which every iteration overwrites."""
        lead = (steps, robots)
        observations = task.layout.size
        return cls(
            raw=torch.empty(*lead, observations),
            observation=torch.empty(*lead, observations),
            final=torch.empty(*lead, observations),
            action=torch.empty(*lead, NUM_JOINTS),
            log_prob=torch.empty(lead),
            mean=torch.empty(*lead, NUM_JOINTS),
            reward=torch.empty(*lead, len(task.reward_groups)),
            score=torch.empty(lead),
            features=torch.empty(*lead, len(features.names)),
            age=torch.zeros(lead, dtype=torch.int64),
            free=torch.ones(lead, dtype=torch.bool),
            fallen=torch.empty(lead),
            ended=torch.empty(lead),
        )


@torch.inference_mode()
def collect_rollout(
    rollout: Rollout,
    observation: np.ndarray,
    task: Task,
    features: FeatureSet,
    policy: GaussianPolicy,
    normaliser: Normaliser,
    skill: Tensor,
    generator: torch.Generator,
) -> np.ndarray:
    """Fill `rollout` with stochastic actions from `observation` on; return the last observation."""
    std = policy.log_std.exp()
    for t in range(len(rollout.raw)):
        rollout.raw[t] = torch.from_numpy(observation)
        rollout.observation[t] = normaliser(rollout.raw[t])
        mean = policy(rollout.observation[t], skill)
        action = mean + std * torch.randn(mean.shape, generator=generator)
        rollout.mean[t] = mean
        rollout.action[t] = action
        rollout.log_prob[t] = policy.log_prob(mean, action)
        rollout.age[t] = torch.from_numpy(task.age)
        rollout.free[t] = torch.from_numpy(task.free())
        step = task.step(action.numpy().astype(np.float64))
        rollout.final[t] = normaliser(torch.from_numpy(step.final_observation))
        rollout.reward[t] = torch.from_numpy(step.reward)
        rollout.score[t] = torch.from_numpy(step.score)
        rollout.features[t] = torch.from_numpy(features.compute(step.state))
        rollout.fallen[t] = torch.from_numpy(step.fallen)
        rollout.ended[t] = torch.from_numpy(step.fallen | step.timed_out)
        observation = step.observation
    return observation
