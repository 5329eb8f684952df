"""The process in which Isaac Gym runs: started, asked, and ended; its errors told in its own words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from solo_doi.common.child_python import module_command
from solo_doi.sim.isaac_config import IsaacConfig
from solo_doi.sim.simulator import SimulationError

LAST_WORDS = 2000
"""Characters of the worker's output that an error quotes."""
PATIENCE_S = 10.0
"""How long a worker that was asked to leave may take; freeing a GPU takes seconds."""


class WorkerLink:
    """One worker. Requests and answers are lines of JSON in pipes; arrays travel through shared memory.

    The worker also holds the reading end of a pipe into which nobody writes: when this process ends, however it
    ends, that pipe closes and the worker leaves.
    """

    def __init__(self, config: IsaacConfig, memory: int, first_message: dict[str, Any]) -> None:
        """Start the worker and wait until it has loaded Isaac Gym and the robot."""
        # What Isaac Gym prints goes into a file without a name: a pipe would fill up, since nobody reads it.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        lifeline, self._lifeline = os.pipe()
        theirs = (requests, answers, lifeline)
        try:
            self._process = subprocess.Popen(
                _command(config, requests, answers, lifeline, memory),
                env=_environment(config),
                pass_fds=(*theirs, memory),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            for end in (self._requests, self._answers, self._lifeline):
                os.close(end)
            self._output.close()
            raise SimulationError(
                f"{config.python}: cannot be started ({error.strerror})."
            ) from error
        finally:
            for end in theirs:
                os.close(end)
        self._received = b""
        self.about: dict[str, Any] = self.ask(first_message)
        """What the worker says of itself: versions and device."""

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What the worker ended with, if it has ended."""
        return self._process.poll()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            SimulationError: The worker failed or died; it says how, and is gone afterwards.
        """
        if self._requests < 0:
            raise SimulationError("The Isaac Gym worker has ended: make a new simulator.")
        with suppress(BrokenPipeError):  # it has just died; what it left behind is read below
            _write(self._requests, json.dumps(request).encode() + b"\n")
        line = self._read_line()
        answer = json.loads(line) if line else {"error": self._cause_of_death()}
        if "error" in answer:
            words = self._last_words() if not line else answer.get("traceback", "")
            self.close()
            raise SimulationError(f"Isaac Gym: {answer['error']}\n{words}".rstrip())
        return answer

    def close(self) -> None:
        """Ask the worker to leave, and end it if it does not."""
        if self._requests < 0:
            return
        os.close(self._requests)  # the worker reads its end, frees the GPU and leaves
        self._requests = -1
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        os.close(self._lifeline)
        self._output.close()

    def _read_line(self) -> bytes:
        """Return the next answer, or nothing if the worker is gone."""
        while b"\n" not in self._received:
            part = os.read(self._answers, 65536)
            if not part:
                return b""
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _cause_of_death(self) -> str:
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return "the worker closed its pipe without an answer."
        if code < 0:
            return f"the worker was ended by {signal.Signals(-code).name}. Its last words:"
        return f"the worker ended with code {code}. Its last words:"

    def _last_words(self) -> str:
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - LAST_WORDS))
        return self._output.read().decode(errors="replace").strip() or "(none)"


def _command(
    config: IsaacConfig, requests: int, answers: int, lifeline: int, memory: int
) -> Sequence[str]:
    files = (str(number) for number in (requests, answers, lifeline, memory))
    return module_command("solo_isaac", "serve", *files, python=config.python)


def _environment(config: IsaacConfig) -> dict[str, str]:
    """Return this process's environment, without what would confuse the other Python, and with what activating adds."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    environment["PYTHONPATH"] = str(config.worker)
    # Isaac Gym's first import builds a part of it with ninja, which pip puts beside the interpreter.
    _put_first(environment, "PATH", config.python.absolute().parent)
    library = (
        config.python.resolve().parent.parent / "lib"
    )  # it wants libpython3.8, which conda keeps here
    if any(library.glob("libpython3*.so*")):
        _put_first(environment, "LD_LIBRARY_PATH", library)
    return environment


def _put_first(environment: dict[str, str], name: str, folder: Path) -> None:
    others = environment.get(name)
    environment[name] = f"{folder}:{others}" if others else str(folder)


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
