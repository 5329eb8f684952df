"""Layer between the interface and MuJoCo Warp: copies, graphs and addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solo_doi.sim import Domain, SimConfig, Simulator, WarpConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.state import feet_in_world, standing
from tests.contract.simulators import random_targets
from tests.sizes import size

wp = pytest.importorskip("warp")
mjw = pytest.importorskip("mujoco_warp")

LOCOMOTION = CONTROL_SETUPS["locomotion"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of Warp's functions in the order in which they are called."""
    called: list[str] = []

    def spy(name: str) -> Callable[..., Any]:
        function = getattr(wp, name)

        def wrapper(*arguments: Any, **settings: Any) -> Any:
            called.append(name)
            return function(*arguments, **settings)

        return wrapper

    for name in ("copy", "launch", "capture_launch", "clone"):
        monkeypatch.setattr(wp, name, spy(name))
    return called


@pytest.mark.parametrize("robots", [1, 8])
def test_a_control_step_copies_targets_in_and_states_out(
    warp_cpu: WarpConfig, calls: list[str], robots: int
) -> None:
    """Six graphs run between the two copies, for any number of robots; no kernel is launched."""
    with make_simulator("warp", SimConfig(num_robots=robots, warp=warp_cpu)) as simulator:
        target = simulator.state().joint_position
        simulator.step(target)  # records the graphs
        calls.clear()
        simulator.step(target)
        assert calls == ["copy", *["capture_launch"] * 6, "copy"]
        calls.clear()
        simulator.state()
        assert calls == []


def test_a_reset_copies_rows_of_the_robots_in_it(warp_cpu: WarpConfig, calls: list[str]) -> None:
    """Held target and motion go in; the state is known on the host, so nothing comes out."""
    with make_simulator("warp", SimConfig(num_robots=8, warp=warp_cpu)) as simulator:
        simulator.step(simulator.state().joint_position)
        calls.clear()
        simulator.reset(standing(LOCOMOTION, 2), robots=[3, 5])
        assert calls == ["copy", "launch"] * 2


def test_a_height_scan_is_copied_once_per_pose(warp_cpu: WarpConfig, calls: list[str]) -> None:
    """A task observes the same pose twice; steps without a scan copy nothing for it."""
    with make_simulator("warp", SimConfig(num_robots=2, warp=warp_cpu)) as simulator:
        target = simulator.state().joint_position
        simulator.height_scan(simulator.step(target))  # records the graphs
        for move in (
            lambda: simulator.step(target),
            lambda: simulator.reset(standing(LOCOMOTION, 1), [1]),
        ):
            state = move()
            calls.clear()
            simulator.height_scan(state)
            assert calls == ["capture_launch", "copy"]
            simulator.height_scan(state)
            assert calls == ["capture_launch", "copy"]


def test_feet_and_velocities_are_derived_from_the_motion(warp_cpu: WarpConfig) -> None:
    """The device derives them after a step, the host after a reset or a kick, equally.

    Each field of a state is contiguous and has its own memory.
    """
    with make_simulator("warp", SimConfig(num_robots=4, warp=warp_cpu)) as simulator:
        for target in random_targets(4, 10):
            stepped = simulator.step(target)
        assert np.abs(stepped.foot_velocity_w).min(axis=(1, 2)).max() > 0
        reset = simulator.reset(stepped[[0, 1]], [2, 3])
        np.testing.assert_allclose(
            reset.linear_velocity_b[2:], stepped.linear_velocity_b[:2], atol=1e-6
        )
        simulator.kick([0], np.ones((1, 3)), np.ones((1, 3)))
        for state in (stepped, reset, simulator.state()):
            position, velocity = feet_in_world(state)
            np.testing.assert_allclose(state.foot_position_w, position, atol=1e-6)
            np.testing.assert_allclose(state.foot_velocity_w, velocity, atol=1e-5)
            arrays = [getattr(state, field.name) for field in fields(state)]
            assert all(array.flags.c_contiguous and array.flags.owndata for array in arrays)


def test_kernels_compile_for_gpus(tmp_path: Path) -> None:
    """Warp's compiler for CUDA needs no GPU: Turing, H100 and RTX 50."""
    from solo_doi.sim.warp import kernels

    wp.init()
    architectures = size([75], [75, 90, 120])
    if not {*architectures} <= {*wp.get_cuda_supported_archs()}:
        pytest.skip("This build of Warp has no compiler for CUDA.")
    files = wp.compile_aot_module(kernels, arch=architectures, use_ptx=True, module_dir=tmp_path)
    assert len(files) == len(architectures)
    assert all("pack_health" in file.read_text() for file in files)


def test_arrays_keep_their_addresses(warp_cpu: WarpConfig) -> None:
    """Graphs have addresses: an array that were replaced would be ignored silently."""
    with make_simulator("warp", SimConfig(num_robots=2, warp=warp_cpu)) as simulator:
        target = simulator.state().joint_position
        simulator.step(target)
        before = addresses(simulator)
        simulator.set_domain(Domain.nominal(2, added_mass=0.3, friction=0.5, motor_lag=0.0))
        simulator.reset(standing(LOCOMOTION, 1), [1])
        simulator.kick([0], np.ones((1, 3)), np.ones((1, 3)))
        saved = simulator.save()
        simulator.load(saved)
        simulator.step(target)
        assert addresses(simulator) == before
    assert len(before) > 300


def addresses(simulator: Simulator) -> dict[str, int]:
    """Return the addresses of all arrays of model and data, by name."""
    batch = simulator._batch  # type: ignore[attr-defined]
    found = {}
    for owner in (batch.model, batch.data, batch.data.contact, batch.data.efc):
        for field in fields(owner):
            value = getattr(owner, field.name)
            if isinstance(value, wp.array):
                found[f"{type(owner).__name__}.{field.name}"] = value.ptr
    return found
