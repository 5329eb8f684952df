"""Common mistakes with Isaac Gym, planted into the worker or the client.

Each must be detected.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from collect.isaac_selftest import run_checks
from solo_doi.sim import Domain, IsaacConfig, SimConfig, SimulationError, make_simulator
from solo_doi.sim.isaac import isaac_simulator as isaac
from solo_doi.solo12.constants import CONTROL_SETUPS

from .interpreters import WORKER

HANDED_OVER = (
    "full = gymtorch.unwrap_tensor(self._all_roots)\n"
    "            chosen = gymtorch.unwrap_tensor(actors)"
)
SET_ROOTS = "gym.set_actor_root_state_tensor_indexed(sim, full, chosen, len(actors))"
SEND = "gym.set_dof_actuation_force_tensor(sim, gymtorch.unwrap_tensor(self._effort))"


@dataclass(frozen=True)
class Mistake:
    """A line of the worker, and a plausible mistake that replaces it."""

    file: str
    line: str
    instead: str
    noticed: str
    """Error message of the double."""


MISTAKES = {
    "int64 indices": Mistake(
        "simulation.py",
        ".to(device)  # int32",
        ".to(device).long()",
        "actor indices: expected int32, found int64",
    ),
    "a temporary is unwrapped": Mistake(
        "simulation.py",
        HANDED_OVER,
        HANDED_OVER.replace("(actors)", "(self._actors[rows])"),
        "the tensor was freed",
    ),
    "refresh after set": Mistake(
        "simulation.py",
        SET_ROOTS,
        f"{SET_ROOTS}\n            gym.refresh_actor_root_state_tensor(sim)",
        "refresh after set_actor_root_state_tensor_indexed: stale",
    ),
    "set twice": Mistake(
        "simulation.py", SET_ROOTS, f"{SET_ROOTS}\n            {SET_ROOTS}", "twice since the last"
    ),
    "efforts of a view": Mistake(
        "simulation.py", SEND, SEND.replace("self._effort", "self._effort.T"), "must be contiguous"
    ),
    "SIM_FLEX": Mistake(
        "scene.py",
        "gym.create_sim(number, -1, gymapi.SIM_PHYSX, ",
        "gym.create_sim(number, -1, params=",
        "SIM_FLEX",
    ),
    "Y is up": Mistake(
        "scene.py", "        parameters.up_axis = gymapi.UP_AXIS_Z\n", "", "up_axis is Y"
    ),
    "feet collapsed": Mistake(
        "scene.py",
        'write_text(self.setup["urdf"])',
        'write_text(self.setup["urdf"].replace("dont_collapse", "ignored"))',
        "found no body FL_FOOT, FR_FOOT, HL_FOOT, HR_FOOT",
    ),
    "boxes nobody touches": Mistake(
        "scene.py",
        '"box", index, COLLIDES_WITH_ALL',
        '"box", index + 1, COLLIDES_WITH_ALL',
        "another collision group",
    ),
    "one group for all": Mistake(
        "scene.py", '"robot", index,', '"robot", 0,', "share a collision group"
    ),
    "all in one place": Mistake(
        "scene.py",
        'self.setup["spacing"] / 2',
        "0.0",
        "environments without extent lie in one place",
    ),
    "actors after prepare_sim": Mistake(
        "simulation.py",
        "self._is_made = True",
        "scene.finish(self._shared)",
        "create_env must come before prepare_sim",
    ),
    "tensors before prepare_sim": Mistake(
        "simulation.py",
        "scene.finish(self._shared)\n",
        "scene.prepare = None\n",
        "after prepare_sim",
    ),
}


def planted(tmp_path: Path, mistake: Mistake) -> Path:
    """Return a copy of the worker with a mistake in it."""
    worker = shutil.copytree(
        WORKER, tmp_path / "worker", ignore=shutil.ignore_patterns("__pycache__")
    )
    source = worker / "solo_isaac" / mistake.file
    text = source.read_text()
    assert text.count(mistake.line) == 1, (
        f"{mistake.file} has changed: {mistake.line!r} is not one place in it"
    )
    source.write_text(text.replace(mistake.line, mistake.instead))
    return worker


def test_without_a_mistake_all_checks_pass(isaac_double: IsaacConfig) -> None:
    """This shows that the tests below detect the planted mistakes."""
    report = run_checks(isaac_double)
    assert [check["name"] for check in report["checks"] if not check["ok"]] == []
    assert len(report["checks"]) == 16


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_broken_rule_is_named(
    mistake: Mistake, isaac_double: IsaacConfig, tmp_path: Path
) -> None:
    """The real Isaac Gym would crash, or continue with old numbers."""
    with pytest.raises(SimulationError, match=mistake.noticed):
        run_checks(replace(isaac_double, worker=planted(tmp_path, mistake)))


def test_torch_before_isaac_gym_is_refused(isaac_slow_start: IsaacConfig, tmp_path: Path) -> None:
    """The process has loaded neither package before."""
    worker = planted(
        tmp_path, Mistake("serve.py", "import threading\n", "import threading\nimport torch\n", "")
    )
    with pytest.raises(SimulationError, match="ImportError: PyTorch was imported before isaacgym"):
        make_simulator("isaacgym", SimConfig(isaac=replace(isaac_slow_start, worker=worker)))


def test_a_change_of_mass_on_a_running_gpu_is_refused(
    isaac_double: IsaacConfig, tmp_path: Path
) -> None:
    """Friction may change, masses may not."""
    friction = "shapes = self.gym.get_actor_rigid_shape_properties(environment, actor)"
    mistake = Mistake(
        "scene.py", friction, f"{friction}\n        self._add_mass(environment, actor, 0.1)", ""
    )
    config = SimConfig(isaac=replace(isaac_double, worker=planted(tmp_path, mistake)))
    pose = CONTROL_SETUPS["locomotion"].default_pose[None]
    with make_simulator("isaacgym", config) as simulator:
        simulator.step(pose)
        simulator.set_domain(Domain.nominal(1, friction=0.5))
        with pytest.raises(SimulationError, match="a change of mass must come before prepare_sim"):
            simulator.step(pose)


def test_quaternions_with_the_scalar_first_are_noticed(
    isaac_double: IsaacConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mistake is made in both directions, so states look right after a reset.

    Only physics differ.
    """
    monkeypatch.setattr(isaac, "to_xyzw", np.copy)
    monkeypatch.setattr(isaac, "from_xyzw", np.copy)
    failed = {check["name"] for check in run_checks(isaac_double)["checks"] if not check["ok"]}
    assert {"feet carry the weight [N]", "only feet touch the ground"} <= failed


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (
            SEND,
            "self._sent = getattr(self, '_sent', -1) + 1\n"
            f"        if self._sent % 4 == 0:\n            {SEND}",
        ),
        (
            'gymapi.DOF_MODE_EFFORT))\n        for name in ("stiff',
            'gymapi.DOF_MODE_POS))\n        for name in ("stiff',
        ),
    ],
    ids=["efforts not sent again", "joints not driven by effort"],
)
def test_motors_without_power_are_detected(
    line: str, instead: str, isaac_double: IsaacConfig, tmp_path: Path
) -> None:
    """No rule is broken.

    Efforts are consumed by one step, and ignored by joints in another mode. The robot sags.
    """
    file = "simulation.py" if line == SEND else "scene.py"
    worker = planted(tmp_path, Mistake(file, line, instead, ""))
    failed = {
        check["name"]
        for check in run_checks(replace(isaac_double, worker=worker))["checks"]
        if not check["ok"]
    }
    assert failed & {
        "only feet touch the ground",
        "torque at rest [N m]",
        "without lag it moves further, times",
    }
