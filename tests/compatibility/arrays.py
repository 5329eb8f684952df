"""Arrays of files that version 0.1 wrote, and a comparison with those written today."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

FILES = Path(__file__).parent / "files"
"""Dataset, run, bundle, log, calibration and keys that version 0.1 wrote."""
SAMPLES = 6
"""Leading numbers of an array that are recorded beside its hash."""
GOLDEN_FILE = Path(__file__).with_name("golden.json")
"""Hashes of arrays that version 0.1 wrote, and the machine it ran on."""
PACKAGES = ("torch", "numpy", "mujoco", "h5py")


def machine() -> dict[str, str]:
    """Return properties of this machine on which floating-point results depend."""
    processor: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        processor.setdefault(name.strip(), value.strip())
    family = f"family {processor.get('cpu family')} model {processor.get('model')}"
    found = {
        "cpu": f"{processor.get('model name')} {family}",
        "capability": torch.backends.cpu.get_cpu_capability(),
        "libc": " ".join(platform.libc_ver()),
    }
    for name in PACKAGES:
        found[name] = version(name)
    return found


SAME_MACHINE = machine() == json.loads(GOLDEN_FILE.read_text())["machine"]
"""Equal bytes are expected only for the same kind of processor and packages."""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an HDF5 file or a PyTorch checkpoint, by name."""
    if path.suffix == ".h5":
        found: dict[str, np.ndarray] = {}

        def add(name: str, item: h5py.Dataset | h5py.Group) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = np.asarray(item[()])

        with h5py.File(path) as file:
            file.visititems(add)
        return found
    content = torch.load(path, map_location="cpu", weights_only=False)
    return {name: value.numpy() for name, value in _tensors(content, "")}


def _tensors(value: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _tensors(part, f"{name}/{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _tensors(part, f"{name}/{number}")


def describe(array: np.ndarray) -> dict[str, Any]:
    """Return shape, type, hash and leading numbers of an array."""
    described: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype.kind in "fiub":
        described["sha256"] = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        described["samples"] = array.ravel()[:SAMPLES].astype(float).tolist()
    else:
        described["sha256"] = hashlib.sha256(repr(array.tolist()).encode()).hexdigest()
        described["samples"] = []
    return described


def compare_files(path: Path, reference: Path) -> None:
    """Compare all arrays of two files."""
    arrays = read_arrays(path)
    expected = read_arrays(reference)
    assert list(arrays) == list(expected)
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype, name
        if SAME_MACHINE or array.dtype.kind not in "f":
            assert arrays[name].tobytes() == array.tobytes(), f"{path}: {name}"
        else:
            np.testing.assert_allclose(
                arrays[name], array, rtol=1e-2, atol=1e-3, err_msg=f"{path}: {name}"
            )
