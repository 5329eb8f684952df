"""Fork server of workers: torch, MuJoCo and the double are loaded once.

Loading takes 2 s, forking 20 ms. Each worker is a separate process without a simulation, as Isaac
Gym's rules require.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

import isaacgym.gymtorch  # noqa: F401  # loads the double, then torch

MAX_FILES = 5


def main() -> None:
    """Fork a worker per connection, until the standard input closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        message, files, _, _ = socket.recv_fds(connection, 4096, MAX_FILES)
        if os.fork() == 0:
            listener.close()
            be_worker(connection, *json.loads(message), files)
        for file in files:
            os.close(file)
        connection.close()


def be_worker(connection: socket.socket, path: str, arguments: list[str], files: list[int]) -> None:
    """Serve in place of the requesting program, with its open files and the worker on its path."""
    assert arguments[0] == "-c", arguments  # see `module_command`
    assert arguments[2:4] == ["solo_isaac", "serve"], arguments
    *pipes, output = files
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.path.insert(0, path)
    code = 1
    try:
        from solo_isaac.serve import serve

        code = serve(*pipes)
    finally:
        connection.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    main()
