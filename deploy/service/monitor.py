"""`solo-deploy --readonly` for robots with a master board: show all sensors, motors off."""

from __future__ import annotations

from deploy.common.deploy_config import DeployConfig
from deploy.launch.preflight import check_seconds
from solo_doi.common.errors import SoloError

from .bench_session import Status, check_robot_kind, command_of, follow
from .live_tables import Screen, sensors


def watch(config: DeployConfig) -> int:
    """Show a robot's sensors for `config.seconds`, or until Ctrl-C; return 0.

    Raises:
        SoloError: The board stopped sending measurements.
    """
    check_robot_kind(config)
    check_seconds(config)
    last: Status = {}

    def show(status: Status) -> None:
        nonlocal last
        last = status
        screen.show(status)

    try:
        with Screen(sensors) as screen:
            follow(command_of("watch", config, seconds=config.seconds, yes=True), show)
    except KeyboardInterrupt:
        pass  # the usual end of monitoring
    if not screen.console.is_terminal:
        screen.console.print(sensors(last))
    if last.get("failure"):
        raise SoloError(last["failure"])
    return 0
