"""Server of one client: one line of JSON in, one out, until the client ends."""

from __future__ import annotations

import json
import os
import threading
import traceback
from typing import Any

PROTOCOL = 2
"""Version of the messages between client and worker."""


def serve(requests: int, answers: int, lifeline: int, memory: int) -> int:
    """Serve until the client closes its pipe.

    After an error, report it and exit, since the state of Isaac Gym is then unknown.
    """
    exit_with_client(lifeline)
    simulation = None
    with os.fdopen(requests, "r") as lines, os.fdopen(answers, "w") as out:
        for line in lines:
            try:
                request = json.loads(line)
                if simulation is None:
                    simulation, answer = start(request, memory)
                else:
                    answer = simulation.answer(request)
            except Exception as error:
                words = f"{type(error).__name__}: {error}"
                print(
                    json.dumps({"error": words, "traceback": traceback.format_exc()}),
                    file=out,
                    flush=True,
                )
                return 1
            print(json.dumps(answer), file=out, flush=True)
    if simulation is not None:
        simulation.close()
    return 0


def start(setup: dict[str, Any], memory: int) -> tuple[Any, dict[str, Any]]:
    """Load Isaac Gym and the robot; return the simulation, and versions and device."""
    if setup.get("protocol") != PROTOCOL:
        raise RuntimeError(
            f"the client speaks protocol {setup.get('protocol')}, this worker {PROTOCOL}: "
            "use both of one version"
        )
    # These import Isaac Gym: here, so that the client gets its import errors.
    from .device import about_machine, refuse_unsupported
    from .memory import map_arrays
    from .simulation import Simulation

    about = about_machine(setup["device"])
    refuse_unsupported(about)
    return Simulation(setup, map_arrays(memory, setup["arrays"])), about


def exit_with_client(lifeline: int) -> None:
    """End this process when the client ends: reading from the lifeline returns only then."""

    def watch() -> None:
        os.read(lifeline, 1)
        os._exit(1)  # at once, even if the main thread is blocked

    threading.Thread(target=watch, daemon=True).start()
