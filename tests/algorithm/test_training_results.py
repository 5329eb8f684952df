"""Results of a training run: ratios with their description, policies, checkpoints."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from solo_doi.algorithm.ratios import describe
from solo_doi.algorithm.train_config import TrainConfig, evenly_spaced_steps, full_steps
from solo_doi.algorithm.training import Training
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_store import RunStore

from .runs import ROWS, Data, arrays_of, changed, metrics_of, summary_of, tiny, train

# --- Ratios and their description ----------------------------------------------------------------


def test_ratios_are_weights_of_every_transition_that_sum_to_one(run: Path) -> None:
    """The weights are stored in double precision, so that tiny weights do not become zero."""
    ratios = arrays_of(run / "ratios.h5")
    assert ratios["log_w_expert"].shape == (ROWS,)
    assert ratios["log_w_skills"].shape == (3, ROWS)
    for array in ratios.values():
        assert array.dtype == np.float64
        np.testing.assert_allclose(np.logaddexp.reduce(array, axis=-1), 0, atol=1e-12)


def test_ratios_are_in_the_order_of_the_data(data: Data, tmp_path: Path) -> None:
    """The expert's weights are large exactly for the trajectories with states like the expert's."""
    coverage, expert = data
    alike = np.isin(coverage.trajectory, (2, 7))
    seen, demonstrated = coverage.observations.copy(), expert.observations.copy()
    seen[:, coverage.terms["linear_velocity"]] = np.where(alike, 3.0, -1.0)[:, None]
    demonstrated[:, expert.terms["linear_velocity"]] = 3.0
    config = tiny(objective="smodice", projection=("linear_velocity",))
    config = changed(config, "classifier", average=1, updates=200, reward_scale=20.0)
    train(
        config,
        replace(coverage, observations=seen),
        replace(expert, observations=demonstrated),
        tmp_path,
    )
    log_w = arrays_of(tmp_path / "ratios.h5")["log_w_expert"]
    assert log_w[alike].min() > log_w[~alike].max()


def test_ratios_are_those_of_the_values_that_were_learned(data: Data, run: Path) -> None:
    """The reference is computed row by row from the data and the last checkpoint."""
    training = Training(tiny(), *data, RunStore(run))
    doi = training.load(RunStore(run).read_checkpoint(4))
    scale, gamma = training.problem.state_scale, tiny().gamma
    with torch.no_grad():
        here, there = (
            doi.value.network(torch.from_numpy(scale(states)))[..., 0].double().numpy()
            for states in (data[0].observations, data[0].next_observations)
        )
        reward = doi.reward(torch.arange(ROWS)).double().numpy()
    delta = reward + gamma * there - here
    cap = np.sort(delta, axis=1)[:, math.ceil(tiny().truncation * ROWS) - 1]
    delta = np.minimum(delta, cap[:, None])
    expected = delta - np.logaddexp.reduce(delta, axis=1, keepdims=True)
    np.testing.assert_allclose(arrays_of(run / "ratios.h5")["log_w_skills"], expected, atol=1e-4)


def test_the_summary_agrees_with_the_ratios(data: Data, run: Path) -> None:
    """Divergences, effective samples and distances are recomputed from the file."""
    summary, ratios = summary_of(run), arrays_of(run / "ratios.h5")
    w, w_expert = np.exp(ratios["log_w_skills"]), np.exp(ratios["log_w_expert"])
    phi = (w * np.log(w / w_expert)).sum(axis=1)
    samples = 1 / np.square(w).sum(axis=1)
    whole = np.stack([np.bincount(data[0].trajectory, weights=row) for row in w])

    def distances(weights: np.ndarray) -> np.ndarray:
        table = np.abs(weights[:, None] - weights[None]).sum(axis=-1)
        return table.sum(axis=1) / (len(weights) - 1)

    expected = {
        "phi": phi, "phi_mean": phi.mean(),
        "effective_samples": samples, "effective_share": samples / ROWS,
        "effective_share_mean": samples.mean() / ROWS,
        "ratio_l1_per_skill": distances(w), "ratio_l1": distances(w).mean(),
        "ratio_l1_trajectory_per_skill": distances(whole),
        "ratio_l1_trajectory": distances(whole).mean(),
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(summary[name], value, rtol=1e-6, err_msg=name)
    last = metrics_of(run)[-1]
    for name in ("sigma", "exponent"):
        assert summary[name] == [last[f"{name}/{skill}"] for skill in range(3)]
        assert summary[f"{name}_mean"] == pytest.approx(np.mean(summary[name]))
    assert 0 <= summary["held_out_accuracy"] <= 1
    assert {name: summary[name] for name in ("eps", "skills", "seed")} == {
        "eps": 2.7,
        "skills": 3,
        "seed": 1,
    }


@pytest.mark.parametrize("objective", ["doi", "smodice"])
def test_an_expert_of_a_few_rows_is_reported(data: Data, tmp_path: Path, objective: str) -> None:
    """Logits a million times too large give one row all of the weight.

    The warning also appears for SMODICE.
    """
    by_row = tiny(objective=objective, truncation=1.0, trajectory_power=0.0)
    config = changed(by_row, "classifier", reward_scale=1e6)
    train(config, *data, tmp_path)
    assert summary_of(tmp_path)["warnings"][0].startswith("the expert's weights rest on 0.3")


def test_accuracy_is_absent_without_held_out_data(data: Data, tmp_path: Path) -> None:
    """Accuracy on training data would have another meaning, so it is not reported."""
    train(changed(tiny(), "discriminator", held_out=0.0), *data, tmp_path)
    assert summary_of(tmp_path)["held_out_accuracy"] is None


def test_metrics_have_a_line_per_outer_step(run: Path) -> None:
    """Each line has the state of every skill; all values are finite."""
    lines = metrics_of(run)
    assert [line["outer"] for line in lines] == [1, 2, 3, 4]
    for line in lines:
        assert {f"{name}/{skill}" for name in ("phi", "sigma") for skill in range(3)} <= line.keys()
        assert all(math.isfinite(value) for value in line.values())


def test_the_ratios_file_describes_itself(run: Path) -> None:
    """The file describes its content for readers without the code."""
    with h5py.File(run / "ratios.h5") as file:
        assert "sum to 1 over the transitions, in the order of the data" in file.attrs["meaning"]


# --- Policies and checkpoints --------------------------------------------------------------------


def test_policies_act_within_the_range_of_the_data(data: Data, run: Path) -> None:
    """Three skills and the expert share one network; their actions differ."""
    policy, expert = (SkillPolicy.read(run / name) for name in ("policy.h5", "expert.h5"))
    assert (policy.num_skills, expert.num_skills) == (3, 1)
    np.testing.assert_array_equal(policy.first, expert.first)
    low, high = data[0].actions.min(axis=0), data[0].actions.max(axis=0)  # type: ignore[union-attr]  # there are some
    actions = [policy.mean_action(data[0].observations, skill) for skill in range(3)]
    actions.append(expert.mean_action(data[0].observations, 0))
    for number, action in enumerate(actions):
        assert action.shape == (ROWS, 12)
        assert ((low - 1e-2 <= action) & (action <= high + 1e-2)).all()
        assert all(not np.array_equal(action, other) for other in actions[:number])


@pytest.mark.parametrize(
    ("outer", "count", "expected"),
    [
        (120, 8, [15, 30, 45, 60, 75, 90, 105, 120]),
        (4, 2, [2, 4]),
        (3, 3, [1, 2, 3]),
        (3, 100, [1, 2, 3]),
        (7, 1, [7]),
    ],
)
def test_checkpoints_are_evenly_spaced_and_end_with_the_run(
    outer: int, count: int, expected: list[int]
) -> None:
    """Their number is at most the requested one."""
    assert sorted(evenly_spaced_steps(outer, count)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [22, 38, 60]),
        ({"full_passes": 1}, [60]),
        ({"full_passes": 8}, [8, 15, 22, 30, 38, 45, 52, 60]),
        ({"full_passes": 99, "checkpoints": 2}, [30, 60]),
        ({"full_passes": 0}, []),
        ({"checkpoints": 0}, []),
    ],
)
def test_full_passes_are_at_checkpoints(changes: dict[str, int], expected: list[int]) -> None:
    """Full passes are evenly spaced among the checkpoints and include the last."""
    assert sorted(full_steps(TrainConfig(**changes))) == expected  # type: ignore[arg-type]


def test_full_passes_are_logged(data: Data, run: Path, tmp_path: Path) -> None:
    """Each full pass logs the ratios of the saved state over all data; the last equals the summary.

    With `full_passes=0`, no such values are logged.
    """
    summary, lines = summary_of(run), metrics_of(run)
    assert [line["outer"] for line in lines if "full/phi_mean" in line] == [2, 4]
    assert {
        lines[-1][f"full/{name}"] == summary[name] for name in ("phi_mean", "ratio_l1_trajectory")
    } == {True}
    training = Training(tiny(), *data, RunStore(run))
    doi = training.load(RunStore(run).read_checkpoint(2))
    found = describe(doi.full_log_weights(), doi.expert.log_w, training.problem)
    assert lines[1]["full/phi_mean"] == found["phi_mean"]
    assert lines[1]["full/ratio_l1_trajectory"] == found["ratio_l1_trajectory"]
    train(tiny(full_passes=0), *data, tmp_path)
    assert not any(name.startswith("full/") for line in metrics_of(tmp_path) for name in line)
    assert summary_of(tmp_path) == summary


def test_checkpoints_hold_training_as_it_was(data: Data, run: Path) -> None:
    """Training from the first of two checkpoints reaches the second, equal to the last bit."""
    assert sorted(path.name for path in run.glob("checkpoints/*")) == [
        "outer_0002.pt",
        "outer_0004.pt",
    ]
    doi = Training(tiny(), *data, RunStore(run)).load(RunStore(run).read_checkpoint(2))
    assert doi.outer == 2
    for line in metrics_of(run)[2:]:
        full = {name: value for name, value in line.items() if name.startswith("full/")}
        assert {"outer": doi.outer + 1} | doi.step() | full == line


def test_no_checkpoints_are_kept_without_a_request(data: Data, tmp_path: Path) -> None:
    """The folder for checkpoints does not exist either."""
    train(tiny(checkpoints=0), *data, tmp_path)
    assert not (tmp_path / "checkpoints").exists()
