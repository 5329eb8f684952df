"""Divergence of policies from the expert: the states that are compared, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common import settings
from solo_doi.evaluate import policy_divergence as divergence
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.policy_divergence import policy_divergence
from solo_doi.evaluate.report.result_texts import divergence_rows
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.evaluate.source import read_source
from solo_doi.evaluate.source_data import SourceData
from solo_doi.runs.run_config import RunConfig

from .recordings import as_data, walking
from .walks import MadeUpPolicy

NUMBERS = EvalConfig(episodes=100, pictures=False)


# --- Weights -------------------------------------------------------------------------------------


def test_rows_without_weight_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The heaviest rows with 99.9 % of the weight are kept in order; of too many, some drawn."""
    weights = np.array([0.5, 1e-9, 0.3, 0.1995, 1e-9, 0.0005 - 2e-9])
    assert divergence.heavy_rows(np.arange(6), weights).tolist() == [0, 2, 3]
    assert divergence.heavy_rows(np.array([1, 4]), weights).tolist() == [1, 4]
    monkeypatch.setattr(divergence, "MOST_DIVERGENCE_STATES", 2)
    found = divergence.heavy_rows(np.arange(6), weights).tolist()
    assert len(found) == 2
    assert set(found) <= {0, 2, 3}


@pytest.mark.parametrize(("by_trajectory", "first"), [(True, 2.0), (False, 1.0)])
def test_weights_are_those_of_cloning(
    by_trajectory: bool, first: float, known: tuple[object, SourceData]
) -> None:
    """Row weights 1 and 3 become their mean 2, or stay, depending on `trajectory_weights`."""
    _, data = known
    coverage = as_data(walking("trot", 2, 2))
    trained = data.trained
    policy = replace(trained.policy, trajectory_weights=by_trajectory)
    with np.errstate(divide="ignore"):
        log_weights = np.log([1.0, 3.0, 0.0, 0.0])
    found = divergence.expert_weights(
        replace(
            data,
            trained=replace(trained, policy=policy),
            coverage=coverage,
            log_weights=log_weights,
        )
    )
    np.testing.assert_allclose(found, [first, 4 - first, 0.0, 0.0])


# --- Divergences ---------------------------------------------------------------------------------


def made_up(shift: float, seed: int = 0, robots: int = 100) -> Recording:
    """Return robots with observations of N(shift, 1) that change every 25 steps."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(10, robots, 48))
    observation = np.repeat(shift + steps, 25, axis=0).astype(np.float32)
    return replace(walking("trot", 250, robots), observation=observation)


@pytest.fixture
def known(trained: Path) -> tuple[object, SourceData]:
    """Return a source and data: half N(0, 1), the expert, and half N(5, 1), without weight."""
    config = settings.read(RunConfig, trained / "config.yaml")
    config = replace(config, projection=("linear_velocity",))
    config = replace(
        config,
        classifier=replace(config.classifier, average=25),
        discriminator=replace(config.discriminator, average=25),
    )
    parts = [made_up(shift, seed, 200) for seed, shift in enumerate((0.0, 5.0))]
    both = np.concatenate([part.observation for part in parts], axis=1)
    coverage = as_data(replace(walking("trot", 250, 400), observation=both))
    log_weights = np.repeat([0.0, -40.0], 200 * 250)
    demonstrations = as_data(made_up(1.0, 7, 200))
    data = SourceData(config, coverage, demonstrations, log_weights, "robust")
    return read_source(trained, NUMBERS), data


def test_policies_are_compared_with_the_weighted_data_and_the_demonstrations(
    known: tuple[object, SourceData], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shift s of three numbers gives 3 s^2 / 2 from the expert.

    From the demonstrations it gives 3 (s - 1)^2 / 2.
    """
    source, data = known
    shifts = (0.0, 1.0, 0.5)
    asked = []

    def roll_out(policy: object, skill: int, config: EvalConfig, randomisation: str) -> Recording:
        asked.append(randomisation)
        return made_up(shifts[skill], 10 + skill)

    monkeypatch.setattr(divergence, "roll_out", roll_out)
    source = replace(
        source,  # type: ignore[type-var]
        policy=MadeUpPolicy(0.0, 0.0, 0.0),
        description={"phi": [0.1, None, 0.3]},
    )
    found = policy_divergence(source, data, NUMBERS)
    assert asked == ["robust"] * 3
    assert (found["randomisation"], found["rollouts"]) == ("robust", 100)
    for name in ("classifier", "discriminator"):
        np.testing.assert_allclose(found[name]["expert"], [0.0, 1.5, 0.375], atol=0.15)
        assert all(0.0 < error < 0.2 for error in found[name]["expert_error"])
        first, second, third = found[name]["minus_phi"]
        assert first == pytest.approx(found[name]["expert"][0] - 0.1)
        assert second is None
        assert third == pytest.approx(found[name]["expert"][2] - 0.3)
    np.testing.assert_allclose(found["classifier"]["demonstrations"], [1.5, 0.0, 0.375], atol=0.15)
    assert len(found["classifier"]["demonstrations_error"]) == 3
    assert "demonstrations" not in found["discriminator"]
    row = divergence_rows({"skills": [0, 1, 2], "policy_divergence": found})[1]
    value, error = (found["classifier"][name][1] for name in ("expert", "expert_error"))
    assert row["classifier's terms"] == f"{value:.3g} ± {error:.3g}"
    json.dumps(found, allow_nan=False)


def test_a_skill_that_nearly_always_falls_is_not_measured(
    known: tuple[object, SourceData], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rollouts of 20 states remain; the other skills are measured."""
    source, data = known

    def roll_out(policy: object, skill: int, config: EvalConfig, randomisation: str) -> Recording:
        recording = made_up(0.0, skill)
        recording.fallen[0, 2:] = skill == 1
        return recording

    monkeypatch.setattr(divergence, "roll_out", roll_out)
    source = replace(source, policy=MadeUpPolicy(0.0, 0.0), description={})  # type: ignore[type-var]
    found = policy_divergence(source, data, NUMBERS)
    assert found["classifier"]["expert"][1] is None
    assert found["classifier"]["expert_error"][1] is None
    assert found["classifier"]["expert"][0] is not None
    assert "minus_phi" not in found["classifier"]


@pytest.mark.parametrize(
    ("few", "message"),
    [
        ("rollouts", "16 states of 4 rollouts are too few for 3 numbers: expected 30"),
        ("long rollouts", "8 rollouts are too few for 3 numbers: expected 9"),
        ("expert", "rests on 1 trajectories, too few for 3 numbers: expected 9"),
        ("data", "rests on 2 trajectories, too few for 3 numbers: expected 9"),
    ],
)
def test_with_too_few_states_nothing_is_rolled_out(
    few: str,
    message: str,
    known: tuple[object, SourceData],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each projection has the reason instead of numbers."""
    source, data = known
    monkeypatch.setattr(divergence, "roll_out", None)
    config = NUMBERS
    if few == "rollouts":
        config = replace(config, episodes=4, steps=100)
    elif few == "long rollouts":
        config = replace(config, episodes=8)
    elif few == "expert":
        log_weights = data.log_weights.copy()
        log_weights[250:] = -40.0
        data = replace(data, log_weights=log_weights)
    else:
        data = replace(data, coverage=as_data(made_up(0.0, 0, 2)), log_weights=np.zeros(500))
    found = policy_divergence(source, data, config)  # type: ignore[arg-type]
    for name in ("classifier", "discriminator"):
        assert found[name].keys() == {"not_measured"}
        assert message in found[name]["not_measured"]


def test_few_demonstrations_are_left_out(
    known: tuple[object, SourceData], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight trajectories are too few for three numbers; the recovered expert is still measured."""
    source, data = known
    monkeypatch.setattr(divergence, "roll_out", lambda *_, **__: made_up(0.0, 3))
    data = replace(data, demonstrations=as_data(made_up(0.0, 0, 8)))
    source = replace(source, policy=MadeUpPolicy(0.0), description={})  # type: ignore[type-var]
    found = policy_divergence(source, data, NUMBERS)
    assert found["classifier"].keys() == {"expert", "expert_error"}
