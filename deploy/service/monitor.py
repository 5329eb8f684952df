"""solo-deploy --readonly for robots with a master board: everything it measures, with its motors off."""

from __future__ import annotations

import math

from deploy.common.deploy_config import DeployConfig
from solo_doi.common.errors import SoloError

from .bench_session import check_place, command_of, follow
from .live_tables import Screen, sensors


def watch(config: DeployConfig) -> int:
    """Show a robot's sensors for a while, or until Ctrl-C; return 0 if the board was heard to the end."""
    check_place(config)
    if not 0 < config.seconds < math.inf:
        raise SoloError(f"--seconds {config.seconds:g}: expected a time above 0.")
    last: list[dict] = [{}]

    def show(status: dict) -> None:
        last[0] = status
        screen.show(status)

    try:
        with Screen(sensors) as screen:
            follow(command_of("watch", config, seconds=config.seconds, yes=True), show)
    except KeyboardInterrupt:
        pass  # a person has seen enough
    if not screen.console.is_terminal:
        screen.console.print(sensors(last[0]))
    if last[0].get("failure"):
        raise SoloError(last[0]["failure"])
    return 0
