"""Background worker: a second thread that makes calls while training continues."""

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


class Submit(Protocol):
    """Function that hands a call to a worker, which makes calls in their order."""

    def __call__(self, work: Callable[[], Result], *, low_priority: bool = False) -> Future[Result]:
        """Return the future result; a call of low priority waits until no other is left."""


class Priority(IntEnum):
    """Order of waiting calls; the smallest number is first."""

    STOP_AT_ONCE = 0
    NORMAL = 1
    LOW = 2
    STOP_WHEN_DONE = 3


class Call(NamedTuple):
    """A waiting call. Calls of one priority are made in the order of their numbers."""

    priority: Priority
    number: int
    future: Future[Any] | None = None
    work: Callable[[], Any] | None = None


@contextmanager
def background_worker(threads: int) -> Iterator[Submit]:
    """Start a worker that shares the threads; wait for all its calls at the end.

    Two chains of small matrix products fill two cores better than one chain with each product
    split in two. With one thread, every call is made at once by the caller. Results are the same
    either way if calls share nothing with the main thread, random numbers included, and calls of
    low priority share nothing with the others.
    """
    if threads == 1:
        yield call_at_once
        return
    calls: PriorityQueue[Call] = PriorityQueue()
    numbers = count()

    def submit(work: Callable[[], Result], *, low_priority: bool = False) -> Future[Result]:
        future: Future[Result] = Future()
        priority = Priority.LOW if low_priority else Priority.NORMAL
        calls.put(Call(priority, next(numbers), future, work))
        return future

    torch.set_num_threads(threads - threads // 2)
    # A daemon, so that Ctrl-C while it starts does not hang the program.
    worker = Thread(target=_work, args=(calls, threads // 2), daemon=True)
    end = Priority.STOP_WHEN_DONE
    worker.start()
    try:
        yield submit
    except BaseException:
        end = Priority.STOP_AT_ONCE  # results that still wait are no longer needed
        raise
    finally:
        calls.put(Call(end, next(numbers)))
        worker.join()
        torch.set_num_threads(threads)


def call_at_once(work: Callable[[], Result], *, low_priority: bool = False) -> Future[Result]:
    """Make a call now, in the caller's thread."""
    done: Future[Result] = Future()
    done.set_result(work())
    return done


def _work(calls: PriorityQueue[Call], threads: int) -> None:
    # Both are settings of a thread, not of the process.
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
    while True:
        call = calls.get()
        if call.future is None or call.work is None:
            return
        try:
            call.future.set_result(call.work())
        except BaseException as error:
            call.future.set_exception(error)
