"""The client of Isaac Gym's worker: start, errors, and the end of its process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain, IsaacConfig, SimConfig, SimulationError, make_simulator
from solo_doi.sim.domain import PLAUSIBLE
from solo_doi.sim.isaac.isaac_simulator import IsaacSimulator
from solo_doi.sim.isaac.setup_message import (
    FRICTION_STEP,
    GROUND_FRICTION,
    setup_message,
    shape_friction,
)
from solo_doi.sim.isaac.worker_process import _environment
from solo_doi.sim.isaac_config import find_isaac
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.state import standing
from tests.isaac_double.interpreters import ROOT, WORKER

SETUP = CONTROL_SETUPS["locomotion"]
POSE = SETUP.default_pose[None]
CLIENT = """
import sys, time
from pathlib import Path
from solo_doi.sim import IsaacConfig, SimConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
python, worker = (Path(word) for word in sys.argv[1:])
simulator = make_simulator("isaacgym", SimConfig(isaac=IsaacConfig(python=python, worker=worker)))
print(simulator.worker.pid, flush=True)
simulator.step(CONTROL_SETUPS["locomotion"].default_pose[None])
print("stepped", flush=True)
time.sleep(60)
"""


def make(isaac: IsaacConfig, **config: float) -> IsaacSimulator:
    """Return a simulator of one robot."""
    simulator = make_simulator("isaacgym", SimConfig(isaac=isaac, **config))  # type: ignore[arg-type]
    assert isinstance(simulator, IsaacSimulator)
    return simulator


def is_gone(pid: int, within: float = 30.0) -> bool:
    """Return True if a process ends or is a zombie within some seconds.

    A busy worker would end by itself after 60 s.
    """
    for _ in range(round(within / 0.05)):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_a_killed_worker_is_reported_with_the_signal(isaac_slow_start: IsaacConfig) -> None:
    """All later calls raise the error, too; closing is still allowed."""
    simulator = make(isaac_slow_start)
    simulator.step(POSE)
    os.kill(simulator.worker.pid, signal.SIGKILL)
    with pytest.raises(SimulationError, match="worker was ended by SIGKILL"):
        simulator.step(POSE)
    with pytest.raises(SimulationError, match="has ended: make a new simulator"):
        simulator.step(POSE)
    simulator.close()


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in the middle of a step"])
def test_a_killed_client_leaves_no_worker(
    isaac_slow_start: IsaacConfig, tmp_path: Path, busy: bool
) -> None:
    """A worker that stays would block a GPU.

    Its memory is anonymous and freed with it.
    """
    worker = shutil.copytree(WORKER, tmp_path / "worker")
    if busy:
        source = worker / "solo_isaac" / "simulation.py"
        first = "        if not self._is_made:\n"
        source.write_text(
            source.read_text().replace(first, f"        __import__('time').sleep(60)\n{first}")
        )
    arguments = [sys.executable, "-c", CLIENT, str(isaac_slow_start.python), str(worker)]
    client = subprocess.Popen(
        arguments, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    with client.stdout as output:
        pid = int(output.readline())
        if not busy:
            assert output.readline() == b"stepped\n"
        assert not is_gone(pid, within=0.2)
        client.kill()
        client.wait()
    assert is_gone(pid)


def test_closing_ends_the_worker_and_may_be_repeated(isaac_double: IsaacConfig) -> None:
    """The client waits for the exit, so no zombie is left."""
    simulator = make(isaac_double)
    pid = simulator.worker.pid
    simulator.close()
    simulator.close()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(SimulationError, match="has ended"):
        simulator.step(POSE)


def test_a_worker_ends_by_itself_on_request(isaac_double: IsaacConfig) -> None:
    """The exit code is 0.

    The worker ends without lifeline or signal, so Isaac Gym can free the GPU.
    """
    for _ in range(5):
        simulator = make(isaac_double)
        simulator.step(POSE)
        simulator.close()
        assert simulator.worker.exit_code == 0


def test_no_files_stay_open(isaac_double: IsaacConfig) -> None:
    """A hundred simulators would otherwise use up the open files of a process."""
    make(isaac_double).close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        make(isaac_double).close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_python_without_isaac_gym_is_reported(isaac_slow_start: IsaacConfig) -> None:
    """This is the most common first error."""
    with pytest.raises(
        SimulationError, match="Isaac Gym: ModuleNotFoundError: No module named 'isaacgym'"
    ):
        make(replace(isaac_slow_start, python=Path(sys.executable)))


def test_a_program_that_dies_is_quoted(isaac_double: IsaacConfig, tmp_path: Path) -> None:
    """After a missing library or a crash in Isaac Gym, the error quotes the last output."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\necho libpython3.8.so.1.0: cannot open shared object file >&2\nexit 3\n"
    )
    python.chmod(0o755)
    with pytest.raises(
        SimulationError, match=r"(?s)ended with code 3\. Its last output:.*libpython3\.8\.so\.1\.0"
    ):
        make(replace(isaac_double, python=python))


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    """The error comes before the client waits for a worker."""
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(
            SoloError, match=r"not a program that can be run.*--isaac-python or SOLO_ISAAC_PYTHON"
        ):
            IsaacConfig(python=path, worker=WORKER)
    with pytest.raises(SoloError, match="no worker of Isaac Gym here"):
        IsaacConfig(python=Path(sys.executable), worker=tmp_path)
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    with pytest.raises(SimulationError, match="cannot be started"):
        make(IsaacConfig(python=text, worker=WORKER))


def test_the_interpreter_comes_from_the_flag_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The flag has priority; without both, the error names them."""
    monkeypatch.delenv("SOLO_ISAAC_PYTHON", raising=False)
    with pytest.raises(SoloError, match=r"--isaac-python or SOLO_ISAAC_PYTHON.*--sim mujoco"):
        find_isaac(WORKER)
    monkeypatch.setenv("SOLO_ISAAC_PYTHON", "/bin/true")
    assert find_isaac(WORKER).python == Path("/bin/true")
    assert find_isaac(WORKER, Path("/bin/false")).python == Path("/bin/false")


def test_the_worker_is_isolated_from_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise packages for another version would be loaded.

    The worker's own ninja and libpython must still be found.
    """
    monkeypatch.setenv("PYTHONPATH", "/packages/of/this/python")
    monkeypatch.setenv("PYTHONHOME", "/this/python")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/cuda")
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    config = IsaacConfig(python=python, worker=WORKER)
    assert _environment(config)["PYTHONPATH"] == str(WORKER)
    assert "PYTHONHOME" not in _environment(config)
    assert _environment(config)["PATH"].split(":")[0] == str(tmp_path / "bin")
    assert _environment(config)["LD_LIBRARY_PATH"] == "/cuda"
    (tmp_path / "lib" / "libpython3.8.so.1.0").touch()
    assert _environment(config)["LD_LIBRARY_PATH"] == f"{tmp_path / 'lib'}:/cuda"


def test_a_worker_of_another_version_is_refused(
    isaac_double: IsaacConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays would be read at wrong offsets."""
    monkeypatch.setattr("solo_doi.sim.isaac.setup_message.PROTOCOL", 7)
    with pytest.raises(SimulationError, match="client speaks protocol 7, this worker 2"):
        make(isaac_double)


def test_a_new_gpu_is_refused_before_it_crashes(isaac_slow_start: IsaacConfig) -> None:
    """Hopper and Blackwell are refused; Ada and older GPUs pass."""
    program = (
        "from solo_isaac.device import refuse_unsupported\n"
        "for major in (7, 8): refuse_unsupported({'gpu': 'A', 'capability': [major, 9]})\n"
        "refuse_unsupported({'gpu': None, 'capability': None})\n"
        "refuse_unsupported({'gpu': 'H100', 'capability': [9, 0]})\n"
    )
    environment = os.environ | {"PYTHONPATH": str(WORKER)}
    command = [str(isaac_slow_start.python), "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "H100 has compute capability 9.0" in result.stderr
    assert "--sim warp" in result.stderr
    assert '"<string>", line 4' in result.stderr  # the first three calls pass


def test_divergence_names_the_robot(isaac_double: IsaacConfig) -> None:
    """PhysX returns NaN, while other engines raise an error."""
    with make(isaac_double, num_robots=3) as simulator:
        simulator.step(np.tile(POSE, (3, 1)))
        simulator._arrays["root"][1, 2] = np.nan
        with pytest.raises(SimulationError, match="base_position_w of robot 1 is not finite"):
            simulator.state()


def test_kicks_and_resets_between_steps_are_handed_over_once(isaac_double: IsaacConfig) -> None:
    """Isaac Gym accepts each kind of state once per step.

    The client may edit several times.
    """
    with make(isaac_double, num_robots=2) as simulator:
        motion = standing(SETUP, 2)
        motion.base_position_w[:, 2] += 5.0
        simulator.reset(motion)
        simulator.reset(motion[[1]], robots=[1])
        for _ in range(2):
            simulator.kick([0, 1], np.tile([0.5, 0.0, 0.0], (2, 1)), np.zeros((2, 3)))
        state = simulator.step(motion.joint_position)
    np.testing.assert_allclose(state.linear_velocity_b[:, 0], 1.0, atol=1e-5)


def test_it_runs_on_the_cpu_too(isaac_double: IsaacConfig) -> None:
    """On the CPU, results must be fetched after every step."""
    with make(replace(isaac_double, device="cpu")) as simulator:
        state = simulator.step(POSE)
    assert state.foot_contact.all()


def test_friction_is_rounded_to_few_values_and_averages_to_the_request() -> None:
    """All plausible values need fewer materials than PhysX has, and are never negative."""
    low, high = PLAUSIBLE["friction"]
    asked = np.random.default_rng(0).uniform(low, high, 100_000)
    shapes = shape_friction(asked)
    assert len(np.unique(shapes.astype(np.float32))) <= (high - low) / FRICTION_STEP + 1 < 64000
    assert shapes.min() >= 0
    np.testing.assert_allclose(
        (shapes + GROUND_FRICTION) / 2, asked, atol=FRICTION_STEP / 2 + 1e-12
    )


def test_friction_of_a_running_robot_can_change(isaac_double: IsaacConfig) -> None:
    """Friction may change at any time, for one robot alone."""
    with make(isaac_double, num_robots=2) as simulator:
        pose, push_w = np.tile(POSE, (2, 1)), np.tile([3.0, 0.0, 0.0], (2, 1))
        for _ in range(25):
            simulator.step(pose)
        simulator.set_domain(Domain.nominal(1, friction=0.05), robots=[1])
        start = simulator.state().base_position_w[:, 0]
        for _ in range(25):
            state = simulator.step(pose, push_w)
    moved = state.base_position_w[:, 0] - start
    assert moved[1] > 0.05 > moved[0]


def test_many_robots_get_a_larger_table_of_contacts() -> None:
    """PhysX drops contacts silently when the table is full."""
    few, many = (setup_message(SimConfig(num_robots=n), 0, "cuda:0")["physx"] for n in (4096, 8192))
    assert few["max_gpu_contact_pairs"] == 2**23
    assert many["max_gpu_contact_pairs"] == 2**24
