"""Settings of solo-sweep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SweepCommand:
    """Train a grid of variants x eps x seeds and tabulate the results.

    Examples:
      solo-sweep --eps 0 1 2 4 --seeds 1 2 3
      solo-sweep --eps 0 1 2 4 --ray 10.0.0.1:6379
      solo-sweep --variants sweep/ablation --seeds 1
    """

    task: str = ""
    """Task of all runs, as in solo-train; a variant may set another."""
    eps: tuple[float, ...] | None = None
    """Largest divergences of skills from the expert; by default that of the variant's task and
    preset, as in solo-train."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of every variant; the table has their medians."""
    variants: Path | None = None
    """YAML file: names of variants and, under each, settings that differ from the defaults. A
    variant may set eps."""
    data: Path | None = None
    """Coverage data, as in solo-train."""
    expert: Path | None = None
    """States of the expert, as in solo-train."""
    out: Path = Path("runs/sweep")
    """Directory of the runs and the table. Finished runs in it are not run again."""
    workers: int = 1
    """Runs at a time; each takes one core."""
    ray: str = ""
    """Address of a Ray cluster to train on, such as 10.0.0.1:6379, with a run on each of its
    processors; `local` starts one on this machine. All nodes need this environment, and the data
    and --out at the same paths of a shared disk."""
