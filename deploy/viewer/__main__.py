"""Process of the view: poses as JSON lines on the standard input, the view's port on the output."""

from __future__ import annotations

import json
import signal
import sys

from .guarded_viser import guarded_server
from .robot_scene import RobotScene, pose_of


def main() -> None:
    """Serve the view until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, and so the input
    server = guarded_server(page_port=int(sys.argv[1]))
    scene = RobotScene(server)
    print(server.get_port(), flush=True)
    for line in sys.stdin:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        pose = pose_of(content) if isinstance(content, dict) else None
        if pose is not None:
            scene.show(pose)
    server.stop()


if __name__ == "__main__":
    main()
