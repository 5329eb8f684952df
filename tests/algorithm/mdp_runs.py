"""Runs of solo-train on random MDPs, measured with the exact quantities of those MDPs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import torch

from solo_doi.algorithm import equations
from solo_doi.algorithm.numerics.networks import Ensemble
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Scale
from solo_doi.common.settings import read
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_files import RunFiles
from tests.algorithm.random_mdps import RandomProblem
from tests.algorithm.tabular import mutual_information, newton_dual

SMALLEST_DIVERGENCE = 1e-6
"""Divergence below which errors are relative to this number [nats]."""


@dataclass(frozen=True)
class Measured:
    """Results of one run; rows are skills."""

    information: float
    """I(S; Z) of the policies' own occupancies [nats]."""
    divergence: np.ndarray
    """KL of the policies' own occupancies from the recovered expert [nats], (Z,)."""
    phi: np.ndarray
    """Divergence that the run reports [nats], (Z,)."""
    own_correlation: np.ndarray
    """Correlation of ratios, averaged by state and action, with those of the policies, (Z,)."""
    dual_correlation: np.ndarray
    """The same with the exact solution of the dual for the run's last rewards, (Z,)."""
    expert_correlation: float
    """The same of the expert with SMODICE's exact solution."""

    @property
    def phi_error(self) -> float:
        """Largest relative error of phi."""
        return phi_error(self.phi, self.divergence)


def train(problem: RandomProblem, folder: Path, name: str, flags: Sequence[str]) -> RunFiles:
    """Run the command on the files that the problem wrote to `folder`."""
    program = [sys.executable, "-c", "from solo_doi.cli.train import train_main; train_main()"]
    task = ["--task", "gym", "--skills", str(problem.skills), "--eps", str(problem.eps)]
    files = [f"--data={folder / 'data.hdf5'}", f"--expert={folder / 'expert.hdf5'}"]
    words = [*program, *task, *files, f"--out={folder / name}", *flags]
    result = subprocess.run(words, capture_output=True, text=True, timeout=3600, check=False)
    assert result.returncode == 0, f"solo-train ended with {result.returncode}: {result.stderr}"
    return RunFiles(folder / name)


def measure(problem: RandomProblem, run: RunFiles, pairs: np.ndarray) -> Measured:
    """Compare a run with exact quantities; `pairs` is the state and action of every row."""
    mdp = problem.mdp
    with h5py.File(run.ratios) as file:
        log_w = file["log_w_skills"][:]
        log_w_expert = file["log_w_expert"][:]
    occupancy = [mdp.occupancy(policy) for policy in policies(problem, run)]
    own = [one / mdp.data for one in occupancy]
    ratios = [by_pair(row, pairs, mdp.data.shape) for row in log_w]
    expert = by_pair(log_w_expert, pairs, mdp.data.shape)
    dual = exact_ratios(problem, run, pairs)
    return Measured(
        information=mutual_information(np.stack(occupancy)),
        divergence=np.array([problem.divergence(one) for one in occupancy]),
        phi=np.array(json.loads(run.summary.read_text())["phi"]),
        own_correlation=np.array([correlation(*two) for two in zip(ratios, own, strict=True)]),
        dual_correlation=np.array([correlation(*two) for two in zip(ratios, dual, strict=True)]),
        expert_correlation=correlation(expert, problem.expert / mdp.data),
    )


def policies(problem: RandomProblem, run: RunFiles) -> np.ndarray:
    """Probabilities of actions (Z, S, A): the mean of one-hot actions."""
    policy = SkillPolicy.read(run.policy)
    states = np.eye(problem.mdp.shape[0], dtype=np.float32)
    means = np.stack([policy.mean_action(states, skill) for skill in range(problem.skills)])
    probability = np.clip(means, 0, None)
    return probability / probability.sum(-1, keepdims=True)


def exact_ratios(problem: RandomProblem, run: RunFiles, pairs: np.ndarray) -> np.ndarray:
    """Exact ratios (Z, S, A) for the run's last discriminator and multipliers, exact expert."""
    config: TrainConfig = read(RunConfig, run.config)
    mdp = problem.mdp
    states, actions = mdp.shape
    saved = torch.load(run.state, weights_only=True)["doi"]
    options = config.discriminator
    network = Ensemble(states, options.hidden, config.skills, options.members, torch.Generator())
    network.load_state_dict(saved["discriminator"])
    one_hot = np.eye(states, dtype=np.float32)
    with torch.no_grad():
        members = network(torch.from_numpy(Scale.of(one_hot[pairs // actions])(one_hot)))
        log_q = equations.ensemble_log_prob(members)
        term = equations.diversity_term(log_q, config.skills, options.log_floor)
        term = term + options.disdain * equations.disdain_bonus(members)
        log_eta = torch.from_numpy(np.log(problem.expert / mdp.data).ravel())
        reward = equations.skill_reward(
            term.double().repeat_interleave(actions, dim=1),
            log_eta,
            torch.sigmoid(saved["mu"].double()),
            config.diversity_weight,
            config.data_pull,
        )
    solved = [newton_dual(mdp, row, np.zeros(states)) for row in reward.numpy()]
    return np.exp(np.stack(solved)).reshape(-1, states, actions)


def phi_error(phi: np.ndarray, divergence: np.ndarray) -> float:
    """Return the largest relative error of divergences that a run reports, (Z,)."""
    error = np.abs(phi - divergence) / np.maximum(divergence, SMALLEST_DIVERGENCE)
    return float(error.max())


def by_pair(log_w: np.ndarray, pairs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Mean ratio of the rows of every state and action, (S, A)."""
    size = shape[0] * shape[1]
    count = np.maximum(np.bincount(pairs, minlength=size), 1)
    return (np.bincount(pairs, np.exp(log_w) * len(log_w), size) / count).reshape(shape)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's correlation of two tables."""
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])
