"""Progress of the demonstration: a table that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from solo_doi.common.steps import is_plain

WAITING = "waiting"


@dataclass
class StageView:
    """States of all stages. Use it as a context manager."""

    titles: dict[str, str]
    """Titles of the stages by name, in their order."""
    console: Console = field(default_factory=Console)
    _states: dict[str, str] = field(default_factory=dict)
    _began: float = 0.0
    _live: Live | None = None

    def __enter__(self) -> StageView:
        """Start the table if there is a terminal."""
        if self.console.is_terminal and not is_plain():
            self._live = Live(self.table(), console=self.console, auto_refresh=False)
            self._live.start(refresh=True)
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the last table on the screen."""
        if self._live is not None:
            self._live.stop()

    def begin(self, name: str, command: str) -> None:
        """Show that a stage begins, with its command: above the table, if there is one."""
        self._began = time.monotonic()
        self._set(name, "starting")
        self._line(f"{self.titles[name]} ...")
        self.console.print(
            f"$ {command}", style="dim", highlight=False, markup=False, soft_wrap=True
        )

    def progress(self, name: str, text: str) -> None:
        """Show the time of a running stage and the last line of its output."""
        self._set(name, f"{time.monotonic() - self._began:.0f} s  [dim]{escape(text)}[/]")

    def end(self, name: str, text: str) -> None:
        """Show the result of a stage."""
        self._set(name, escape(text))
        self._line(f"{self.titles[name]}: {text}")

    def table(self) -> Table:
        """Return the table of all stages."""
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for name, title in self.titles.items():
            table.add_row(title, self._states.get(name, f"[dim]{WAITING}[/]"))
        return table

    def _set(self, name: str, state: str) -> None:
        self._states[name] = state
        if self._live is not None:
            self._live.update(self.table(), refresh=True)

    def _line(self, text: str) -> None:
        if self._live is None:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
