"""Steps of a Dockerfile, and their execution in a folder instead of an image."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ("PATH", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "no_proxy")
"""Environment variables of this computer that steps may see, such as those for downloads."""


@dataclass(frozen=True)
class Step:
    """One instruction, such as RUN, with its text."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Words of the text; those of a JSON list."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return shlex.split(self.text)


def steps_of(path: Path) -> list[Step]:
    """Return the instructions of a Dockerfile, continued lines joined, without comments."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    found = []
    for line in joined.splitlines():
        name, _, text = line.strip().partition(" ")
        if name:
            found.append(Step(name, text.strip()))
    return found


class Image:
    """Folder with a system, in which the steps of a Dockerfile are executed by chroot."""

    def __init__(self, folder: Path, context: Path = ROOT) -> None:
        """Use a folder that already has what FROM stands for."""
        self.folder = folder
        self.context = context
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.place = "/"
        self.entry: list[str] = []
        self.command: list[str] = []

    def execute(self, step: Step) -> None:
        """Execute one instruction.

        Raises:
            subprocess.CalledProcessError: A command failed.
        """
        if step.name == "ENV":
            for pair in step.words:
                name, _, value = pair.partition("=")
                self.environment[name] = value.replace("$PATH", self.environment["PATH"])
        elif step.name == "WORKDIR":
            self.place = step.text
            self.inside(self.place).mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY":
            self.copy(step.words)
        elif step.name == "RUN":
            self.run(["sh", "-c", step.text])
        elif step.name == "ENTRYPOINT":
            self.entry = step.words
        elif step.name == "CMD":
            self.command = step.words
        elif step.name != "FROM":
            raise ValueError(f"{step.name}: an instruction that is not known here")

    def copy(self, words: list[str]) -> None:
        """Copy files of the repository, as git has them, into the folder."""
        *sources, target = words
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--", *sources],
            cwd=self.context,
            capture_output=True,
            check=True,
        )
        files = [name.decode() for name in listed.stdout.split(b"\0") if name]
        if not files:
            raise ValueError(f"COPY {words}: no such files")
        (source, *others) = sources
        for name in files:
            relative = name
            if not others and (self.context / source).is_dir():
                relative = os.path.relpath(name, source)
            place = self.inside(target) / relative
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            shutil.copy(self.context / name, place, follow_symlinks=False)

    def run(self, command: list[str]) -> None:
        """Run a command in the folder."""
        subprocess.run(
            ["chroot", str(self.folder), "env", "-C", self.place, *command],
            env=self.environment,
            check=True,
        )

    def inside(self, place: str) -> Path:
        """Return a place of the image as a path of this computer."""
        return self.folder / place.lstrip("/")
