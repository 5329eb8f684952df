"""Execute a Dockerfile without Docker: `python -m tests.docker DOCKERFILE SYSTEM`.

SYSTEM is a folder made by debootstrap, with a Python environment in /usr/local, as the official
images of Python have one. The image's own command runs at the end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .dockerfile import Image, steps_of


def main(dockerfile: Path, system: Path) -> None:
    """Execute all steps and the command."""
    image = Image(system)
    for step in steps_of(dockerfile):
        print(f"+ {step.name} {step.text}"[:120], flush=True)
        image.execute(step)
    print(f"+ {' '.join([*image.entry, *image.command])}", flush=True)
    image.run([*image.entry, *image.command])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
