"""Page of a recorded log."""

from __future__ import annotations

import itertools
import json
import lzma
import shutil
from pathlib import Path

import pytest

from deploy.console.page.page_server import encoded
from deploy.logs.log_view import FRAME_SECONDS, LogPage
from deploy.recorder.recorder import write_log
from solo_doi.common.errors import SoloError

RECORDED = Path(__file__).parents[2] / "compatibility" / "files" / "deployment"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of a recorded deployment."""
    place = tmp_path / "deploy-1"
    shutil.copytree(RECORDED, place)
    (place / "log.lcm").write_bytes(lzma.decompress((place / "log.lcm.xz").read_bytes()))
    return place


def test_frames_have_the_states_of_the_report(folder: Path) -> None:
    page = LogPage(folder)
    greeting = json.loads(encoded(page.greeting()))
    assert (greeting["kind"], greeting["name"]) == ("log", "deploy-1")
    frames = greeting["frames"]
    history = json.loads((folder / "controller.json").read_text())["history"]
    order = [state for state, _ in itertools.groupby(frame["state"] for frame in frames)]
    assert order == [entry["state"] for entry in history][: len(order)]
    assert "WALK" in order
    times = [frame["time"] for frame in frames]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) >= FRAME_SECONDS - 1e-9
    assert frames[-1]["velocity"] == [None] * 3
    assert sum(frames[-1]["lateness"]) > sum(frames[0]["lateness"])


def test_without_a_report_the_commands_tell_the_state(folder: Path) -> None:
    """The folder of an incident has no report."""
    (folder / "controller.json").unlink()
    shown = {frame["state"] for frame in LogPage(folder).frames}
    assert {"READY", "WALK"} <= shown <= {"IDLE", "READY", "WALK"}


def test_a_recording_can_be_neither_driven_nor_stopped(folder: Path) -> None:
    page = LogPage(folder)
    page.on_drive({"request": "walk"})
    page.on_stop("viewer 1")


def test_an_empty_log_is_refused(folder: Path) -> None:
    write_log([], folder / "log.lcm")
    with pytest.raises(SoloError, match="holds no state of a robot; there is nothing to show"):
        LogPage(folder)
