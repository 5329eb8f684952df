"""A task in a simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from solo_doi.sim import SimConfig, make_simulator
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

from .locomotion import Make


@pytest.fixture
def make() -> Iterator[Make]:
    """Make tasks in MuJoCo, by default without randomisation."""
    with ExitStack() as stack:

        def make_one(num_robots: int = 3, seed: int = 0, **config: object) -> LocomotionTask:
            simulator = stack.enter_context(
                make_simulator("mujoco", SimConfig(num_robots=num_robots))
            )
            options = LocomotionConfig(**{"randomisation": "none", **config})  # type: ignore[arg-type]
            return LocomotionTask(simulator, options, np.random.default_rng(seed))

        yield make_one
