"""The bundle that comes with the package."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

SHIPPED = Path(str(importlib.resources.files("solo_doi"))) / "skills" / "locomotion" / "skills.onnx"
"""Five locomotion skills, described in the README beside it."""
