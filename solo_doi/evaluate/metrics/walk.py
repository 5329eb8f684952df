"""Walk: measures of every robot that walked under one policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.solo12.rotations import projected_gravity, to_rpy
from solo_doi.tasks.rewards import bell

from .gait import describe_gait
from .intervals import LEAST_TRIALS, interval, middle, resampled, wilson

SETTLED = round(1.0 / CONTROL_DT)
"""Control steps before the gait is measured: the first second, in which robots accelerate."""
GAMMA = 0.99
"""Discount of successor features."""
SLOWEST = 0.05
"""Smallest velocity that power is divided by for energy per metre [m/s]."""
FEATURE_TERMS = (
    "linear_velocity",
    "angular_velocity",
    "gravity",
    "joint_position",
    "joint_velocity",
)
"""Observation terms that successor features have, in order."""
RETURN_WIDTH = 0.3
"""Velocity error at which the reward of a step is 1/e [m/s]."""


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Measures of N robots under one policy, (N,) each unless stated otherwise."""

    reward: np.ndarray
    """Return: mean over the whole episode of exp(-((vx - commanded) / 0.3)^2), in (0, 1]."""
    vx: np.ndarray
    """Mean forward velocity after the first second [m/s]."""
    fallen: np.ndarray
    """True for robots that fell at any time."""
    height_mean: np.ndarray
    """Mean base height [m]."""
    height_std: np.ndarray
    """Standard deviation of the base height over time [m]."""
    clearance: np.ndarray
    """Height of the soles at the top of the swing, mean over feet [m]."""
    frequency: np.ndarray
    """Strides per second [Hz]."""
    diagonal_phase: np.ndarray
    """Largest phase difference within a diagonal pair of feet [cycles]."""
    pair_phase: np.ndarray
    """Phase between both diagonal pairs [cycles]."""
    duty: np.ndarray
    """Share of time that a foot is on the ground, mean over feet."""
    pitch: np.ndarray
    """Mean pitch of the base [degrees]; positive with the nose down."""
    drift: np.ndarray
    """Distance from the line along the first heading at the end of the rollout [m]."""
    yaw_drift: np.ndarray
    """Angle between the first and the last heading [degrees]; counts full turns."""
    power: np.ndarray
    """Mean over time of |torque x velocity|, summed over joints [W]."""
    successor: np.ndarray
    """Successor features (N, 33)."""

    def __len__(self) -> int:
        """Number of robots."""
        return len(self.reward)

    @property
    def counted(self) -> np.ndarray:
        """True for robots that did not fall, (N,); for all robots if all fell."""
        if self.fallen.all():
            return np.ones(len(self), dtype=bool)
        return ~self.fallen

    def averages(self) -> dict[str, float]:
        """Return averages over robots, under their names in metrics.json.

        Gait measures leave out robots that fell, unless all fell.
        """
        vx = float(self.vx.mean())
        power = float(self.power.mean())
        averages = {
            "return": float(self.reward.mean()),
            "vx": vx,
            "power": power,
            "energy": power / max(vx, SLOWEST),
            "falls": int(self.fallen.sum()),
            "fall_share": float(self.fallen.mean()),
            "few_rollouts": len(self) < LEAST_TRIALS,
        }
        for name, average in GAIT_AVERAGES.items():
            averages[name] = float(average(getattr(self, name)[self.counted]))
        return averages

    def intervals(self, expert: Walk) -> dict[str, tuple[float, float]]:
        """Return 95 % intervals of the averages and of the return [% of expert]."""
        # Robots are drawn together with the expert's robots of the same domains, and with their
        # own power and velocity.
        robots = resampled(len(self))
        shares = 100 * self.reward[robots].mean(1) / expert.reward[robots].mean(1)
        energies = self.power[robots].mean(1) / np.maximum(self.vx[robots].mean(1), SLOWEST)
        intervals = {
            "return": interval(self.reward),
            "vx": interval(self.vx),
            "return_pct": middle(shares),
            "energy": middle(energies),
            "fall_share": wilson(int(self.fallen.sum()), len(self)),
        }
        for name, average in GAIT_AVERAGES.items():
            intervals[name] = interval(getattr(self, name)[self.counted], average)
        return intervals


GAIT_AVERAGES: dict[str, Callable[..., np.ndarray]] = {
    "height_mean": np.mean,
    "height_std": np.mean,
    "clearance": np.mean,
    "frequency": np.median,
    "diagonal_phase": np.median,
    "pair_phase": np.median,
    "duty": np.mean,
    "pitch": np.mean,
    "drift": np.mean,
    "yaw_drift": np.mean,
}
"""Average over robots of each gait measure. Median where one stumbling robot is an outlier."""


def measure(recording: Recording, commanded: float) -> Walk:
    """Measure rollouts under a forward velocity command [m/s]."""
    forward = recording.linear_velocity_b[..., 0]
    height = recording.position_w[SETTLED:, :, 2]
    gait = describe_gait(
        recording.foot_position_w[SETTLED:, ..., 2], recording.foot_contact[SETTLED:]
    )
    _, pitch, yaw = to_rpy(recording.quaternion)
    return Walk(
        reward=bell(forward - commanded, RETURN_WIDTH).mean(0),
        vx=forward[SETTLED:].mean(0),
        fallen=recording.ever_fallen,
        height_mean=height.mean(0),
        height_std=height.std(0),
        clearance=gait.clearance.mean(-1),
        frequency=gait.frequency,
        diagonal_phase=gait.diagonal_phase,
        pair_phase=gait.pair_phase,
        duty=gait.duty.mean(-1),
        pitch=np.degrees(pitch[SETTLED:].mean(0)),
        drift=sideways_drift(recording.position_w, yaw[0]),
        yaw_drift=np.degrees(turned(yaw)),
        power=np.abs(recording.torque * recording.joint_velocity).sum(-1).mean(0),
        successor=successor_features(recording),
    )


def sideways_drift(position_w: np.ndarray, heading: np.ndarray) -> np.ndarray:
    """Return the final distance from the line along the first heading [m], (N,).

    Args:
        position_w: Positions of the base [m], (T, N, 3).
        heading: Yaw of the base at the first step [rad], (N,).
    """
    moved = position_w[-1] - position_w[0]
    return np.abs(np.cos(heading) * moved[:, 1] - np.sin(heading) * moved[:, 0])


def turned(yaw: np.ndarray) -> np.ndarray:
    """Return the angle between the first and the last heading [rad], (N,), from yaws (T, N)."""
    continuous = np.unwrap(yaw, axis=0)
    return np.abs(continuous[-1] - continuous[0])


def successor_features(recording: Recording) -> np.ndarray:
    """Return (1 - gamma) sum_t gamma^t phi(s_t) / (1 - gamma^T) of every robot, (N, 33).

    phi: terms in the order of `FEATURE_TERMS`, joint positions absolute.
    True values: the observation without noise, previous action and command.
    """
    features = np.concatenate(
        [
            recording.linear_velocity_b,
            recording.angular_velocity_b,
            projected_gravity(recording.quaternion),
            recording.joint_position,
            recording.joint_velocity,
        ],
        axis=-1,
    )
    return discounted_mean(features)


def discounted_mean(features: np.ndarray) -> np.ndarray:
    """Return the mean over time, the first axis, with weights gamma^t."""
    weights = GAMMA ** np.arange(len(features))
    return np.einsum("t,t...->...", weights / weights.sum(), features)
