"""Imports that each package may make."""

from __future__ import annotations

from dataclasses import dataclass

ENGINES = frozenset({"mujoco", "pybullet", "isaacgym", "mujoco_warp", "warp"})
EVERYONE_MAY = ("solo_doi.common", "solo_doi.__version__")


@dataclass(frozen=True)
class Rule:
    """Imports allowed in the modules of a package, besides the standard library and each other."""

    may: frozenset[str] | set[str] = frozenset()
    """Allowed packages of this project."""
    outside: frozenset[str] | set[str] | None = None
    """Third-party packages; any if None."""
    never: frozenset[str] | set[str] = frozenset()
    """Forbidden packages, with priority over the fields above."""


ROBOT_SIDE = {"solo_doi.solo12", "solo_doi.policies.bundle", "deploy.common", "deploy.messages"}
"""Imports of the processes that run beside the robot."""
LOOP_NEVER = {"torch", "collect", "solo_doi.data", "solo_doi.algorithm"}
RULES = {  # the most specific name applies
    "solo_doi": Rule(may={"solo_doi"}),
    "solo_doi.common": Rule(
        outside={"yaml", "tyro", "rich", "numpy", "torch", "h5py", "tensorboard"}
    ),
    "solo_doi.solo12": Rule(outside={"numpy"}),
    "solo_doi.sim": Rule(may={"solo_doi.solo12"}, outside={"numpy", *ENGINES}),
    "solo_doi.sim.gym": Rule(
        may={"solo_doi.solo12", "solo_doi.sim"}, outside={"numpy", "mujoco", "gymnasium"}
    ),
    "solo_doi.sim.__main__": Rule(
        may={"solo_doi.solo12", "solo_doi.sim"}, outside={"numpy", "rich", "matplotlib"}
    ),
    "solo_doi.sim.warp.selftest": Rule(
        may={"solo_doi.solo12", "solo_doi.sim"}, outside={"numpy", "rich", "warp"}
    ),
    "solo_doi.tasks": Rule(may={"solo_doi.solo12", "solo_doi.sim"}, never={"torch", *ENGINES}),
    "solo_doi.policies": Rule(may={"solo_doi.solo12"}, never={"torch", *ENGINES}),
    "solo_doi.policies.dominic_checkpoint": Rule(
        may={"solo_doi.solo12", "solo_doi.policies"}, never=ENGINES
    ),
    "solo_doi.policies.sb3_policy": Rule(
        may={"solo_doi.solo12", "solo_doi.policies"}, never=ENGINES
    ),
    "solo_doi.policies.bundle": Rule(
        may={"solo_doi.solo12"}, outside={"numpy", "onnxruntime", "cryptography"}
    ),
    "solo_doi.policies.bundle.contract": Rule(outside=frozenset()),
    "solo_doi.data": Rule(may={"solo_doi.solo12"}, outside={"numpy", "h5py", "pyarrow"}),
    "solo_doi.algorithm": Rule(
        may={"solo_doi.solo12", "solo_doi.data", "solo_doi.policies"}, never=ENGINES
    ),
    "solo_doi.runs": Rule(
        may={
            "solo_doi.algorithm",
            "solo_doi.data",
            "solo_doi.policies",
            "solo_doi.solo12",
            "solo_doi.tasks",  # declarations
        },
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
    "solo_doi.doctor": Rule(outside=frozenset()),  # child processes import what is checked
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
    "deploy.robots": Rule(
        may={*ROBOT_SIDE, "solo_doi.sim"}, outside={"numpy", "pybullet", "mujoco"}
    ),
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
    "deploy.viewer": Rule(  # code for browsers: nothing that can reach a robot
        may={"solo_doi.solo12", "solo_doi.sim"},
        outside={"numpy", "mujoco", "viser", "websockets"},
    ),
    "deploy.logs": Rule(
        may={
            *ROBOT_SIDE,
            "deploy.operators",
            "deploy.controller",
            "deploy.robots",
            "deploy.recorder",
            "deploy.console",  # page of a log
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
    "deploy.doctor": Rule(may={"deploy.common", "deploy.messages"}, outside={"numpy"}),
    "deploy.install": Rule(may={"deploy.common"}, outside=frozenset()),
    "deploy.demo": Rule(
        may={"solo_doi.policies.bundle", "solo_doi.evaluate", "solo_doi.runs", "deploy.launch"},
        outside={"rich"},
    ),
    "deploy.cli": Rule(may={"solo_doi", "deploy"}, never={"torch"}),
}
