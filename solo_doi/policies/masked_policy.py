"""DOMiNiC policy in numpy: one network, one mask per skill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solo_doi.common.errors import SoloError

Float32 = NDArray[np.float32]
NORMALISER_FLOOR = 0.01
"""Added to the deviation of every observation [DOMiNiC], so that constant inputs stay finite."""


def elu(x: Float32) -> Float32:
    """Return x if x > 0, else exp(x) - 1."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


@dataclass(frozen=True, kw_only=True)
class MaskedPolicy:
    """Two hidden layers, a head and masks.

    Masks are real numbers: the official run trained them.
    """

    mean: Float32  # (observations,) of the normaliser
    std: Float32  # (observations,)
    weights: tuple[Float32, Float32, Float32]  # (out, in) each
    biases: tuple[Float32, Float32, Float32]
    masks: tuple[Float32, Float32]  # (skills, hidden) each
    log_std: Float32  # (actions,)

    @property
    def num_skills(self) -> int:
        """Number of skills."""
        return len(self.masks[0])

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return len(self.mean)

    def mean_action(self, observation: Float32, skill: int | NDArray[np.integer]) -> Float32:
        """Return deterministic raw actions (..., 12) of observations (..., observations)."""
        if observation.shape[-1] != self.observation_size:
            raise SoloError(
                f"The policy takes observations of {self.observation_size} numbers, found "
                f"{observation.shape[-1]}: it was trained for another task."
            )
        if np.any(np.asarray(skill) < 0) or np.any(np.asarray(skill) >= self.num_skills):
            raise SoloError(
                f"Skill {skill} does not exist: the policy has skills 0 to {self.num_skills - 1}."
            )
        x: Float32 = (observation - self.mean) / (self.std + np.float32(NORMALISER_FLOOR))
        for layer in range(2):
            x = elu(x @ self.weights[layer].T + self.biases[layer]) * self.masks[layer][skill]
        return x @ self.weights[2].T + self.biases[2]

    def sample_action(
        self, observation: Float32, skill: int | NDArray[np.integer], noise: Float32
    ) -> Float32:
        """Return the mean plus the deviation times standard normal `noise` (..., 12)."""
        deviation = np.exp(self.log_std) * noise
        return self.mean_action(observation, skill) + deviation.astype(np.float32, copy=False)
