"""Shipped configurations: every file in configs/, and the default of solo-pretrain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from collect.cli.pretrain import PretrainCommand
from collect.dominic.pretrain_config import PretrainConfig, for_task
from solo_doi.common import settings as config
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.sweep_checks import resolved
from solo_doi.runs.sweep_job import Job

ROOT = Path(__file__).parents[3]
KINDS: dict[str, type[Any]] = {"pretrain": PretrainCommand}
"""Settings class of each folder of configs/."""
SWEEPS = sorted((ROOT / "configs" / "sweep").glob("*.yaml"))
"""Files of named variants for sweeps."""
SHIPPED = sorted({*(ROOT / "configs").rglob("*.yaml")} - {*SWEEPS})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_file_loads_and_changes_something(path: Path) -> None:
    """Names in the files must match the settings in the code.

    Repeated defaults would become outdated.
    """
    kind = KINDS.get(path.parent.name)
    if kind is None:
        pytest.skip(f"no configuration class is known here for {path.parent.name}")
    if path.parent.name == "pretrain":
        kind = for_task(kind, config.load(path).get("task", "locomotion"))
    loaded = config.read(kind, path)
    loaded.check()
    assert loaded != kind()


def shipped_variants() -> list[tuple[Path, str, dict[str, Any]]]:
    """Return every variant of every sweep, with its file and name."""
    return [
        (path, name, settings)
        for path in SWEEPS
        for name, settings in yaml.safe_load(path.read_text()).items()
    ]


@pytest.mark.parametrize(
    ("path", "name", "settings"), shipped_variants(), ids=lambda value: str(value)[-30:]
)
def test_every_shipped_variant_can_be_trained(
    path: Path, name: str, settings: dict[str, Any]
) -> None:
    """Each variant is valid and differs from the default training."""
    assert resolved(Job(name, settings, path)) != RunConfig()


def test_shipped_variants_differ_from_each_other() -> None:
    """Two names for the same settings would repeat runs."""
    assert len(SWEEPS) >= 2
    for path in SWEEPS:
        variants = yaml.safe_load(path.read_text())
        configs = [resolved(Job(name, settings, path)) for name, settings in variants.items()]
        assert all(one not in configs[:number] for number, one in enumerate(configs))


def test_the_default_pretraining_is_read_back(tmp_path: Path) -> None:
    """Every run writes such a file."""
    config.write(PretrainConfig(), tmp_path / "config.yaml")
    assert config.read(PretrainConfig, tmp_path / "config.yaml") == PretrainConfig()
