"""Work that nothing waits for, on a core of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import torch

Run = Callable[[Callable[[], float]], None]


@contextmanager
def beside(threads: int, results: list[float]) -> Iterator[Run]:
    """Give a way to run calls, in their order, beside what goes on; at the end, wait and append what they returned.

    Two chains of small products fill two cores better than one chain whose products are each split in two. With one
    thread every call is made at once. What the calls compute is the same either way, as long as they share nothing
    with what goes on meanwhile; random numbers are best drawn before and handed over.
    """
    if threads == 1:
        yield lambda work: results.append(work())
        return
    calls: list[Future[float]] = []
    torch.set_num_threads(threads - threads // 2)
    try:
        with ThreadPoolExecutor(1, initializer=_prepare, initargs=(threads // 2,)) as pool:
            yield lambda work: calls.append(pool.submit(work))
    finally:
        torch.set_num_threads(threads)
    results.extend(call.result() for call in calls)


def _prepare(threads: int) -> None:
    """Both are settings of a thread, not of the process."""
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
