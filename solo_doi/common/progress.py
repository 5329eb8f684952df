"""Progress on a screen, from the beginning of a `with` statement to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from rich.progress import Progress


class Shown:
    """Shows bars, and closes what was written beside them."""

    def __init__(self, bars: Progress, close: Callable[[], None] = lambda: None) -> None:
        """Show `bars`, in the end call `close`."""
        self._bars, self._close = bars, close

    def __enter__(self) -> Self:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bars as they are; close files."""
        self._bars.stop()
        self._close()
