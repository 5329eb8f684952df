"""Background calls: their order, equal numerical results, and reported errors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import PriorityQueue

import pytest
import torch

from solo_doi.algorithm.numerics import background
from solo_doi.algorithm.numerics.background import Call, background_worker
from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.data.dataset import read_transitions
from solo_doi.policies.skill_policy import SkillPolicy
from tests.algorithm.runs import tiny, train, write_made_up_task

PRINTED = PolicyConfig(
    in_loop=True, squashed=True, entropy=True, expert_updates=5, hidden=8, batch=32
)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Restore the number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_calls_are_made_in_their_order_and_all_are_waited_for(number: int) -> None:
    """The result is the same with and without a thread for the calls."""
    made: list[int] = []

    def make(index: int) -> float:
        made.append(index)
        return float(index)

    with background_worker(number) as submit:
        calls = [submit(partial(make, index)) for index in range(50)]
    assert made == [call.result() for call in calls] == list(range(50))


def test_calls_of_low_priority_wait_for_others() -> None:
    """Calls of low priority wait for all others, including later ones, and are still made."""
    made: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go.wait()

    with background_worker(2) as submit:
        submit(hold)
        begun.wait()
        for name, patient in (("late", True), ("first", False), ("last", True), ("second", False)):
            submit(partial(made.append, name), low_priority=patient)
        go.set()
    assert made == ["first", "second", "late", "last"]


def test_waiting_calls_are_dropped_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error, waiting calls are dropped because their results are not needed.

    The first call holds the worker until the request to stop is in the queue.
    """
    made: list[int] = []
    go = threading.Event()

    class Calls(PriorityQueue[Call]):
        """Queue that releases the first call with the request to stop."""

        def put(self, call: Call) -> None:  # type: ignore[override]  # all that is used
            super().put(call)
            if call.work is None:
                go.set()

    monkeypatch.setattr(background, "PriorityQueue", Calls)
    with contextlib.suppress(KeyboardInterrupt), background_worker(2) as submit:
        submit(go.wait)
        for index in range(50):
            submit(partial(made.append, index), low_priority=True)
        raise KeyboardInterrupt
    assert not made


@pytest.mark.parametrize("number", [1, 2])
def test_a_call_that_fails_raises_its_error(number: int) -> None:
    """The error is raised at the latest when the result is requested."""
    with pytest.raises(ZeroDivisionError), background_worker(number) as submit:
        submit(lambda: 1 / 0).result()


def test_the_number_of_threads_is_restored() -> None:
    """The number of threads is restored even after an error."""
    torch.set_num_threads(2)
    meanwhile = []
    with contextlib.suppress(ZeroDivisionError), background_worker(2) as submit:
        meanwhile.append(torch.get_num_threads())
        submit(lambda: 1 / 0).result()
    assert meanwhile == [1]
    assert torch.get_num_threads() == 2


def test_training_is_the_same_on_two_cores(tmp_path: Path) -> None:
    """Policies are the same as on one core.

    They depend on rewards, values and discriminator members that were computed in the background.
    Such small networks use one thread in both cases, so results are equal to the last bit.
    """
    folder, config = (
        write_made_up_task(tmp_path / "task") / "datasets" / "locomotion",
        tiny(policy=PRINTED),
    )
    data = read_transitions(folder / "coverage"), read_transitions(folder / "demonstrations")
    for number in (1, 2):
        train(replace(config, torch_threads=number), *data, tmp_path / str(number))
    one, two = (SkillPolicy.read(tmp_path / str(number) / "policy.h5") for number in (1, 2))
    assert all(
        (getattr(one, name) == getattr(two, name)).all() for name in ("first", "second", "head")
    )
