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
EVERYONE_MAY = ("solo_doi.common", "solo_doi.__version__")


@dataclass(frozen=True)
class Rule:
    """Imports allowed in the modules of a package, besides the standard library and each other."""

    may: frozenset[str] | set[str] = frozenset()
    """Our own packages."""
    outside: frozenset[str] | set[str] | None = None
    """Third-party packages; any if None."""
    never: frozenset[str] | set[str] = frozenset()
    """Forbidden even if a rule above allows it."""


ROBOT_SIDE = {"solo_doi.solo12", "solo_doi.policies.bundle", "deploy.common", "deploy.messages"}
"""Imports of the processes that run beside the robot."""
LOOP_NEVER = {"torch", "collect", "solo_doi.data", "solo_doi.algorithm"}

RULES = {  # the most specific name counts
    "solo_doi": Rule(may={"solo_doi"}),
    "solo_doi.common": Rule(
        outside={"yaml", "tyro", "rich", "numpy", "torch", "h5py", "tensorboard"}
    ),
    "solo_doi.solo12": Rule(outside={"numpy"}),
    "solo_doi.sim": Rule(may={"solo_doi.solo12"}, outside={"numpy", *ENGINES}),
    "solo_doi.sim.__main__": Rule(
        may={"solo_doi.solo12", "solo_doi.sim"}, outside={"numpy", "rich", "matplotlib"}
    ),
    "solo_doi.tasks": Rule(may={"solo_doi.solo12", "solo_doi.sim"}, never={"torch", *ENGINES}),
    "solo_doi.policies": Rule(may={"solo_doi.solo12"}, never={"torch", *ENGINES}),
    "solo_doi.policies.dominic_checkpoint": Rule(
        may={"solo_doi.solo12", "solo_doi.policies"}, never=ENGINES
    ),
    "solo_doi.policies.bundle": Rule(
        may={"solo_doi.solo12"}, outside={"numpy", "onnxruntime", "cryptography"}
    ),
    "solo_doi.policies.bundle.contract": Rule(outside=frozenset()),
    "solo_doi.data": Rule(may={"solo_doi.solo12"}, outside={"numpy", "h5py"}),
    "solo_doi.algorithm": Rule(
        may={"solo_doi.solo12", "solo_doi.data", "solo_doi.policies"}, never=ENGINES
    ),
    "solo_doi.runs": Rule(
        may={"solo_doi.algorithm", "solo_doi.data", "solo_doi.policies", "solo_doi.solo12"},
        never=ENGINES,
    ),
    "solo_doi.export": Rule(
        may={
            "solo_doi.solo12",
            "solo_doi.sim",
            "solo_doi.tasks",
            "solo_doi.policies",
            "solo_doi.runs",
        },
        outside={"numpy", "onnx", "onnxruntime"},
    ),
    "solo_doi.evaluate": Rule(may={"solo_doi"}, never={"solo_doi.cli", "solo_doi.export"}),
    "solo_doi.cli": Rule(may={"solo_doi"}),
    "collect": Rule(
        may={"solo_doi"}, never={"solo_doi.algorithm", "solo_doi.runs", "solo_doi.cli"}
    ),
    "collect.isaac_worker": Rule(
        outside={"isaacgym", "torch", "numpy"}, never={"solo_doi"}
    ),  # another Python
    "deploy": Rule(),
    "deploy.common": Rule(may={"solo_doi.solo12"}, outside={"numpy"}),
    "deploy.messages": Rule(may={"solo_doi.solo12", "deploy.common"}, outside={"numpy", "lcm"}),
    "deploy.recorder": Rule(
        may={"solo_doi.solo12", "deploy.common", "deploy.messages"}, never=LOOP_NEVER
    ),
    "deploy.operators": Rule(
        may={"solo_doi.solo12", "deploy.common", "deploy.messages"}, outside={"numpy"}
    ),
    "deploy.controller": Rule(
        may={*ROBOT_SIDE, "deploy.operators", "deploy.recorder"}, outside={"numpy"}
    ),
    "deploy.robots": Rule(may={*ROBOT_SIDE, "solo_doi.sim"}, outside={"numpy", "pybullet"}),
    "deploy.robots.odri": Rule(  # runs on the robot, beside the vendor's wheels
        may={"solo_doi.solo12", "deploy.common"},
        outside={"numpy", "libmaster_board_sdk_pywrap"},
    ),
    "deploy.robots.virtual_board": Rule(
        may={
            "solo_doi.solo12",
            "solo_doi.sim",
            "deploy.common",
            "deploy.robots.odri",
        },
        outside={"numpy", "mujoco"},
    ),
    "deploy.console": Rule(may={*ROBOT_SIDE, "deploy.operators"}, never=LOOP_NEVER),
    "deploy.logs": Rule(
        may={
            *ROBOT_SIDE,
            "deploy.operators",
            "deploy.controller",
            "deploy.robots",
            "deploy.recorder",
        },
        never=LOOP_NEVER,
    ),
    "deploy.launch": Rule(
        may={
            *ROBOT_SIDE,
            "deploy.operators",
            "deploy.controller",
            "deploy.robots",
            "deploy.console",
            "deploy.recorder",
            "deploy.logs",
        },
        never=LOOP_NEVER,
    ),
    "deploy.service": Rule(may={*ROBOT_SIDE, "deploy.robots", "deploy.launch"}, never=LOOP_NEVER),
    "deploy.install": Rule(may={"deploy.common"}, outside=frozenset()),
    "deploy.cli": Rule(may={"solo_doi", "deploy"}, never={"torch"}),
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


FILES = {
    module_name(path): path
    for folder in APPLICATIONS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


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
        (
            "solo_doi.sim.mujoco.mujoco_simulator",
            "from solo_doi.tasks import rewards",
            "solo_doi.tasks.rewards",
        ),
        (
            "solo_doi.sim.mujoco.mujoco_simulator",
            "from collect.dominic import trainer",
            "collect.dominic.trainer",
        ),
        (
            "solo_doi.sim.mujoco.mujoco_simulator",
            "from rich.table import Table",
            "rich.table.Table",
        ),
        ("solo_doi.tasks.rewards", "if True:\n    import torch", "torch"),
        ("solo_doi.policies.masked_policy", "import torch", "torch"),
        ("solo_doi.policies.bundle.reader", "def f():\n    import torch", "torch"),
        ("solo_doi.policies.bundle.reader", "import onnx", "onnx"),
        (
            "solo_doi.policies.bundle.reader",
            "from solo_doi.policies.skill_policy import SkillPolicy",
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
        ("collect.mixture", "from deploy import launch", "deploy.launch"),
        ("collect.isaac_worker.solo_isaac.scene", "import yaml", "yaml"),
        ("collect.isaac_worker.solo_isaac.scene", "from collect import recipes", "collect.recipes"),
        (
            "collect.isaac_worker.solo_isaac.scene",
            "from solo_doi.common.errors import SoloError",
            "solo_doi.common.errors.SoloError",
        ),
        ("deploy.controller.loop", "import torch", "torch"),
        (
            "deploy.controller.loop",
            "from deploy.robots.process import gate",
            "deploy.robots.process.gate",
        ),
        (
            "deploy.robots.process.gate",
            "from deploy.controller import safety",
            "deploy.controller.safety",
        ),
        ("deploy.common.clock", "from deploy.messages import lcm_link", "deploy.messages.lcm_link"),
        ("deploy.console.keyboard", "from deploy.controller import loop", "deploy.controller.loop"),
        (
            "solo_doi.evaluate.source",
            "from solo_doi.cli.train import main",
            "solo_doi.cli.train.main",
        ),
        (
            "deploy.controller.loop",
            "from solo_doi.data.reader import Dataset",
            "solo_doi.data.reader.Dataset",
        ),
        ("deploy.robots.odri.drivers.native_board", "import yaml", "yaml"),
        (
            "deploy.robots.odri.drivers.native_board",
            "from deploy.robots.virtual_board import memory_link",
            "deploy.robots.virtual_board.memory_link",
        ),
        ("solo_doi.export.writer", "import collect", "collect"),
        ("solo_doi.export.writer", "import torch", "torch"),
        (
            "solo_doi.export.writer",
            "from solo_doi.algorithm import networks",
            "solo_doi.algorithm.networks",
        ),
        (
            "solo_doi.cli.export",
            "from deploy.controller.loop import step",
            "deploy.controller.loop.step",
        ),
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
            "import numpy as np\nfrom .constants import Array\nfrom solo_doi.common.errors import "
            "SoloError",
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
        (
            "collect.mixture",
            "import torch\nfrom solo_doi.data import writer\nfrom collect import dominic",
        ),
        (
            "deploy.controller.loop",
            "import numpy\nfrom deploy.recorder.recorder import Ring\nfrom .safety import check",
        ),
        ("solo_doi.policies.bundle.reader", "import onnxruntime\nfrom .contract import Contract"),
        (
            "solo_doi.export.writer",
            "import onnx\nfrom solo_doi.policies.dominic_checkpoint import read_policy\nfrom "
            ".graph import g",
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


def test_every_room_has_a_rule() -> None:
    """A new package says whom it may import before it is used."""
    packages = {
        f"{top}.{path.parent.name}"
        for top in ("solo_doi", "deploy")
        for path in (ROOT / top).glob("*/__init__.py")
    }
    assert packages
    assert packages <= set(RULES)


@pytest.mark.parametrize("module", ["solo_doi.solo12", "solo_doi.sim"])
def test_importing_the_library_loads_no_engine(module: str) -> None:
    """A robot computer has numpy and little else; engines are loaded when a simulator is made."""
    names = (
        sorted(name for name in FILES if name.startswith("solo_doi.solo12"))
        if module.endswith("solo12")
        else [module]
    )
    heavy = {"torch", "mujoco", "pybullet", "matplotlib", "rich", "yaml"}
    program = f"import sys, {', '.join(names)}; print(sorted({heavy!r} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of nodes that reach each other."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for following in graph.get(waiting.pop(), set()) - seen:
                seen.add(following)
                waiting.append(following)
        return seen

    reached = {node: reachable(node) for node in graph}
    groups = [
        {other for other in reached[node] if node in reached.get(other, set())} for node in graph
    ]
    return [group for group in groups if group]


def import_graph() -> dict[str, set[str]]:
    """Modules of ours that each of our modules imports."""
    graph: dict[str, set[str]] = {}
    for module, path in FILES.items():
        found = set()
        for name in imported(path.read_text(), module, is_package=path.name == "__init__.py"):
            while name and name not in FILES:
                name = name.rpartition(".")[0]
            found.add(name)
        graph[module] = found - {"", module}
    return graph


def package_of(module: str) -> str:
    """Return the package whose folder holds a module."""
    return module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]


def test_no_module_imports_itself_through_others() -> None:
    """A cycle of modules cannot be read, moved or tested piece by piece."""
    assert not cycles(import_graph())


def test_no_package_imports_itself_through_others() -> None:
    """The same for rooms: one of any two is the lower one."""
    between: dict[str, set[str]] = {}
    for module, targets in import_graph().items():
        others = {package_of(target) for target in targets} - {package_of(module)}
        between.setdefault(package_of(module), set()).update(others)
    assert not cycles(between)


def test_a_planted_cycle_is_found() -> None:
    """Three modules in a ring, and one outside it."""
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})[0] == {"a", "b", "c"}
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_library_module_imports_a_command() -> None:
    """Commands are at the edge: what they need of each other belongs into the library."""
    graph = import_graph()
    importers = {
        module
        for module, targets in graph.items()
        if any(".cli." in f"{target}." for target in targets)
    }
    assert {module for module in importers if ".cli." not in f"{module}."} == set()


@pytest.mark.parametrize("top", APPLICATIONS)
def test_no_folder_holds_more_than_twenty_modules(top: str) -> None:
    """A newcomer reads `ls` and knows where a thing is."""
    folders = [path.parent for path in (ROOT / top).rglob("*.py") if path.name != "__init__.py"]
    assert max(folders.count(folder) for folder in folders) <= 20


ROBOT_NAMES = {"pybullet", "mock", "virtual", "real"}
MAY_NAME_A_ROBOT = ("deploy.robots.registry", "deploy.common.deploy_config", "deploy.cli")


def robot_names_decided_on(source: str) -> list[int]:
    """Lines that choose by a robot's name (comparison, match, table) or refer to the type of it."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        values: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            values = [node.value]
        elif isinstance(node, ast.Dict):
            values = [*node.keys]
        elif isinstance(node, ast.alias | ast.Name | ast.Attribute):
            name = getattr(node, "name", "") or getattr(node, "id", "") or getattr(node, "attr", "")
            if name == "RobotName":
                lines.append(node.lineno)
        constants = [
            inner.value
            for value in values
            if value is not None
            for inner in ast.walk(value)
            if isinstance(inner, ast.Constant)
        ]
        if ROBOT_NAMES & {value for value in constants if isinstance(value, str)}:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "module",
    [name for name in FILES if within(name, ("deploy",)) and not within(name, MAY_NAME_A_ROBOT)],
)
def test_no_module_asks_which_robot_it_is(module: str) -> None:
    """Differences between robots are properties of their entry in deploy.robots.registry."""
    lines = robot_names_decided_on(FILES[module].read_text())
    assert not lines, f"{module}, lines {lines}: read a property of RobotKind instead"


@pytest.mark.parametrize(
    "source",
    [
        'if config.robot == "real": pass',
        'if "virtual" != config.robot: pass',
        'judged = robot in ("pybullet", "virtual")',
        'if (config.robot, config.driver) == ("virtual", "native"): pass',
        'match robot:\n    case "mock":\n        pass',
        'settle = {"virtual": 3.7}.get(config.robot)',
        "from deploy.common.deploy_config import RobotName",
        "name: deploy_config.RobotName",
    ],
)
def test_a_planted_choice_by_name_is_found(source: str) -> None:
    """The test above can fail."""
    assert robot_names_decided_on(source) == [node.lineno for node in ast.parse(source).body] or (
        robot_names_decided_on(source) == [2]
    )
