"""Virtual ODRI master board with a simulated Solo12, to test any controller of the real board.

python -m deploy.robots.virtual_board --veth -- COMMAND      # COMMAND finds the board on esolo0
unshare -Urn python -m deploy.robots.virtual_board --veth -- COMMAND    # the same without rights
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from deploy.common.known_defects import drawn_seed
from deploy.common.realtime import prepare
from deploy.common.signals import Interrupts, Parent, ask_to_end, naming_parent, on_ending
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from solo_doi.common.errors import one_line
from solo_doi.common.files import write_text
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS

from .board_server import serve_by_clock, serve_lock_step
from .body import Body, BodyConfig
from .fault_switches import SWITCHES, FaultEvent, FaultSchedule, KilledError
from .master_board import MasterBoard
from .memory_link import LockStep
from .simulated_person import PersonConfig
from .true_path import TruePath
from .veth import BOARD_END, PC_END, veth_pair
from .virtual_robot import BOARD_MAC

BOARD_PRIORITY = 70
"""Real-time priority, above all processes of the PC, since a real board has its own processor."""
KILLED = 137
"""Exit code of a killed program, as shells report it."""


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    switches = "\n".join(f"  {name:14s} {switch.meaning}" for name, switch in SWITCHES.items())
    parser = argparse.ArgumentParser(
        prog="virtual_board",
        description=__doc__,
        epilog=f"events:\n{switches}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--interface",
        default=BOARD_END,
        help=f"the board's end of the cable, {BOARD_END} by default",
    )
    parser.add_argument(
        "--veth",
        action="store_true",
        help=f"make the cable first: {PC_END} for the PC, {BOARD_END}",
    )
    parser.add_argument(
        "--protocol", type=int, choices=(3, 4), default=4, help="protocol of the firmware"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "lock-step"),
        default="wall",
        help="lock-step: a tick per packet",
    )
    parser.add_argument(
        "--lower-after",
        type=float,
        help="time from calibration until the crane lowers the robot [s]",
    )
    parser.add_argument(
        "--spread", type=float, default=0.1, help="largest error of the zero pose [rad]"
    )
    parser.add_argument(
        "--put-back", action="store_true", help="joints are put to zero again when motors are off"
    )
    parser.add_argument(
        "--turn-after",
        type=float,
        help="time until each joint is turned once and the nose lifted [s]",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of starting pose and sensor errors"
    )
    parser.add_argument(
        "--ideal", action="store_true", help="no known defects of real boards: see virtual_board.md"
    )
    parser.add_argument(
        "--defect-seed", type=int, help="seed of the defects, drawn at random by default"
    )
    parser.add_argument(
        "--event", action="append", default=[], help="name=value@seconds of board time, see below"
    )
    parser.add_argument(
        "--report", type=Path, help="file for the robot's true state at the end (JSON)"
    )
    parser.add_argument(
        "command", nargs="*", help="program to run beside the board, which ends with it"
    )
    arguments = parser.parse_args()
    if arguments.defect_seed is None and not arguments.ideal:
        arguments.defect_seed = drawn_seed()
    return arguments


def main() -> int:
    """Run until a stop request, or until the given command ends; return the exit code."""
    arguments = parse_arguments()
    parent = Parent()
    random = np.random.default_rng(arguments.seed)
    first, again = random.uniform(-arguments.spread, arguments.spread, (2, NUM_JOINTS))
    config = BodyConfig(
        start_pose=first,
        person=PersonConfig(
            puts_back=again if arguments.put_back else None, turns_after=arguments.turn_after
        ),
        lower_after=arguments.lower_after,
        seed=arguments.seed,
        defects=None if arguments.ideal else arguments.defect_seed,
    )
    schedule = FaultSchedule([FaultEvent.parse(text) for text in arguments.event])
    board = MasterBoard(Body(config), arguments.protocol, waits=arguments.clock == "lock-step")
    lock_step = LockStep(board, arguments.seed)
    with ExitStack() as stack:
        if arguments.veth:
            stack.enter_context(veth_pair(PC_END, arguments.interface))
        link = EthernetLink(arguments.interface, BOARD_MAC)
        stack.callback(link.close)
        true_path = TruePath(board, lock_step=arguments.clock == "lock-step")
        code = _run(arguments, lock_step, link, schedule, true_path, parent)
    if arguments.report is not None:
        write_text(arguments.report, json.dumps(report(lock_step, true_path)) + "\n")
    return code


class _Command:
    """Program that runs beside the board, or none.

    A request to end is passed to this program; the board ends after it, since it may need the
    board until its end.
    """

    def __init__(self, words: list[str], parent: Parent) -> None:
        """Start the program; it is also requested to end when the parent of the board is gone."""
        self._parent = parent
        self._asked = False
        self.process = process = subprocess.Popen(words, env=naming_parent()) if words else None
        if process is not None:
            on_ending(lambda number, _: ask_to_end(process, number))

    @property
    def over(self) -> bool:
        """True if the board is no longer needed."""
        if self.process is None:
            return self._parent.gone
        if self._parent.gone and not self._asked:
            self._asked = True
            ask_to_end(self.process)
        return self.process.poll() is not None


def _run(
    arguments: argparse.Namespace,
    lock_step: LockStep,
    link: EthernetLink,
    schedule: FaultSchedule,
    true_path: TruePath,
    parent: Parent,
) -> int:
    defects = "no defects" if arguments.ideal else f"defects of seed {arguments.defect_seed}"
    sys.stdout.write(
        f"Virtual master board on {arguments.interface}, protocol {arguments.protocol}, {defects}\n"
    )
    sys.stdout.flush()
    command = _Command(arguments.command, parent)
    serve = serve_lock_step if arguments.clock == "lock-step" else serve_by_clock
    # After the start of the command, which must not inherit the priority.
    if arguments.clock == "wall":
        for refusal in prepare(BOARD_PRIORITY):
            sys.stdout.write(f"{refusal}\n")

    def ended() -> bool:
        true_path.update()
        return command.over

    try:
        serve(lock_step, link, schedule, ended)
    except KilledError:
        if command.process is None:
            os._exit(KILLED)
        # The command continues without a board: the event tests how it detects the loss.
    except KeyboardInterrupt:  # a command gets the signal itself
        return 0
    if command.process is None:
        return 0
    return command.process.wait()


def report(lock_step: LockStep, true_path: TruePath) -> dict[str, object]:
    """Return the true state of robot and board, and joints at the last accepted command."""
    board = lock_step.board
    motion = board.body.plant.motion()
    obeyed = None
    if true_path.obeyed_at is not None:
        obeyed = _by_joint(true_path.obeyed_at)
    return {
        "ticks": board.ticks,
        "left_out": lock_step.left_out,
        "state": board.state.value,
        "joint_position": _by_joint(motion.joint_position),
        "obeyed_joint_position": obeyed,
        "base_position_w": motion.base_position_w.tolist(),
        "base_quaternion": motion.base_quaternion.tolist(),
        "track": true_path.rows,
    }


def _by_joint(values: np.ndarray) -> dict[str, float]:
    return dict(zip(JOINT_NAMES, values.tolist(), strict=True))


if __name__ == "__main__":
    with one_line("virtual_board"), Interrupts():
        sys.exit(main())
