"""Comparison of runs: medians and quartiles, with numpy as reference."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.evaluate.compare_runs import MEASURES, compare
from solo_doi.evaluate.report.html_report import format_value
from solo_doi.evaluate.run_groups import measure_value

from .browser import PHONE, on_a_phone
from .compared import alone, metrics, table
from .report.test_html_report import Page, assert_self_contained


def test_variants_of_different_eps_are_groups_of_their_own(tmp_path: Path) -> None:
    """This holds in table and figures; a variant with a single eps has no eps in its name."""
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


def by_hand(found: dict[str, Any], name: str) -> float:
    """Return a measure of one run."""
    if name in ("visibly_different", "clearly_different", "two_gaits"):
        return len(found[name])
    if name == "falls_pooled":
        return 100 * found[name]["share"]
    if "/" in name:
        kind, terms = name.split("/")
        gaps = found["policy_divergence"][terms]["minus_phi"]
        return sorted(map(abs, gaps))[2 if kind == "largest_kl_gap" else 1]
    return found[name]


def test_medians_and_quartiles_are_numpys(tmp_path: Path) -> None:
    """The table has three digits, the CSV file of the figure all digits.

    Runs of other groups do not count.
    """
    group = [metrics(seed) for seed in range(5)]
    others = [metrics(seed, eps=4.0) for seed in (7, 8)]
    runs = {tmp_path / f"run{number}": found for number, found in enumerate([*group, *others])}
    compare(runs, tmp_path / "out")
    rows = table(tmp_path / "out" / "compare.md")
    assert list(rows) == ["eps 2", "eps 4"]
    assert (rows["eps 2"]["runs"], rows["eps 4"]["runs"]) == ("5", "2")
    for name, title in MEASURES.items():
        values = [by_hand(found, name) for found in group]
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


def test_a_single_skill_has_a_return_and_no_diversity(tmp_path: Path) -> None:
    """Its return is both mean and worst; it can be compared with others, or alone."""
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


def test_runs_of_older_versions_and_other_baselines_have_a_row(tmp_path: Path) -> None:
    """They lack phi, divergence, coherence or drift; a checkpoint has no training."""
    older = metrics(1)
    for name in ("policy_divergence", "two_gaits", "falls_pooled", "drift_mean", "clear_pairs"):
        older.pop(name, None)
    clustered = metrics(2, objective="kmeans", policy_divergence={"not_measured": "no data"})
    source = {"run": "model_2000.pt", "return_pct_mean": 94.6, "return_pct_worst": 89.0}
    runs = {tmp_path / "a": older, tmp_path / "b": clustered, tmp_path / "model_2000.pt": source}
    compare(runs, tmp_path / "out")
    rows = table(tmp_path / "out" / "compare.md")
    assert list(rows) == ["eps 2", "kmeans", "model_2000.pt"]
    assert rows["model_2000.pt"][MEASURES["return_pct_mean"]] == "94.6"
    for name in ("two_gaits", "falls_pooled", "median_kl_gap/classifier"):
        assert rows["eps 2"][MEASURES[name]] == ""
    assert rows["kmeans"][MEASURES["falls_pooled"]] == "0.4"
    assert rows["kmeans"][MEASURES["largest_kl_gap/discriminator"]] == ""
    assert rows["kmeans"][MEASURES["largest_kl_gap/classifier"]] == ""


def test_every_run_is_a_dot(tmp_path: Path) -> None:
    """The figures show return against each measure of diversity."""
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
    """Feature distance and return are drawn at the checkpoints of runs that have a history."""
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
    """The page is one file; group names are shown as text."""
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
