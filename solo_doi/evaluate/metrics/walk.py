"""What one policy's rollouts look like in numbers, robot by robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.tasks.rewards import bell

from .gait import describe_gait

SETTLED = round(1.0 / CONTROL_DT)
"""Control steps left out of averages of the gait: the first second, in which the robot gets going."""
GAMMA = 0.99
"""Discount of successor features."""
SLOWEST = 0.05
"""Velocity below which energy per metre is not divided further [m/s]."""
RETURN_WIDTH = 0.3
"""Velocity error at which the reward of a step has fallen to 1/e [m/s]."""


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Measures of N robots under one policy, (N,) each unless said."""

    reward: np.ndarray
    """Return: mean over the whole episode of exp(-((vx - commanded) / 0.3)^2), in (0, 1]."""
    vx: np.ndarray
    """Mean forward velocity once settled [m/s]."""
    fallen: np.ndarray
    height_mean: np.ndarray
    height_std: np.ndarray
    """Standard deviation of the base height over time [m]."""
    clearance: np.ndarray
    """Height of the soles at the top of the swing, mean of the feet [m]."""
    frequency: np.ndarray
    diagonal_phase: np.ndarray
    pair_phase: np.ndarray
    power: np.ndarray
    """Mean of |torque x velocity| over all joints [W]."""
    successor: np.ndarray
    """Successor features (N, 33)."""

    def __len__(self) -> int:
        """Number of robots."""
        return len(self.reward)

    @property
    def counted(self) -> np.ndarray:
        """Robots whose gait counts, (N,): those on their feet, or all if none is."""
        return ~self.fallen if not self.fallen.all() else np.ones(len(self), dtype=bool)

    def means(self) -> dict[str, float]:
        """Averages over robots; over those on their feet for the gait, unless none is. Phases: medians."""
        up = self.counted
        gait = {name: float(average(getattr(self, name)[up])) for name, average in AVERAGES.items()}
        whole = {
            "return": float(self.reward.mean()),
            "vx": float(self.vx.mean()),
            "power": float(self.power.mean()),
        }
        whole["energy"] = whole["power"] / max(whole["vx"], SLOWEST)
        return {**whole, "falls": int(self.fallen.sum()), **gait}

    def intervals(self, expert: Walk) -> dict[str, tuple[float, float]]:
        """95 % intervals of these averages over the same robots; of the return as a share of the expert's, in pairs."""
        whole = {"return": interval(self.reward), "vx": interval(self.vx)}
        gait = {
            name: interval(getattr(self, name)[self.counted], average)
            for name, average in AVERAGES.items()
        }
        robots = resampled(
            len(self)
        )  # a robot's own power and velocity, in the domain it shares with the expert
        shares = 100 * self.reward[robots].mean(1) / expert.reward[robots].mean(1)
        energies = self.power[robots].mean(1) / np.maximum(self.vx[robots].mean(1), SLOWEST)
        return whole | {"return_pct": middle(shares), "energy": middle(energies)} | gait


AVERAGES: dict[str, Callable[..., np.ndarray]] = {
    "height_mean": np.mean, "height_std": np.mean, "clearance": np.mean,
    "frequency": np.median, "diagonal_phase": np.median, "pair_phase": np.median,
}  # fmt: skip
"""How measures of the gait are averaged over robots: where one that stumbles is far off all others, by the median."""


def measure(recording: Recording, commanded: float) -> Walk:
    """Measure rollouts under a forward command [m/s]."""
    forward = recording.linear_velocity_b[..., 0]
    settled = recording.position_w[SETTLED:, :, 2]
    gait = describe_gait(
        recording.foot_position_w[SETTLED:, ..., 2], recording.foot_contact[SETTLED:]
    )
    return Walk(
        reward=bell(forward - commanded, RETURN_WIDTH).mean(0),
        vx=forward[SETTLED:].mean(0),
        fallen=recording.ever_fallen,
        height_mean=settled.mean(0),
        height_std=settled.std(0),
        clearance=gait.clearance.mean(-1),
        frequency=gait.frequency,
        diagonal_phase=gait.diagonal_phase,
        pair_phase=gait.pair_phase,
        power=np.abs(recording.torque * recording.joint_velocity).sum(-1).mean(0),
        successor=successor_features(recording),
    )


def successor_features(recording: Recording) -> np.ndarray:
    """(1 - gamma) sum_t gamma^t phi(s_t) / (1 - gamma^T) of every robot, (N, 33).

    phi: linear and angular velocity and gravity in the base frame, joint positions and velocities, as they truly
    were: the observation without noise, previous action and command.
    """
    features = np.concatenate([
        recording.linear_velocity_b, recording.angular_velocity_b, projected_gravity(recording.quaternion),
        recording.joint_position, recording.joint_velocity,
    ], axis=-1)  # fmt: skip
    weights = GAMMA ** np.arange(len(features))
    return np.einsum("t,tnf->nf", weights / weights.sum(), features)


def interval(
    values: np.ndarray,
    average: Callable[..., np.ndarray] = np.mean,
    seed: int = 0,
    resamples: int = 2000,
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean, or another average, over robots."""
    return middle(average(values[resampled(len(values), seed, resamples)], axis=1))


def resampled(count: int, seed: int = 0, resamples: int = 2000) -> np.ndarray:
    """Return numbers of robots, drawn anew with replacement, (resamples, count)."""
    return np.random.default_rng(seed).integers(0, count, (resamples, count))


def middle(values: np.ndarray) -> tuple[float, float]:
    """Where the middle 95 % of values begin and end."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
