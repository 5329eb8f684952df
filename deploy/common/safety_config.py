"""Thresholds of the controller's safety checks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SafetyConfig:
    """Thresholds of the controller. Limits of joints are in `solo_doi.solo12.limits`."""

    tilt: float = 1.0
    """Largest angle between base and level [rad]."""
    tilt_disagreement: float = 0.35
    """Largest angle between the IMU's own idea of level and ours, over `patience` [rad]."""
    torque_step: float = 2.0
    """Change of a measured torque in a tick that counts as chatter [N m]."""
    target_step: float = 1.5
    """Largest change of a joint target in a policy step [rad]."""
    envelope: float = 1.5
    """How far outside its training range the policy may see, over `patience`; 1 is the edge."""
    patience: float = 0.1
    """How long what may happen for a moment may last [s]."""
    state_age: float = 0.010
    """Oldest state that is acted on [s]."""
    frozen: float = 0.020
    """How long sensors may show the very same numbers [s]."""
    bad_share: int = 20
    """How many of the last hundred ticks may chatter, or be late; one that is late by five counts as five."""
    gap_share: int = 35
    """How many states may be lost among a hundred that come: one in ten all the time is borne, three in ten are not."""
    operator_age: float = 0.5
    """How long the operator may be silent while motors hold positions [s]."""
