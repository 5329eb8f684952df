"""Error class for robots that cannot be used."""

from __future__ import annotations

from solo_doi.common.errors import SoloError


class RobotError(SoloError):
    """A robot that cannot be opened, or differs from its configuration."""

    def __init__(self, message: str, since: float | None = None) -> None:
        """Describe the error; `since` is its start on the robot's clock, None for now [s]."""
        super().__init__(message)
        self.since = since
