"""Process in which Isaac Gym runs: start, requests, end, and its error messages."""

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
from solo_doi.sim.input_checks import SimulationError
from solo_doi.sim.isaac_config import IsaacConfig

QUOTED_CHARACTERS = 2000
"""Characters of the worker's output that an error quotes."""
EXIT_TIMEOUT_S = 10.0
"""Time for the worker to exit before it is killed; freeing a GPU takes seconds [s]."""


class IsaacWorker:
    """One worker. Requests and answers are JSON lines in pipes; arrays are in shared memory.

    The worker also holds the reading end of a pipe that is never written to, the lifeline. When
    this process ends for any reason, that pipe closes and the worker exits.
    """

    def __init__(self, config: IsaacConfig, memory: int, first_message: dict[str, Any]) -> None:
        """Start the worker and wait until it has loaded Isaac Gym and the robot."""
        # Isaac Gym's output goes into an anonymous file: a pipe that is not read would fill up.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        lifeline, self._lifeline = os.pipe()
        worker_ends = (requests, answers, lifeline)
        try:
            self._process = subprocess.Popen(
                _command(config, requests, answers, lifeline, memory),
                env=_environment(config),
                pass_fds=(*worker_ends, memory),
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
            for end in worker_ends:
                os.close(end)
        self._received = b""
        self.about: dict[str, Any] = self.request(first_message)
        """Versions and device of the worker."""

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code of the worker, None while it runs."""
        return self._process.poll()

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            SimulationError: The worker failed or died. The message gives the cause.
        """
        if self._requests < 0:
            raise SimulationError("The Isaac Gym worker has ended: make a new simulator.")
        with suppress(BrokenPipeError):  # it has just died; its output is read below
            _write(self._requests, json.dumps(message).encode() + b"\n")
        line = self._read_line()
        if not line:
            error = self._cause_of_death()
            details = self._output_tail()
        else:
            answer: dict[str, Any] = json.loads(line)
            if "error" not in answer:
                return answer
            error = answer["error"]
            details = answer.get("traceback", "")
        self.close()
        raise SimulationError(f"Isaac Gym: {error}\n{details}".rstrip())

    def close(self) -> None:
        """Let the worker exit; kill it after the timeout."""
        if self._requests < 0:
            return
        os.close(self._requests)  # end of requests: the worker frees the GPU and exits
        self._requests = -1
        try:
            self._process.wait(EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        os.close(self._lifeline)
        self._output.close()

    def _read_line(self) -> bytes:
        """Return the next answer, empty if the worker has exited."""
        while b"\n" not in self._received:
            part = os.read(self._answers, 65536)
            if not part:
                return b""
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _cause_of_death(self) -> str:
        try:
            code = self._process.wait(EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "the worker closed its pipe without an answer."
        if code < 0:
            return f"the worker was ended by {signal.Signals(-code).name}. Its last output:"
        return f"the worker ended with code {code}. Its last output:"

    def _output_tail(self) -> str:
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - QUOTED_CHARACTERS))
        return self._output.read().decode(errors="replace").strip() or "(none)"


def _command(
    config: IsaacConfig, requests: int, answers: int, lifeline: int, memory: int
) -> Sequence[str]:
    files = map(str, (requests, answers, lifeline, memory))
    return module_command("solo_isaac", "serve", *files, python=config.python)


def _environment(config: IsaacConfig) -> dict[str, str]:
    """Return the environment of the worker.

    It is that of this process without the variables of its Python (PYTHON*). The worker's package
    and the program and library folders of Isaac Gym's Python are added.
    """
    environment = dict(os.environ)
    for name in os.environ:
        if name.startswith("PYTHON"):
            del environment[name]
    environment["PYTHONPATH"] = str(config.worker)
    # Isaac Gym's first import builds a part of it with ninja, which pip installs beside the
    # interpreter.
    _put_first(environment, "PATH", config.python.absolute().parent)
    # Isaac Gym needs libpython3.8, which conda keeps here.
    library = config.python.resolve().parent.parent / "lib"
    if any(library.glob("libpython3*.so*")):
        _put_first(environment, "LD_LIBRARY_PATH", library)
    return environment


def _put_first(environment: dict[str, str], name: str, folder: Path) -> None:
    others = environment.get(name)
    environment[name] = str(folder)
    if others:
        environment[name] = f"{folder}:{others}"


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
