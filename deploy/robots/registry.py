"""Registry of the kinds of robot: one entry each, with everything that differs between them.

Other modules read these entries and never compare names. Importing the registry loads no simulator.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from deploy.common.deploy_config import DeployConfig, RobotName
from deploy.robots.robot import Robot
from solo_doi.common.child_python import module_command
from solo_doi.common.errors import SoloError

from .virtual_board.crane_timing import LET_DOWN
from .virtual_board.interface_rights import may_make_interfaces

if TYPE_CHECKING:
    from .odri.bring_up.calibration import Calibration
    from .simulated.ground_truth import GroundTruth

CommandLine = list[str]
"""Program and arguments of a process."""


class WalkSource(Enum):
    """Origin of the figures by which a walk is judged."""

    NONE = "none"
    """Not judged: the robot has no physics."""
    SIMULATOR = "simulator"
    """True motion, measured in the robot process."""
    BOARD = "board"
    """True motion, in the report of the virtual board."""
    ESTIMATE = "estimate"
    """The controller's estimate: hardware has no ground truth."""


def _start_alone(
    command: CommandLine, config: DeployConfig, board_options: CommandLine
) -> CommandLine:
    """Return the command line unchanged: the process needs no other process."""
    return command


@dataclass(frozen=True, kw_only=True)
class RobotKind:
    """One kind of robot: its properties, its checks, and functions that make and start it."""

    name: RobotName
    """Value of --robot."""
    make: Callable[[DeployConfig], Robot]
    """Open the robot; called in the robot process."""
    walk_source: WalkSource
    """Origin of the figures by which a walk is judged."""
    is_real: bool = False
    """True for hardware, which can break or hurt people.

    It needs consent at a terminal and allows no thresholds looser than the defaults.
    """
    board_interface: Callable[[DeployConfig], str] | None = None
    """Return the network interface of the master board; None for a robot without a board."""
    has_defects: bool = False
    """True if the sensors are simulated with the known defects of real boards."""
    chooses_protocol: bool = False
    """True if --protocol sets the board's protocol; a real board reports its own."""
    calibration_in_file: bool = False
    """True if the calibration is measured and stored in a file with a default path."""
    settle_seconds: float = 0.5
    """Time at rest before the script stands up [s]."""
    checks: tuple[Callable[[DeployConfig], None], ...] = ()
    """Checks that raise SoloError for settings that this robot cannot run with."""
    make_ground_truth: Callable[[Robot], GroundTruth] | None = None
    """Make the recorder of the true walk; None if the robot process runs no simulator."""
    start: Callable[[CommandLine, DeployConfig, CommandLine], CommandLine] = _start_alone
    """Return the command line that starts a process together with its robot.

    Arguments: command line of the process, configuration, and options of the virtual board, which
    other robots ignore.
    """

    @property
    def has_master_board(self) -> bool:
        """True if the robot has a master board: it can be calibrated, checked and monitored."""
        return self.board_interface is not None

    def check_settings(self, config: DeployConfig) -> None:
        """Refuse settings that this robot cannot run with.

        Raises:
            SoloError: The message has the setting and the remedy.
        """
        for check in self.checks:
            check(config)


def kind_of(config: DeployConfig) -> RobotKind:
    """Return the registry's entry for the robot of a configuration."""
    return KINDS[config.robot]


def make_robot(config: DeployConfig) -> Robot:
    """Open the robot of a configuration; no motor moves before the first tick."""
    return kind_of(config).make(config)


def _has_window(config: DeployConfig) -> bool:
    """Return True if a window is wanted and there is a display; say so if there is none."""
    if config.headless:
        return False
    if os.environ.get("DISPLAY"):
        return True
    sys.stderr.write("note: no display for a window; the simulation runs without. See --view.\n")
    return False


def _needs_network_rights(config: DeployConfig) -> None:
    """Refuse a virtual board without the right to make its cable."""
    if may_make_interfaces():
        return
    network = 'ip link set lo up && ip route add 224.0.0.0/4 dev lo && exec "$@"'
    raise SoloError(
        "--robot virtual makes a pair of network interfaces, which this user may not. Run it in a "
        f"network of its own: unshare -Urn sh -c '{network}' sh {shlex.join(sys.argv)}"
    )


def _needs_interface(config: DeployConfig) -> None:
    _real_interface(config)


def _needs_real_time(config: DeployConfig) -> None:
    if config.fast:
        raise SoloError("--fast is for simulated robots; hardware runs in real time.")


def _defects(config: DeployConfig) -> int | None:
    """Return the seed of the sensors' defects; None for ideal sensors."""
    if config.ideal:
        return None
    return config.seed if config.defect_seed is None else config.defect_seed


def _make_bullet(config: DeployConfig) -> Robot:
    from .simulated.bullet_solo import BulletSolo

    return BulletSolo(seed=config.seed, defects=_defects(config), gui=_has_window(config))


def _make_mujoco(config: DeployConfig) -> Robot:
    from .simulated.mujoco_solo import MujocoSolo

    if not config.headless:
        sys.stderr.write("note: --robot mujoco has no window. See --view.\n")
    return MujocoSolo(seed=config.seed, defects=_defects(config))


def _make_bullet_ground_truth(robot: Robot) -> GroundTruth:
    from .simulated.bullet_solo import BulletSolo
    from .simulated.ground_truth import GroundTruth

    assert isinstance(robot, BulletSolo)
    return GroundTruth(robot)


def _make_mock(config: DeployConfig) -> Robot:
    from .simulated.mock_solo import MockSolo

    return MockSolo(seed=config.seed)


def _make_virtual(config: DeployConfig) -> Robot:
    from .odri.bring_up.calibration import load
    from .virtual_board.virtual_robot import CALIBRATION

    calibration = CALIBRATION if config.calibration is None else load(config.calibration)
    return _open_solo12(config, _virtual_interface(config), calibration)


def _make_real(config: DeployConfig) -> Robot:
    from .odri.bring_up.calibration import load

    interface = _real_interface(config)
    if config.calibration is None:
        raise SoloError("--robot real needs --calibration, a file of `solo-deploy calibrate`.")
    return _open_solo12(config, interface, load(config.calibration))


def _open_solo12(config: DeployConfig, interface: str, calibration: Calibration) -> Robot:
    from .odri.drivers.open_board import open_board
    from .odri.solo12 import Solo12

    board = open_board(interface, config.driver, lock_step=config.fast)
    return Solo12(board, calibration, lock_step=config.fast)


def _virtual_interface(config: DeployConfig) -> str:
    from .virtual_board.veth import PC_END

    return PC_END


def _real_interface(config: DeployConfig) -> str:
    if config.interface is None:
        from .odri.wire.ethernet_link import present_interfaces

        raise SoloError(
            "--robot real needs --interface, its master board's network card. "
            f"Interfaces here: {', '.join(present_interfaces()) or 'none'}. Before a first walk, "
            "read deploy/docs/first_walk.md and do it once with --robot virtual."
        )
    return config.interface


def _start_with_virtual_board(
    command: CommandLine, config: DeployConfig, board_options: CommandLine
) -> CommandLine:
    """Return the command line of a virtual board that makes its cable and starts the process.

    The board ends with that process.
    """
    clock = "lock-step" if config.fast else "wall"
    board = module_command("deploy.robots.virtual_board", "--veth")
    board += ["--protocol", str(config.protocol), "--clock", clock, "--seed", str(config.seed)]
    if config.ideal:
        board.append("--ideal")
    elif config.defect_seed is not None:
        board += ["--defect-seed", str(config.defect_seed)]
    return [*board, *board_options, "--", *command]


KINDS: dict[RobotName, RobotKind] = {
    "pybullet": RobotKind(
        name="pybullet",
        has_defects=True,
        make=_make_bullet,
        walk_source=WalkSource.SIMULATOR,
        make_ground_truth=_make_bullet_ground_truth,
    ),
    "mujoco": RobotKind(
        name="mujoco",
        has_defects=True,
        make=_make_mujoco,
        walk_source=WalkSource.SIMULATOR,
        make_ground_truth=_make_bullet_ground_truth,
    ),
    "mock": RobotKind(name="mock", make=_make_mock, walk_source=WalkSource.NONE),
    "virtual": RobotKind(
        name="virtual",
        has_defects=True,
        make=_make_virtual,
        walk_source=WalkSource.BOARD,
        board_interface=_virtual_interface,
        chooses_protocol=True,
        settle_seconds=LET_DOWN,
        checks=(_needs_network_rights,),
        start=_start_with_virtual_board,
    ),
    "real": RobotKind(
        name="real",
        make=_make_real,
        walk_source=WalkSource.ESTIMATE,
        is_real=True,
        board_interface=_real_interface,
        calibration_in_file=True,
        checks=(_needs_interface, _needs_real_time),
    ),
}
