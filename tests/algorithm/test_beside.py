"""Work beside other work: in its order, with the same numbers, and heard when it fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm.beside import beside
from solo_doi.algorithm.config import PolicyConfig
from solo_doi.data.dataset import read_transitions
from solo_doi.policies.skills import SkillPolicy

from .runs import tiny, train, write_made_up_task

PRINTED = PolicyConfig(in_loop=True, squashed=True, entropy=True, hidden=8, batch=32)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_calls_are_made_in_their_order_and_all_are_waited_for(number: int) -> None:
    """With a thread of their own and without."""
    made: list[int] = []
    results: list[float] = []

    def make(index: int) -> float:
        made.append(index)
        return float(index)

    with beside(number, results) as run:
        for index in range(50):
            run(partial(make, index))
    assert made == results == list(range(50))


@pytest.mark.parametrize("number", [1, 2])
def test_a_call_that_fails_is_heard(number: int) -> None:
    """At the latest when all calls are done."""
    with pytest.raises(ZeroDivisionError), beside(number, []) as run:
        run(lambda: 1 / 0)


def test_threads_are_given_back() -> None:
    """Also after an error."""
    torch.set_num_threads(2)
    meanwhile = []
    with contextlib.suppress(ZeroDivisionError), beside(2, []) as run:
        run(lambda: 1 / 0)
        meanwhile.append(torch.get_num_threads())
    assert meanwhile == [1]
    assert torch.get_num_threads() == 2


def test_policies_are_the_same_whether_trained_beside_values_or_in_turn(tmp_path: Path) -> None:
    """Networks this small are computed by one thread each way, so every bit is."""
    folder, config = write_made_up_task(tmp_path / "task") / "datasets" / "locomotion", tiny(policy=PRINTED)
    data = read_transitions(folder / "coverage"), read_transitions(folder / "demonstrations")
    for number in (1, 2):
        train(replace(config, torch_threads=number), *data, tmp_path / str(number))
    one, two = (SkillPolicy.read(tmp_path / str(number) / "policy.h5") for number in (1, 2))
    assert all((getattr(one, name) == getattr(two, name)).all() for name in ("first", "second", "head"))
