"""Work that can wait for its turn, on a core of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import IntEnum
from itertools import count
from queue import PriorityQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol, TypeVar

import torch

Result = TypeVar("Result")


class Run(Protocol):
    """A way to have calls made in their order; what they return, or raise, is in what it returns."""

    def __call__(self, work: Callable[[], Result], *, patient: bool = False) -> Future[Result]:
        """Have one more call made; a patient one waits until no other does."""


class Turn(IntEnum):
    """What comes before what."""

    END_AT_ONCE = 0
    NEXT = 1
    PATIENT = 2
    END = 3


class Call(NamedTuple):
    """What waits; of the same turn, the first comes first."""

    turn: Turn
    number: int
    future: Future[Any] | None = None
    work: Callable[[], Any] | None = None


@contextmanager
def beside(threads: int) -> Iterator[Run]:
    """Give a way to have calls made beside what goes on; at the end all of them are waited for.

    Two chains of small products fill two cores better than one chain whose products are each split in two. With one
    thread every call is made at once. What the calls compute is the same either way, as long as they share nothing
    with what goes on meanwhile, nor patient ones with the others, random numbers included.
    """
    if threads == 1:
        yield at_once
        return
    calls: PriorityQueue[Call] = PriorityQueue()
    numbers = count()

    def run(work: Callable[[], Result], *, patient: bool = False) -> Future[Result]:
        future: Future[Result] = Future()
        calls.put(Call(Turn.PATIENT if patient else Turn.NEXT, next(numbers), future, work))
        return future

    torch.set_num_threads(threads - threads // 2)
    helper = Thread(
        target=_serve, args=(calls, threads // 2), daemon=True
    )  # Ctrl-C while it starts must not hang
    end = Turn.END
    helper.start()
    try:
        yield run
    except BaseException:
        end = Turn.END_AT_ONCE  # nobody will ask for what still waits
        raise
    finally:
        calls.put(Call(end, next(numbers)))
        helper.join()
        torch.set_num_threads(threads)


def at_once(work: Callable[[], Result], *, patient: bool = False) -> Future[Result]:
    """Make a call now: there is nobody else to make it."""
    done: Future[Result] = Future()
    done.set_result(work())
    return done


def _serve(calls: PriorityQueue[Call], threads: int) -> None:
    torch.set_flush_denormal(
        True
    )  # like the number of threads a setting of a thread, not of the process
    torch.set_num_threads(threads)
    while True:
        _, _, future, work = calls.get()
        if future is None or work is None:
            return
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
