"""Work beside other work: in its order, with the same numbers, and heard when it fails."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm.background import background_worker
from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.data.dataset import read_transitions
from solo_doi.policies.skill_policy import SkillPolicy

from .runs import tiny, train, write_made_up_task

PRINTED = PolicyConfig(
    in_loop=True, squashed=True, entropy=True, expert_updates=5, hidden=8, batch=32
)


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

    def make(index: int) -> float:
        made.append(index)
        return float(index)

    with background_worker(number) as submit:
        calls = [submit(partial(make, index)) for index in range(50)]
    assert made == [call.result() for call in calls] == list(range(50))


def test_patient_calls_wait_for_others() -> None:
    """Those that come later, too, as long as they were not begun; none is forgotten."""
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


def test_what_waits_is_given_up_with_an_error() -> None:
    """Nobody will ask for it."""
    made: list[int] = []
    go = threading.Event()
    with contextlib.suppress(KeyboardInterrupt), background_worker(2) as submit:
        submit(go.wait)
        for index in range(50):
            submit(partial(made.append, index), low_priority=True)
        threading.Timer(0.1, go.set).start()
        raise KeyboardInterrupt
    assert not made


@pytest.mark.parametrize("number", [1, 2])
def test_a_call_that_fails_is_heard(number: int) -> None:
    """At the latest when its result is asked for."""
    with pytest.raises(ZeroDivisionError), background_worker(number) as submit:
        submit(lambda: 1 / 0).result()


def test_threads_are_given_back() -> None:
    """Also after an error."""
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

    Networks this small are computed by one thread each way, so every bit is.
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
