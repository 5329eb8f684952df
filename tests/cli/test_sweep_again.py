"""A repeated sweep runs only missing runs and refuses changed settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from solo_doi.algorithm import presets
from tests.command import Command

from .sweeps import SETTINGS, table, variants


def test_only_missing_runs_are_started(started: list[list[str]], sweep: Command) -> None:
    """Finished runs are not repeated, unfinished ones continue, new ones are added."""
    words = ("--variants", variants(doi={}), "--eps", 1, "--out", "out", "--seeds")
    assert sweep(*words, 1, 2)[0] == 0
    out = Path("out")
    begun, finished = out / "doi-eps1-seed1", out / "doi-eps1-seed2"
    text, policy = (out / "table.csv").read_text(), (begun / "policy.h5").read_bytes()
    for name in ("summary.json", "policy.h5", "state.pt", "ratios.h5"):
        (begun / name).unlink()
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    started.clear()

    assert sweep(*words, 1, 2, 3)[0] == 0
    assert [call[:2] for call in started] == [
        ["--resume", str(begun)], ["--config", str(out / "doi-eps1-seed3.yaml")],
    ]  # fmt: skip
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before
    assert (begun / "policy.h5").read_bytes() == policy
    assert (out / "table.csv").read_text().startswith(text)
    assert [row["seed"] for row in table(out)] == ["1", "2", "3"]
    started.clear()
    assert sweep(*words, 1, 2, 3)[0] == 0
    assert started == []


def test_a_run_of_other_settings_is_refused(started: list[list[str]], sweep: Command) -> None:
    """Otherwise the table would list old numbers for a changed variant."""
    words = ("--seeds", 1, "--out", "out")
    assert sweep("--variants", variants(doi={}), *words)[0] == 0
    code, _, errors = sweep("--variants", variants(doi={"gamma": 0.5}), *words)
    assert (code, errors.count("\n")) == (1, 1)
    assert (
        "doi-eps2.7-seed1.yaml: the run was begun with other settings. Choose another --out"
        in errors
    )
    assert len(started) == 1


def test_a_run_of_other_defaults_is_refused(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """A default may have changed since the run was trained.

    The table must not mix both.
    """
    path = Path("variants.yaml")
    path.write_text(
        yaml.safe_dump(
            {"doi": {name: value for name, value in SETTINGS.items() if name != "reach"}}
        )
    )
    words = ("--variants", path, "--seeds", 1, "--out", "out")
    assert sweep(*words)[0] == 0
    monkeypatch.setattr(presets, "DEFAULT", replace(presets.DEFAULT, reach=9.0))
    assert sweep.error(*words) == (
        "out/doi-eps2.7-seed1/config.yaml: the run was begun with other settings, reach 3.0 for "
        "9.0 now. Choose another --out, or delete out/doi-eps2.7-seed1."
    )
    assert len(started) == 1


def test_settings_that_are_newer_or_older_than_a_run(
    started: list[list[str]], sweep: Command
) -> None:
    """A new setting gets its present default, as with `--resume`.

    A setting that no longer exists is refused.
    """
    words = ("--variants", variants(doi={}), "--seeds", 1, "--out", "out")
    assert sweep(*words)[0] == 0
    path = Path("out/doi-eps2.7-seed1/config.yaml")
    content = yaml.safe_load(path.read_text())
    del content["policy"]["in_loop"]
    path.write_text(yaml.safe_dump(content))
    assert sweep(*words)[0] == 0
    content["policy"]["momentum"] = 0.9
    path.write_text(yaml.safe_dump(content))
    assert "other settings, policy.momentum 0.9 for 'nothing' now." in sweep.error(*words)
    assert len(started) == 1


def test_data_of_finished_runs_may_be_gone(started: list[list[str]], sweep: Command) -> None:
    """The table needs only the finished runs."""
    words = ("--variants", variants(doi={}), "--out", "out", "--seeds")
    assert sweep(*words, 1)[0] == 0
    Path("datasets").unlink()
    assert sweep(*words, 1)[0] == 0
    assert sweep.error(*words, 1, 2).startswith("datasets/locomotion/coverage: no such directory.")
    assert len(started) == 1
