"""Measures of runs on random MDPs, and failures of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .mdp_runs import phi_error, train
from .random_mdps import RandomProblem


def test_the_largest_relative_error_counts() -> None:
    assert phi_error(np.array([1.1, 1.5]), np.array([1.0, 2.0])) == pytest.approx(0.25)


def test_a_skill_without_divergence_has_an_error() -> None:
    """The error is relative to 1e-6 nats, to avoid a division by zero."""
    assert phi_error(np.array([0.0]), np.array([0.0])) == 0
    assert phi_error(np.array([2e-6]), np.array([0.0])) == pytest.approx(2)


def test_a_failing_command_shows_its_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"solo-train ended with \d: .*data\.hdf5"):
        train(RandomProblem.draw(0), tmp_path, "run", [])
