"""Progress bars as a context manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.progress import Progress

if TYPE_CHECKING:
    from typing import Self  # Python 3.10 has none


class ProgressDisplay:
    """Shows progress bars within a `with` statement, and closes files at its end."""

    def __init__(self, bars: Progress, close: Callable[[], None] = lambda: None) -> None:
        """Show `bars`; call `close` at the end."""
        self._bars = bars
        self._close = close

    def __enter__(self) -> Self:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop updating the bars and close files."""
        self._bars.stop()
        self._close()
