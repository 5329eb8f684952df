"""Images of the robot, rendered off screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import mujoco
import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.terrain import Terrain

BOX_COLOUR = (0.75, 0.55, 0.35, 1.0)


class Poses(Protocol):
    """Poses of N robots over time, and their ground; such as a recording."""

    @property
    def position_w(self) -> np.ndarray:
        """Places of the bases, (T, N, 3)."""

    @property
    def quaternion(self) -> np.ndarray:
        """Orientations, (T, N, 4)."""

    @property
    def joint_position(self) -> np.ndarray:
        """Joint angles, (T, N, 12)."""

    @property
    def terrain(self) -> Terrain | None:
        """Ground; None if it is flat."""


def render(
    recording: Poses,
    robot: int,
    steps: Iterable[int] | np.ndarray,
    size: tuple[int, int] = (240, 320),
    *,
    shadows: bool = True,
) -> list[np.ndarray]:
    """Render a robot at some control steps from the side, with a camera that follows.

    (height, width, 3) each. Without shadows and reflections it takes half the time.
    """
    try:
        # Import EGL by name: MuJoCo selects its backend when first imported, and assumes a screen.
        from mujoco.egl import GLContext

        context = GLContext(size[1], size[0])
    except (ImportError, AttributeError, RuntimeError) as error:
        # No library, an incomplete library, or no driver.
        raise MissingPackageError(
            "EGL", "Rendering", "On Debian or Ubuntu: apt install libegl1 libgl1-mesa-dri"
        ) from error
    model = build_model(SimConfig(), boxes_of(recording), visual=True)
    data = mujoco.MjData(model)
    place_boxes(model, data, recording, robot)
    scene = mujoco.MjvScene(model, maxgeom=1000)
    for effect in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        scene.flags[effect] = shadows
    try:
        context.make_current()
        pictures = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, pictures)
        camera = mujoco.MjvCamera()
        camera.distance = 0.75
        camera.azimuth = 90.0
        camera.elevation = -8.0
        images = []
        for step in steps:
            base = recording.position_w[step, robot]
            quaternion = recording.quaternion[step, robot]
            data.qpos[:] = np.concatenate([base, quaternion, recording.joint_position[step, robot]])
            mujoco.mj_forward(model, data)
            camera.lookat[:] = [base[0], base[1], 0.17]
            mujoco.mjv_updateScene(
                model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene
            )
            viewport = mujoco.MjrRect(0, 0, size[1], size[0])
            mujoco.mjr_render(viewport, scene, pictures)
            image = np.empty((*size, 3), dtype=np.uint8)
            mujoco.mjr_readPixels(image, None, viewport, pictures)
            images.append(image[::-1])
        pictures.free()
    finally:
        context.free()
    return images


def boxes_of(recording: Poses) -> int:
    """Return the number of boxes of each robot's ground."""
    return recording.terrain.num_boxes if recording.terrain is not None else 0


def place_boxes(model: mujoco.MjModel, data: mujoco.MjData, recording: Poses, robot: int) -> None:
    """Give the boxes of a picture the sizes and places of a robot's ground."""
    if recording.terrain is None:
        return
    for box in range(recording.terrain.num_boxes):
        geom = model.geom(f"box{box}")
        geom.size[:] = recording.terrain.solid_size[robot, box] / 2
        geom.rgba[:] = BOX_COLOUR
        data.mocap_pos[box] = recording.terrain.solid_centre[robot, box]
