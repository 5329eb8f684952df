"""Runs small enough for tests."""

from __future__ import annotations

from pathlib import Path

import torch

from collect.dominic.config import DiversityConfig, PretrainConfig
from collect.dominic.progress import RunLog
from collect.dominic.trainer import Trainer

TINY = {
    "num_robots": 16,
    "steps": 4,
    "iterations": 3,
    "epochs": 2,
    "minibatches": 2,
    "policy_hidden": (16, 8),
    "value_hidden": (16, 8),
}
"""What makes an iteration take milliseconds; as flags too, see `flags`."""


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
        for word in (f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,)))
    ]


def train(trainer: Trainer) -> Trainer:
    """Run all iterations that are left."""
    config, run = trainer.config, trainer.run
    run.mkdir(parents=True, exist_ok=True)
    with RunLog(run, config.iterations, config.num_skills, first=trainer.iteration) as log:
        trainer.train(log)
    return trainer


def trained(run: Path, config: PretrainConfig) -> Trainer:
    """A finished run."""
    return train(Trainer(config, run))


def differing(one: object, other: object, name: str = "") -> list[str]:
    """Names of tensors and numbers in which two nested structures differ by as much as a bit."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return [] if torch.equal(one, other) else [name]
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differing(one[key], other[key], f"{name}.{key}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for i, (a, b) in pairs for found in differing(a, b, f"{name}[{i}]")]
    return [] if one == other else [name]
