"""Help texts are printed without heavy imports, which would take seconds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.compatibility.entry_points import PROJECT

HEAVY = {
    *("torch", "mujoco", "pybullet", "matplotlib", "scipy", "sklearn", "umap", "numba", "pandas"),
    *("h5py", "onnx", "onnxruntime", "ray", "tensorboard", "lcm", "websockets", "cryptography"),
    *("rich", "PIL", "evdev", "mcap", "pyarrow", "viser", "optuna"),
}
NEEDS_NUMPY = {"solo-collect", "solo-pretrain", "solo-train"}
"""Commands whose settings depend on the declarations of tasks, which contain arrays."""
PROGRAM = """
import importlib, json, sys
module, _, function = sys.argv.pop(1).partition(":")
try:
    getattr(importlib.import_module(module), function)()
except SystemExit:
    pass
sys.stderr.write(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def imported(command: str, *words: str) -> set[str]:
    """Return the packages that a command has imported after its help text."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, PROJECT["scripts"][command], *words],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.startswith(f"usage: {command}")
    return {*json.loads(ended.stderr)}


@pytest.mark.parametrize("command", PROJECT["scripts"])
def test_help_needs_no_heavy_package(command: str) -> None:
    found = imported(command, "--help")
    assert found & HEAVY == set()
    assert ("numpy" in found) is (command in NEEDS_NUMPY)


@pytest.mark.parametrize("verb", ["check", "replay", "view"])
def test_help_of_sub_commands_needs_none_either(verb: str) -> None:
    assert imported("solo-deploy", verb, "--help") & {*HEAVY, "numpy"} == set()
