"""Known limits of MuJoCo Warp: each ends in an error or a message that says what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.sim import Domain, SimConfig, SimulationError, Terrain, WarpConfig, make_simulator
from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.sim.warp_config import warp_from_environment
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import standing
from tests.contract.simulators import hold
from tests.sizes import size

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("mujoco_warp")

LOCOMOTION = CONTROL_SETUPS["locomotion"]


def test_dropped_contacts_name_the_number_to_set(warp_cpu: WarpConfig) -> None:
    """Memory for two contacts per robot is too little for four feet.

    With the number of the message, the robots stand.
    """
    few = replace(warp_cpu, contacts=2)
    with (
        make_simulator("warp", SimConfig(num_robots=3, warp=few)) as simulator,
        pytest.raises(SimulationError, match=r"more than 2 contacts.*SOLO_WARP_CONTACTS") as e,
    ):
        hold(simulator, 0.2)
    enough = replace(warp_cpu, contacts=int(str(e.value).split(" to ")[-1].split()[0]))
    with make_simulator("warp", SimConfig(num_robots=3, warp=enough)) as simulator:
        state = hold(simulator, 1.0)
    assert state.foot_contact.all()


def test_dropped_rows_name_the_robot_and_the_number_to_set(warp_cpu: WarpConfig) -> None:
    """Robot 1 lies on twelve boxes at the same place, each with its own contacts; robot 0 flies."""
    boxes = 12
    terrain = Terrain(np.zeros((2, boxes, 2)), np.full((2, boxes, 3), [2.0, 2.0, 0.1]))
    motion = replace(
        standing(LOCOMOTION, 2),
        base_position_w=np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.12]]),
        base_quaternion=from_rpy(np.full(2, np.pi), 0, 0),
        joint_position=np.zeros((2, 12)),
    )
    setup = SimConfig(num_robots=2, warp=replace(warp_cpu, contacts=400))
    with make_simulator("warp", setup, terrain) as simulator:
        simulator.reset(motion)
        with pytest.raises(
            SimulationError,
            match=r"Robot 1 needed (\d+) constraint rows .* 128 are reserved.*SOLO_WARP_ROWS .* \1",
        ):
            hold(simulator, 0.4, motion.joint_position)


def test_divergence_names_the_robot_and_offers_the_other_solver(warp_cpu: WarpConfig) -> None:
    """The other robots are not disturbed, and a reset repairs the robot."""
    with make_simulator("warp", SimConfig(num_robots=3, warp=warp_cpu)) as simulator:
        simulator.set_domain(Domain.nominal(3, friction=0.7))
        motion = standing(LOCOMOTION, 3)
        velocity = np.zeros((3, 12))
        velocity[1] = 1e20
        simulator.reset(replace(motion, joint_velocity=velocity))
        with pytest.raises(
            SimulationError,
            match=r"robot 1 diverged.*friction=array\(\[0.7\]\).*SOLO_WARP_SOLVER=cg",
        ):
            simulator.step(motion.joint_position)
        others = simulator.state()[[0, 2]]
        assert np.isfinite(others.joint_position).all()
        simulator.reset(motion[[1]], [1])
        assert np.isfinite(simulator.step(motion.joint_position).base_position_w).all()


@pytest.mark.skipif(not size(False, True), reason="its kernels take 6 s to compile")
def test_the_other_solver_stands_at_the_same_height(warp_cpu: WarpConfig) -> None:
    """CG, which is offered after a divergence, is a solver of the same problem."""
    heights = []
    for solver in ("newton", "cg"):
        setup = SimConfig(warp=replace(warp_cpu, solver=solver))
        with make_simulator("warp", setup) as simulator:
            target = simulator.state().joint_position
            for _ in range(30):
                state = simulator.step(target)
        heights.append(state.base_position_w[0, 2])
    assert heights[0] == pytest.approx(heights[1], abs=1e-3)


def test_results_have_single_precision_and_repeat_on_the_processor(warp_cpu: WarpConfig) -> None:
    """The interface has float64, the numbers are float32.

    A state can be saved on a processor; a GPU, on which results need not repeat, refuses.
    """
    with make_simulator("warp", SimConfig(warp=warp_cpu)) as simulator:
        state = simulator.step(simulator.state().joint_position)
        assert state.joint_position.dtype == np.float64
        np.testing.assert_array_equal(
            state.joint_position, state.joint_position.astype(np.float32).astype(np.float64)
        )
        assert simulator.can_save
        simulator.can_save = False  # as on a GPU
        with pytest.raises(SoloError, match="MuJoCo Warp cannot save its state"):
            simulator.save()


def test_the_model_is_dense() -> None:
    """MuJoCo 4.0.0 factorises sparse constraint Jacobians wrongly: ours is none, with any ground.

    A sparse one is refused.
    """
    from solo_doi.sim.warp.device_model import check_model

    for boxes in (0, 2):
        model = build_model(SimConfig(), boxes)
        assert not mujoco.mj_isSparse(model)
        check_model(model)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    with pytest.raises(SoloError, match=r"Jacobian is sparse \(18 degrees.*4\.0\.0.*dense"):
        check_model(model)


def test_no_slip_iterations_need_another_integrator() -> None:
    """MuJoCo Warp refuses them with `discrete`; our error names the remedy."""
    from solo_doi.sim.warp.device_model import check_model

    model = build_model(SimConfig())
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    with pytest.raises(SoloError, match=r"no no-slip solver \(3 iterations.*'discrete'.*implicitf"):
        check_model(model)


def test_the_first_compilation_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message comes once: a second process finds the compiled kernels."""
    import warp as wp

    from solo_doi.sim.warp.device import LARGE_MODULE, announce_compilation, find_device

    device = find_device("cpu")
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    announce_compilation(device)
    message = capsys.readouterr().err
    assert "about a minute" in message
    assert str(tmp_path) in message
    (tmp_path / f"wp_{LARGE_MODULE}_1a2b3c4").mkdir()
    announce_compilation(device)
    assert capsys.readouterr().err == ""


def test_the_large_module_is_in_the_cache(warp_cpu: WarpConfig) -> None:
    """The announcement looks for it, so its name must be that of MuJoCo Warp's file."""
    import warp as wp

    from solo_doi.sim.warp.device import LARGE_MODULE

    assert any(Path(wp.config.kernel_cache_dir).glob(f"wp_{LARGE_MODULE}*"))


def test_a_missing_gpu_is_an_error_with_the_alternatives() -> None:
    """A slow simulation on the processor must be asked for."""
    config = WarpConfig(device="cuda:99")
    with pytest.raises(SoloError, match=r"no device 'cuda:99', only cpu.*SOLO_WARP_DEVICE.*mujoco"):
        make_simulator("warp", SimConfig(warp=config))


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (None, r"no NVIDIA driver found; Warp .* needs one for CUDA \d+.0 or newer"),
        ((12, 4), r"the NVIDIA driver is for CUDA 12.4; Warp .*: update the driver"),
        ((99, 0), r"for CUDA 99.0 and shows no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES"),
    ],
)
def test_the_reason_for_a_missing_gpu_is_named(
    driver: tuple[int, int] | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old driver looks like no GPU to Warp."""
    import warp as wp

    monkeypatch.setattr(wp, "get_cuda_device_count", lambda: 0)
    monkeypatch.setattr(wp, "get_cuda_toolkit_version", lambda: (13, 4))
    monkeypatch.setattr(wp, "get_cuda_driver_version", lambda: driver)
    with pytest.raises(SoloError, match=f"no device 'cuda:99', only cpu.*{reason}"):
        make_simulator("warp", SimConfig(warp=WarpConfig(device="cuda:99")))


def test_a_cache_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before a minute of compilation. The variable of Warp is named."""
    import warp as wp

    from solo_doi.sim.warp.device import announce_compilation, find_device

    device = find_device("cpu")
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "missing"))
    with pytest.raises(SoloError, match=r"cannot write its compiled kernels to .*missing.*WARP_CA"):
        announce_compilation(device)

    def refuse() -> None:
        raise PermissionError(13, "Permission denied", "/kernels")

    monkeypatch.setattr(wp, "init", refuse)
    with pytest.raises(SoloError, match=r"kernels to /kernels: Permission denied. Set WARP_CACHE"):
        find_device("cpu")


def test_robots_that_do_not_fit_into_memory_are_an_error(
    warp_cpu: WarpConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warp's own error has bytes only; other errors pass."""
    from solo_doi.sim.warp import warp_simulator

    def fail(reason: str) -> None:
        def refuse(*_: object) -> None:
            raise RuntimeError(reason)

        monkeypatch.setattr(warp_simulator, "DeviceBatch", refuse)

    fail("Failed to allocate 9 bytes on device 'cuda:0'")
    with pytest.raises(
        SoloError, match=r"2 robots with 48 contacts .* do not fit .* 9 bytes .* Simulate fewer"
    ):
        make_simulator("warp", SimConfig(num_robots=2, warp=warp_cpu))
    fail("no kernel image")
    with pytest.raises(RuntimeError, match="no kernel image"):
        make_simulator("warp", SimConfig(num_robots=2, warp=warp_cpu))


def test_commands_take_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors name the variable."""
    monkeypatch.setenv("SOLO_WARP_DEVICE", "cpu")
    monkeypatch.setenv("SOLO_WARP_ROWS", "200")
    assert warp_from_environment() == WarpConfig(device="cpu", rows=200)
    monkeypatch.setenv("SOLO_WARP_ROWS", "many")
    with pytest.raises(SoloError, match="SOLO_WARP_ROWS is 'many', expected a whole number"):
        warp_from_environment()
    monkeypatch.setenv("SOLO_WARP_ROWS", "99999999999")
    with pytest.raises(SoloError, match="found 48 and 99999999999: expected 1 to 10000 each"):
        warp_from_environment()
    monkeypatch.setenv("SOLO_WARP_ROWS", "0")
    with pytest.raises(SoloError, match="found 48 and 0: expected 1 to 10000 each"):
        warp_from_environment()
    monkeypatch.setenv("SOLO_WARP_ROWS", "128")
    monkeypatch.setenv("SOLO_WARP_SOLVER", "newtn")
    with pytest.raises(UnknownNameError, match="Did you mean 'newton'"):
        warp_from_environment()


def test_records_have_what_affects_results() -> None:
    """Parts of a dataset may be made on several GPUs, and with more memory after an overflow."""
    first = WarpConfig(device="cuda:0", solver="cg")
    assert first.provenance == {"device": "cuda", "solver": "cg"}
    assert WarpConfig(device="cuda:1", solver="cg", rows=500, contacts=90).provenance == (
        first.provenance
    )
