"""Simulators by name, and common first errors."""

from __future__ import annotations

import importlib
import sys

import pytest

from solo_doi.common.errors import MissingPackageError, SoloError, UnknownNameError
from solo_doi.sim import SIMULATORS, IsaacConfig, SimConfig, Simulator, make_simulator

CONFIG = SimConfig()


def forget(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make a package unimportable, as on a machine without it."""
    users = {
        "pybullet": ("bullet.bullet_simulator", "bullet.bullet_robot"),
        "mujoco": ("mujoco.mujoco_simulator", "mujoco.mujoco_model"),
        "mujoco_warp": ("warp.warp_simulator", "warp.device_batch", "warp.device_model"),
        "warp": ("warp.warp_simulator", "warp.device", "warp.device_batch"),
    }
    for module in users[package]:
        monkeypatch.delitem(sys.modules, f"solo_doi.sim.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)


def test_isaac_gym_is_known_by_both_of_its_names(isaac_double: IsaacConfig) -> None:
    """The package is called isaacgym, our module isaac."""
    for name in ("isaac", "isaacgym"):
        with make_simulator(name, SimConfig(num_robots=2, isaac=isaac_double)) as simulator:
            assert simulator.name == "Isaac Gym"


def test_isaac_gym_without_its_python_is_an_error() -> None:
    """The error names the missing field of `SimConfig`."""
    with pytest.raises(SoloError, match=r"runs in a separate Python.*SimConfig\.isaac"):
        make_simulator("isaacgym", CONFIG)


@pytest.mark.parametrize(
    ("name", "engine"), [("mujoco", "MuJoCo"), ("bullet", "PyBullet"), ("pybullet", "PyBullet")]
)
def test_names_give_their_simulators(name: str, engine: str) -> None:
    """PyBullet has two names."""
    if engine == "PyBullet":
        pytest.importorskip("pybullet")
    with make_simulator(name, SimConfig(num_robots=2)) as simulator:
        assert simulator.name == engine
        assert simulator.num_robots == 2
        assert isinstance(simulator, Simulator)


def test_an_unknown_simulator_is_answered_with_the_nearest() -> None:
    """The error also lists all names."""
    with pytest.raises(
        UnknownNameError,
        match=r"Unknown simulator 'mujco'. Did you mean 'mujoco'\? "
        r"Known: bullet, isaac, isaacgym, mujoco, pybullet, warp\.",
    ):
        make_simulator("mujco", CONFIG)


def test_a_name_like_no_other_gets_the_list_alone() -> None:
    """There is no similar name to suggest."""
    with pytest.raises(UnknownNameError, match=r"Unknown simulator 'xyz'\. Known: bullet"):
        make_simulator("xyz", CONFIG)


def test_the_error_without_pybullet_names_the_alternative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its wheels end at Python 3.11, so this error is common on newer machines."""
    forget(monkeypatch, "pybullet")
    with pytest.raises(
        MissingPackageError, match=r"needs the package 'pybullet'.*Python 3\.11.*MuJoCo"
    ):
        make_simulator("pybullet", CONFIG)


def test_the_error_without_mujoco_names_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches need version 4, so an older version gives the same error."""
    forget(monkeypatch, "mujoco")
    with pytest.raises(
        MissingPackageError, match=r"'mujoco' needs the package 'mujoco'.*pip install 'mujoco>=4'"
    ):
        make_simulator("mujoco", CONFIG)


@pytest.mark.parametrize("package", ["warp", "mujoco_warp"])
def test_the_error_without_warp_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """Its packages have other names on PyPI."""
    forget(monkeypatch, package)
    with pytest.raises(
        MissingPackageError, match=rf"'warp' needs the package '{package}'.*solo-doi\[gpu\]"
    ):
        make_simulator("warp", CONFIG)


def test_mujoco_without_batches_gives_the_same_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old version has no `mujoco.batch`; the package to install is still called mujoco."""
    for module in ("solo_doi.sim.mujoco.mujoco_simulator", "mujoco.batch"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)
    with pytest.raises(
        MissingPackageError, match=r"needs the package 'mujoco'.*pip install 'mujoco>=4'"
    ):
        make_simulator("mujoco", CONFIG)


def test_one_engine_works_without_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo works on machines without PyBullet."""
    forget(monkeypatch, "pybullet")
    with make_simulator("mujoco", CONFIG) as simulator:
        assert simulator.name == "MuJoCo"


def test_more_robots_than_pybullet_has_clients_are_refused() -> None:
    """The error comes before any client is opened and names alternatives."""
    pytest.importorskip("pybullet")
    with pytest.raises(
        SoloError,
        match="at most 1000 robots in a process, 1001 were asked for: use fewer, or MuJoCo",
    ):
        make_simulator("pybullet", SimConfig(num_robots=1001))


def test_every_listed_simulator_has_its_module() -> None:
    """The list consists of strings, so a renamed class would raise no import error."""
    pytest.importorskip("pybullet")
    for place in SIMULATORS.values():
        module, _, name = place.rpartition(".")
        found = getattr(importlib.import_module(f"solo_doi.sim.{module}"), name)
        assert issubclass(found, Simulator)


def test_closed_simulators_release_their_clients() -> None:
    """PyBullet has 1024 clients per process.

    A search over settings makes more simulators than that.
    """
    p = pytest.importorskip("pybullet")
    free = p.connect(p.DIRECT)
    p.disconnect(free)
    for _ in range(2):
        with make_simulator("pybullet", SimConfig(num_robots=3)):
            assert [p.isConnected(free + robot) for robot in range(4)] == [1, 1, 1, 0]
    assert not p.isConnected(free)
