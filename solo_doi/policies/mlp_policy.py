"""Plain network of other projects as a policy, in numpy: the expert of a Gym task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from solo_doi.common.errors import SoloError

from .masked_policy import Float32

Activation = Literal["relu", "tanh"]
Output = Literal["tanh", "clip"]
INPUT_FLOOR = 1e-6
"""Added to the deviation of every observation."""


class PolicyFileError(SoloError):
    """A file that holds no policy, or one that cannot be read safely."""


def _relu(x: Float32) -> Float32:
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Float32], Float32]] = {"relu": _relu, "tanh": np.tanh}
OUTPUTS: dict[str, Callable[[Float32], Float32]] = {
    "tanh": np.tanh,
    "clip": lambda x: np.clip(x, -1, 1),
}


@dataclass(frozen=True, kw_only=True)
class MlpPolicy:
    """Network with any number of hidden layers. Its actions are in [-1, 1]. It has one skill."""

    mean: Float32  # (observation,) of the normaliser
    std: Float32  # (observation,)
    weights: tuple[Float32, ...]  # (out, in) each
    biases: tuple[Float32, ...]
    hidden: Activation
    """Function after hidden layers."""
    output: Output
    """Function that keeps actions in range."""

    def __post_init__(self) -> None:
        """Refuse layers that do not fit each other, and numbers that are not finite."""
        size = len(self.mean)
        arrays: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {"std": (self.std, (size,))}
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            outputs = len(np.atleast_1d(bias))
            arrays[f"weight of layer {number}"] = (weight, (outputs, size))
            arrays[f"bias of layer {number}"] = (bias, (outputs,))
            size = outputs
        for name, (array, expected) in {"mean": (self.mean, self.mean.shape), **arrays}.items():
            if array.shape != expected:
                raise PolicyFileError(f"{name} has shape {array.shape}, expected {expected}.")
            if not np.isfinite(array).all():
                raise PolicyFileError(f"{name} contains NaN or infinity.")

    @property
    def num_skills(self) -> int:
        """Number of skills: one."""
        return 1

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return len(self.mean)

    @property
    def action_size(self) -> int:
        """Length of an action."""
        return len(self.biases[-1])

    def without_inputs(self, dropped: slice) -> Self:
        """Return the policy of shorter observations, which lack numbers that are always zero."""
        first = self.weights[0] / (self.std + np.float32(INPUT_FLOOR))
        shift = first[:, dropped] @ self.mean[dropped]
        return replace(
            self,
            mean=np.delete(self.mean, dropped),
            std=np.delete(self.std, dropped),
            weights=(np.delete(self.weights[0], dropped, axis=1), *self.weights[1:]),
            biases=(self.biases[0] - shift, *self.biases[1:]),
        )

    def mean_action(self, observation: Float32, skill: int | np.ndarray = 0) -> Float32:
        """Return deterministic actions (..., action) of raw observations (..., observation)."""
        if observation.shape[-1] != self.observation_size:
            raise SoloError(
                f"The policy takes observations of {self.observation_size} numbers, found "
                f"{observation.shape[-1]}: it was trained for another task."
            )
        if np.any(np.asarray(skill) != 0):
            raise SoloError(f"Skill {skill} does not exist: the policy has skill 0 alone.")
        x: Float32 = (observation - self.mean) / (self.std + np.float32(INPUT_FLOOR))
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = ACTIVATIONS[self.hidden](x @ weight.T + bias)
        raw = x @ self.weights[-1].T + self.biases[-1]
        return OUTPUTS[self.output](raw).astype(np.float32, copy=False)

    def sample_action(
        self, observation: Float32, skill: int | np.ndarray, noise: Float32
    ) -> Float32:
        """Refuse: the policies of other projects act without exploration here."""
        raise SoloError("A policy of another project has no exploration noise: use its mean.")
