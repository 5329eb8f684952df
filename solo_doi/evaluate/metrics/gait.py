"""Gait of recorded robots: stride frequency, phases, duty and clearance of the feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.solo12.constants import CONTROL_DT, FOOT_RADIUS, LEG_NAMES

STRIDE_RANGE = (1.0, 8.0)
"""Lowest and highest stride frequency that can be found [Hz]."""
FL, FR, HL, HR = range(len(LEG_NAMES))


@dataclass(frozen=True)
class Gait:
    """Gait of N robots."""

    frequency: np.ndarray
    """Strides per second [Hz], (N,)."""
    phase: np.ndarray
    """Time of each foot's highest point after the front left foot's [cycles], (N, 4), in [-0.5,
    0.5)."""
    duty: np.ndarray
    """Share of time that each foot is on the ground, (N, 4)."""
    clearance: np.ndarray
    """Height of the sole at the top of the swing [m], (N, 4)."""

    @property
    def diagonal_phase(self) -> np.ndarray:
        """Largest phase difference within a diagonal pair [cycles], (N,); 0 in a trot."""
        left = np.abs(wrapped(self.phase[:, FL] - self.phase[:, HR]))
        right = np.abs(wrapped(self.phase[:, FR] - self.phase[:, HL]))
        return np.maximum(left, right)

    @property
    def pair_phase(self) -> np.ndarray:
        """Phase between both diagonal pairs [cycles], (N,); 0.5 in a trot, 0 in a hop."""
        first = circular_mean(self.phase[:, [FL, HR]])
        second = circular_mean(self.phase[:, [FR, HL]])
        return np.abs(wrapped(first - second))


def describe_gait(foot_height: np.ndarray, foot_contact: np.ndarray) -> Gait:
    """Measure a gait at the control rate.

    Args:
        foot_height: Height of the foot centres [m], (T, N, 4).
        foot_contact: Contact of the feet with the ground, (T, N, 4).
    """
    window = np.hanning(len(foot_height))[:, None, None]
    spectrum = np.fft.rfft((foot_height - foot_height.mean(0)) * window, axis=0)
    frequencies = np.fft.rfftfreq(len(foot_height), CONTROL_DT)
    # Summed over feet, since all feet share one stride frequency: (frequencies, N).
    power = np.square(np.abs(spectrum)).sum(-1)
    power[(frequencies < STRIDE_RANGE[0]) | (frequencies > STRIDE_RANGE[1])] = 0.0
    peak = power.argmax(axis=0)
    at_peak = np.take_along_axis(spectrum, peak[None, :, None], axis=0)[0]
    angle = -np.angle(at_peak) / (2 * np.pi)  # (N, 4) [cycles]
    return Gait(
        frequency=frequencies[peak],
        phase=wrapped(angle - angle[:, :1]),
        duty=foot_contact.mean(axis=0),
        clearance=np.quantile(foot_height, 0.95, axis=0) - FOOT_RADIUS,
    )


def wrapped(cycles: np.ndarray) -> np.ndarray:
    """Return phases in [-0.5, 0.5) [cycles]."""
    return (cycles + 0.5) % 1.0 - 0.5


def circular_mean(cycles: np.ndarray) -> np.ndarray:
    """Return the mean of phases over the last axis [cycles]."""
    return np.angle(np.exp(2j * np.pi * cycles).mean(axis=-1)) / (2 * np.pi)
