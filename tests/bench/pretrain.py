"""Speed of pre-training against the bare simulator."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from collect.dominic.pretrain_config import PretrainConfig
from collect.dominic.trainer import Trainer
from solo_doi.sim import SimConfig, Simulator, make_simulator
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS

from .harness import Pairs, benchmark, interleaved, seconds

ITERATIONS = 4


class Silent:
    """A run's log that discards its rows."""

    def iteration(self, number: int, metrics: dict[str, float]) -> None:
        """Discard the row."""


@benchmark(unit="control steps/s", at_least=0.4)
def pretrain_skills() -> Pairs:
    """DOMiNiC with five skills, learning and diversity included.

    The reference is the simulation of as many robots.
    """
    return _against_simulator(
        PretrainConfig(num_skills=5, num_robots=320, policy_hidden=(192, 96), save_every=10**9)
    )


@benchmark(unit="control steps/s", at_least=0.4)
def pretrain_expert() -> Pairs:
    """DOMiNiC with one skill, learning included, against stepping as many robots."""
    return _against_simulator(PretrainConfig(save_every=10**9))


def _against_simulator(config: PretrainConfig) -> Pairs:
    endless = replace(config, iterations=10**9, diversity=replace(config.diversity, burn_in=-1))
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(ITERATIONS * config.steps, config.num_robots, NUM_JOINTS))
    targets = joint_target(noise, CONTROL_SETUPS[config.task])
    with tempfile.TemporaryDirectory() as folder, bare_simulator(config) as simulator:
        trainer = Trainer(endless, Path(folder))
        steps = ITERATIONS * trainer.steps_per_iteration

        def train() -> float:
            trainer.config = replace(endless, iterations=trainer.iteration + ITERATIONS)
            return steps / seconds(lambda: trainer.train(Silent()))

        def simulate() -> float:
            return steps / seconds(lambda: [simulator.step(target) for target in targets])

        return interleaved(train, simulate)


def bare_simulator(config: PretrainConfig) -> Simulator:
    """Return a simulator with as many robots as the run, without task or learner."""
    return make_simulator(config.sim, SimConfig(num_robots=config.num_robots))
