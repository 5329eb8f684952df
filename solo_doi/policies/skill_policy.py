"""Skill policy in numpy: the result of solo-train."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason, write_hdf5
from solo_doi.common.untrusted import open_hdf5

from .masked_policy import Float32

POLICY_VERSION = 1
"""Version of the file format."""
CLIPPED_VERSION = 2
"""Version of files with `input_clip`: an older program would leave the clip out."""


@dataclass(frozen=True, kw_only=True)
class SkillPolicy:
    """Two hidden ReLU layers.

    Every skill has its own bias in the first. Actions stay in the data's range.
    """

    state_mean: Float32
    state_std: Float32
    first: Float32  # (hidden, observation)
    skill: Float32  # (skills, hidden)
    second: Float32  # (hidden, hidden)
    second_bias: Float32
    head: Float32  # (action, hidden)
    head_bias: Float32
    action_mean: Float32
    action_std: Float32
    squashed: bool = False
    """True if a tanh keeps actions in range, False if a clip does."""
    input_clip: float = 0.0
    """Largest absolute value of a normalised input; larger ones are clipped. 0: no limit."""

    @property
    def num_skills(self) -> int:
        """Number of skills."""
        return len(self.skill)

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return len(self.state_mean)

    def mean_action(self, observation: Float32, skill: int | np.ndarray) -> Float32:
        """Return deterministic raw actions (..., 12) of raw observations (..., observation)."""
        if observation.shape[-1] != self.observation_size:
            raise SoloError(
                f"The policy takes {self.observation_size} numbers, found {observation.shape[-1]}."
            )
        if np.any(np.asarray(skill) < 0) or np.any(np.asarray(skill) >= self.num_skills):
            raise SoloError(
                f"Skill {skill} does not exist: the policy has skills 0 to {self.num_skills - 1}."
            )
        x = (observation - self.state_mean) / self.state_std
        if self.input_clip:
            x = np.clip(x, -self.input_clip, self.input_clip)
        x = np.maximum(x @ self.first.T + self.skill[skill], 0)
        x = np.maximum(x @ self.second.T + self.second_bias, 0)
        raw = x @ self.head.T + self.head_bias
        scaled = np.tanh(raw) if self.squashed else np.clip(raw, -1, 1)
        return (scaled * self.action_std + self.action_mean).astype(np.float32, copy=False)

    def write(self, path: Path) -> None:
        """Write one small HDF5 file."""
        arrays = dict(vars(self))
        version = CLIPPED_VERSION
        if not self.input_clip:
            del arrays["input_clip"]
            version = POLICY_VERSION
        write_hdf5(path, arrays, {"version": version})

    @classmethod
    def read(cls, path: Path) -> SkillPolicy:
        """Read a file of `write`."""
        try:
            with open_hdf5(path) as file:
                version = file.attrs.get("version")
                if version not in (POLICY_VERSION, CLIPPED_VERSION):
                    raise SoloError(
                        f"{path}: version {version}, this program reads {POLICY_VERSION} and "
                        f"{CLIPPED_VERSION}."
                    )
                names = {field.name for field in fields(cls)}
                if version == POLICY_VERSION:
                    names.remove("input_clip")
                return cls(**{name: file[name][()] for name in names})
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise SoloError(
                f"{path}: not a skill policy ({reason(error)}). "
                "Expected policy.h5 of a run of solo-train."
            ) from error
