"""Test vectors of a bundle: observations, and the actions of the policy at export."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import numpy as np

TYPES = {"observation": np.float32, "skill": np.int64, "action": np.float32}


@dataclass(frozen=True)
class TestVectors:
    """Inputs of the graph and the expected actions, V of each."""

    __test__ = False  # pytest would take the class for a test

    observation: np.ndarray  # (V, observation)
    skill: np.ndarray  # (V,)
    action: np.ndarray  # (V, 12)

    def encode(self) -> str:
        """Return JSON that keeps every bit."""
        content = {}
        for name, array in vars(self).items():
            data = base64.b64encode(array.tobytes()).decode()
            content[name] = {"shape": array.shape, "data": data}
        return json.dumps(content)

    @classmethod
    def decode(cls, text: str) -> TestVectors:
        """Read the result of `encode`."""
        content = json.loads(text)
        arrays = {}
        for name, kind in TYPES.items():
            data = base64.b64decode(content[name]["data"])
            arrays[name] = np.frombuffer(data, kind).reshape(content[name]["shape"])
        return cls(**arrays)
