"""Groups of runs that differ in their seed alone, and measures of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solo_doi.evaluate.run_groups import (
    group_label,
    group_labels,
    measure_value,
    median_with_quartiles,
)

from .compared import alone, metrics


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
    """The name is eps, unless multipliers or objective make it meaningless."""
    assert group_label(metrics(1, **changes)) == group_label(metrics(2, **changes)) == name


def test_a_single_run_has_no_quartiles() -> None:
    """The text is the number alone."""
    assert median_with_quartiles([metrics(height_std=0.01234)], "height_std") == "0.0123"


def test_measures_that_rest_on_too_little_have_a_remark() -> None:
    """One run of the group has falls of few rollouts, or skills that were not judged."""
    few = {"falls": 1, "rollouts": 100, "share": 0.01, "few_rollouts": True}
    group = [metrics(falls_pooled=few), metrics(two_gaits=[1], two_gaits_not_judged=[2])]
    assert median_with_quartiles(group[:1], "falls_pooled") == "1, few rollouts"
    assert median_with_quartiles(group[1:], "two_gaits") == "1, not all judged"
    assert median_with_quartiles(group, "falls_pooled") == "0.5 (0.25 to 0.75), few rollouts"
    assert median_with_quartiles(group[1:], "falls_pooled") == "0"


def test_runs_that_lack_a_number_are_left_out_of_its_median() -> None:
    """Only runs with the number count; without any, the cell is empty."""
    group = [metrics(ratio_l1=1.0), metrics(ratio_l1=None), metrics(ratio_l1=3.0)]
    assert median_with_quartiles(group, "ratio_l1") == "2 (1.5 to 2.5)"
    assert median_with_quartiles([alone()], "ratio_l1") == ""


def test_a_skill_without_a_divergence_is_left_out_of_the_median() -> None:
    """Too few of its rollouts did not fall. Gaps count by their absolute values."""
    found = metrics(policy_divergence={"classifier": {"minus_phi": [0.2, None, -0.6]}})
    assert measure_value(found, "median_kl_gap/classifier") == pytest.approx(0.4)
    assert measure_value(found, "largest_kl_gap/classifier") == pytest.approx(0.6)


def test_runs_of_one_name_with_other_settings_are_not_pooled(tmp_path: Path) -> None:
    """A different number of steps makes another group; seed, paths and threads do not."""
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
    """Data are compared by content, not by path; a run without a record is in neither group."""
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
