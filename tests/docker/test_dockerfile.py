"""Dockerfiles: steps that are known, files that exist, and their execution in a folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from .dockerfile import ROOT, Image, Step, steps_of

DOCKERFILES = sorted(ROOT.glob("docker/*/Dockerfile"))
SHELL = ("sh", "-c")
FOREIGN = ("isaacgym",)
"""Sources of COPY that users download themselves."""


def test_lines_are_joined_and_comments_left_out(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text('# one\nFROM a\nRUN b \\\n  # why\n  && c\nCMD ["d", "e f"]\n')
    steps = steps_of(path)
    assert steps == [Step("FROM", "a"), Step("RUN", "b && c"), Step("CMD", '["d", "e f"]')]
    assert steps[2].words == ["d", "e f"]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_copied_files_exist(path: Path) -> None:
    for step in steps_of(path):
        if step.name == "COPY":
            *sources, _ = step.words
            missing = [name for name in sources if not (ROOT / name).exists()]
            assert [name for name in missing if name not in FOREIGN] == []


def test_steps_are_executed_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def record(command: list[str], **options: object) -> None:
        commands.append(command)

    image = Image(tmp_path)
    image.execute(Step("COPY", "LICENSE docker /opt/a"))
    image.execute(Step("COPY", "docker /opt/b"))
    assert (tmp_path / "opt/a/LICENSE").is_file()
    assert (tmp_path / "opt/a/docker/lab/Dockerfile").is_file()
    assert (tmp_path / "opt/b/lab/Dockerfile").is_file()
    image.execute(Step("WORKDIR", "/opt/a"))
    image.execute(Step("ENV", "PATH=/opt/x:$PATH A=1"))
    assert image.environment["PATH"].startswith("/opt/x:/usr/local/sbin")
    monkeypatch.setattr(subprocess, "run", record)
    image.execute(Step("RUN", "true && false"))
    (command,) = commands
    assert command == [*("chroot", str(tmp_path), "env", "-C", "/opt/a"), *SHELL, "true && false"]
    with pytest.raises(ValueError, match="not known"):
        image.execute(Step("HEALTHCHECK", "x"))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="no such files"):
        image.execute(Step("COPY", "nowhere /opt"))


def test_compose_names_dockerfiles_and_commands_that_exist() -> None:
    content = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
    services = content["services"]
    built = [service["build"] for service in services.values() if "build" in service]
    assert built
    for build in built:
        assert (ROOT / "docker" / build["context"] / build["dockerfile"]).resolve().is_file()
    for service in services.values():
        assert service["command"][0] == "solo-deploy"
