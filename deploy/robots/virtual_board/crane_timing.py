"""Timing of the crane that lowers the robot of a dry run."""

from __future__ import annotations

SPEED = 0.15
"""Speed of lowering [m/s]."""
SLACK_TIME = 0.2
"""Time with a slack rope before it is released [s]."""
HANGING = 0.45
"""Height of the base at which legs swing freely [m]."""
LOWER_AFTER = 0.5
"""Time between the end of calibration and the start of lowering [s]."""
LET_DOWN = LOWER_AFTER + HANGING / SPEED + SLACK_TIME
"""Longest time from calibration until the robot lies on the ground without a rope [s]."""
