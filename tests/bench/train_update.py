"""Time of one joint update of all skills.

References are a plain loop over skills, and the bare matrix products.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import torch

from solo_doi.algorithm import equations
from solo_doi.algorithm.doi import Doi
from solo_doi.algorithm.presets import PAPER

from .eager_loop import EagerLoop, SharedEagerLoop
from .harness import Pairs, benchmark, interleaved, seconds
from .train import problem, trainer

ROWS = 100_000
PLAIN = replace(PAPER, policy=replace(PAPER.policy, entropy=False))
CORES = min(2, len(os.sched_getaffinity(0)))
UPDATES = 20
"""Updates per measurement on one core; the printed outer step has 200."""
PAIRS = 15
"""Many short measurements, because the load of a shared machine changes within seconds."""


@benchmark(unit="s", at_least=2.0)
def train_update() -> Pairs:
    """Eager PyTorch loop over skills against our outer step, on two cores.

    In the loop, each skill has its own minibatch and steps.
    """
    return _on_two_cores(EagerLoop)


@benchmark(unit="s")
def train_update_shared() -> Pairs:
    """Eager PyTorch loop over skills against our outer step, on two cores.

    In the loop, skills share network, minibatch and step.
    """
    return _on_two_cores(SharedEagerLoop)


@benchmark(unit="s")
def train_update_one_core() -> Pairs:
    """Eager PyTorch loop over skills against our joint update, on one core.

    In the loop, each skill has its own minibatch and steps.
    """
    return _on_one_core(EagerLoop)


@benchmark(unit="s")
def train_update_shared_one_core() -> Pairs:
    """Eager PyTorch loop over skills against our joint update, on one core.

    In the loop, skills share network, minibatch and step.
    """
    return _on_one_core(SharedEagerLoop)


@benchmark(unit="s", at_least=0.6)
def train_matmul() -> Pairs:
    """Bare matrix products of the same shapes, forward and backward, against our joint update.

    Both run on one core.
    """
    products = bare_products(trainer(ROWS, PLAIN))
    return interleaved(
        lambda: seconds(lambda: [products() for _ in range(UPDATES)]) / UPDATES,
        _joint_update(),
        PAIRS,
    )


def _on_two_cores(kind: type[EagerLoop]) -> Pairs:
    """Time per update of an outer step.

    It includes the multipliers, and the ratios between values and discriminator.
    """
    config = replace(PLAIN, torch_threads=CORES)
    doi = trainer(ROWS, config)

    def ours() -> float:
        torch.set_num_threads(CORES)
        return seconds(doi.step) / config.value.updates

    with _plain_pytorch() as peer:
        pairs = interleaved(
            lambda: peer.submit(eager_update, kind, CORES, config.value.updates).result(),
            ours,
            num_pairs=7,
        )
    torch.set_num_threads(1)
    return pairs


def _on_one_core(kind: type[EagerLoop]) -> Pairs:
    with _plain_pytorch() as peer:
        return interleaved(
            lambda: peer.submit(eager_update, kind, 1, UPDATES).result(), _joint_update(), PAIRS
        )


def _plain_pytorch() -> ProcessPoolExecutor:
    """A process of its own in which only the number of threads is set.

    Settings of allocator and denormals are part of our training.
    """
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def eager_update(kind: type[EagerLoop], threads: int, updates: int) -> float:
    """Time of one update by a plain loop."""
    torch.set_num_threads(threads)
    loop = eager_loop(kind)
    return seconds(lambda: [loop.update() for _ in range(updates)]) / updates


@functools.cache
def eager_loop(kind: type[EagerLoop]) -> EagerLoop:
    """Return a loop of the given kind, created once."""
    return kind(problem(ROWS, PLAIN), PLAIN)


def _joint_update() -> Callable[[], float]:
    """Time of one update of values, policy and discriminator of all skills.

    It is the update of the paper's outer steps.
    """
    doi = trainer(ROWS, PLAIN)
    rows = doi.problem.draw(doi.config.subset, torch.Generator().manual_seed(1))
    log_w = doi.log_weights(rows)
    doi.diversity.options = replace(doi.config.discriminator, updates=UPDATES)  # type: ignore[attr-defined]

    def updates() -> None:
        for _ in range(UPDATES):
            batch = doi.value.draw()
            _, delta = doi.value.step(batch, doi.reward(batch.rows))
            assert doi.policy is not None
            doi.policy.weighted_step(batch.rows, equations.log_ratios(delta).exp())
        doi.diversity.fit(rows, log_w)

    return lambda: seconds(updates) / UPDATES


def bare_products(doi: Doi) -> Callable[[], None]:
    """Return the matrix products that a joint update needs: once forward, twice backward."""
    config, skills = doi.config, doi.config.skills
    value, states = (
        config.value,
        config.value.windows * (config.value.window + 2) + config.value.initial_batch,
    )
    batch, hidden = value.windows * value.window, value.hidden
    inputs, told = doi.problem.states.shape[1], doi.problem.discriminator_input.shape[1]
    members, actions = config.discriminator.members, 2 * doi.problem.actions.shape[1]
    # (batch of products, rows, inner, columns, count: 3 if trained, 1 if only evaluated)
    shapes = [
        (1, states, inputs, hidden, 2), (1, skills * states, hidden, hidden, 3), (1,
        skills * states, hidden, 1, 3),
        (1, batch, inputs, hidden, 2), (1, skills * batch, hidden, hidden, 3), (1, skills * batch,
        hidden, actions, 3),
        *[(members, batch, a, b, n) for n in (1, 3) for a, b in ((told, hidden), (hidden, hidden),
        (hidden, skills))],
    ]  # fmt: skip
    pairs = [
        (torch.randn(k, n, i), torch.randn(k, i, o), repeats) for k, n, i, o, repeats in shapes
    ]

    def products() -> None:
        for left, right, repeats in pairs:
            result = torch.bmm(left, right)
            if repeats > 1:
                torch.bmm(left.transpose(1, 2), result)
            if repeats > 2:
                torch.bmm(result, right.transpose(1, 2))

    return products
