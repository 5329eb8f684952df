"""The vendor's own control library, unmodified, beside a virtual board in lock-step on `esolo0`.

    python -m tests.deploy.robots.odri.vendor_client CONFIG RESULT

runs in the environment with its wheels. Its calls are those of its own demo, except for waits by
the clock: each cycle ends when the board has answered.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import libodri_control_interface_pywrap as vendor
import numpy as np

from deploy.robots.odri.drivers import motors
from deploy.robots.odri.drivers.sdk_board import LONGEST_SILENCE, await_repetition
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.ethernet import PC_MAC, unpack_frame
from deploy.robots.odri.wire.ethernet_link import ALL_TYPES, open_socket
from deploy.robots.odri.wire.protocol import Malformed
from deploy.robots.virtual_board.veth import PC_END
from solo_doi.solo12.limits import DRIVER_LIMITS
from solo_doi.solo12.state import JointCommand
from tests.deploy.robots.odri.vendor_file import STAND

TIMEOUT = 60.0
"""Longest wait for an answer, far longer than a busy host needs [s]."""
STOOD_STILL = "no measurements for 50 ms"
"""Texts that report a stalled machine, by the library's own clock; `SdkBoard` has the same."""


class VendorRobot:
    """Cycles of the vendor's robot, paced by the board."""

    def __init__(self, config: str) -> None:
        """Open a session, as `Robot.start` does."""
        self.robot: Any = vendor.robot_from_yaml_file(config)
        self.calibrator: Any = vendor.joint_calibrator_from_yaml_file(config, self.robot.joints)
        self.robot.init()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.robot.parse_sensor_data()
        start = time.monotonic()
        while not self.robot.is_ack_msg_received:
            self.robot.sendInit()
            time.sleep(0.002)
            assert time.monotonic() - start < TIMEOUT, "no acknowledgement"
        self.ticks, self.heard = 0, math.inf

    def cycle(self) -> None:
        """Send the command that was set, and wait for the answer."""
        board = self.robot.robot_interface
        if time.monotonic() - self.heard > LONGEST_SILENCE:
            await_repetition(board)
        before, start = board.GetSensorsSent(), time.monotonic()
        sent = self.robot.send_command()
        _end_if_it_stood_still(board)
        assert sent, "the vendor's library reports an error"
        while board.GetSensorsSent() == before:
            _end_if_it_stood_still(board)
            assert time.monotonic() - start < TIMEOUT, "no measurements"
            time.sleep(20e-6)
        self.robot.parse_sensor_data()
        self.heard = time.monotonic()
        self.ticks += 1

    def wait_until_ready(self) -> None:
        """Send zero commands until all motors are ready, as `Robot.wait_until_ready` does."""
        self.robot.joints.set_zero_commands()
        while not self.robot.is_ready:
            self.cycle()
            assert self.ticks < 2000, "not ready"

    def calibrate(self) -> None:
        """Run one tick of the vendor's calibrator per cycle, as `Robot.run_calibration` does."""
        while not self.calibrator.run():
            self.cycle()
            assert self.ticks < 20_000, "not calibrated"

    def hold(self, target: np.ndarray, ticks: int) -> None:
        """Hold joints by the drivers' own control law."""
        joints = self.robot.joints
        start = np.array(joints.positions)
        joints.set_torques(np.zeros(12))
        joints.set_position_gains(np.full(12, 5.0))
        joints.set_velocity_gains(np.full(12, 0.1))
        for tick in range(ticks):
            part = min(2.0 * tick / ticks, 1.0)
            joints.set_desired_positions(start + part * (target - start))
            self.cycle()


def _end_if_it_stood_still(board: Any) -> None:  # the vendor's
    if board.IsTimeout():
        sys.stderr.write(f"The vendor's library closed the connection: {STOOD_STILL}\n")
        sys.stderr.flush()
        os._exit(1)  # as in `main`


def compare_bytes(robot: VendorRobot) -> int:
    """Return how many of thirty joint commands differ in bytes from those of our own code.

    The motors are off.
    """
    ear = open_socket(PC_END, ALL_TYPES)
    random, joints, different = np.random.default_rng(0), robot.robot.joints, 0
    flags = np.ones(12, dtype=bool)
    for _ in range(30):
        position, kp, kd = (
            random.uniform(-2.5, 2.5, 12),
            random.uniform(0, 10, 12),
            random.uniform(0, 1.2, 12),
        )
        joints.set_desired_positions(position)
        joints.set_position_gains(kp)
        joints.set_velocity_gains(kd)
        robot.cycle()
        vendors = [frame for frame in _sent(ear) if len(frame) == 172]
        ours = codec.encode_command(
            motors.motor_command(
                JointCommand(position=position, kp=kp, kd=kd),
                np.zeros(12),
                enabled=flags,
                compensate_index=~flags,
                saturation=DRIVER_LIMITS.current,  # as the vendor's file has it
            ),
            session=0,
            index=0,
            protocol=3,
        )
        different += len(vendors) != 1 or vendors[0][2:-2] != ours[2:-2]
    ear.close()
    return different


def _sent(ear: Any) -> list[bytes]:
    payloads = []
    while True:
        try:
            data = ear.recv(2000)
        except BlockingIOError:
            return payloads
        frame = unpack_frame(data)
        if not isinstance(frame, Malformed) and frame.source == PC_MAC:
            payloads.append(frame.payload)


def main() -> None:
    """Go through the vendor's bring-up and stand in the air.

    The last measurements of the library are written to a file.
    """
    robot = VendorRobot(sys.argv[1])
    result: dict[str, object] = {"different_bytes": compare_bytes(robot)}
    robot.wait_until_ready()
    robot.calibrate()
    robot.hold(STAND, 1500)
    board = robot.robot.robot_interface
    result |= {
        "positions": robot.robot.joints.positions.tolist(),
        "has_error": bool(robot.robot.has_error),
        "sensors_lost": int(board.GetSensorsLost()),
        "commands_lost": int(board.GetCmdLost()),
        "ticks": robot.ticks,
    }
    Path(sys.argv[2]).write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the library's receive thread would keep the process alive


if __name__ == "__main__":
    main()
