"""Error of the estimator in the loop, and its cost in walking speed.

The numbers are simulated, so they are the same on every machine.
"""

from __future__ import annotations

import functools

from tests.deploy.common.test_walk import Walk, walk

from .harness import Pairs, benchmark

SKILLS, SECONDS = range(5), 10.0


@functools.cache
def walks(*, truth: bool) -> list[Walk]:
    """Ten seconds of every shipped skill in PyBullet."""
    return [walk(skill, SECONDS, truth=truth) for skill in SKILLS]


@benchmark(unit="m/s", at_most=1.0)
def estimator_error() -> Pairs:
    """RMS error of the estimated base velocity, all axes together, of each skill at 1 m/s.

    The reference is 0.1 m/s.
    """
    return [(found.error, 0.1) for found in walks(truth=False)]


@benchmark(unit="m/s", at_least=0.95)
def estimator_walk() -> Pairs:
    """Velocity of each skill with the estimator in the loop against that with the truth."""
    return [
        (ours.velocity, true.velocity)
        for ours, true in zip(walks(truth=False), walks(truth=True), strict=True)
    ]
