"""Health of the library's environment: Python, disk, PyTorch, simulators, pictures."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

from solo_doi.common.doctor import Finding, HealthCheck, Purpose, package_check

from .gpu_check import check_gpu

OLDEST_PYTHON = (3, 10)
"""Oldest version that runs a robot's computer; everything else needs `OLDEST_LAB_PYTHON`."""
OLDEST_LAB_PYTHON = (3, 11)
NEWEST_PYBULLET_PYTHON = (3, 11)
"""Newest version with wheels of PyBullet."""
LEAST_DISK = 5e9
"""Space for both datasets of the paper, a run and its report, with a margin [bytes]."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Package index of PyTorch's build without CUDA, which is smaller by 3.6 GB."""
TORCH = """
build = torch.__version__
if torch.cuda.is_available():
    major, minor = torch.cuda.get_device_capability()
    print(f"{build}, {torch.cuda.get_device_name()}, compute capability {major}.{minor}")
else:
    print(f"{build}, CPU with {torch.get_num_threads()} threads, no CUDA device")
"""
EGL = """
from mujoco.egl import GLContext
context = GLContext(64, 64)
context.make_current()
from OpenGL import GL
print(GL.glGetString(GL.GL_RENDERER).decode())
context.free()
"""
WARP = """
wp.config.log_level = wp.LOG_ERROR
wp.init()
from solo_doi.sim.warp.device import missing_gpu
print(f"{wp.__version__}, {', '.join(str(device) for device in wp.get_devices())}{missing_gpu()}")
"""


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    """Check the version of this interpreter."""
    found = f"{platform.python_version()} in {sys.prefix}"
    if version < OLDEST_PYTHON:
        return Finding(False, found, "sudo apt install python3.11-venv && python3.11 -m venv .venv")
    if version < OLDEST_LAB_PYTHON:
        found += "; enough for a robot's computer only"
    return Finding(True, found)


def check_disk(folder: Path = Path()) -> Finding:
    """Check the free space of the current directory."""
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free in {folder.resolve()}"
    return Finding(free >= LEAST_DISK, found, "" if free >= LEAST_DISK else "du -xh . | sort -h")


def check_pybullet() -> Finding:
    """Check PyBullet, which has no wheels for newer Pythons."""
    if sys.version_info[:2] <= NEWEST_PYBULLET_PYTHON:
        return _PYBULLET.look()
    found = f"no wheels for Python {platform.python_version()}; MuJoCo replaces it"
    return Finding(False, found, "solo-deploy --robot mujoco --headless --fast")


_PYBULLET = package_check("pybullet", "pybullet", "", install="'pybullet>=3.2.7'")
_LAB: tuple[Purpose, ...] = ("collect", "train", "deploy")
_BULLET_USERS: frozenset[Purpose] = frozenset()
if sys.version_info[:2] <= NEWEST_PYBULLET_PYTHON:
    _BULLET_USERS = frozenset({"deploy"})

CHECKS = (
    HealthCheck("Python", "everything", check_python, frozenset({*_LAB, "robot"})),
    HealthCheck("disk", "datasets and runs", check_disk, frozenset({"collect", "train"})),
    package_check(
        "torch",
        "torch",
        "training, reading checkpoints",
        "collect",
        "train",
        install=f"'torch>=2.5' --index-url {CPU_INDEX}",
        program=TORCH,
    ),
    package_check("h5py", "h5py", "datasets", "collect", "train", install="'h5py>=3.11'"),
    package_check(
        "mujoco", "mujoco", "simulation, reports, dry runs", *_LAB, install="'mujoco>=4'"
    ),
    HealthCheck(
        "pybullet", "default robot of dry runs, second simulator", check_pybullet, _BULLET_USERS
    ),
    package_check(
        "example-robot-data",
        "solo_doi.solo12.urdf",
        "description of the Solo12",
        *_LAB,
        install="'example-robot-data>=6'",
        program="print(solo_doi.solo12.urdf.robot_data_directory())",
    ),
    package_check(
        "EGL",
        "mujoco",
        "pictures and films of the robot",
        install="sudo apt install libegl1 libgl1-mesa-dri",
        program=EGL,
    ),
    HealthCheck("GPU", "simulation of thousands of robots", check_gpu),
    package_check(
        "warp",
        "mujoco_warp, warp as wp",
        "simulation on a GPU (--sim warp)",
        install="'mujoco-warp>=4' 'warp-lang>=1.19'",
        program=WARP,
    ),
    package_check("onnx", "onnx", "solo-export", "deploy", install="'onnx>=1.17'"),
    package_check(
        "onnxruntime",
        "onnxruntime",
        "running skills",
        "deploy",
        "robot",
        install="'onnxruntime>=1.20'",
    ),
    package_check("ray", "ray", "collection and sweeps on a cluster", install="'ray>=2.40'"),
)
"""All checks of the library, in the order of a screen."""
