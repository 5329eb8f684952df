"""Copy of the bundle that runs, from the bytes that were loaded and checked.

The file that the bundle came from may be replaced while the robot walks, or before an incident is
written. Incidents and replays use this copy.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from solo_doi.common.files import WriteError, replacing

KEPT_BUNDLE_FILE = "skills.onnx"
"""Name of the copy in the folder of a deployment and in its incidents."""


def keep_bundle(folder: Path, content: bytes) -> Path:
    """Write the bytes of a loaded bundle to the folder of a deployment; return the copy's path.

    A full disk is no error here: control continues, and the recorder reports missing files.
    """
    copy = folder / KEPT_BUNDLE_FILE
    with suppress(WriteError), replacing(copy) as partial:
        partial.write_bytes(content)
    return copy
