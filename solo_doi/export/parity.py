"""Parity of graph and policy: both must give the same actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import VECTOR_TOLERANCE
from solo_doi.policies.bundle.vectors import TestVectors
from solo_doi.sim import SimConfig
from solo_doi.tasks import task_type

from .contract_builder import ExportedPolicy, observation_statistics

RANDOM_INPUTS = 1000
RECORDED_STEPS = 100
KEPT_VECTORS = 32
"""Smallest number of recorded and of random inputs that become test vectors."""


@dataclass(frozen=True)
class GraphInputs:
    """Inputs of a graph, B rows."""

    observation: np.ndarray  # (B, observation)
    skill: np.ndarray  # (B,)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.skill)


def check_parity(
    model: onnx.ModelProto, policy: ExportedPolicy, task: str
) -> tuple[TestVectors, dict[str, Any]]:
    """Compare the actions of graph and policy.

    Returns:
        Test vectors, and the record of the comparison for the bundle.

    Raises:
        SoloError: The actions differ by more than the tolerance.
    """
    recorded = recorded_inputs(policy, task)
    random = random_inputs(policy)
    observation = np.concatenate([recorded.observation, random.observation])
    skill = np.concatenate([recorded.skill, random.skill])
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    action, _ = session.run(None, {"observation": observation, "skill": skill})
    with np.errstate(all="ignore"):  # overflow leads to a difference that is refused below
        difference = float(np.abs(action - policy.mean_action(observation, skill)).max())
    if not difference <= VECTOR_TOLERANCE:
        raise SoloError(
            f"The graph differs from the policy by {difference:.1e}, "
            f"allowed is {VECTOR_TOLERANCE:.0e}."
        )
    count = max(KEPT_VECTORS, policy.num_skills)  # every skill is among the vectors
    rows = np.r_[0 : min(count, len(recorded)), len(recorded) : len(recorded) + count]
    record = {
        "recorded": len(recorded),
        "random": len(random),
        "largest_difference": difference,
    }
    return TestVectors(observation[rows], skill[rows], action[rows]), record


def random_inputs(policy: ExportedPolicy) -> GraphInputs:
    """Return random observations of twice the deviation of training, with all skills in turn."""
    mean, std = observation_statistics(policy)
    noise = np.random.default_rng(0).standard_normal((RANDOM_INPUTS, len(mean)))
    observation = (mean + 2 * std * noise).astype(np.float32)
    return GraphInputs(observation, np.arange(RANDOM_INPUTS) % policy.num_skills)


def recorded_inputs(policy: ExportedPolicy, task: str) -> GraphInputs:
    """Return the observations of every skill at its task in simulation."""
    skills = np.arange(policy.num_skills)
    declared = task_type(task)
    simulator = declared.make_simulator("mujoco", SimConfig(num_robots=policy.num_skills))
    options = declared.config_type(randomisation="paper", early_end=False)
    walk = declared(simulator, options, np.random.default_rng(0))
    observations = [walk.observe()]
    with np.errstate(all="ignore"):  # a policy that overflows is refused when it is compared
        for _ in range(RECORDED_STEPS - 1):
            action = np.nan_to_num(policy.mean_action(observations[-1], skills))
            step = walk.step(np.clip(action, -100.0, 100.0).astype(np.float64))
            observations.append(step.observation)
    return GraphInputs(np.concatenate(observations), np.tile(skills, RECORDED_STEPS))
