"""Acceptance of a one-minute run of the vendor's demo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.deploy.robots.odri.vendor_demo import DemoRun

from .vendor import ANGLES, check

GOOD = DemoRun(
    np.zeros(1), 0, 0, "ACTIVE", ANGLES, "", command_gap=0.0512, sensor_gap=0.003, stolen=0.25
)


def test_a_run_without_losses_is_good() -> None:
    """Angle errors at the limit are accepted."""
    check(GOOD)


@pytest.mark.parametrize(
    "bad",
    [
        {"commands_lost": 1}, {"sensors_lost": 1}, {"angle_error": ANGLES + 1e-6},
        {"angle_error": np.nan},
        {"ended_early": True},
    ],
)  # fmt: skip
def test_losses_and_errors_are_reported_with_stalls(
    bad: dict[str, float],
) -> None:
    """The message lists gaps and stolen time, so that a stall of the machine is visible."""
    with pytest.raises(
        RuntimeError,
        match=r"51\.2 ms between commands, 3\.0 ms between sensor packets; 250 ms stolen",
    ):
        check(replace(GOOD, **bad))  # type: ignore[arg-type]  # any field
