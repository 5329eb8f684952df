"""Video of a deployment, drawn from its log in MuJoCo: `solo-deploy --video`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from deploy.messages.generated import robot_state
from deploy.messages.lcm_link import STATE_CHANNEL, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.common.errors import MissingPackageError, SoloError

VIDEO_FILE = "video.webp"
"""Animated picture, which browsers play."""
VIDEO_STEP = 4
"""Control steps between two pictures: 12.5 per second."""
VIDEO_SIZE = (240, 320)
"""Height and width [pixels]."""


def need_renderer() -> None:
    """Refuse to promise a video that cannot be drawn.

    Raises:
        MissingPackageError: A package is missing, as on a robot's computer.
    """
    for name in ("mujoco", "PIL"):
        if importlib.util.find_spec(name) is None:
            raise MissingPackageError(name, "--video", "Run: pip install 'solo-doi[lab]'")


def write_video(folder: Path) -> Path:
    """Draw the log of a deployment; return the video.

    Raises:
        SoloError: There is no log, or it has no states.
    """
    from PIL import Image

    from deploy.logs.log_motion import log_motion
    from solo_doi.evaluate.report.render import render
    from solo_doi.evaluate.report.side_by_side import write_frames
    from solo_doi.solo12.constants import CONTROL_DT

    motion = log_motion(logged_states(folder / LOG_FILE), VIDEO_STEP * CONTROL_DT)
    pictures = render(motion, 0, range(len(motion.position_w)), VIDEO_SIZE, shadows=False)
    frames = [Image.fromarray(picture) for picture in pictures]
    path = folder / VIDEO_FILE
    write_frames(frames, path, VIDEO_STEP)
    return path


def logged_states(log: Path) -> list[robot_state]:
    """Return the states of a log.

    Raises:
        SoloError: There are none.
    """
    states = []
    for _, channel, data in read_log(log):
        if channel == STATE_CHANNEL:
            message = decode(channel, data)
            if isinstance(message, robot_state):
                states.append(message)
    if not states:
        raise SoloError(f"{log}: holds no state of a robot; there is nothing to draw.")
    return states
