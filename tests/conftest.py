"""Settings of all tests.

Hypothesis draws the same examples in every run and has no deadline. Each test starts with the
processor's default arithmetic.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from solo_doi.sim import IsaacConfig, WarpConfig

from .isaac_double.interpreters import double, plain_interpreter, quick_interpreter
from .warp_kernels import compiled_warp

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a script's `&` makes this process and its children ignore the signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as `nohup` does for this signal
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    # Tests run beside each other: more threads would wait for each other. Processes that this one
    # starts inherit it, those of pytest-xdist, too.
    os.environ.setdefault(_variable, "1")


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
    "deploy/launch/test_page.py",
    "deploy/launch/test_viewer_launch.py",
    "deploy/messages/test_loopback.py",
    "deploy/robots/virtual_board/test_board_server.py",
    "deploy/robots/virtual_board/test_virtual",
    "deploy/service/test_bench_process.py",
    "deploy/viewer/",
    "runs/test_sweep_processes.py",
    "runs/test_sweep_ray.py",
    "test_chain.py",
)
"""Modules and folders of tests that start real processes."""
SLOW_MODULES = (
    "algorithm/test_random_mdps.py",
    "algorithm/test_sampled.py",
    "algorithm/test_tabular.py",
    "cli/test_sweep",
    "cli/test_train_re",
    "collect/dominic/test_trainer",
    "collect/test_warp_commands.py",
    "compatibility/test_files.py::test_a_run_is_evaluated",
    "compatibility/test_golden.py::test_collecting",
    "contract/",
    "deploy/common/test_walk.py",
    "deploy/launch/test_fault_matrix.py",
    "deploy/controller/test_controller_stateful.py",
    "deploy/controller/test_steer.py",
    "deploy/robots/odri/bench/test_calibrator.py",
    "deploy/robots/odri/wire/test_fuzz.py",
    "deploy/robots/odri/test_solo12.py",
    "deploy/robots/virtual_board/test_board_faults.py",
    "docs/test_wheel.py",
    "docs/test_code_blocks.py",
    "evaluate/metrics/test_skill_diversity.py",
    "evaluate/test_",
    "examples/",
    "isaac_double/",
    "sim/test_agreement.py",
    "sim/isaac/",
    "sim/warp/",
    "tasks/test_warp_task.py",
    "test_fuzz.py",
    "test_api.py",
)
"""Modules, folders and tests that take long; an entry may be the beginning of a name."""
LONGEST_MODULES = (
    "algorithm/test_random_mdps.py",
    "algorithm/test_sampled.py",
    "deploy/robots/virtual_board/test_virtual",
    "evaluate/test_evaluate_run.py",
)
"""Modules whose tests take half a minute or more."""
UNTRACED_MODULES = (
    "deploy/common/test_walk.py",
    "deploy/controller/test_controller_stateful.py",
    "deploy/controller/test_steer.py",
    "deploy/launch/test_fault_matrix.py::test_faults_end",
    "deploy/logs/test_replay_bound.py",
    "deploy/robots/odri/bench/test_calibrator.py::test_faults",
    "deploy/robots/odri/wire/test_fuzz.py",
    "deploy/robots/virtual_board/test_board_faults.py::test_faults_end",
)
"""Long simulations of lines that other tests cover: coverage would double their time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their path, so that a plain `pytest` runs the quick part.

    Long tests start first: no process is left alone with one at the end.
    """
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        if place.startswith(PROCESS_MODULES):
            item.add_marker(pytest.mark.process)
        if place.startswith(SLOW_MODULES):
            item.add_marker(pytest.mark.slow)
        if place.startswith(UNTRACED_MODULES):
            item.add_marker(pytest.mark.no_cover)
    items.sort(key=_order)


def _order(item: pytest.Item) -> int:
    """Return 0 for the longest tests, 1 for other long ones, 2 for the quick part."""
    if item.nodeid.removeprefix("tests/").startswith(LONGEST_MODULES):
        return 0
    return 1 if {"process", "slow"} & {mark.name for mark in item.iter_markers()} else 2


@pytest.fixture(autouse=True)
def subnormal_numbers() -> Iterator[None]:
    """Restore subnormal numbers, which training lets the processor round to zero."""
    yield
    if "torch" in sys.modules:  # otherwise they were never switched off
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def isaac_double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsaacConfig]:
    """Isaac Gym's double, in workers that start quickly."""
    with quick_interpreter(tmp_path_factory.mktemp("isaac")) as python:
        yield double(python)


@pytest.fixture(scope="session")
def warp_cpu() -> WarpConfig:
    """MuJoCo Warp on the processor, with compiled kernels."""
    pytest.importorskip("mujoco_warp")
    return compiled_warp()


@pytest.fixture
def isaac_slow_start(tmp_path: Path) -> IsaacConfig:
    """Isaac Gym's double in workers that start as for users."""
    return double(plain_interpreter(tmp_path))
