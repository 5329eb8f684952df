"""Weighted k-means, and the choice of clusters that are heavy enough and far apart."""

from __future__ import annotations

import math

import torch
from torch import Tensor

PIECES_PER_CLUSTER = 4
"""Number of small clusters that k-means finds, per requested cluster."""
RESTARTS = 8
"""Runs of k-means from other starts; the one with the smallest distances is kept."""
MOST_ROUNDS = 100
"""Largest number of rounds of one run."""
LEAST_WEIGHT = 1e-12
"""Smallest weight that is not zero."""


def distant_clusters(
    points: Tensor, weight: Tensor, count: int, least: float, generator: torch.Generator
) -> Tensor:
    """Return the cluster (T,) of every point (T, F), -1 for points outside of `count` clusters.

    k-means finds more, smaller clusters. While more than `count` are left, the lightest one below
    the `least` weight is merged with the cluster of the smallest merger cost. Of the remaining
    clusters, `count` that are far apart are chosen.
    """
    label = k_means(points, weight, min(PIECES_PER_CLUSTER * count, len(points)), generator)
    while True:
        total, centre = _sums(points, weight, label, int(label.max()) + 1)
        present = total.nonzero()[:, 0]
        lightest = total[present].argmin()
        if len(present) <= count or total[present[lightest]] >= least:
            break
        cost = merger_costs(total[present], centre[present])
        label[label == present[lightest]] = present[cost[lightest].argmin()]
    chosen = present[farthest(total[present], centre[present], count)]
    numbers = torch.full((len(total),), -1, device=points.device)
    numbers[chosen] = torch.arange(len(chosen), device=points.device)
    return numbers[label]


def farthest(total: Tensor, centre: Tensor, count: int) -> Tensor:
    """Return the heaviest cluster, then repeatedly the one farthest from all chosen before."""
    distance = torch.cdist(centre, centre)
    chosen = [int(total.argmax())]
    while len(chosen) < min(count, len(total)):
        gap = distance[:, chosen].amin(1)
        chosen.append(int(gap.argmax()))
    return torch.tensor(chosen, device=total.device)


def merger_costs(total: Tensor, centre: Tensor) -> Tensor:
    """Return the growth of weighted squared distances if two clusters are merged, (C, C).

    w_a w_b / (w_a + w_b) |c_a - c_b|^2 (Ward); infinite on the diagonal.
    """
    reduced = total[:, None] * total / (total[:, None] + total)
    cost = reduced * torch.cdist(centre, centre).square()
    return cost.fill_diagonal_(math.inf)


def k_means(points: Tensor, weight: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return the cluster (T,) of every point (T, F); the best of several runs."""
    best = torch.zeros(len(points), dtype=torch.long, device=points.device)
    smallest = math.inf
    for _ in range(RESTARTS):
        centre = _first_centres(points, weight, count, generator)
        label, distances = _one_run(points, weight, centre)
        if distances < smallest:
            smallest = distances
            best = label
    return best


def _one_run(points: Tensor, weight: Tensor, centre: Tensor) -> tuple[Tensor, float]:
    """Return the cluster of every point, and the weighted squared distances from the centres."""
    label = torch.cdist(points, centre).argmin(1)
    for _ in range(MOST_ROUNDS):
        total, mean = _sums(points, weight, label, len(centre))
        centre = torch.where(total[:, None] > 0, mean, centre)
        previous = label
        label = torch.cdist(points, centre).argmin(1)
        if torch.equal(label, previous):
            break
    return label, float(weight @ (points - centre[label]).square().sum(1))


def _first_centres(
    points: Tensor, weight: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Draw first centres, each by weight and squared distance from the others (k-means++)."""
    probability = weight
    chosen: list[Tensor] = []
    nearest = torch.full((len(points),), math.inf, dtype=points.dtype, device=points.device)
    for _ in range(count):
        index = torch.multinomial(probability.cpu(), 1, generator=generator).to(points.device)
        chosen.append(points[index])
        nearest = torch.minimum(nearest, (points - points[index]).square().sum(1))
        # Fewer different points than centres: all distances are zero.
        probability = weight * (nearest + LEAST_WEIGHT)
    return torch.cat(chosen)


def _sums(points: Tensor, weight: Tensor, label: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return weight (C,) and weighted mean (C, F) of every cluster."""
    total = points.new_zeros(count).index_add_(0, label, weight)
    sums = points.new_zeros(count, points.shape[1]).index_add_(0, label, weight[:, None] * points)
    return total, sums / total.clamp(min=LEAST_WEIGHT)[:, None]
