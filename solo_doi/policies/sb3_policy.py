"""Policies of Stable-Baselines3: zip archives of SAC and TQC agents.

`policy.pth` in the archive is a dictionary of tensors. The actor is `actor.latent_pi` with
`actor.mu` behind it. Files of `VecNormalize`, which are pickles beside the archive, are not read.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from .bounded_zip import MAX_BYTES, check_inner, read_members
from .mlp_policy import Activation, MlpPolicy, PolicyFileError

WEIGHTS_FILE = "policy.pth"
SETTINGS_FILE = "data"
SB3_EXPECTED = "an agent of Stable-Baselines3: SAC or TQC, a .zip file with policy.pth"
MAX_NUMBERS = MAX_BYTES // 4
"""Largest number of weights in a tensor."""


def read_sb3_policy(path: Path) -> MlpPolicy:
    """Read the actor of an archive. No code in it is executed."""
    members = read_members(path, SB3_EXPECTED)
    if WEIGHTS_FILE not in members:
        raise PolicyFileError(f"{path}: has no {WEIGHTS_FILE}. Expected {SB3_EXPECTED}.")
    tensors = _tensors(path, members[WEIGHTS_FILE])
    layers = [*_hidden_layers(tensors), "actor.mu"]
    names = [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]
    missing = [name for name in names if name not in tensors]
    if missing or len(layers) == 1:
        found = sorted({name.split(".")[0] for name in tensors})
        raise PolicyFileError(
            f"{path}: {WEIGHTS_FILE} lacks {missing or ['actor.latent_pi']}, found parts {found}. "
            f"Expected {SB3_EXPECTED}; agents of other algorithms or with gSDE are not supported."
        )
    arrays = {name: _array(path, name, tensors[name]) for name in names}
    first = arrays[names[0]]
    inputs = first.shape[-1] if first.ndim else 0
    try:
        return MlpPolicy(
            mean=np.zeros(inputs, dtype=np.float32),
            std=np.ones(inputs, dtype=np.float32),
            weights=tuple(arrays[f"{layer}.weight"] for layer in layers),
            biases=tuple(arrays[f"{layer}.bias"] for layer in layers),
            hidden=_activation(path, members.get(SETTINGS_FILE, b"{}")),
            output="tanh",
        )
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _tensors(path: Path, content: bytes) -> Mapping[str, object]:
    check_inner(path, WEIGHTS_FILE, content, SB3_EXPECTED)
    try:
        found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes raise KeyError, struct.error and more
        # PyTorch's own message advises to read the file unsafely, so it is not quoted.
        raise PolicyFileError(
            f"{path}: {WEIGHTS_FILE} cannot be read safely. Expected tensors alone, written by "
            "torch.save; download or export it again."
        ) from error
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise PolicyFileError(
            f"{path}: {WEIGHTS_FILE} holds a {type(found).__name__}, expected tensors by name."
        )
    return found


def _hidden_layers(tensors: Mapping[str, object]) -> list[str]:
    """Return the names of the actor's hidden layers, in order."""
    numbers = []
    for name in tensors:
        match = re.fullmatch(r"actor\.latent_pi\.(\d{1,3})\.weight", name)
        if match:
            numbers.append(int(match[1]))
    return [f"actor.latent_pi.{number}" for number in sorted(numbers)]


def _array(path: Path, name: str, tensor: object) -> np.ndarray:
    if not isinstance(tensor, torch.Tensor):
        raise PolicyFileError(f"{path}: {name} is a {type(tensor).__name__}, expected a tensor.")
    # A tensor can repeat its numbers, and have a size without memory behind it.
    if tensor.numel() > MAX_NUMBERS or tensor.device.type != "cpu":
        raise PolicyFileError(
            f"{path}: {name} has shape {tuple(tensor.shape)}, expected at most {MAX_NUMBERS} "
            "numbers."
        )
    return tensor.detach().to(torch.float32).numpy()


def _activation(path: Path, content: bytes) -> Activation:
    """Return the function of hidden layers, from the settings of the agent; ReLU by default."""
    try:
        settings = json.loads(content)
        chosen = str(settings.get("policy_kwargs", {}).get("activation_fn", "ReLU"))
    except (ValueError, AttributeError, RecursionError) as error:
        raise PolicyFileError(
            f"{path}: {SETTINGS_FILE} is not the settings of an agent. Expected {SB3_EXPECTED}."
        ) from error
    for name, activation in {"ReLU": "relu", "Tanh": "tanh"}.items():
        if re.search(rf"\b{name}\b", chosen):
            return activation  # type: ignore[return-value]  # one of the two words
    raise PolicyFileError(
        f"{path}: hidden layers have the function {chosen!r}, expected ReLU or Tanh."
    )
