"""The demonstration with planted stages: reuse, continuation, failures and the summary."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.cli import demo as demo_cli
from deploy.demo import demo
from deploy.demo.stages import DemoStage
from solo_doi.common.lock import exclusive
from tests.command import Command

SKILLS = 2
METRICS = {
    "visibly_different": [0, 1],
    "walking": [0, 1],
    "falls_pooled": {"falls": 0, "rollouts": 240, "interval": [0.0, 0.015]},
    "skills": [
        {"skill": 0, "vx": 0.98, "return_pct": 96.0},
        {"skill": 1, "vx": 1.01, "return_pct": 92.0},
    ],
}
REFUSED = 2
"""Exit code of a dry run that is refused before it starts."""
WALK = {"velocity": 1.0, "distance": 9.9, "falls": 0}


class FakeStages:
    """Stages that write small artefacts and are remembered."""

    def __init__(self) -> None:
        """Let every stage succeed."""
        self.lines: list[str] = []
        self.codes: dict[str, int] = {}
        self.problems: list[str] = []

    def __call__(self, stage: DemoStage, output: Path, show: Callable[[str], None]) -> int:
        """Write what the stage would write; return its planned exit code."""
        self.lines.append(stage.line)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"last words of {stage.name}\n")
        show("half way")
        if stage.name == "train":
            stage.artefact.mkdir(exist_ok=True)
            (stage.artefact / "config.yaml").touch()
        code = self.codes.get(stage.name, 0)
        if code and not stage.optional:
            return code
        stage.artefact.parent.mkdir(parents=True, exist_ok=True)
        if stage.name == "evaluate":
            (stage.artefact.parent / "metrics.json").write_text(json.dumps(METRICS))
        if stage.name.startswith("skill-") and code == REFUSED:
            return code
        if stage.name.startswith("skill-"):
            stage.artefact.mkdir()
            problems = self.problems if code else []
            summary = {"walk": WALK, "commanded": 1.0, "problems": problems}
            (stage.artefact / "summary.json").write_text(json.dumps(summary))
        elif stage.name == "collect":
            stage.artefact.mkdir(exist_ok=True)
        elif stage.name != "train":
            stage.artefact.touch()
        return code

    def programs(self) -> list[str]:
        """Return the programs that ran since the last call."""
        ran = [line.split()[0] for line in self.lines]
        self.lines.clear()
        return ran


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeStages:
    """Planted stages, in a new folder without a display."""
    planted = FakeStages()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(demo, "run_stage", planted)
    monkeypatch.setattr(demo, "Bundle", lambda _: SimpleNamespace(num_skills=SKILLS))
    monkeypatch.setattr(demo, "software", lambda: {"commit": "1"})
    return planted


@pytest.fixture
def solo_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-demo."""
    return Command("solo-demo", demo_cli.main, monkeypatch, capsys)


ALL = ["solo-collect", "solo-train", "solo-eval", "solo-export", *["solo-deploy"] * SKILLS]


def test_it_shows_every_stage_the_verdict_and_what_follows(
    fake: FakeStages, solo_demo: Command
) -> None:
    output = solo_demo.good()
    assert fake.programs() == ALL
    assert "Two of two skills look different from each other: skills 0 and 1." in output
    assert "report: demo/run/evaluation/report.html\nbundle: demo/run/skills.onnx\n" in output
    assert output.count("next: ") == 3
    assert "\n$ solo-eval demo/run\n" in output
    for skill in range(SKILLS):
        assert f"Dry run of skill {skill}" in output


def test_a_second_run_reuses_everything(fake: FakeStages, solo_demo: Command) -> None:
    solo_demo.good()
    fake.programs()
    assert solo_demo.good().count("reused") == len(ALL)
    assert fake.programs() == []


def test_what_changed_is_made_again_with_all_that_follows(
    fake: FakeStages, solo_demo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost bundle, another duration, another seed, another version of the software."""
    solo_demo.good()
    Path("demo/run/skills.onnx").unlink()
    fake.programs()
    solo_demo.good()
    assert fake.programs() == ["solo-export"]
    solo_demo.good("--seconds", "5")
    assert fake.programs() == ["solo-deploy"] * SKILLS
    solo_demo.good("--seed", "2")
    assert fake.programs() == ALL
    monkeypatch.setattr(demo, "software", lambda: {"commit": "2"})
    solo_demo.good("--seed", "2")
    assert fake.programs() == ALL


def test_a_stage_that_fails_is_named_and_continued(fake: FakeStages, solo_demo: Command) -> None:
    """Training, which was interrupted, continues; its data are reused."""
    fake.codes["train"] = 130
    message = solo_demo.failure()
    assert "ended with exit code 130: last words of train." in message
    assert "demo/output/train.txt" in message
    assert "Run the same command again to continue." in message
    fake.codes.clear()
    fake.programs()
    solo_demo.good()
    assert fake.lines[0] == "solo-train --resume demo/run"
    assert fake.programs() == ALL[1:]


def test_a_dry_run_that_fails_is_a_result(fake: FakeStages, solo_demo: Command) -> None:
    """The other skills still walk; the exit code is 1, and the walk is tried again next time."""
    fake.codes["skill-0"] = 1
    fake.problems = ["it fell"]
    code, output, errors = solo_demo()
    assert (code, errors) == (1, "")
    assert "it fell" in output
    assert "--skill 1 " in output  # the first that walked is suggested
    fake.codes.clear()
    fake.programs()
    solo_demo.good()
    assert fake.programs() == ["solo-deploy"]


def test_a_dry_run_that_is_refused_says_why(fake: FakeStages, solo_demo: Command) -> None:
    """It leaves no summary; the last line of its output has the reason."""
    fake.codes["skill-1"] = REFUSED
    code, output, errors = solo_demo()
    assert (code, errors) == (1, "")
    assert "last words" in output  # the table may wrap


def test_a_folder_with_other_files_is_refused(fake: FakeStages, solo_demo: Command) -> None:
    """Nothing in it is touched."""
    Path("demo").mkdir()
    Path("demo/thesis.txt").write_text("mine")
    assert solo_demo.error().startswith("demo: has files, but none of a demonstration (demo.json).")
    assert Path("demo/thesis.txt").read_text() == "mine"
    assert fake.programs() == []


@pytest.mark.parametrize("content", ["", "[]", '{"collect": {"key": 1}}', '{"collect": 3}'])
def test_a_damaged_record_is_refused(fake: FakeStages, solo_demo: Command, content: str) -> None:
    Path("demo").mkdir()
    Path("demo/demo.json").write_text(content)
    assert solo_demo.error() == (
        "demo/demo.json: is damaged. Remove demo, or choose another --out."
    )


def test_a_second_process_is_refused(fake: FakeStages, solo_demo: Command) -> None:
    with exclusive(Path("demo"), ""):
        message = solo_demo.error()
    assert message.startswith("demo: another process is writing to it.")
    assert fake.programs() == []


@pytest.mark.parametrize(("flags", "opened"), [((), 1), (("--no-open",), 0)])
def test_the_report_is_opened_where_there_is_a_display(
    fake: FakeStages,
    solo_demo: Command,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    opened: int,
) -> None:
    pages: list[Any] = []
    monkeypatch.setattr(demo_cli.webbrowser, "open", pages.append)
    monkeypatch.setenv("DISPLAY", ":7")
    solo_demo.good(*flags)
    expected = [f"file://{os.getcwd()}/demo/run/evaluation/report.html"]
    assert pages == expected * opened
