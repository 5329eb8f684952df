"""A new task runs from pre-training to report without a change of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compatibility.conftest import RunCommand
from tests.toys.balance import BalanceTask

TASK = BalanceTask.name
PRETRAIN = (
    "--iterations 2 --num-robots 4 --steps 4 --num-skills 2 --policy-hidden 8 8 --value-hidden 8 8 "
    "--minibatches 1 --checkpoints 0 --diversity.features height --out pretrain"
)
TRAIN = (
    "--outer 2 --subset 100 --classifier.updates 3 --classifier.hidden 8 --classifier.average 1 "
    "--value.hidden 8 --value.expert-updates 3 --value.updates 2 --value.window 8 "
    "--discriminator.updates 2 --discriminator.hidden 8 --discriminator.members 2 "
    "--policy.updates 3 --policy.expert-updates 3 --policy.hidden 8 --out run"
)


@pytest.mark.slow
def test_a_task_on_a_page_runs_from_pretraining_to_report(run: RunCommand) -> None:
    """Each command takes the task by the path of its class and finds its declarations."""
    run("solo-pretrain", "--task", TASK, *PRETRAIN.split())
    assert Path("pretrain/checkpoints/model_2.pt").is_file()
    run(
        "solo-collect",
        "--task",
        TASK,
        "--checkpoints",
        "pretrain/checkpoints",
        "--workers",
        "1",
        "--demonstrations",
        "4",
    )
    data = Path("datasets", TASK)
    manifest = json.loads((data / "coverage" / "manifest.json").read_text())
    assert manifest["task"] == TASK
    fields = {field["name"]: field for field in manifest["fields"]}
    assert fields["infos/reward_groups"]["shape"] == [1]
    assert fields["rewards"]["meaning"] == BalanceTask.collection.reward
    run("solo-train", "--task", TASK, *TRAIN.split())
    run("solo-eval", "run", "--episodes", "4")
    metrics = json.loads(Path("run/evaluation/metrics.json").read_text())
    scene = metrics["scenes"][""]
    assert list(scene) == ["skill 0", "skill 1", "SMODICE"]
    assert set(scene["skill 0"]) == {"return", "falls", "intervals"}
    assert 0 < scene["skill 0"]["return"] <= BalanceTask.evaluation.steps
    report = Path("run/evaluation/report.html").read_text()
    assert "sum of the task" in report
    assert Path("run/evaluation/paths.csv").is_file()
