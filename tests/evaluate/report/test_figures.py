"""Figures: PNG, SVG and CSV files with the right numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from solo_doi.evaluate.report import figures
from solo_doi.evaluate.skill_evaluation import Evaluation, describe_skills
from solo_doi.evaluate.training_history import SHOWN
from tests.evaluate.walks import made_up_walk


def table(picture: Path) -> list[list[str]]:
    """Return header and rows of a figure's CSV file, after a check of both pictures."""
    assert picture.suffix == ".png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert plt.imread(picture).std() > 0.01  # something is drawn
    assert "<svg" in picture.with_suffix(".svg").read_text()
    assert not plt.get_fignums()  # closed: a sweep draws hundreds
    with picture.with_suffix(".csv").open(newline="") as file:
        return list(csv.reader(file))


def numbers(rows: list[list[str]]) -> np.ndarray:
    """Return cells as numbers."""
    return np.array([[float(cell) for cell in row] for row in rows])


def test_nothing_but_three_files_is_left(tmp_path: Path) -> None:
    """No partial file is left; a missing folder is created."""
    figure, _ = figures.panels()
    figures.save(figure, tmp_path / "new" / "name", ["a", "b"], [[1, 2], [3, 4]])
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "name.csv",
        "name.png",
        "name.svg",
    ]
    assert (tmp_path / "new" / "name.csv").read_text() == "a,b\n1,2\n3,4\n"


def test_skills_have_their_own_colours() -> None:
    """This holds for ten skills."""
    assert len({figures.colour(skill) for skill in range(10)}) == 10


def test_ratios_are_of_skill_to_data(tmp_path: Path) -> None:
    """Ratios are weights times N: 1 for even weights, N for all weight on one of N transitions."""
    weights = np.array([[0.25, 0.25, 0.25, 0.25], [1.0, 1e-30, 1e-30, 1e-30]])
    header, *rows = table(figures.ratios(np.log(weights), tmp_path / "ratios"))
    assert header == ["transition", "skill_0", "skill_1"]
    np.testing.assert_allclose(
        numbers(rows), [[0, 1, 4], [1, 1, 0], [2, 1, 0], [3, 1, 0]], atol=1e-12
    )


def test_many_ratios_are_thinned_out_evenly(tmp_path: Path) -> None:
    """Every third of 6000 is drawn, with its own row number."""
    weights = np.arange(1.0, 6001)[None] / np.arange(1.0, 6001).sum()
    _, *rows = table(figures.ratios(np.log(weights), tmp_path / "ratios"))
    found = numbers(rows)
    np.testing.assert_array_equal(found[:, 0], np.arange(0, 6000, 3))
    np.testing.assert_allclose(found[:, 1], 6000 * weights[0, ::3], rtol=1e-4)


def lines(count: int = 3) -> list[dict[str, float]]:
    """Return a log of two skills."""
    return [
        {
            "outer": step,
            "sigma/0": 0.1 * step,
            "sigma/1": 0.5,
            "phi/0": 1.0,
            "phi/1": 2.0 * step,
            "ratio_l1": 0.3,
        }
        for step in range(1, count + 1)
    ]


def test_training_is_tabulated_as_it_was_logged(tmp_path: Path) -> None:
    """The table has one row per step and columns for each skill."""
    header, *rows = table(figures.over_training(lines(), 2, 2.0, tmp_path / "training"))
    assert header == ["outer", "sigma/0", "sigma/1", "phi/0", "phi/1", "ratio_l1"]
    np.testing.assert_allclose(numbers(rows), [[line[name] for name in header] for line in lines()])


def test_what_a_log_lacks_is_a_gap(tmp_path: Path) -> None:
    """An older run's line lacks the distance, and one skill was never logged."""
    some = lines()
    del some[1]["ratio_l1"]
    header, *rows = table(figures.over_training(some, 3, 2.0, tmp_path / "training"))
    found = numbers(rows)
    assert np.isnan(found[:, header.index("sigma/2")]).all()
    np.testing.assert_allclose(found[:, header.index("ratio_l1")], [0.3, np.nan, 0.3])


@pytest.mark.parametrize("count", [1, 3])
def test_bars_are_means_with_intervals(count: int, tmp_path: Path) -> None:
    """Nine measures, equal to the metrics; also for a single skill."""
    walks = [made_up_walk(seed=seed, height_mean=0.2 + 0.05 * seed) for seed in range(count)]
    metrics = describe_skills(Evaluation(made_up_walk(), walks, []))
    header, *rows = table(figures.skill_bars(metrics, tmp_path / "skills"))
    assert header == ["measure", "skill", "value", "low", "high"]
    found = {(row[0], int(row[1])): tuple(map(float, row[2:])) for row in rows}
    assert len(found) == len(rows) == 9 * count
    for skill in metrics["skills"]:
        for name in figures.SKILL_BARS:
            assert found[name, skill["skill"]] == pytest.approx(
                (skill[name], *skill["intervals"][name])
            )


def test_the_map_has_every_rollout(tmp_path: Path) -> None:
    """The order is expert, skills, then recovered expert and data, if there are any."""
    places = np.arange(8.0).reshape(4, 2)
    for third, fourth in (("skill 1", "data"), ("SMODICE", "data"), ("skill 1", "skill 2")):
        names = ["expert", "skill 0", third, fourth]
        points = {name: place[None] for name, place in zip(names, places, strict=True)}
        header, *rows = table(figures.embedding(points, tmp_path / "umap"))
        assert header == ["group", "x", "y"]
        assert [row[0] for row in rows] == names
        np.testing.assert_allclose(numbers([row[1:] for row in rows]), places)


def test_history_has_a_row_per_checkpoint(tmp_path: Path) -> None:
    """The table has all measures."""
    some = [
        {"outer": 2.0} | dict(zip(SHOWN, (50.0, 40.0, 0.01, 3.0, 0.5), strict=True)),
        {"outer": 4.0} | dict(zip(SHOWN, (90.0, 80.0, 0.02, 9.0, 1.0), strict=True)),
    ]
    header, *rows = table(figures.history(some, tmp_path / "history"))
    assert header == list(some[0])
    np.testing.assert_allclose(numbers(rows), [list(row.values()) for row in some])
