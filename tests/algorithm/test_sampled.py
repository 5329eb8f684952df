"""solo-train on data sampled from a small MDP, against the exact solution of that MDP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from solo_doi.algorithm import equations
from solo_doi.algorithm.numerics.networks import Ensemble
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.settings import read
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.transitions import Transitions
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_files import RunFiles
from tests.algorithm.tabular import Mdp, newton_dual, with_uniform_data

GAMMA = 0.9
SETTINGS = {
    "task": "gym",
    "preset": "0.1",  # ratios by transition, with the plain logit
    "gamma": "0.9",
    "skills": "3",
    "diversity-weight": "15",
    "eps": "0.8",
    "outer": "80",
    "truncation": "1",
    "checkpoints": "0",
    "classifier.gradient-penalty": "0",
    "classifier.updates": "1200",
    "classifier.hidden": "32",
    "classifier.lr": "0.003",
    "value.hidden": "64",
    "value.lr": "0.002",
    "value.weight-decay": "0",
    "value.windows": "128",
    "value.window": "8",
    "value.expert-updates": "2500",
    "value.updates": "30",
    "discriminator.hidden": "32",
    "discriminator.members": "2",
    "discriminator.updates": "15",
    "discriminator.disdain": "0",
    "discriminator.hold": "0.5",
    "policy.hidden": "16",
    "policy.updates": "5",
}


def line_of_rooms(seed: int = 0) -> Mdp:
    """Return eight states with three deterministic actions.

    Stochastic transitions would make ratios from samples differ from the exact ones. The
    exponential of a mean is not the mean of exponentials, which is a known property of the dual
    loss.
    """
    rng = np.random.default_rng(seed)
    states, actions = 8, 3
    transition = np.eye(states)[rng.integers(0, states, (states, actions))]
    return with_uniform_data(transition, np.full(states, 1 / states), GAMMA)


def sampled(
    mdp: Mdp, policy: np.ndarray, trajectories: int, seed: int
) -> tuple[Transitions, np.ndarray]:
    """Return trajectories that end with probability 1 - gamma after every step.

    The frequency of states follows the occupancy.
    """
    rng = np.random.default_rng(seed)
    states, actions = mdp.shape
    rows, starts = [], []
    for _ in range(trajectories):
        starts.append(len(rows))
        state = rng.choice(states, p=mdp.initial)
        while True:
            action = rng.choice(actions, p=policy[state])
            following = int(mdp.transition[state, action].argmax())
            rows.append((state, action, following))
            state = following
            if rng.random() > mdp.gamma:
                break
    here, action, there = np.array(rows).T
    ends = np.zeros(len(rows), dtype=bool)
    ends[np.append(starts[1:], len(rows)) - 1] = True
    one_hot = np.eye(states, dtype=np.float32)
    data = Transitions(
        observations=one_hot[here], next_observations=one_hot[there], actions=np.eye(actions,
        dtype=np.float32)[action],
        rewards=np.zeros(len(rows), dtype=np.float32), terminals=np.zeros_like(ends), timeouts=ends,
        starts=np.array(starts), terms={"observation": slice(0, states)},
    )  # fmt: skip
    return data, here * actions + action


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the command on sampled files and return the run directory."""
    folder = tmp_path_factory.mktemp("sampled")
    mdp = line_of_rooms()
    write_d4rl(folder / "data.hdf5", sampled(mdp, uniform(mdp), 4000, seed=1)[0])
    write_d4rl(folder / "expert.hdf5", sampled(mdp, expert_policy(mdp), 2000, seed=2)[0])
    flags = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
    program = [sys.executable, "-c", "from solo_doi.cli.train import train_main; train_main()"]
    files = [
        "--data",
        str(folder / "data.hdf5"),
        "--expert",
        str(folder / "expert.hdf5"),
        "--out",
        str(folder / "run"),
    ]
    subprocess.run([*program, *files, *flags], check=True, capture_output=True, timeout=500)
    return folder / "run"


def uniform(mdp: Mdp) -> np.ndarray:
    """Return the uniform policy."""
    return np.full(mdp.shape, 1 / mdp.shape[1])


def expert_policy(mdp: Mdp) -> np.ndarray:
    """Return a policy with unequal probabilities."""
    return np.random.default_rng(3).dirichlet(np.full(mdp.shape[1], 0.7), mdp.shape[0])


def exact_expert(mdp: Mdp) -> np.ndarray:
    """Return the log ratios (S A,) of SMODICE with the exact reward log(d_E / d_O)."""
    reward = np.log(mdp.occupancy(expert_policy(mdp)).sum(1) / mdp.data.sum(1))
    return newton_dual(mdp, np.repeat(reward, mdp.shape[1]), np.zeros(mdp.shape[0]))


def by_pair(log_w: np.ndarray, pairs: np.ndarray, size: int) -> np.ndarray:
    """Return the mean ratio (S A,) over the rows of every state and action."""
    return np.bincount(pairs, np.exp(log_w) * len(log_w), size) / np.bincount(pairs, minlength=size)


def test_expert_ratios_are_the_exact_ones(run: Path) -> None:
    """Classifier and dual value together recover the occupancy ratios of the MDP."""
    mdp = line_of_rooms()
    _, pairs = sampled(mdp, uniform(mdp), 4000, seed=1)
    with h5py.File(run / "ratios.h5") as file:
        learned = by_pair(file["log_w_expert"][:], pairs, mdp.data.size)
    exact = np.exp(exact_expert(mdp))
    assert np.corrcoef(learned, exact)[0, 1] >= 0.95
    np.testing.assert_allclose(learned, exact, atol=0.25 * exact.max())


def test_skill_ratios_and_divergences_are_the_exact_ones(run: Path) -> None:
    """Exact values for the final rewards of training give the same skills and the same phi."""
    mdp = line_of_rooms()
    config: TrainConfig = read(RunConfig, run / "config.yaml")
    _, pairs = sampled(mdp, uniform(mdp), 4000, seed=1)
    with h5py.File(run / "ratios.h5") as file:
        log_w, expert = file["log_w_skills"][:], file["log_w_expert"][:]
    state = torch.load(RunFiles(run).state, weights_only=True)["doi"]
    network = Ensemble(mdp.shape[0], 32, 3, 2, torch.Generator())
    network.load_state_dict(state["discriminator"])
    log_eta_expert = np.log(by_pair(expert, pairs, mdp.data.size))
    with torch.no_grad():
        # Inputs as in training: one-hot states, centred and scaled by the data.
        data, _ = sampled(mdp, uniform(mdp), 4000, seed=1)
        states = (np.eye(mdp.shape[0]) - data.observations.mean(0)) / data.observations.std(0)
        log_q = equations.ensemble_log_prob(network(torch.from_numpy(states.astype(np.float32))))
        term = equations.diversity_term(log_q, 3, config.discriminator.log_floor).repeat_interleave(
            3, dim=1
        )
        sigma = torch.sigmoid(state["mu"])
        reward = equations.skill_reward(
            term, torch.from_numpy(log_eta_expert).float(), sigma, config.diversity_weight
        )
    for skill in range(3):
        exact = newton_dual(mdp, reward[skill].double().numpy(), np.zeros(mdp.shape[0]))
        learned = by_pair(log_w[skill], pairs, mdp.data.size)
        assert np.corrcoef(learned, np.exp(exact))[0, 1] >= 0.95
        exact_phi = (mdp.data.ravel() * np.exp(exact) * (exact - log_eta_expert)).sum()
        phi = (np.exp(log_w[skill]) * (log_w[skill] - expert)).sum()
        assert phi == pytest.approx(exact_phi, rel=0.1)


def test_constraints_are_kept_by_skills_that_differ(run: Path) -> None:
    """The divergence of each skill over all samples is at most a tenth above eps.

    Skills differ from the expert and from each other.
    """
    with h5py.File(run / "ratios.h5") as file:
        log_w, expert = file["log_w_skills"][:], file["log_w_expert"][:]
    phi = (np.exp(log_w) * (log_w - expert)).sum(1)
    assert (phi <= 1.1 * float(SETTINGS["eps"])).all()
    assert (phi >= 0.5 * float(SETTINGS["eps"])).all()
    distance = [
        np.abs(np.exp(log_w[one]) - np.exp(log_w[other])).sum()
        for one, other in ((0, 1), (0, 2), (1, 2))
    ]
    assert min(distance) >= 0.5  # of 2; identical skills have 0
