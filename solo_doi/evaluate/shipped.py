"""Files for evaluation that come with the package."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

_SKILLS = Path(str(importlib.resources.files("solo_doi"))) / "skills"

SHIPPED_RUN = _SKILLS / "locomotion"
"""Run directory of the shipped locomotion skills."""
SHIPPED_EXPERT = _SKILLS / "expert" / "checkpoint.pt"
"""Checkpoint of the expert that returns are measured against by default."""
