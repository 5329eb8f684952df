"""Output of solo-train: progress bars in a terminal, plain lines in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solo_doi.common.files import WriteError
from solo_doi.common.metrics_log import read_metrics
from solo_doi.runs.train_log import POINTS, TrainLog
from tests.algorithm.runs import metrics_of

STAGES = {"expert": 3800, "skills": 30, "policies": 3000}
SKILLS = 5
METRICS = {
    f"{name}/{skill}": 0.25
    for name in ("sigma", "phi", "effective_share")
    for skill in range(SKILLS)
}


def show(run: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that a run prints, in order."""
    with TrainLog(run, SKILLS, first=0) as log:
        for name, steps in STAGES.items():
            log.stage(name, steps)
            for number in range(1, steps + 1):
                if name == "skills":
                    log.outer(number, METRICS)
                else:
                    log.advance({"loss/one": float(number), "loss/other": 0.5})
            log.warn(f"{name} took long, " + "very " * 30 + "long.")
    output = capsys.readouterr()
    assert output.out == ""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", output.err).replace("\r", "\n").splitlines()


def test_a_terminal_of_80_columns_shows_stages_counts_and_skills_in_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text is cut off."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    lines = show(tmp_path, capsys)
    text = "\n".join(lines)
    assert "…" not in text
    assert max(map(len, lines)) <= 80
    for name, steps in STAGES.items():
        assert re.search(rf"{name} ━+ +{steps}/{steps}", text), name
    assert "sigma .25 .25 .25 .25 .25" in text
    assert "ESS % 25.00 25.00 25.00 25.00 25.00" in text


def test_a_file_gets_a_plain_line_every_tenth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines have no bars, colour codes or line breaks."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    lines = show(tmp_path, capsys)
    for name, steps in STAGES.items():
        of_stage = [line for line in lines if line.startswith(f"{name} ")]
        assert [line.split()[1] for line in of_stage] == [
            f"{steps * tenth // 10}/{steps}" for tenth in range(1, 11)
        ]
    assert lines[10] == (
        "warning: expert took long, " + "very " * 30 + "long."
    )  # after the ten lines of its stage, complete
    assert lines[11] == (
        "skills 3/30 · sigma .25 .25 .25 .25 .25 · phi .25 .25 .25 .25 .25 · ESS % 25.00 25.00 "
        "25.00 25.00 25.00"
    )
    assert len(lines) == 33


def test_every_outer_step_is_in_the_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metrics also contain the steps that were not shown."""
    show(tmp_path, capsys)
    assert metrics_of(tmp_path) == [
        {"outer": number, **METRICS} for number in range(1, STAGES["skills"] + 1)
    ]


def test_losses_of_updates_become_a_curve_of_each_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each curve has a hundred means; outer steps are in the metrics already.

    A repeated stage has one curve.
    """
    for _ in range(2):
        show(tmp_path, capsys)
    assert sorted(folder.name for folder in (tmp_path / "updates").iterdir()) == [
        "expert",
        "policies",
    ]
    for stage in ("expert", "policies"):
        points, every = (
            read_metrics(tmp_path / "updates" / stage, "update"),
            STAGES[stage] // POINTS,
        )
        assert [point["update"] for point in points] == [
            every * point for point in range(1, POINTS + 1)
        ]
        assert points[0] == {"update": every, "loss/one": (1 + every) / 2, "loss/other": 0.5}
        assert points[-1]["loss/one"] == STAGES[stage] - (every - 1) / 2
        assert list((tmp_path / "updates" / stage / "tensorboard").glob("events.out.tfevents.*"))


def test_a_stage_of_few_updates_has_a_point_for_each(tmp_path: Path) -> None:
    """Names of losses may change: the classifier's loss ends before that of the values begins."""
    with TrainLog(tmp_path, SKILLS, first=0) as log:
        log.stage("expert", 3)
        for losses in (
            {"loss/classifier": 1.0},
            {"loss/classifier": 2.0},
            {"loss/expert_value": 3.0},
        ):
            log.advance(losses)
    points = read_metrics(tmp_path / "updates" / "expert", "update")
    assert points[:2] == [
        {"update": 1, "loss/classifier": 1.0},
        {"update": 2, "loss/classifier": 2.0},
    ]
    assert points[2:] == [{"update": 3, "loss/expert_value": 3.0}]


def test_a_curve_that_cannot_be_written_is_an_error_in_one_line(tmp_path: Path) -> None:
    """The disk is full or a file blocks the folder; the message names the remedy."""
    (tmp_path / "updates").write_text("in the way")
    with TrainLog(tmp_path, SKILLS, first=0) as log:
        log.stage("policies", 3)
        with pytest.raises(
            WriteError, match=r"updates.policies: metrics cannot be written .* --resume"
        ):
            log.advance({"loss/policy": 1.0})
