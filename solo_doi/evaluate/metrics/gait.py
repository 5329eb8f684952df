"""Numbers that describe a gait, from recorded foot heights and contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.solo12.constants import CONTROL_DT, FOOT_RADIUS, LEG_NAMES

STRIDE_RANGE = (1.0, 8.0)
"""Stride frequencies that are looked for [Hz]."""


@dataclass(frozen=True)
class Gait:
    """A gait of N robots."""

    frequency: np.ndarray  # (N,) strides per second
    phase: (
        np.ndarray
    )  # (N, 4) when each foot is highest, in cycles after the front left one, in [-0.5, 0.5)
    duty: np.ndarray  # (N, 4) share of time on the ground
    clearance: np.ndarray  # (N, 4) height of the sole at the top of the swing [m]

    @property
    def diagonal_phase(self) -> np.ndarray:
        """Largest phase difference within a diagonal pair, (N,) in cycles; 0 in a trot."""
        left = np.abs(wrapped(self.phase[:, FL] - self.phase[:, HR]))
        right = np.abs(wrapped(self.phase[:, FR] - self.phase[:, HL]))
        return np.maximum(left, right)

    @property
    def pair_phase(self) -> np.ndarray:
        """Phase between the two diagonal pairs, (N,) in cycles; 0.5 in a trot, 0 when all feet hop together."""
        return np.abs(
            wrapped(circular_mean(self.phase[:, [FL, HR]]) - circular_mean(self.phase[:, [FR, HL]]))
        )


FL, FR, HL, HR = range(len(LEG_NAMES))


def describe_gait(foot_height: np.ndarray, foot_contact: np.ndarray) -> Gait:
    """Describe a gait from heights of foot centres and contacts, both (T, N, 4), at the control rate."""
    spectrum = np.fft.rfft(
        (foot_height - foot_height.mean(0)) * np.hanning(len(foot_height))[:, None, None], axis=0
    )
    frequencies = np.fft.rfftfreq(len(foot_height), CONTROL_DT)
    power = np.square(np.abs(spectrum)).sum(-1)  # (F, N): all feet share one stride frequency
    power[(frequencies < STRIDE_RANGE[0]) | (frequencies > STRIDE_RANGE[1])] = 0.0
    peak = power.argmax(axis=0)
    angle = -np.angle(np.take_along_axis(spectrum, peak[None, :, None], axis=0)[0]) / (
        2 * np.pi
    )  # (N, 4) cycles
    return Gait(
        frequency=frequencies[peak],
        phase=wrapped(angle - angle[:, :1]),
        duty=foot_contact.mean(axis=0),
        clearance=np.quantile(foot_height, 0.95, axis=0) - FOOT_RADIUS,
    )


def wrapped(cycles: np.ndarray) -> np.ndarray:
    """Bring phases into [-0.5, 0.5)."""
    return (cycles + 0.5) % 1.0 - 0.5


def circular_mean(cycles: np.ndarray) -> np.ndarray:
    """Mean of phases over the last axis, in cycles."""
    return np.angle(np.exp(2j * np.pi * cycles).mean(axis=-1)) / (2 * np.pi)
