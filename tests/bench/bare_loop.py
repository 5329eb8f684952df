"""MuJoCo's own speed.

A loop of `mj_step` in C, compiled when it is needed, on the model of the simulator.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim import SimConfig
from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.solo12.constants import MOTOR_LAG, Array
from solo_doi.solo12.rotations import IDENTITY
from solo_doi.solo12.state import Motion

SOURCE = Path(__file__).with_name("mj_step_loop.c")
DOUBLES = ctypes.POINTER(ctypes.c_double)


class BareLoop:
    """Robots with identical start states that follow given targets, in C."""

    def __init__(self, config: SimConfig) -> None:
        """Compile the loop against the installed MuJoCo, and the model of the simulator."""
        self._config, self._model = config, build_model(config)
        package = Path(mujoco.__file__).parent
        library = next(package.glob("libmujoco.so*"), None)
        if library is None:
            raise SoloError(
                f"No libmujoco.so in {package}: this benchmark needs MuJoCo's wheel for Linux."
            )
        with tempfile.TemporaryDirectory() as folder:
            loop = Path(folder) / "mj_step_loop.so"
            linked = [
                "-L",
                str(package),
                f"-l:{library.name}",
                f"-Wl,-rpath,{package}",
                "-lpthread",
            ]
            flags = ["-O3", "-shared", "-fPIC", "-I", str(package / "include")]
            subprocess.run(["cc", *flags, SOURCE, "-o", loop, *linked], check=True)
            self._function = ctypes.CDLL(str(loop)).mj_step_loop

    def run(self, start: Motion, targets: Array, threads: int) -> Array:
        """Follow targets (steps, robots, 12) from the first robot of `start`.

        Returns the final positions (robots, 19).
        """
        steps, robots, _ = targets.shape
        place = np.concatenate([start.base_position_w[0], IDENTITY, start.joint_position[0]])
        final = np.zeros((robots, self._model.nq))
        arrays = [np.ascontiguousarray(array).ctypes.data_as(DOUBLES) for array in (place, targets)]
        lag = round(MOTOR_LAG / self._config.physics_dt)
        counts = [ctypes.c_int(n) for n in (robots, steps, self._config.decimation, lag, threads)]
        self._function(
            ctypes.c_void_p(self._model._address), *arrays, final.ctypes.data_as(DOUBLES), *counts
        )
        return final
