"""The bundles that come with the package, and how any bundle is found and loaded."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from solo_doi.common.errors import SoloError

from .reader import FILE, Bundle, directory
from .signature import check_signature

SKILLS = Path(str(importlib.resources.files("solo_doi"))) / "skills"
SHIPPED = SKILLS / "locomotion" / FILE
"""Five locomotion skills, described in the README beside it."""


def find_bundle(bundle: Path | None) -> Path:
    """Return the file of a bundle: a shipped one's, of a bare name such as `locomotion`, which is the default.

    Raises:
        SoloError: A bare name is neither a file nor the name of a bundle that comes with the package, or a directory.
    """
    if bundle is None:
        return SHIPPED
    known = {path.parent.name: path for path in sorted(SKILLS.glob(f"*/{FILE}"))}
    if bundle.is_dir():
        raise SoloError(
            f"{directory(bundle)} Those that come with the package are: {', '.join(known)}."
        )
    if bundle.exists() or len(bundle.parts) != 1 or bundle.suffix:
        return bundle
    if bundle.name not in known:
        raise SoloError(
            f"{bundle}: no such file, nor a bundle that comes with the package. Those are: {', '.join(known)}."
        )
    return known[bundle.name]


def load_bundle(bundle: Path | None, trust: Path | None) -> Bundle:
    """Find and load a bundle; with a key to trust, the very bytes that its holder has signed."""
    path = find_bundle(bundle)
    return Bundle(path, None if trust is None else check_signature(path, trust))
