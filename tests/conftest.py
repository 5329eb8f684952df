"""Settings of all tests.

The same examples in every run, none failed for being slow, arithmetic as it was.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from solo_doi.sim import IsaacConfig

from .isaac_double.interpreters import double, plain_interpreter, quick_interpreter

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # `&` in a script has it ignored, by children too
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and so has `nohup` this one


PROCESS_MODULES = (
    "bench/test_wall.py",
    "cli/test_two_processes.py",
    "collect/dominic/test_two_processes.py",
    "collect/test_kill.py",
    "collect/test_ray_pool.py",
    "deploy/console/test_consent.py",
    "deploy/install/",
    "deploy/launch/test_end_to_end.py",
    "deploy/launch/test_fault_processes.py",
    "deploy/launch/test_hostile_folder.py",
    "deploy/robots/virtual_board/test_board_server.py",
    "deploy/robots/virtual_board/test_virtual",
    "deploy/service/test_bench_process.py",
    "test_chain.py",
)
"""Modules and folders of tests that start real processes."""
SLOW_MODULES = (
    "algorithm/test_sampled.py",
    "algorithm/test_tabular.py",
    "cli/test_sweep.py",
    "cli/test_train_re",
    "collect/dominic/test_trainer",
    "compatibility/test_files.py::test_a_run_is_evaluated",
    "compatibility/test_golden.py::test_collecting",
    "contract/",
    "deploy/common/test_walk.py",
    "deploy/launch/test_fault_matrix.py",
    "deploy/controller/test_controller_stateful.py",
    "deploy/controller/test_steer.py",
    "deploy/robots/odri/test_calibrator.py",
    "deploy/robots/odri/test_fuzz.py",
    "deploy/robots/odri/test_solo12.py",
    "deploy/robots/virtual_board/test_board_faults.py",
    "docs/test_wheel.py",
    "docs/test_code_blocks.py",
    "evaluate/metrics/test_skill_diversity.py",
    "evaluate/test_",
    "examples/",
    "isaac_double/",
    "sim/test_agreement.py",
    "sim/test_isaac",
    "test_fuzz.py",
    "test_api.py",
)
"""Modules, folders and tests that take long. Names may be cut short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their place, so that a plain `pytest` runs the quick part."""
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        if place.startswith(PROCESS_MODULES):
            item.add_marker(pytest.mark.process)
        if place.startswith(SLOW_MODULES):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def subnormal_numbers() -> Iterator[None]:
    """Give tests back the smallest numbers, which training has the processor round to zero."""
    yield
    if "torch" in sys.modules:  # or nobody switched them off
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def isaac_double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsaacConfig]:
    """Isaac Gym's double, in workers that start quickly."""
    with quick_interpreter(tmp_path_factory.mktemp("isaac")) as python:
        yield double(python)


@pytest.fixture
def isaac_slow_start(tmp_path: Path) -> IsaacConfig:
    """Isaac Gym's double in workers that start as they do for users."""
    return double(plain_interpreter(tmp_path))
