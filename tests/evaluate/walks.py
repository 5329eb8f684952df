"""Walks, policies and evaluations made up by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.metrics.walk import Walk
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.evaluate.skill_evaluation import Policy

from .recordings import walking

FEATURES = 33
MAPPED = 5
"""Rollouts of the expert on the map that replaces UMAP."""


def made_up_walk(
    robots: int = 8,
    *,
    spread: float = 0.001,
    seed: int = 0,
    successor: np.ndarray | None = None,
    fallen: np.ndarray | None = None,
    **means: float,
) -> Walk:
    """Return robots that walk well.

    Measures given by name get these means, with noise of a standard deviation `spread`.
    """
    rng = np.random.default_rng(seed)
    usual = {
        "reward": 0.9,
        "vx": 1.0,
        "height_mean": 0.25,
        "height_std": 0.004,
        "clearance": 0.05,
        "frequency": 3.0,
    }
    usual |= {"diagonal_phase": 0.0, "pair_phase": 0.5, "power": 20.0}
    usual |= {"duty": 0.5, "pitch": 0.0, "drift": 0.3, "yaw_drift": 5.0}
    return Walk(
        successor=rng.normal(size=(robots, FEATURES)) if successor is None else successor,
        fallen=np.zeros(robots, dtype=bool) if fallen is None else fallen,
        **{name: mean + spread * rng.normal(size=robots) for name, mean in (usual | means).items()},
    )


def assert_same_walk(one: Walk, other: Walk) -> None:
    """Check that every measure of every robot is equal to the last bit."""
    for field in fields(Walk):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


class MadeUpPolicy:
    """Policy with one constant action per skill, for any observation."""

    def __init__(self, *actions: float) -> None:
        """Take the action of all joints for each skill."""
        self.actions = actions
        self.seen: list[np.ndarray] = []

    @property
    def num_skills(self) -> int:
        """Number of skills."""
        return len(self.actions)

    def mean_action(self, observation: np.ndarray, skill: int) -> np.ndarray:
        """Return the constant action of the skill."""
        self.seen.append(observation)
        return np.full((len(observation), 12), self.actions[skill], dtype=np.float32)


class RollOuts:
    """Stand-in for the simulator: every skill trots at another height. Records the requests."""

    def __init__(self) -> None:
        """Start without requests."""
        self.asked: list[tuple[int, str, str, int]] = []
        self.estimated: list[bool] = []

    @property
    def measured(self) -> list[tuple[int, str, str, int]]:
        """Requests except those for the map, which runs share."""
        return [asked for asked in self.asked if asked[-1] != MAPPED]

    def __call__(
        self,
        policy: Policy,
        skill: int,
        config: EvalConfig,
        sim: str = "",
        randomisation: str = "",
        robots: int = 0,
        *,
        estimator: bool = False,
    ) -> Recording:
        """Return a recording with a little noise, equal for equal requests."""
        sim, randomisation = sim or config.sim, randomisation or config.randomisation
        robots = robots or config.episodes
        self.asked.append((skill, sim, randomisation, robots))
        self.estimated.append(estimator)
        rng = np.random.default_rng([config.seed, skill, robots])
        recording = walking("trot", config.steps, robots)
        recording.position_w[..., 2] += 0.03 * skill + 0.001 * rng.normal(size=robots)
        recording.linear_velocity_b[..., 0] += 0.05 * rng.normal(size=robots)
        recording.joint_position[:] += 0.1 * skill + 0.01 * rng.normal(size=(1, robots, 12))
        return recording


Patch = Callable[[str, object], None]


def stand_in(patch: Patch) -> RollOuts:
    """Replace rollouts in all modules that make them."""
    roll_outs = RollOuts()
    for module in ("skill_evaluation", "selection", "write_evaluation", "policy_divergence"):
        patch(f"solo_doi.evaluate.{module}.roll_out", roll_outs)
    return roll_outs
