"""Runs side by side: medians and quartiles as numpy has them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solo_doi.evaluate.compare_runs import MEASURES, compare
from solo_doi.evaluate.report.html_report import format_value
from solo_doi.evaluate.run_groups import (
    group_label,
    group_labels,
    measure_value,
    median_with_quartiles,
)

from .browser import PHONE, on_a_phone
from .report.test_html_report import Page, assert_self_contained


def metrics(seed: int = 0, **changes: Any) -> dict[str, Any]:  # any entry of metrics.json
    """Metrics of an evaluation, with numbers drawn by a seed."""
    rng = np.random.default_rng(seed)
    drawn = {name: float(rng.uniform(0, 2)) for name in MEASURES} | {
        "return_pct_mean": float(rng.uniform(50, 100))
    }
    drawn["return_pct_worst"] = drawn["return_pct_mean"] - 20
    found: dict[str, Any] = drawn | {"visibly_different": list(range(seed % 4))}
    return found | {
        "run": f"run{seed}",
        "objective": "doi",
        "multipliers": "learned",
        "eps": 2.0,
        "seed": seed,
        **changes,
    }


def alone(seed: int = 0) -> dict[str, Any]:
    """Metrics of an evaluation with a single skill."""
    return {
        "run": f"run{seed}",
        "objective": "smodice",
        "multipliers": "learned",
        "eps": 2.0,
        "seed": seed,
        "skills": [{"return_pct": 97.5}],
    }


def table(path: Path) -> dict[str, dict[str, str]]:
    """Rows of a Markdown table by their first cell, as cells by column."""
    header, rule, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in path.read_text().splitlines()
    ]
    assert set(rule) == {"---"}
    assert {len(row) for row in rows} == {len(header)} == {len(rule)}
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "eps 2"),
        ({"eps": 0.5}, "eps 0.5"),
        ({"multipliers": "fixed:1"}, "sigma 1"),
        ({"objective": "smodice"}, "smodice"),
        ({"run": "default-eps2-seed7"}, "eps 2"),
        ({"run": "no hold-eps2-seed7"}, "no hold"),
        ({"objective": "unconstrained:0.5", "multipliers": "fixed:1"}, "unconstrained:0.5"),
    ],
)
def test_runs_that_differ_by_seed_alone_have_one_name(changes: dict[str, Any], name: str) -> None:
    """By eps, unless multipliers or objective make it meaningless."""
    assert group_label(metrics(1, **changes)) == group_label(metrics(2, **changes)) == name


def test_variants_of_different_eps_are_groups_of_their_own(tmp_path: Path) -> None:
    """In table and figures; the name of a variant with a single eps leaves it out."""
    found = [
        metrics(1, run="no hold-eps0-seed1", eps=0.0),
        metrics(2, run="no hold-eps2-seed1"),
        metrics(3, run="no hold-eps2-seed2"),
        metrics(4, run="short-eps2-seed1"),
    ]
    runs = {tmp_path / run["run"]: run for run in found}
    compare(runs, tmp_path / "out")
    rows = table(tmp_path / "out" / "compare.md")
    counts = {name: row["runs"] for name, row in rows.items()}
    assert counts == {"no hold, eps 0": "1", "no hold, eps 2": "2", "short": "1"}
    with (tmp_path / "out" / "trade_off.csv").open(newline="") as file:
        assert {row["group"] for row in csv.DictReader(file)} == counts.keys()


def test_medians_and_quartiles_are_numpys(tmp_path: Path) -> None:
    """In the table as text of three digits, in the figure's numbers to the last.

    Runs of other kinds have no part.
    """
    group = [metrics(seed) for seed in range(5)]
    others = [metrics(seed, eps=4.0) for seed in (7, 8)]
    runs = {tmp_path / f"run{number}": found for number, found in enumerate([*group, *others])}
    compare(runs, tmp_path / "out")
    rows = table(tmp_path / "out" / "compare.md")
    assert list(rows) == ["eps 2", "eps 4"]
    assert (rows["eps 2"]["runs"], rows["eps 4"]["runs"]) == ("5", "2")
    for name, title in MEASURES.items():
        values = [
            len(found[name]) if name == "visibly_different" else found[name] for found in group
        ]
        low, middle, high = (
            format_value(float(np.percentile(values, percent))) for percent in (25, 50, 75)
        )
        assert rows["eps 2"][title] == f"{middle} ({low} to {high})", name
    with (tmp_path / "out" / "groups.csv").open(newline="") as file:
        numbers = {(row["group"], row["measure"]): row for row in csv.DictReader(file)}
    assert len(numbers) == 6
    for name in ("return_pct_mean", "ratio_l1_trajectory", "height_std"):
        expected = np.percentile([found[name] for found in others], (25, 50, 75))
        found = [float(numbers["eps 4", name][column]) for column in ("low", "median", "high")]
        np.testing.assert_allclose(found, expected)


def test_a_single_run_has_no_quartiles() -> None:
    """Just its number."""
    assert median_with_quartiles([metrics(height_std=0.01234)], "height_std") == "0.0123"


def test_runs_that_lack_a_number_are_left_out_of_its_median() -> None:
    """Those that have it count; if none has it the cell is empty."""
    group = [metrics(ratio_l1=1.0), metrics(ratio_l1=None), metrics(ratio_l1=3.0)]
    assert median_with_quartiles(group, "ratio_l1") == "2 (1.5 to 2.5)"
    assert median_with_quartiles([alone()], "ratio_l1") == ""


def test_a_single_skill_has_a_return_and_no_diversity(tmp_path: Path) -> None:
    """Its return is mean and worst at once; it can be compared with others, or alone."""
    assert (
        measure_value(alone(), "return_pct_mean")
        == measure_value(alone(), "return_pct_worst")
        == 97.5
    )
    assert np.isnan(measure_value(alone(), "visibly_different"))
    runs = {tmp_path / "a": metrics(1), tmp_path / "b": alone(), tmp_path / "c": alone(1)}
    for name, chosen in {"both": runs, "alone": dict(list(runs.items())[1:])}.items():
        compare(chosen, tmp_path / name)
        row = table(tmp_path / name / "compare.md")["smodice"]
        assert row.pop("") == "smodice"
        assert row.pop("runs") == "2"
        assert {title: cell for title, cell in row.items() if cell} == {
            MEASURES["return_pct_mean"]: "97.5 (97.5 to 97.5)",
            MEASURES["return_pct_worst"]: "97.5 (97.5 to 97.5)",
        }


def test_every_run_is_a_dot(tmp_path: Path) -> None:
    """Return against either measure of diversity."""
    runs = {tmp_path / str(seed): metrics(seed) for seed in range(3)}
    compare(runs, tmp_path / "out")
    with (tmp_path / "out" / "trade_off.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["measure"], float(row["diversity"]), float(row["return_pct"])) for row in rows}
    assert found == {
        (name, run[name], run["return_pct_mean"])
        for run in runs.values()
        for name in ("ratio_l1_trajectory", "sf_l2_standardised")
    }


def test_ratios_over_training_are_those_of_the_logs(tmp_path: Path) -> None:
    """Runs without a log, or with lines that lack the number, leave gaps.

    Without any log there is no such figure.
    """
    runs = {tmp_path / name: metrics(number) for number, name in enumerate(("one", "two", "none"))}
    compare(runs, tmp_path / "before")
    assert not (tmp_path / "before" / "over_steps.csv").exists()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lines: list[dict[str, float]] = [
            {"outer": 1, "ratio_l1": 0.25},
            {"outer": 2, "ratio_l1": 1.5},
        ]
        if name == "two":
            del lines[0]["ratio_l1"]
        (tmp_path / name / "metrics.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
        )
    compare(runs, tmp_path / "out")
    with (tmp_path / "out" / "over_steps.csv").open(newline="") as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    expected = [("one", "1", "0.25"), ("one", "2", "1.5"), ("two", "2", "1.5")]
    assert rows == [["eps 2", run, "ratio_l1", outer, value] for run, outer, value in expected]


def test_histories_are_drawn_over_training(tmp_path: Path) -> None:
    """Distance of features and return at the checkpoints of those runs that have them."""
    history = [
        {"outer": outer, "return_pct_mean": 90.0 + outer, "sf_l2_standardised": 3.0 * outer}
        for outer in (2, 4)
    ]
    runs = {tmp_path / "one": metrics(1, history=history), tmp_path / "two": metrics(2)}
    compare(runs, tmp_path / "out")
    with (tmp_path / "out" / "over_steps.csv").open(newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows == [
        ("eps 2", "one", "sf_l2_standardised", "2", "6.0"),
        ("eps 2", "one", "sf_l2_standardised", "4", "12.0"),
        ("eps 2", "one", "return_pct_mean", "2", "92.0"),
        ("eps 2", "one", "return_pct_mean", "4", "94.0"),
    ]


def test_the_page_has_the_table_and_fits_a_phone(tmp_path: Path) -> None:
    """One file; names of groups are text."""
    runs = {
        tmp_path / "a": metrics(1),
        tmp_path / "b": metrics(2, objective="<b>unconstrained</b>"),
    }
    path = compare(runs, tmp_path / "out")
    assert path == tmp_path / "out" / "report.html"
    assert_self_contained(path)
    page = Page(path)
    assert page.count("b") == 0
    assert "<b>unconstrained</b>" in page.texts
    found = on_a_phone(path, tmp_path / "browser")
    assert found["content"] <= PHONE
    assert [natural > 300 for natural, _ in found["pictures"]] == [True, True]


def test_runs_of_one_name_with_other_settings_are_not_pooled(tmp_path: Path) -> None:
    """Half as long is another kind; seed, places and speed are not."""
    runs: dict[Path, dict[str, Any]] = {}
    for seed, (outer, threads) in enumerate([(60, 1), (60, 2), (120, 1)]):
        run = tmp_path / f"run{seed}"
        run.mkdir()
        (run / "config.yaml").write_text(
            f"outer: {outer}\nseed: {seed}\ntorch_threads: {threads}\nvalue: {{lr: 1.0}}\n"
        )
        runs[run] = metrics(seed)
    assert [*group_labels(runs).values()] == [
        "eps 2, outer 60",
        "eps 2, outer 60",
        "eps 2, outer 120",
    ]


def test_runs_of_other_data_are_not_pooled(tmp_path: Path) -> None:
    """Content counts, not place; a run without a record belongs to neither group."""
    runs: dict[Path, dict[str, Any]] = {}
    for seed, transitions in enumerate((1000, 1000, 250)):
        run = tmp_path / f"run{seed}"
        run.mkdir()
        (run / "config.yaml").write_text(f"data: place{seed}\nseed: {seed}\n")
        (run / "provenance.json").write_text(
            json.dumps({"data": {"transitions": transitions, "crc32": 10}})
        )
        runs[run] = metrics(seed)
    small, large = (f"eps 2, data of {number} transitions, 0000000a" for number in (250, 1000))
    assert [*group_labels(runs).values()] == [large, large, small]
