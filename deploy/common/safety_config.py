"""Thresholds of the controller's safety checks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SafetyConfig:
    """Thresholds of the controller's checks; joint limits are in `solo_doi.solo12.limits`."""

    tilt: float = 1.0
    """Largest angle between base and level [rad]."""
    tilt_disagreement: float = 0.35
    """Largest tilt difference between IMU and estimator; fault after `patience` [rad]."""
    torque_step: float = 2.0
    """Change of a measured torque in one tick above which the tick counts as chattering [N m]."""
    target_step: float = 1.5
    """Largest change of a joint target in one policy step [rad]."""
    envelope: float = 1.5
    """Largest observation relative to the training range, 1 at its edge; fault after `patience`."""
    patience: float = 0.1
    """Grace period before a transient violation becomes a fault [s]."""
    state_age: float = 0.010
    """Largest age of the robot's newest state [s]."""
    frozen: float = 0.020
    """Time after which sensors that repeat the same numbers are a fault [s]."""
    bad_share: int = 20
    """Largest number of chattering or late ticks per 100; five skipped ticks count as five."""
    gap_share: int = 35
    """Largest number of lost robot states per 100 received; a steady loss of 10 % is accepted."""
    operator_age: float = 0.5
    """Longest silence of the operator while motors hold positions [s]."""
