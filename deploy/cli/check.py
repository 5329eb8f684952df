"""solo-deploy check: preflight of a real or virtual robot."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.common.deploy_config import DeployConfig
from solo_doi.common.settings import part_of


@dataclass(frozen=True, kw_only=True)
class CheckCommand(DeployConfig):
    """Check a real or virtual robot with the motors off: go or no-go.

    The exit code is 0 if all checks pass, 1 for no-go, 3 if a check was skipped.

    Examples:
      solo-deploy check --robot real --interface CARD
      solo-deploy check --robot virtual --fast --yes
    """

    yes: bool = False
    """Skip the joint test that needs a person."""


def check(command: CheckCommand) -> int:
    """Run the checks; return the exit code."""
    from deploy.launch.preflight import with_calibration_path
    from deploy.service.check import run_preflight_check

    return run_preflight_check(
        with_calibration_path(part_of(command, DeployConfig)), yes=command.yes
    )
