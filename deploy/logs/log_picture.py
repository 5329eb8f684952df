"""Picture of a log's last 30 s: states, speed, tilt, feet, a leg, IMU, delay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.solo12.constants import JOINT_NAMES, LEG_NAMES, Array

from .log_series import StateSpan, base_series, state_spans

LOG_PICTURE_FILE = "report.png"
LEG = slice(0, 3)
"""Joints of the front left leg."""
STATE_COLOURS = {
    ControllerState.IDLE: "lightgrey",
    ControllerState.STAND: "gold",
    ControllerState.READY: "khaki",
    ControllerState.WALK: "limegreen",
    ControllerState.SIT: "orange",
    ControllerState.DAMP: "tomato",
    ControllerState.FAULT: "red",
}
LEAST_LABELLED = 0.04
"""Share of the picture's width from which a state has its name in it."""


def draw(folder: Path) -> Path | None:
    """Draw a folder's log; return None without matplotlib, or if the log has no states."""
    try:
        import matplotlib
    except ImportError:  # a robot's computer has no matplotlib
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    path = folder / LOG_FILE
    if not path.is_file():
        return None
    states = list(_messages(path, STATE_CHANNEL))
    if not states:
        return None
    commands = list(_messages(path, COMMAND_CHANNEL))
    time = _column(states, "time_ns") * 1e-9
    figure, axes = pyplot.subplots(7, 1, figsize=(10, 14), sharex=True, layout="constrained")
    _draw_base(axes[:3], states, state_spans(folder, commands, time[-1]))
    _draw_leg(axes[3:5], states, commands, time)
    axes[5].plot(time, _column(states, "angular_velocity"))
    axes[5].set_ylabel("turn rate [rad/s]")
    axes[5].legend(("roll", "pitch", "yaw"), loc="upper right", ncols=3, fontsize=8)
    axes[6].plot(time, _column(states, "delay_ns") * 1e-6)
    axes[6].set_ylabel("sensor to torque [ms]")
    axes[6].set_xlabel("time [s]")
    axes[0].set_title(f"{folder.name}: states, speed, tilt, feet, front left leg, IMU, delay")
    picture = folder / LOG_PICTURE_FILE
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
    return picture


def _draw_base(axes: Any, states: list[Any], spans: list[StateSpan]) -> None:  # noqa: ANN401
    """Draw speed with the controller's states behind it, tilt, and contacts of all feet."""
    series = base_series(states)
    if not len(series.time):
        return  # no state has finite numbers
    for span in spans:
        axes[0].axvspan(span.begin, span.end, color=STATE_COLOURS[span.state], alpha=0.25)
        if span.end - span.begin > LEAST_LABELLED * (series.time[-1] - series.time[0]):
            axes[0].annotate(
                span.label,
                (span.begin, 1),
                xycoords=("data", "axes fraction"),
                va="top",
                fontsize=8,
            )
    axes[0].plot(series.time, series.forward, color="black", linewidth=1)
    axes[0].set_ylabel("forward, estimated [m/s]")
    axes[1].plot(series.time, np.degrees(series.tilt))
    axes[1].set_ylabel("tilt [degrees]")
    for foot in range(len(LEG_NAMES)):
        axes[2].fill_between(
            series.time, foot - 0.4, foot + 0.4, where=series.contact[:, foot], step="mid"
        )
    axes[2].set_yticks(range(len(LEG_NAMES)), LEG_NAMES)
    axes[2].invert_yaxis()
    axes[2].set_ylabel("feet on the ground")


def _draw_leg(axes: Any, states: list[Any], commands: list[Any], time: Array) -> None:  # noqa: ANN401
    """Draw angles, targets and torques of the front left leg."""
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


def _column(messages: list[Any], name: str) -> Array:
    """Return one field of all messages."""
    return np.array([getattr(message, name) for message in messages])


def _messages(path: Path, channel: str) -> Iterator[Any]:
    """Yield the messages of one channel; skip those that cannot be decoded."""
    for _, name, data in read_log(path):
        if name != channel:
            continue
        message = decode(channel, data)
        if message is not None:
            yield message
