"""Shard: one HDF5 file of whole trajectories, written atomically and read by memory map."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import h5py
import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason, write_hdf5
from solo_doi.common.untrusted import UntrustedFileError, check_plain_file, open_hdf5

from .schema import Field

NOT_SUMMED = ("episodes/start", "episodes/crc32")
"""Fields without part in a checksum: a copied trajectory may start at another row."""


class DataError(SoloError):
    """Data that are damaged, incomplete or of another format."""


def write_shard(
    path: Path, arrays: Mapping[str, np.ndarray], attributes: Mapping[str, str] | None = None
) -> None:
    """Write contiguous, uncompressed arrays; a reader sees the whole file or none."""
    # Aligned, because numpy is slow with numbers at odd offsets of a file.
    options: dict[str, object] = {"alignment_threshold": 1, "alignment_interval": 8}
    write_hdf5(path, arrays, attributes, libver="v110", **options)


def map_shard(path: Path, fields: Iterable[Field]) -> dict[str, np.ndarray]:
    """Return read-only arrays backed by the file; data are loaded on access."""
    try:
        check_plain_file(path)
        with open_hdf5(path) as file:
            # One map for all fields, because every map keeps a file open, and a process may have
            # about a thousand open files.
            whole = np.memmap(path, mode="r")
            arrays = {field.name: _map_field(path, file, whole, field) for field in fields}
    except (DataError, UntrustedFileError):
        raise
    except Exception as error:  # h5py raises many types for damaged bytes
        raise DataError(
            f"{path}: not a readable HDF5 file ({reason(error)}). It may be cut short or damaged: "
            "`solo-collect verify` shows what is left, `solo-collect repair` keeps it."
        ) from error
    per_transition: dict[str, int] = {}
    per_trajectory: dict[str, int] = {}
    for name, array in arrays.items():
        lengths = per_trajectory if name.startswith("episodes/") else per_transition
        lengths[name] = len(array)
    for lengths in (per_transition, per_trajectory):
        if len(set(lengths.values())) > 1:
            raise DataError(f"{path}: fields have different lengths, expected one: {lengths}.")
    return arrays


def _map_field(path: Path, file: h5py.File, whole: np.ndarray, field: Field) -> np.ndarray:
    dataset = file.get(field.name)
    if not isinstance(dataset, h5py.Dataset):
        raise DataError(
            f"{path}: has no {field.name!r}, found {sorted(file)}. Is it a shard of this dataset?"
        )
    same_shape = dataset.ndim > 0 and dataset.shape[1:] == field.shape
    if not same_shape or dataset.dtype != np.dtype(field.dtype):
        raise DataError(
            f"{path}: {field.name} is {dataset.dtype.str} with shape {dataset.shape}, "
            f"expected {field.dtype} with shape {('N', *field.shape)}."
        )
    offset = dataset.id.get_offset()
    if offset is None:  # empty, or chunked by another program: it cannot be mapped
        return dataset[:]
    return np.ndarray(dataset.shape, dtype=field.dtype, buffer=whole, offset=offset)


def checksums(
    arrays: Mapping[str, np.ndarray], start: np.ndarray, length: np.ndarray
) -> np.ndarray:
    """Return the CRC-32 of each trajectory, over all its fields in alphabetical order."""
    names = sorted(set(arrays) - set(NOT_SUMMED))
    result = np.zeros(len(start), dtype=np.uint32)
    for row, (first, count) in enumerate(zip(start, length, strict=True)):
        crc = 0
        for name in names:
            rows = slice(first, first + count)
            if name.startswith("episodes/"):
                rows = slice(row, row + 1)
            crc = zlib.crc32(np.ascontiguousarray(arrays[name][rows]).tobytes(), crc)
        result[row] = crc
    return result


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({reason(error)}).") from error
