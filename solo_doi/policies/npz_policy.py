"""Policies as plain arrays: `.npz` files of NumPy.

Arrays of a network with two hidden layers: `obs_mean`, `obs_std`, `w0` (in, out), `b0`, `w1`, `b1`,
`w_out`, `b_out`. The texts `hidden` (tanh or relu) and `output` (clip or tanh) are optional. Other
arrays are ignored.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .bounded_zip import MAX_BYTES, read_members
from .mlp_policy import ACTIVATIONS, OUTPUTS, MlpPolicy, PolicyFileError

NPZ_EXPECTED = "a .npz policy with obs_mean, obs_std, w0, b0, w1, b1, w_out and b_out"


def read_npz_policy(path: Path) -> MlpPolicy:
    """Read a policy. Arrays of Python objects, which are pickles, are refused."""
    members = read_members(path, NPZ_EXPECTED)
    arrays = {}
    for name, content in members.items():
        arrays[name.removesuffix(".npy")] = _array(path, name, content)
    layers = [name for name in ("w0", "w1", "w2", "w3") if name in arrays] + ["w_out"]
    needed = ["obs_mean", "obs_std"]
    for name in layers:
        needed += [name, name.replace("w", "b")]
    missing = [name for name in needed if name not in arrays]
    if missing or "w0" not in arrays:
        raise PolicyFileError(
            f"{path}: lacks {missing or ['w0']}, found {sorted(arrays)}. Expected {NPZ_EXPECTED}."
        )
    numbers = {name: _numbers(path, name, arrays[name]) for name in needed}
    try:
        return MlpPolicy(
            mean=numbers["obs_mean"].reshape(-1),
            std=numbers["obs_std"].reshape(-1),
            weights=tuple(np.ascontiguousarray(numbers[name].T) for name in layers),
            biases=tuple(numbers[name.replace("w", "b")].reshape(-1) for name in layers),
            hidden=_word(path, arrays, "hidden", "tanh", ACTIVATIONS),
            output=_word(path, arrays, "output", "clip", OUTPUTS),
        )
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _array(path: Path, name: str, content: bytes) -> np.ndarray:
    """Read an array whose header agrees with the number of bytes that follow it."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read_header = np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        count = 1
        for size in shape:
            count *= size
        if dtype.hasobject:
            raise PolicyFileError(
                f"{path}: {name} holds Python objects, a pickle. Pickles are never opened: they "
                "can run any code. Store plain arrays of numbers."
            )
        if count * dtype.itemsize != len(content) - stream.tell() or len(content) > MAX_BYTES:
            raise ValueError("its size is not that of its header")
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)
    except PolicyFileError:
        raise
    except Exception as error:  # damaged headers raise many types
        raise PolicyFileError(
            f"{path}: {name} is not a readable array. Expected {NPZ_EXPECTED}."
        ) from error


def _numbers(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "fiu":
        raise PolicyFileError(f"{path}: {name} is of type {array.dtype}, expected numbers.")
    return array.astype(np.float32)


def _word(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    name: str,
    otherwise: str,
    known: Mapping[str, object],
) -> Any:  # noqa: ANN401  # a word of `known`, which are those of the policy's own types
    word = str(arrays[name]) if name in arrays else otherwise
    if word not in known:
        raise PolicyFileError(f"{path}: {name} is {word!r}, expected {' or '.join(known)}.")
    return word
