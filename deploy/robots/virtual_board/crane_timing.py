"""Timing of the crane from which the robot of a dry run is let down."""

from __future__ import annotations

SPEED = 0.15
"""Speed of lowering [m/s]."""
SLACK_TIME = 0.2
"""Time for which the rope is slack before it is taken off [s]."""
HANGING = 0.45
"""Height of a base whose legs swing free [m]."""
LOWER_AFTER = 0.5
"""Time between the end of calibration and the start of lowering [s]."""
LET_DOWN = LOWER_AFTER + HANGING / SPEED + SLACK_TIME
"""Latest time after calibration at which the robot lies on the ground without a rope [s]."""
