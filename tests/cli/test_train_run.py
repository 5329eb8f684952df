"""solo-train: files of a run, and the effect of flags."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm.presets import preset
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common import settings
from solo_doi.data.d4rl import write_d4rl
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_config import RunConfig, TrainCommand
from tests.algorithm.runs import FLAGS, arrays_of, assert_same_run, metrics_of, summary_of, tiny
from tests.data.datasets import made_up_transitions

from .solo_train import SoloTrain


def test_a_run_leaves_its_directory_and_shows_its_skills(command: SoloTrain) -> None:
    """The files suffice to continue, evaluate and repeat the run."""
    code, text, progress = command(*FLAGS, "--out", "some/run")
    run = Path("some/run")
    assert code == 0
    assert text.startswith("run: some/run\n")
    assert "effective share" in text
    assert "skills 4/4" in progress
    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    events = {name for name in files if "tensorboard/events.out.tfevents" in name}
    assert len(events) == 3
    assert files - events == {
        ".lock", "config.yaml", "metrics.jsonl", "summary.json", "ratios.h5", "policy.h5",
        "expert.h5", "provenance.json",
        "state.pt", "expert.pt", "checkpoints/outer_0002.pt", "checkpoints/outer_0004.pt",
        "updates/expert/metrics.jsonl", "updates/policies/metrics.jsonl",
    }  # fmt: skip


def test_the_resolved_configuration_repeats_the_run(command: SoloTrain) -> None:
    """The file contains all settings and can be passed as `--config`."""
    run = command.run("--eps", "1.5")
    config = settings.read(RunConfig, run / "config.yaml")
    assert {
        field.name: getattr(config, field.name) for field in dataclasses.fields(TrainConfig)
    } == vars(tiny(eps=1.5))
    assert command("--config", run / "config.yaml", "--out", "again")[0] == 0
    assert_same_run(run, Path("again"))


def test_provenance_lists_data_and_software(command: SoloTrain) -> None:
    """The file contains sizes and checksums of both datasets, and software versions."""
    content = json.loads((command.run() / "provenance.json").read_text())
    assert content["data"].keys() == {"transitions", "trajectories", "crc32", "crc32_actions"}
    assert (content["data"]["transitions"], content["data"]["trajectories"]) == (300, 11)
    assert (content["expert"]["transitions"], content["expert"]["trajectories"]) == (50, 2)
    assert content["software"]["torch"] == torch.__version__


def test_the_default_output_directory_is_named_by_time(command: SoloTrain) -> None:
    """The default name is the date and time, below `runs/`."""
    code, text, _ = command(*FLAGS)
    (run,) = Path("runs").iterdir()
    assert code == 0
    assert text.startswith(f"run: {run}\n")
    assert run.name.startswith("train-2")


def test_foreign_files_can_be_trained_on(command: SoloTrain) -> None:
    """D4RL files imply the gym task; the same seed gives the same weights."""
    write_d4rl(Path("data.h5"), made_up_transitions((30, 40, 20, 60, 50)))
    flags = (
        "--data",
        "data.h5",
        "--expert",
        "data.h5",
        "--classifier.average",
        "1",
        "--discriminator.swing-terms",
        "observation",
    )
    run = command.run(*flags)
    assert SkillPolicy.read(run / "policy.h5").observation_size == 4
    config = settings.read(RunConfig, run / "config.yaml")
    assert (config.task, config.classifier.terms) == ("gym", ("observation",))
    assert_same_run(run, command.run(*flags, out="again"))
    other = command.run(*flags, "--seed", "2", out="other")
    assert (arrays_of(run / "policy.h5")["head"] != arrays_of(other / "policy.h5")["head"]).any()


def test_flags_may_be_written_either_way(command: SoloTrain) -> None:
    """`--x=y` and `--x y` are valid, before and after `--config`, which accepts both forms, too."""
    Path("settings.yaml").write_text("preset: paper\nseed: 5\neps: 1\n")
    code, _, _ = command(
        "--eps=3",
        "--config=settings.yaml",
        *FLAGS,
        "--out=run",
        "--discriminator.terms",
        "gravity",
        "linear_velocity",
    )
    assert code == 0
    config = settings.read(RunConfig, Path("run/config.yaml"))
    assert (config.eps, config.seed, config.outer) == (3.0, 5, 4)
    assert config.policy.in_loop  # of the preset in the file
    assert config.discriminator.terms == ("gravity", "linear_velocity")


@pytest.mark.parametrize(
    "words", [("--preset", "paper"), ("--preset=paper",), ("--preset", "default", "--preset=paper")]
)
def test_the_paper_preset_shrunk_by_flags_runs_through(
    command: SoloTrain, words: tuple[str, ...]
) -> None:
    """Settings without a flag are as printed; the last of two presets has priority."""
    run = command.run(*words)
    config, printed = (
        settings.read(RunConfig, run / "config.yaml"),
        preset("paper", "locomotion", {}),
    )
    assert config.policy == replace(printed.policy, updates=5, expert_updates=5, hidden=8, batch=32)
    assert config.projection == printed.projection
    assert config.diversity_weight == printed.diversity_weight != tiny().diversity_weight
    assert "loss/policy" in metrics_of(run)[0]
    assert all(SkillPolicy.read(run / name).squashed for name in ("policy.h5", "expert.h5"))


def test_options_of_the_command_line_reach_training(command: SoloTrain) -> None:
    """Each option is visible in the files of the run."""
    assert summary_of(command.run("--multipliers", "fixed:0.5", out="fixed"))["sigma"] == [0.5] * 3
    assert len(summary_of(command.run("--objective", "smodice", out="smodice"))["phi"]) == 1
    assert (
        "skills/distance" in metrics_of(command.run("--diversity", "van_der_waals", out="force"))[0]
    )
    assert summary_of(command.run("--objective", "unconstrained:2", out="free"))["skills"] == 3
    assert (
        summary_of(command.run("--divergence", "chi2", "--skills", "4", out="chi2"))["skills"] == 4
    )


def test_help_lists_every_field(command: SoloTrain) -> None:
    """The list includes nested settings."""
    code, text, _ = command("--help")
    assert code == 0

    def flags(kind: type, prefix: str = "--") -> Iterator[str]:
        for field in dataclasses.fields(kind):
            part = field.default_factory
            if isinstance(part, type) and dataclasses.is_dataclass(part):
                yield from flags(part, f"{prefix}{field.name}.")
            else:
                yield (prefix + field.name).replace("_", "-")

    names = list(flags(TrainCommand))
    assert {"--eps", "--preset", "--resume", "--value.expert-updates", "--policy.in-loop"} <= set(
        names
    )
    words = {word.rstrip(",") for word in text.split()}
    assert [name for name in names if name not in words] == []
