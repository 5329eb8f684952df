"""A picture of the last half minute: what the robot did, and what it was told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deploy.messages.lcm_link import COMMAND, STATE, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.solo12.constants import JOINT_NAMES

PICTURE_FILE = "report.png"
LEG = slice(0, 3)


def draw(folder: Path) -> Path | None:
    """Draw a folder's log; None if there is nothing to draw, or nobody to draw it."""
    try:
        import matplotlib
    except ImportError:  # a robot's computer
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    path = folder / LOG_FILE
    if not path.is_file():
        return None
    states = list(_messages(path, STATE))
    commands = list(_messages(path, COMMAND))
    if not states:
        return None
    time = np.array([message.time_ns for message in states]) * 1e-9
    figure, axes = pyplot.subplots(4, 1, figsize=(10, 9), sharex=True, layout="constrained")
    position = np.array([message.joint_position for message in states])[:, LEG]
    axes[0].plot(time, position)
    axes[0].set_prop_cycle(None)
    if commands:
        sent = np.array([message.position for message in commands])[:, LEG]
        held = np.array([message.kp for message in commands]) > 0
        when = np.interp(
            [message.state_sequence for message in commands],
            [message.sequence for message in states],
            time,
        )
        axes[0].plot(when, np.where(held[:, None], sent, np.nan), ":", linewidth=1)
    axes[0].legend(JOINT_NAMES[LEG], loc="upper right", ncols=3, fontsize=8)
    axes[0].set_ylabel("angle, target dotted [rad]")
    axes[1].plot(time, np.array([message.joint_torque for message in states])[:, LEG])
    axes[1].set_ylabel("torque [N m]")
    axes[2].plot(time, np.array([message.angular_velocity for message in states]))
    axes[2].set_ylabel("turning [rad/s]")
    axes[2].legend(("x", "y", "z"), loc="upper right", ncols=3, fontsize=8)
    axes[3].plot(time, np.array([message.delay_ns for message in states]) * 1e-6)
    axes[3].set_ylabel("sensor to torque [ms]")
    axes[3].set_xlabel("time [s]")
    axes[0].set_title(f"{folder.name}: front left leg, IMU, delay")
    picture = folder / PICTURE_FILE
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
    return picture


def _messages(path: Path, channel: str) -> Iterator[Any]:
    for _, name, data in read_log(path):
        message = decode(channel, data) if name == channel else None
        if message is not None:
            yield message
