"""A double of Isaac Gym Preview 4.

It has its interface and its rules, with MuJoCo underneath. See ../README.md.
"""

from __future__ import annotations

import sys

if "torch" in sys.modules:
    raise ImportError(
        "PyTorch was imported before isaacgym modules.  Please import torch after isaacgym modules."
    )
