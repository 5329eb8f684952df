"""Imports point inwards: robot facts at the centre, applications at the edges."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .import_rules import EVERYONE_MAY, RULES
from .source_files import APPLICATIONS, FILES, ROOT, imported, within

OURS = {*APPLICATIONS, "tests"}


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Return the imports that the rule for a module forbids."""
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


@pytest.mark.parametrize("module", FILES)
def test_imports_point_inwards(module: str) -> None:
    """The library never imports applications; the robot's description imports only numpy."""
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
            "from solo_doi.algorithm.numerics import networks",
            "solo_doi.algorithm.numerics.networks",
        ),
        (
            "solo_doi.cli.export",
            "from deploy.controller.loop import step",
            "deploy.controller.loop.step",
        ),
    ],
)
def test_a_planted_violation_is_found(module: str, source: str, name: str) -> None:
    """The planted import is absolute or relative, at the top or inside a function."""
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
    """Imports that the table allows are accepted."""
    assert violations(source, module) == []


def test_relative_imports_of_a_package_start_at_itself() -> None:
    """One dot is the package itself in `__init__.py`, and its parent in a module."""
    assert list(imported("from .domain import Domain", "solo_doi.sim", is_package=True)) == [
        "solo_doi.sim.domain.Domain"
    ]
    assert list(imported("from .domain import Domain", "solo_doi.sim.x", is_package=False)) == [
        "solo_doi.sim.domain.Domain"
    ]


def test_every_package_has_a_rule() -> None:
    """A new package needs a rule with its allowed imports."""
    packages = {
        f"{top}.{path.parent.name}"
        for top in ("solo_doi", "deploy")
        for path in (ROOT / top).glob("*/__init__.py")
    }
    assert packages
    assert packages <= set(RULES)


@pytest.mark.parametrize("module", ["solo_doi.solo12", "solo_doi.sim"])
def test_importing_the_library_loads_no_engine(module: str) -> None:
    """A robot computer has few packages; engines are loaded when a simulator is made."""
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
