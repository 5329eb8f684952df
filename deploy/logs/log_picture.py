"""Picture of a log: angles, torques, turn rates and delay of the last half minute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deploy.messages.lcm_link import COMMAND, STATE, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.solo12.constants import JOINT_NAMES, Array

PICTURE_FILE = "report.png"
LEG = slice(0, 3)
"""Joints of the front left leg."""


def draw(folder: Path) -> Path | None:
    """Draw a folder's log; return None without matplotlib, or if the log has no states."""
    try:
        import matplotlib
    except ImportError:  # a robot's computer has none
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    path = folder / LOG_FILE
    if not path.is_file():
        return None
    states = list(_messages(path, STATE))
    if not states:
        return None
    commands = list(_messages(path, COMMAND))
    time = _column(states, "time_ns") * 1e-9
    figure, axes = pyplot.subplots(4, 1, figsize=(10, 9), sharex=True, layout="constrained")
    axes[0].plot(time, _column(states, "joint_position")[:, LEG])
    axes[0].set_prop_cycle(None)  # targets have the colours of their angles
    if commands:
        target = _column(commands, "position")[:, LEG]
        is_held = _column(commands, "kp") > 0
        when = np.interp(_column(commands, "state_sequence"), _column(states, "sequence"), time)
        axes[0].plot(when, np.where(is_held[:, None], target, np.nan), ":", linewidth=1)
    axes[0].legend(JOINT_NAMES[LEG], loc="upper right", ncols=3, fontsize=8)
    axes[0].set_ylabel("angle, target dotted [rad]")
    axes[1].plot(time, _column(states, "joint_torque")[:, LEG])
    axes[1].set_ylabel("torque [N m]")
    axes[2].plot(time, _column(states, "angular_velocity"))
    axes[2].set_ylabel("turn rate [rad/s]")
    axes[2].legend(("x", "y", "z"), loc="upper right", ncols=3, fontsize=8)
    axes[3].plot(time, _column(states, "delay_ns") * 1e-6)
    axes[3].set_ylabel("sensor to torque [ms]")
    axes[3].set_xlabel("time [s]")
    axes[0].set_title(f"{folder.name}: front left leg, IMU, delay")
    picture = folder / PICTURE_FILE
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
    return picture


def _column(messages: list[Any], name: str) -> Array:
    """Return one field of all messages."""
    return np.array([getattr(message, name) for message in messages])


def _messages(path: Path, channel: str) -> Iterator[Any]:
    """Read the messages of one channel that can be decoded."""
    for _, name, data in read_log(path):
        if name != channel:
            continue
        message = decode(channel, data)
        if message is not None:
            yield message
