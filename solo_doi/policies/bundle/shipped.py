"""Bundles that come with the package, and the way to find and load any bundle."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from solo_doi.common.errors import SoloError

from .reader import BUNDLE_FILE, Bundle, expected_bundle
from .signature import check_signature

SKILLS_FOLDER = Path(str(importlib.resources.files("solo_doi"))) / "skills"
SHIPPED = SKILLS_FOLDER / "locomotion" / BUNDLE_FILE
"""Five locomotion skills; the default bundle. The README beside it describes them."""


def find_bundle(bundle: Path | None) -> Path:
    """Return the file of a bundle.

    A bare name such as `locomotion` selects a bundle of the package; None selects the default.

    Raises:
        SoloError: The name is neither a file nor a bundle of the package, or it is a directory.
    """
    if bundle is None:
        return SHIPPED
    shipped = {path.parent.name: path for path in sorted(SKILLS_FOLDER.glob(f"*/{BUNDLE_FILE}"))}
    if bundle.is_dir():
        raise SoloError(
            f"{expected_bundle(bundle)} Those that come with the package are: {', '.join(shipped)}."
        )
    if bundle.exists() or len(bundle.parts) != 1 or bundle.suffix:
        return bundle
    if bundle.name not in shipped:
        raise SoloError(
            f"{bundle}: no such file, nor a bundle that comes with the package. "
            f"Those are: {', '.join(shipped)}."
        )
    return shipped[bundle.name]


def load_bundle(bundle: Path | None, trust: Path | None) -> Bundle:
    """Find and load a bundle. With a key to trust, load exactly the bytes that were signed."""
    path = find_bundle(bundle)
    if trust is None:
        return Bundle(path)
    return Bundle(path, check_signature(path, trust))
