"""A wheel of the installed project, written from its installed files.

The environment of a robot's computer gets exactly the code that is running. This wheel is used
if there is no checkout. Standard library only, like all of this package.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from solo_doi.common.errors import SoloError

DISTRIBUTION = "solo-doi"
TAG = "py3-none-any"
"""The project is pure Python, so one wheel serves every interpreter and machine."""
WRITTEN_BY_INSTALLER = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
"""Files that pip adds to a distribution; it adds them again when it installs the new wheel."""


def write_wheel(folder: Path) -> Path:
    """Write the installed project as a wheel into a folder; return the file.

    Raises:
        SoloError: The project is not installed, or files of it are missing.
    """
    files = _packaged_files()
    info = _info_folder(files)
    path = folder / f"{info.removesuffix('.dist-info')}-{TAG}.whl"
    record = []
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for name, place in files.items():
            content = _read(place)
            wheel.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
            record.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(content)}")
        record.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    return path


def _packaged_files() -> dict[str, Path]:
    """Return the files of the installed project: name in the wheel, and path on disk."""
    try:
        recorded = metadata.distribution(DISTRIBUTION).files
    except metadata.PackageNotFoundError:
        recorded = None
    if not recorded:
        raise SoloError(
            f"{DISTRIBUTION} is not installed, and no pyproject.toml is beside its code. Install "
            "it, or run this in a checkout of the project."
        )
    files = {}
    for file in recorded:
        made_here = file.name in WRITTEN_BY_INSTALLER or file.suffix == ".pyc"
        is_script = file.parts[0] == ".."  # pip makes scripts from entry_points.txt
        if not made_here and not is_script:
            files[file.as_posix()] = Path(str(file.locate()))
    return files


def _info_folder(files: dict[str, Path]) -> str:
    for name in files:
        folder = name.partition("/")[0]
        if folder.endswith(".dist-info"):
            return folder
    raise SoloError(f"{DISTRIBUTION}: its installed metadata is missing. Install it again.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SoloError(f"{path}: cannot be read ({error.strerror}). Install it again.") from error
