"""Training: whole runs and their memory against limits, and the growth of costs with the data."""

from __future__ import annotations

import functools
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from solo_doi.algorithm import equations
from solo_doi.algorithm.cloning import clone
from solo_doi.algorithm.doi import Doi
from solo_doi.algorithm.presets import DEFAULT, PAPER
from solo_doi.algorithm.ratios import describe
from solo_doi.algorithm.smodice import DualValue, Expert, train_classifier
from solo_doi.algorithm.train_config import TrainConfig, full_steps
from solo_doi.algorithm.training_data import Problem
from solo_doi.common.memory import keep_memory
from solo_doi.data.transitions import Transitions
from solo_doi.solo12.observation import LAYOUTS

from .harness import Pairs, benchmark, core_seconds, interleaved, seconds

LENGTH = 250
Timer = Callable[[Callable[[], object]], float]


def random_data(rows: int) -> Transitions:
    """Return trajectories of noise, of the locomotion task's shape."""
    layout = LAYOUTS["locomotion"]
    rng = np.random.default_rng(0)
    states = rng.standard_normal((rows + rows // LENGTH, layout.size), dtype=np.float32)
    here = np.arange(rows) + np.arange(rows) // LENGTH
    ends = np.cumsum([term.size for term in layout.terms])
    return Transitions(
        observations=states[here], next_observations=states[here + 1],
        actions=rng.standard_normal((rows, 12), dtype=np.float32), rewards=np.zeros(rows,
        dtype=np.float32),
        terminals=np.zeros(rows, dtype=bool), timeouts=np.zeros(rows, dtype=bool),
        starts=np.arange(0, rows, LENGTH),
        terms={term.name: slice(end - term.size, end) for term, end in zip(layout.terms,
        ends.tolist(), strict=True)},
    )  # fmt: skip


@functools.cache
def problem(rows: int, config: TrainConfig) -> Problem:
    """Return a problem of noise."""
    return Problem.build(random_data(rows), random_data(50 * LENGTH), config, torch.device("cpu"))


def trainer(rows: int, config: TrainConfig) -> Doi:
    """Return a training that is ready to begin, with a made-up expert.

    The process is set up as `solo-train` does it.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(1)
    keep_memory()
    data = problem(rows, config)
    generator = torch.Generator().manual_seed(0)
    log_w = equations.log_weights(torch.randn(rows, generator=generator))
    return Doi(data, Expert(torch.randn(rows, generator=generator), log_w), config, generator)


@benchmark(unit="min", at_most=1.0)
def train_paper_run() -> Pairs:
    """The printed run (1 M transitions, 350 x 200 updates, SMODICE first) on two idle cores.

    The reference is 45 minutes.
    """
    both = replace(PAPER, torch_threads=2)
    doi = trainer(1_000_000, both)
    torch.set_num_threads(both.torch_threads)
    before = _building_minutes(both, seconds) + _expert_minutes(both, seconds)
    before += _full_pass_minutes(doi, seconds) + _clone_minutes(doi, seconds)
    minutes = [before + both.outer * seconds(doi.step) / 60 for _ in range(5)]
    torch.set_num_threads(1)
    return [(each, 45.0) for each in minutes]


@benchmark(unit="min", at_most=1.0)
def train_default_run() -> Pairs:
    """The default preset from data to policies (1 M transitions) on one core, extrapolated.

    The reference is 5 minutes.
    """
    doi = trainer(1_000_000, DEFAULT)
    before = _building_minutes(DEFAULT, core_seconds) + _expert_minutes(DEFAULT, core_seconds)
    before += _full_pass_minutes(doi, core_seconds) + _clone_minutes(doi, core_seconds)
    return [(before + DEFAULT.outer * core_seconds(doi.step) / 60, 5.0) for _ in range(5)]


def _building_minutes(config: TrainConfig, timer: Timer) -> float:
    """Minutes from arrays to tensors.

    Reading a million transitions from disk takes a second more.
    """
    data, expert = random_data(1_000_000), random_data(50 * LENGTH)
    return timer(lambda: Problem.build(data, expert, config, torch.device("cpu"))) / 60


def _extrapolated(
    work: Callable[[int], object], updates: int, timer: Timer, few: int = 100
) -> float:
    """Minutes of `work` with so many updates, extrapolated from one and from a few updates.

    Work that is done once is not multiplied.
    """
    once, some = timer(lambda: work(1)), timer(lambda: work(few))
    return (once + (updates - 1) * (some - once) / (few - 1)) / 60


def _expert_minutes(config: TrainConfig, timer: Timer) -> float:
    data, generator = problem(1_000_000, config), torch.Generator().manual_seed(0)
    value, logit = (
        DualValue(data, 1, config, generator),
        torch.randn(1_000_000, generator=generator),
    )

    def classify(updates: int) -> None:
        some = replace(config, classifier=replace(config.classifier, updates=updates))
        train_classifier(data, some, generator, lambda _: None)

    def imitate(updates: int) -> None:
        for _ in range(updates):
            batch = value.draw()
            value.step(batch, logit[batch.rows][None])

    classifying = _extrapolated(classify, config.classifier.updates, timer)
    return classifying + _extrapolated(imitate, config.value.expert_updates, timer)


def _full_pass_minutes(doi: Doi, timer: Timer) -> float:
    """Minutes of all full passes of a run.

    The last pass is also the one at the end of training, so it counts once.
    """
    passes = max(1, len(full_steps(doi.config)))
    return (
        passes * timer(lambda: describe(doi.full_log_weights(), doi.expert.log_w, doi.problem)) / 60
    )


def _clone_minutes(doi: Doi, timer: Timer) -> float:
    """Minutes of cloning at the end.

    It clones expert and skills together, or the expert alone if skills are cloned in the loop.
    """
    options = doi.config.policy
    networks = 1 if options.in_loop else doi.config.skills + 1
    log_w = doi.expert.log_w.expand(networks, -1)
    generator = torch.Generator().manual_seed(0)

    def fit(updates: int) -> None:
        clone(doi.problem, log_w, replace(options, updates=updates), generator, lambda _: None)

    return _extrapolated(fit, options.expert_updates if options.in_loop else options.updates, timer)


@benchmark(unit="s", at_most=1.3)
def train_update_size() -> Pairs:
    """One outer step on 1 M transitions against one on 100 000.

    The cost of updates does not grow with the data.
    """
    small, large = trainer(100_000, DEFAULT), trainer(1_000_000, DEFAULT)
    return interleaved(lambda: seconds(large.step), lambda: seconds(small.step))


@benchmark(unit="s per row", at_most=1.3)
def train_full_pass() -> Pairs:
    """Ratios of all of 1 M transitions against all of 100 000, per row.

    The cost of a full pass is linear.
    """
    small, large = trainer(100_000, DEFAULT), trainer(1_000_000, DEFAULT)
    return interleaved(
        lambda: seconds(large.full_log_weights) / 1e6,
        lambda: seconds(small.full_log_weights) / 1e5,
        num_pairs=5,
    )


@benchmark(unit="MiB", at_most=1.0)
def train_memory() -> Pairs:
    """Peak memory of an outer step and a full pass, against 1 M transitions and 2 GiB."""
    code = "from tests.bench.train import peak_memory; print(*peak_memory())"
    pairs = []
    for _ in range(5):
        text = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        peak, data = map(float, text.split())
        pairs.append((peak, data + 2048))
    return pairs


def peak_memory() -> tuple[float, float]:
    """Return the process's peak memory and the size of the dataset [MiB]."""
    data = random_data(1_000_000)
    size = (
        sum(array.nbytes for array in vars(data).values() if isinstance(array, np.ndarray)) / 2**20
    )
    built = Problem.build(data, random_data(50 * LENGTH), DEFAULT, torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)
    log_w = equations.log_weights(torch.randn(built.num_rows, generator=generator))
    doi = Doi(built, Expert(log_w.float(), log_w), DEFAULT, generator)
    doi.step()
    everything = doi.full_log_weights()
    clone(built, everything, replace(DEFAULT.policy, updates=2), generator, lambda _: None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, size
