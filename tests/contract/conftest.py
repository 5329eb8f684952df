"""One fixture gives every simulator in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.sim import SimConfig, Simulator, Terrain, make_simulator

from .simulators import ENGINES, Make


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Name of an engine; skipped where its package cannot be installed."""
    if request.param == "isaacgym":
        return request.param
    try:
        make_simulator(request.param, SimConfig()).close()
    except MissingPackageError as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture
def tiny(engine: str) -> float:
    """Tolerance of rounding; in Isaac Gym that of single precision."""
    return 1e-5 if engine == "isaacgym" else 1e-9


@pytest.fixture
def make(engine: str, request: pytest.FixtureRequest) -> Iterator[Make]:
    """Return a function that makes simulators of one engine: they are closed after the test."""
    isaac = request.getfixturevalue("isaac_double") if engine == "isaacgym" else None
    with ExitStack() as stack:

        def make_one(
            num_robots: int = 1, terrain: Terrain | None = None, **config: float
        ) -> Simulator:
            setup = SimConfig(num_robots=num_robots, isaac=isaac, **config)  # type: ignore[arg-type]
            return stack.enter_context(make_simulator(engine, setup, terrain))

        yield make_one
