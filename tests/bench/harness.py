"""Benchmarks by name: pairs of measurements in, one JSON line per figure out.

A benchmark is a function that returns pairs (value, reference), measured alternately because
machines are noisy; the figure is the median of their ratios. It registers itself:

    @benchmark(unit="control steps/s", at_least=0.85)
    def mujoco_batch() -> Pairs: ...
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from solo_doi.common.errors import UnknownNameError

Pairs = Sequence[tuple[float, float]]
MIN_PAIRS = 5


@dataclass(frozen=True)
class Figure:
    """Result of one benchmark."""

    name: str
    value: float
    unit: str
    reference: float
    """Reference value, in the same unit."""
    ratio: float
    """Median of the pairs' ratios."""
    target: str | None
    """Bound of the ratio, if the benchmark has one."""
    ok: bool | None
    spread: tuple[float, float]
    """Lowest and highest ratio of a pair."""

    def row(self, summary: str) -> str:
        """Return one row of a Markdown table; `summary` names the two quantities compared."""
        numbers = (f"{self.value:.4g} {self.unit}", f"{self.reference:.4g}", f"{self.ratio:.3g}")
        spread = "{:.3g} to {:.3g}".format(*self.spread)
        met = {True: "met", False: "**missed**", None: ""}[self.ok]
        return (
            f"| `{self.name}`: {summary} | {' | '.join(numbers)} | {spread} | {self.target or ''} "
            f"| {met} |"
        )

    def line(self) -> str:
        """Return one line of JSON, numbers to four digits."""
        rounded = {name: _rounded(value) for name, value in asdict(self).items()}
        return json.dumps(rounded)


@dataclass(frozen=True)
class Benchmark:
    """A function that measures, and the bound of its ratio."""

    measure: Callable[[], Pairs]
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def summary(self) -> str:
        """First line of the function's docstring: the two quantities compared."""
        return (self.measure.__doc__ or "").strip().splitlines()[0]

    def run(self, name: str) -> Figure:
        """Measure, and compare the ratio with its bound."""
        pairs = self.measure()
        if len(pairs) < MIN_PAIRS:
            raise ValueError(
                f"Benchmark {name!r} measured {len(pairs)} pairs, expected at least {MIN_PAIRS}."
            )
        ratios = [value / reference for value, reference in pairs]
        ratio, target, ok = median(ratios), None, None
        if self.at_least is not None:
            target, ok = f">= {self.at_least}", ratio >= self.at_least
        elif self.at_most is not None:
            target, ok = f"<= {self.at_most}", ratio <= self.at_most
        values, references = zip(*pairs, strict=True)
        spread = (min(ratios), max(ratios))
        return Figure(
            name, median(values), self.unit, median(references), ratio, target, ok, spread
        )


HEADER = (
    "| figure | value | reference | ratio | least to most | target | "
    "|\n|---|---|---|---|---|---|---|"
)
"""Header of a table of rows."""
BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(
    *, unit: str, at_least: float | None = None, at_most: float | None = None
) -> Callable[[Callable[[], Pairs]], Callable[[], Pairs]]:
    """Register a benchmark under its function's name, with its target if it has one."""

    def register(measure: Callable[[], Pairs]) -> Callable[[], Pairs]:
        BENCHMARKS[measure.__name__] = Benchmark(measure, unit, at_least, at_most)
        return measure

    return register


def chosen(names: Sequence[str]) -> dict[str, Benchmark]:
    """Return benchmarks by name, or all of them for an empty list."""
    for name in names:
        if name not in BENCHMARKS:
            raise UnknownNameError("benchmark", name, BENCHMARKS)
    return {name: BENCHMARKS[name] for name in (names or BENCHMARKS)}


def interleaved(
    value: Callable[[], float], reference: Callable[[], float], num_pairs: int = MIN_PAIRS
) -> list[tuple[float, float]]:
    """Measure alternately, after one warm-up of each; the order changes from pair to pair."""
    value(), reference()
    pairs = []
    for pair in range(num_pairs):
        if pair % 2:
            second, first = reference(), value()
        else:
            first, second = value(), reference()
        pairs.append((first, second))
    return pairs


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def core_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a single-threaded call: its wall time on an idle core."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _rounded(value: object) -> object:
    if isinstance(value, tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
