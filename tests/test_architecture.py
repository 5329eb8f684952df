"""Who may import whom: what the robot is stays at the centre, applications at the edges."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APPLICATIONS = ("solo_doi", "collect", "deploy")
OURS = {*APPLICATIONS, "tests"}
ENGINES = frozenset({"mujoco", "pybullet", "isaacgym"})
EVERYONE_MAY = ("solo_doi.common.errors", "solo_doi.common.files", "solo_doi.__version__")


@dataclass(frozen=True)
class Rule:
    """What the modules of a package may import, besides the standard library and each other."""

    may: frozenset[str] | set[str] = frozenset()
    """Packages of ours."""
    outside: frozenset[str] | set[str] | None = None
    """Packages of others; anything if not given."""
    never: frozenset[str] | set[str] = frozenset()
    """What is forbidden even so."""


RULES = {  # the most specific name counts
    "solo_doi": Rule(may={"solo_doi"}),
    "solo_doi.solo12": Rule(outside={"numpy"}),
    "solo_doi.sim": Rule(may={"solo_doi.solo12"}, outside={"numpy", *ENGINES}),
    "solo_doi.sim.__main__": Rule(may={"solo_doi.solo12", "solo_doi.sim"}, outside={"numpy", "rich", "matplotlib"}),
    "solo_doi.tasks": Rule(may={"solo_doi.solo12", "solo_doi.sim"}, never={"torch", *ENGINES}),
    "solo_doi.policies": Rule(may={"solo_doi.solo12"}, never={"torch", *ENGINES}),
    "solo_doi.policies.dominic_checkpoint": Rule(
        may={"solo_doi.solo12", "solo_doi.policies"}, never=ENGINES
    ),  # checkpoints
    "solo_doi.policies.bundle.reader": Rule(  # runs on the robot
        may={"solo_doi.solo12", "solo_doi.policies.bundle.contract", "solo_doi.policies.bundle.plausibility"},
        outside={"numpy", "onnxruntime"},
    ),
    "solo_doi.policies.bundle.plausibility": Rule(
        may={"solo_doi.solo12", "solo_doi.policies.bundle.contract"}, outside={"numpy"}
    ),
    "solo_doi.policies.bundle.contract": Rule(outside=frozenset()),
    "solo_doi.data": Rule(may={"solo_doi.solo12"}, outside={"numpy", "h5py"}),
    "solo_doi.algorithm": Rule(may={"solo_doi.solo12", "solo_doi.data", "solo_doi.policies"}, never=ENGINES),
    "solo_doi.evaluate": Rule(may={"solo_doi"}),
    "collect": Rule(may={"solo_doi"}, never={"solo_doi.algorithm"}),  # nor deploy, which is not among `may`
    "collect.isaac_worker": Rule(outside={"isaacgym", "torch", "numpy"}, never={"solo_doi"}),  # another Python
    "deploy": Rule(may={"solo_doi"}, never={"torch", "solo_doi.data", "solo_doi.algorithm"}),
    "deploy.robots.odri": Rule(  # runs on the robot, beside the vendor's wheels
        may={"solo_doi.solo12", "deploy.clock", "deploy.signals", "deploy.robots.robot", "deploy.robots.lag"},
        outside={"numpy", "libmaster_board_sdk_pywrap"},
    ),
    "deploy.robots.virtual_board": Rule(
        may={
            "solo_doi.solo12",
            "solo_doi.sim",
            "deploy.realtime",
            "deploy.signals",
            "deploy.robots.robot",
            "deploy.robots.lag",
            "deploy.robots.odri",
        },
        outside={"numpy", "mujoco"},
    ),
    "deploy.export": Rule(  # not on the loop's side: it reads every policy, but trains and collects nothing
        may={
            "solo_doi.solo12",
            "solo_doi.sim",
            "solo_doi.tasks",
            "solo_doi.policies",
            "solo_doi.common.provenance",
            "solo_doi.common.settings",
            "solo_doi.policies.bundle.shipped",
        },
        outside={"numpy", "onnx", "onnxruntime", "tyro"},
    ),
}


def within(name: str, packages: frozenset[str] | set[str] | tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the packages or lies inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def imported(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Absolute dotted name of everything a module imports, wherever in its text."""
    parents = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) - node.level + 1] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            yield from (f"{start}.{alias.name}" for alias in node.names)


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Imports that the rule for a module does not allow."""
    package = max((name for name in RULES if within(module, (name,))), key=len)
    rule = RULES[package]
    broken = []
    for name in imported(source, module, is_package=is_package):
        root = name.split(".")[0]
        if root in sys.stdlib_module_names:
            continue
        if root in OURS:
            allowed = within(name, (*rule.may, *EVERYONE_MAY, package))
        else:
            allowed = rule.outside is None or root in rule.outside
        if not allowed or within(name, rule.never):
            broken.append(name)
    return broken


def module_name(path: Path) -> str:
    """Dotted name of a file of the repository."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_name(path): path for folder in APPLICATIONS for path in sorted((ROOT / folder).rglob("*.py"))}


@pytest.mark.parametrize("module", FILES)
def test_imports_point_inwards(module: str) -> None:
    """The library never imports the applications, the robot's description nothing but numpy."""
    path = FILES[module]
    broken = violations(path.read_text(), module, is_package=path.name == "__init__.py")
    assert not broken, f"{path.relative_to(ROOT)} must not import {broken}"


@pytest.mark.parametrize(
    ("module", "source", "name"),
    [
        ("solo_doi.solo12.state", "import torch", "torch"),
        ("solo_doi.solo12.state", "import yaml", "yaml"),
        ("solo_doi.solo12.state", "from solo_doi.sim import Domain", "solo_doi.sim.Domain"),
        ("solo_doi.solo12.state", "from solo_doi import sim", "solo_doi.sim"),
        ("solo_doi.solo12.state", "from ..sim.domain import Domain", "solo_doi.sim.domain.Domain"),
        ("solo_doi.solo12.state", "from .. import sim", "solo_doi.sim"),
        ("solo_doi.solo12.state", "def f():\n    import mujoco.batch", "mujoco.batch"),
        ("solo_doi.sim.mujoco.mujoco_simulator", "import torch.nn as nn", "torch.nn"),
        ("solo_doi.sim.mujoco.mujoco_simulator", "from solo_doi.tasks import rewards", "solo_doi.tasks.rewards"),
        ("solo_doi.sim.mujoco.mujoco_simulator", "from collect.dominic import trainer", "collect.dominic.trainer"),
        ("solo_doi.sim.mujoco.mujoco_simulator", "from rich.table import Table", "rich.table.Table"),
        ("solo_doi.tasks.rewards", "if True:\n    import torch", "torch"),
        ("solo_doi.policies.masked_policy", "import torch", "torch"),
        ("solo_doi.policies.bundle.reader", "def f():\n    import torch", "torch"),
        ("solo_doi.policies.bundle.reader", "import onnx", "onnx"),
        (
            "solo_doi.policies.bundle.reader",
            "from .skills import SkillPolicy",
            "solo_doi.policies.skill_policy.SkillPolicy",
        ),
        ("solo_doi.policies.bundle.contract", "import numpy as np", "numpy"),
        ("solo_doi.data.shard", "from solo_doi.sim import Domain", "solo_doi.sim.Domain"),
        ("solo_doi.data.minari", "import minari", "minari"),
        ("solo_doi.data.dataset", "import torch", "torch"),
        ("solo_doi.algorithm.doi", "from solo_doi.sim import Domain", "solo_doi.sim.Domain"),
        ("solo_doi.evaluate.report.html_report", "import deploy.export", "deploy.export"),
        ("solo_doi.cli.train", "from tests.bench import harness", "tests.bench.harness"),
        ("collect.mixture", "from solo_doi.algorithm import doi", "solo_doi.algorithm.doi"),
        ("collect.mixture", "from solo_doi import algorithm", "solo_doi.algorithm"),
        ("collect.mixture", "from deploy import export", "deploy.export"),
        ("collect.isaac_worker.solo_isaac.scene", "import yaml", "yaml"),
        ("collect.isaac_worker.solo_isaac.scene", "from collect import recipe", "collect.recipe"),
        (
            "collect.isaac_worker.solo_isaac.scene",
            "from solo_doi.common.errors import SoloError",
            "solo_doi.common.errors.SoloError",
        ),
        ("deploy.loop", "import torch", "torch"),
        ("deploy.loop", "from solo_doi.data.reader import Dataset", "solo_doi.data.reader.Dataset"),
        ("deploy.robots.odri.native", "import yaml", "yaml"),
        (
            "deploy.robots.odri.native",
            "from deploy.robots.virtual_board import memory",
            "deploy.robots.virtual_board.memory",
        ),
        ("deploy.export", "import collect", "collect"),
        ("solo_doi.export.writer", "import torch", "torch"),
        ("solo_doi.export.writer", "from solo_doi.algorithm import networks", "solo_doi.algorithm.networks"),
        ("solo_doi.cli.export", "from deploy.loop import step", "deploy.loop.step"),
    ],
)
def test_a_planted_violation_is_found(module: str, source: str, name: str) -> None:
    """Absolute or relative, at the top or inside a function: the test above can fail."""
    assert violations(source, module) == [name]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "solo_doi.solo12.state",
            "import numpy as np\nfrom .constants import Array\nfrom solo_doi.common.errors import SoloError",
        ),
        (
            "solo_doi.sim.bullet.bullet_simulator",
            "import pybullet\nfrom solo_doi.solo12.state import Motion\nfrom .domain import Domain",
        ),
        ("solo_doi.tasks.locomotion", "from solo_doi.sim import Domain\nimport gymnasium"),
        ("solo_doi.policies.dominic_checkpoint", "import torch\nfrom .masked import MaskedPolicy"),
        ("solo_doi.data.shard", "import h5py\nimport numpy as np\nfrom .schema import Field"),
        ("solo_doi.algorithm.doi", "import torch\nfrom solo_doi.data import reader"),
        ("solo_doi.cli.train", "from solo_doi import evaluate, __version__"),
        ("collect.mixture", "import torch\nfrom solo_doi.data import writer\nfrom collect import dominic"),
        ("deploy.loop", "import onnxruntime\nfrom solo_doi.sim import make_simulator\nfrom .safety import check"),
        ("solo_doi.policies.bundle.reader", "import onnxruntime\nfrom .contract import Contract"),
        (
            "solo_doi.export.writer",
            "import onnx\nfrom solo_doi.policies.dominic_checkpoint import read_policy\nfrom .graph import g",
        ),
    ],
)
def test_allowed_imports_pass(module: str, source: str) -> None:
    """The rules forbid what the table forbids and no more."""
    assert violations(source, module) == []


def test_relative_imports_of_a_package_start_at_itself() -> None:
    """In `__init__.py` one dot is the package, in a module its parent."""
    assert list(imported("from .domain import Domain", "solo_doi.sim", is_package=True)) == [
        "solo_doi.sim.domain.Domain"
    ]
    assert list(imported("from .domain import Domain", "solo_doi.sim.x", is_package=False)) == [
        "solo_doi.sim.domain.Domain"
    ]


def test_every_package_of_the_library_has_a_rule() -> None:
    """A new package says whom it may import before it is used."""
    packages = {f"solo_doi.{path.parent.name}" for path in (ROOT / "solo_doi").glob("*/__init__.py")}
    assert packages
    assert packages <= set(RULES)


@pytest.mark.parametrize("module", ["solo_doi.solo12", "solo_doi.sim"])
def test_importing_the_library_loads_no_engine(module: str) -> None:
    """A robot computer has numpy and little else; engines are loaded when a simulator is made."""
    names = (
        sorted(name for name in FILES if name.startswith("solo_doi.solo12")) if module.endswith("solo12") else [module]
    )
    heavy = {"torch", "mujoco", "pybullet", "matplotlib", "rich", "yaml"}
    program = f"import sys, {', '.join(names)}; print(sorted({heavy!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
