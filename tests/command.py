"""Commands of this project, run in the process of the test or in a child process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOLO_DEPLOY = [sys.executable, "-c", "from deploy.cli.deploy import main; main()"]
"""Command of solo-deploy in a process of its own."""


class Command:
    """A command line, run without the start time of a process."""

    def __init__(
        self,
        name: str,
        main: Callable[[], object],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Replace arguments and output of `main`, the function of the command `name`."""
        self.name = name
        self._main = main
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Return exit code, output and errors; any exception but an exit is a failure."""
        self._monkeypatch.setattr(sys, "argv", [self.name, *map(str, arguments)])
        self._capsys.readouterr()  # discards earlier output
        code: object = 0
        try:
            self._main()
        except SystemExit as end:
            code = end.code
        output = self._capsys.readouterr()
        assert isinstance(code, int | None)
        return code or 0, output.out, output.err

    def good(self, *arguments: object) -> str:
        """Return the output of a command that succeeds without warnings."""
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, "")
        return output

    def error(self, *arguments: object) -> str:
        """Return the only line that a refused command prints, without the command's name."""
        code, output, errors = self(*arguments)
        assert (code, output) == (1, "")
        assert errors.startswith(f"{self.name}: ")
        assert errors.count("\n") == 1
        return errors.removeprefix(f"{self.name}: ").strip()

    def failure(self, *arguments: object) -> str:
        """Return the last line of a command that fails after it began, without its name."""
        code, output, errors = self(*arguments)
        assert code == 1
        assert output != ""
        assert "Traceback" not in errors
        *progress, last = errors.splitlines()
        assert last.startswith(f"{self.name}: ")
        assert not any(line.startswith(f"{self.name}: ") for line in progress)
        return last.removeprefix(f"{self.name}: ").strip()


def run_silently(name: str, main: Callable[[], object], arguments: list[str], folder: Path) -> None:
    """Run a command in a folder and discard its output; for processes of their own."""
    os.chdir(folder)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.argv = [name, *arguments]
    main()
