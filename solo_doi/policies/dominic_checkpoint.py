"""DOMiNiC checkpoints in the official format, `model_<iteration>.pt`.

A file holds one dictionary written by `torch.save`. A policy needs `policy_state_dict` and
`obs_norm_state_dict`; everything else (values, optimisers, multipliers) is optional and ignored.
Hidden sizes, observation size and number of skills follow from the shapes. The format is the same
for the position task (171 numbers, 256-128, 8 skills), the older velocity task (48 numbers,
512-256) and our own checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason, write_torch
from solo_doi.solo12.constants import NUM_JOINTS

from .masked_policy import Float32, MaskedPolicy

LAYERS = ("policy_latent_layers.0", "policy_latent_layers.2", "action_mean_net")
MASKS = ("masks.0", "masks.1")
NORMALISER = ("_mean", "_var", "_std")
POLICY_KEYS = {
    "log_std",
    *MASKS,
    *(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias")),
}


class CheckpointError(SoloError):
    """A file that is not a DOMiNiC checkpoint, or an incomplete one."""


def read_policy(path: Path) -> MaskedPolicy:
    """Read the policy of a checkpoint. No code in the file is executed."""
    content = _load(path)
    policy = _part(path, content, "policy_state_dict")
    normaliser = _part(path, content, "obs_norm_state_dict")
    _check_keys(path, "policy_state_dict", set(policy), POLICY_KEYS)
    _check_keys(path, "obs_norm_state_dict", set(normaliser), set(NORMALISER))
    arrays = {key: _array(path, key, value) for key, value in {**policy, **normaliser}.items()}
    first, second, head = LAYERS
    result = MaskedPolicy(
        mean=arrays["_mean"].reshape(-1),
        std=arrays["_std"].reshape(-1),
        weights=(
            arrays[f"{first}.weight"],
            arrays[f"{second}.weight"],
            arrays[f"{head}.weight"],
        ),
        biases=(arrays[f"{first}.bias"], arrays[f"{second}.bias"], arrays[f"{head}.bias"]),
        masks=(arrays[MASKS[0]], arrays[MASKS[1]]),
        log_std=arrays["log_std"],
    )
    _check_shapes(path, result)
    return result


def write_policy(path: Path, policy: MaskedPolicy, **extras: object) -> None:
    """Write a checkpoint that official tools can read, atomically; `extras` become further keys."""
    state = {"log_std": policy.log_std}
    for layer, weight, bias in zip(LAYERS, policy.weights, policy.biases, strict=True):
        state |= {f"{layer}.weight": weight, f"{layer}.bias": bias}
    state |= dict(zip(MASKS, policy.masks, strict=True))
    normaliser = {
        "_mean": policy.mean[None],
        "_var": np.square(policy.std)[None],
        "_std": policy.std[None],
    }
    content = {
        "policy_state_dict": _tensors(state),
        "obs_norm_state_dict": _tensors(normaliser),
        **extras,
    }
    write_torch(path, content)


def _tensors(arrays: Mapping[str, Float32]) -> dict[str, torch.Tensor]:
    return {key: torch.from_numpy(np.array(value)) for key, value in arrays.items()}


def _load(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        found = "a directory" if path.is_dir() else "no such file"
        raise CheckpointError(
            f"{path}: {found}. Expected a DOMiNiC checkpoint such as model_2000.pt."
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes raise KeyError, IndexError, struct.error and more
        # PyTorch's own message advises to read the file unsafely, so it is not quoted.
        why = f" ({reason(error)})" if isinstance(error, OSError) else ""
        raise CheckpointError(
            f"{path}: not a checkpoint that can be read safely{why}. Expected a file written by "
            "torch.save with tensors, numbers and lists only; download or export it again."
        ) from error
    if not isinstance(content, Mapping):
        raise CheckpointError(
            f"{path}: holds a {type(content).__name__}, expected a dictionary with a "
            "policy_state_dict."
        )
    return content


def _part(path: Path, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = content.get(key)
    if not isinstance(part, Mapping):
        raise CheckpointError(
            f"{path}: has no {key!r}, found {sorted(map(str, content))}: not a DOMiNiC checkpoint."
        )
    return part


def _check_keys(path: Path, part: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        missing = sorted(expected - found)
        extra = sorted(map(str, found - expected))
        raise CheckpointError(
            f"{path}: {part} lacks {missing} and has unknown {extra}. Is it from another algorithm?"
        )


def _array(path: Path, key: str, value: object) -> Float32:
    if not isinstance(value, torch.Tensor):
        raise CheckpointError(f"{path}: {key} is a {type(value).__name__}, expected a tensor.")
    array = value.detach().to(torch.float32).numpy()
    if not np.isfinite(array).all():
        raise CheckpointError(f"{path}: {key} contains NaN or infinity: its training had diverged.")
    return array


def _check_shapes(path: Path, policy: MaskedPolicy) -> None:
    """Refuse layers that do not fit each other.

    Sizes are those of the biases and the first mask.
    """
    first = len(np.atleast_1d(policy.biases[0]))
    second = len(np.atleast_1d(policy.biases[1]))
    skills = len(np.atleast_1d(policy.masks[0]))
    head = NUM_JOINTS
    inputs = policy.observation_size
    shapes = {
        f"{LAYERS[0]}.weight": (policy.weights[0], (first, inputs)),
        f"{LAYERS[0]}.bias": (policy.biases[0], (first,)),
        f"{LAYERS[1]}.weight": (policy.weights[1], (second, first)),
        f"{LAYERS[1]}.bias": (policy.biases[1], (second,)),
        f"{LAYERS[2]}.weight": (policy.weights[2], (head, second)),
        f"{LAYERS[2]}.bias": (policy.biases[2], (head,)),
        "log_std": (policy.log_std, (head,)),
        "masks.0": (policy.masks[0], (skills, first)),
        "masks.1": (policy.masks[1], (skills, second)),
        "_std": (policy.std, (inputs,)),
    }
    for key, (array, expected) in shapes.items():
        if array.shape != expected:
            raise CheckpointError(
                f"{path}: {key} has shape {array.shape}, expected {expected} to fit the other "
                "layers."
            )
