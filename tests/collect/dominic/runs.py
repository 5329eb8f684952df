"""Runs small enough for tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from collect.dominic.pretrain_config import DiversityConfig, PretrainConfig
from collect.dominic.pretrain_files import PretrainFiles
from collect.dominic.run_log import RunLog
from collect.dominic.trainer import Trainer
from solo_doi.common.metrics_log import METRICS_FILE

TINY = {
    "num_robots": 16,
    "steps": 4,
    "iterations": 3,
    "epochs": 2,
    "minibatches": 2,
    "policy_hidden": (16, 8),
    "value_hidden": (16, 8),
}
"""Settings of a run with iterations of a few milliseconds; `flags` has them as arguments."""


def tiny(burn_in: int = 0, **changes: object) -> PretrainConfig:
    """A configuration of a tiny run, with diversity from the second iteration on."""
    diversity = changes.pop("diversity", DiversityConfig(burn_in=burn_in))
    return PretrainConfig(**{**TINY, "num_skills": 3, "diversity": diversity, **changes})  # type: ignore[arg-type]


def flags(**changes: object) -> list[str]:
    """The command line of a tiny run."""
    options = {**TINY, **changes}
    return [
        word
        for name, value in options.items()
        for word in (
            f"--{name.replace('_', '-')}",
            *map(str, value if isinstance(value, tuple) else (value,)),
        )
    ]


def train(trainer: Trainer) -> Trainer:
    """Run the remaining iterations."""
    config, run = trainer.config, trainer.run
    run.mkdir(parents=True, exist_ok=True)
    with RunLog(run, config.iterations, config.num_skills, first=trainer.iteration) as log:
        trainer.train(log)
    return trainer


def trained(run: Path, config: PretrainConfig) -> Trainer:
    """Return a finished run."""
    return train(Trainer(config, run))


def state(run: Path) -> dict[str, object]:
    """Return the saved state of a run."""
    return torch.load(PretrainFiles(run).state, weights_only=True)


def metrics(run: Path) -> list[dict[str, float]]:
    """Return the lines of the metrics file without durations."""
    lines = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    return [
        {name: value for name, value in line.items() if name != "steps_per_second"}
        for line in lines
    ]


def files(run: Path) -> set[str]:
    """Return the files of a run.

    Those of TensorBoard by kind, since their names contain the time.
    """
    paths = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    return {
        "tensorboard/events" if path.startswith("tensorboard/events") else path for path in paths
    }


class Stopped(Exception):  # noqa: N818  # not an error
    """Raised to leave the training loop."""


def stop_after(trainer: Trainer, iterations: int) -> None:
    """Train until an iteration was logged, then raise an exception as an interrupt does."""

    class Log(RunLog):
        def iteration(self, number: int, metrics: dict[str, float]) -> None:
            """Log, and stop."""
            super().iteration(number, metrics)
            if number == iterations:
                raise Stopped

    trainer.run.mkdir(parents=True)
    config = trainer.config
    with pytest.raises(Stopped), Log(trainer.run, config.iterations, config.num_skills) as log:
        trainer.train(log)
