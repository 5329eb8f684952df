"""The robot's name decides only in the registry, the configuration and the commands."""

from __future__ import annotations

import ast

import pytest

from .source_files import FILES, within

ROBOT_NAMES = {"pybullet", "mujoco", "mock", "virtual", "real"}
MAY_NAME_A_ROBOT = ("deploy.robots.registry", "deploy.common.deploy_config", "deploy.cli")


def robot_names_decided_on(source: str) -> list[int]:
    """Return lines that depend on a robot's name: comparison, match, table or its type."""
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
def test_no_module_depends_on_the_name_of_the_robot(module: str) -> None:
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
    """This shows that the test above can fail."""
    assert robot_names_decided_on(source) == [node.lineno for node in ast.parse(source).body] or (
        robot_names_decided_on(source) == [2]
    )
