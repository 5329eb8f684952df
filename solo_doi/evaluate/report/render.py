"""Images of the robot, rendered without a screen."""

from __future__ import annotations

import mujoco
import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.sim.simulator import SimConfig


def render(
    recording: Recording, robot: int, steps: np.ndarray, size: tuple[int, int] = (240, 320)
) -> list[np.ndarray]:
    """Render a robot at some control steps, from the side, the camera moving along; (height, width, 3) each."""
    try:
        # Asked for by name: MuJoCo's own choice is made when it is first imported, and takes a screen for granted.
        from mujoco.egl import GLContext

        context = GLContext(size[1], size[0])
    except (
        ImportError,
        AttributeError,
        RuntimeError,
    ) as error:  # no library, half a library, no driver
        raise MissingPackageError(
            "EGL", "Rendering", "On Debian or Ubuntu: apt install libegl1 libgl1-mesa-dri"
        ) from error
    model = build_model(SimConfig(), visual=True)
    data, scene = mujoco.MjData(model), mujoco.MjvScene(model, maxgeom=1000)
    try:
        context.make_current()
        pictures = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, pictures)
        camera = mujoco.MjvCamera()
        camera.distance, camera.azimuth, camera.elevation = 0.75, 90.0, -8.0
        images = []
        for step in steps:
            base, quaternion = recording.position_w[step, robot], recording.quaternion[step, robot]
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
