"""Study of solo-train on 20 random MDPs: `python -m tests.bench.random_mdps RESULTS.jsonl`.

Each run is one line of JSON. Runs that the file already has are not repeated. Results of all runs
in the file are printed as tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from tests.algorithm.mdp_runs import SMALLEST_DIVERGENCE, measure, phi_error, train
from tests.algorithm.random_mdps import RandomProblem, most_information

MDPS = 20
RESTARTS = 12
"""Starts of the independent optimiser."""
VARIANTS = {
    "gym-exact": ["--preset=gym-exact"],
    "drawn": ["--preset=gym-exact", "--no-value.averaged"],
    "gym": [],
}
"""Flags of every variant. `drawn` uses the one next state of every row."""
HEADER = (
    "| MDP | S, A, Z | eps | best I | I | share | KL / eps | phi / KL | own | dual | expert |\n"
    "|--:|---|--:|--:|--:|--:|---|---|--:|--:|--:|"
)


@dataclass(frozen=True)
class Result:
    """One run; lists have one number per skill."""

    variant: str
    mdp: int
    states: int
    actions: int
    skills: int
    eps: float
    best: float
    """Most information that the independent optimiser finds under eps [nats]."""
    information: float
    divergence: list[float]
    phi: list[float]
    own: list[float]
    dual: list[float]
    expert: float
    seconds: float

    @property
    def share(self) -> float:
        """Information as a share of the best."""
        return self.information / self.best

    @property
    def phi_error(self) -> float:
        """Largest relative error of phi."""
        return phi_error(np.array(self.phi), np.array(self.divergence))

    def row(self) -> str:
        """Return a row of a Markdown table."""
        kl = " ".join(f"{one / self.eps:.2f}" for one in self.divergence)
        phi = " ".join(
            f"{one / max(other, SMALLEST_DIVERGENCE):.2f}"
            for one, other in zip(self.phi, self.divergence, strict=True)
        )
        return (
            f"| {self.mdp} | {self.states}, {self.actions}, {self.skills} | {self.eps:.3f} "
            f"| {self.best:.3f} | {self.information:.3f} | {self.share:.3f} | {kl} | {phi} "
            f"| {min(self.own):.3f} | {min(self.dual):.3f} | {self.expert:.3f} |"
        )


def run(number: int, variant: str, best: float | None) -> Result:
    """Train and measure one variant; `best` comes from another variant, or is None."""
    problem = RandomProblem.draw(number)
    if best is None:
        best = most_information(problem, problem.eps, RESTARTS)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = problem.write(folder)
        found = measure(problem, train(problem, folder, "run", VARIANTS[variant]), pairs)
    return Result(
        variant=variant,
        mdp=number,
        states=problem.mdp.shape[0],
        actions=problem.mdp.shape[1],
        skills=problem.skills,
        eps=problem.eps,
        best=best,
        information=found.information,
        divergence=found.divergence.tolist(),
        phi=found.phi.tolist(),
        own=found.own_correlation.tolist(),
        dual=found.dual_correlation.tolist(),
        expert=found.expert_correlation,
        seconds=time.monotonic() - begin,
    )


def show(results: list[Result]) -> str:
    """Return a table and medians of every variant."""
    lines = []
    for variant in VARIANTS:
        some = sorted((one for one in results if one.variant == variant), key=lambda one: one.mdp)
        if not some:
            continue
        lines += ["", f"## {variant}", "", HEADER, *(one.row() for one in some), ""]
        figures = {
            "share of the best": ([one.share for one in some], min),
            "error of phi": ([one.phi_error for one in some], max),
            "correlation with the policies' ratios": (
                [one for run in some for one in run.own],
                min,
            ),
            "correlation with the exact dual": ([one for run in some for one in run.dual], min),
            "largest KL / eps": ([max(one.divergence) / one.eps for one in some], max),
        }
        for name, (values, worst) in figures.items():
            lines.append(f"- {name}: median {median(values):.3f}, worst {worst(values):.3f}")
    return "\n".join(lines)


def main() -> None:
    """Run the missing variants, and print all results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="file of results, one JSON object per line")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--mdps", nargs="*", type=int, default=list(range(MDPS)))
    arguments = parser.parse_args()
    results = []
    if arguments.results.exists():
        lines = arguments.results.read_text().splitlines()
        results = [Result(**json.loads(line)) for line in lines]
    for variant in arguments.variants:
        for number in arguments.mdps:
            if any((one.variant, one.mdp) == (variant, number) for one in results):
                continue
            known = [one.best for one in results if one.mdp == number]
            result = run(number, variant, known[0] if known else None)
            results.append(result)
            with arguments.results.open("a") as file:
                file.write(json.dumps(asdict(result)) + "\n")
            sys.stdout.write(f"{variant} {result.row()}\n")
            sys.stdout.flush()
    sys.stdout.write(show(results) + "\n")


if __name__ == "__main__":
    main()
