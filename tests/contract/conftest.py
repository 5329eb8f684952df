"""One fixture gives every simulator in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from solo_doi.errors import MissingPackageError
from solo_doi.sim import SimConfig, Simulator, Terrain, make_simulator

from .simulators import ENGINES, Make


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Name of an engine; skipped where its package cannot be installed."""
    try:
        make_simulator(request.param, SimConfig()).close()
    except MissingPackageError as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture
def make(engine: str) -> Iterator[Make]:
    """Return a function that makes simulators of one engine: they are closed after the test."""
    with ExitStack() as stack:

        def make_one(num_robots: int = 1, terrain: Terrain | None = None, **config: float) -> Simulator:
            simulator = make_simulator(engine, SimConfig(num_robots=num_robots, **config), terrain)  # type: ignore[arg-type]
            return stack.enter_context(simulator)

        yield make_one
