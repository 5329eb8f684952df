"""One fixture gives every simulator in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec

import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.sim import SimConfig, Simulator, Terrain, make_simulator

from .simulators import ENGINES, SINGLE_PRECISION, Make


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Name of an engine; skipped where its package cannot be installed."""
    missing = missing_package(request.param)
    if missing:
        pytest.skip(missing)
    return request.param


@cache
def missing_package(engine: str) -> str:
    """Return the error of an engine whose package is missing, or an empty string."""
    if engine == "isaacgym":
        return ""
    if engine == "warp":
        return "" if find_spec("mujoco_warp") else "MuJoCo Warp is not installed."
    try:
        make_simulator(engine, SimConfig()).close()
    except MissingPackageError as error:
        return str(error)
    return ""


@pytest.fixture
def tiny(engine: str) -> float:
    """Tolerance of rounding."""
    return 1e-5 if engine in SINGLE_PRECISION else 1e-9


@pytest.fixture
def make(engine: str, request: pytest.FixtureRequest) -> Iterator[Make]:
    """Return a function that makes simulators of one engine and closes them after the test."""
    isaac = request.getfixturevalue("isaac_double") if engine == "isaacgym" else None
    warp = request.getfixturevalue("warp_cpu") if engine == "warp" else None
    with ExitStack() as stack:

        def make_one(
            num_robots: int = 1, terrain: Terrain | None = None, **config: float
        ) -> Simulator:
            setup = SimConfig(num_robots=num_robots, isaac=isaac, warp=warp, **config)  # type: ignore[arg-type]
            return stack.enter_context(make_simulator(engine, setup, terrain))

        yield make_one
