"""Weighted k-means and the choice of distant clusters, on points with an obvious answer."""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from solo_doi.algorithm.numerics.k_means import distant_clusters, farthest, k_means, merger_costs
from tests.algorithm.small import seeded

close = torch.testing.assert_close


def blobs(centres: list[float], count: int = 20) -> Tensor:
    """Points (T, 1) near each centre, one centre after another."""
    noise = 0.1 * torch.randn(len(centres) * count, generator=seeded(3), dtype=torch.float64)
    return (torch.tensor(centres).double().repeat_interleave(count) + noise)[:, None]


def test_merger_costs_by_hand() -> None:
    """Weights 1, 3 and 4 at 0, 2 and 5: 3/4 x 4, 4/5 x 25 and 12/7 x 9."""
    cost = merger_costs(torch.tensor([1.0, 3.0, 4.0]), torch.tensor([[0.0], [2.0], [5.0]]))
    close(cost, torch.tensor([[inf, 3, 20], [3, inf, 108 / 7], [20, 108 / 7, inf]]))


def test_farthest_by_hand() -> None:
    """The heaviest point, 4, is first.

    Then 0 (distance 4), then 10 (distance 6) before 5 (distance 1).
    """
    total = torch.tensor([0.1, 0.6, 0.1, 0.2])
    centre = torch.tensor([[10.0], [4.0], [5.0], [0.0]])
    assert farthest(total, centre, 3).tolist() == [1, 0, 3]
    assert sorted(farthest(total, centre, 9).tolist()) == [0, 1, 2, 3]


def test_k_means_finds_separate_groups() -> None:
    """Every group has one label, and groups have different ones."""
    label = k_means(blobs([0.0, 5.0, 9.0]), torch.ones(60).double(), 3, seeded()).view(3, 20)
    assert (label == label[:, :1]).all()
    assert len(label[:, 0].unique()) == 3


def test_k_means_obeys_weights() -> None:
    """Points 0 (weight 1), 4 (weight 9) and 20: the boundary lies before 20, not before 4."""
    points = torch.tensor([[0.0], [4.0], [20.0]]).double()
    label = k_means(points, torch.tensor([1.0, 9.0, 1.0]).double(), 2, seeded())
    assert label[0] == label[1] != label[2]


def test_light_clusters_are_merged_with_near_ones() -> None:
    """Groups are at 0, 1 and 10; the one at 1 has a tenth of the weight.

    A least weight of 0.3 leaves two.
    """
    weight = torch.tensor([0.45, 0.1, 0.45]).double().repeat_interleave(20) / 20
    label = distant_clusters(blobs([0.0, 1.0, 10.0]), weight, 2, 0.3, seeded()).view(3, 20)
    assert (label[0] == label[1, 0]).all()
    assert sorted({int(label[0, 0]), int(label[2, 0])}) == [0, 1]


def test_clusters_between_distant_ones_are_left_out() -> None:
    """Of four groups of equal weight, two far apart are chosen; the others get the label -1."""
    weight = torch.full((80,), 1 / 80).double()
    label = distant_clusters(blobs([0.0, 4.0, 6.0, 10.0]), weight, 2, 0.2, seeded()).view(4, 20)
    assert (label == label[:, :1]).all()
    first = label[:, 0].tolist()
    assert sorted(first) == [-1, -1, 0, 1]
    distance = abs([0, 4, 6, 10][first.index(0)] - [0, 4, 6, 10][first.index(1)])
    assert distance >= 6


def test_equal_points_are_one_cluster() -> None:
    """More clusters than different points are requested; the result is one cluster."""
    label = distant_clusters(torch.zeros(6, 2).double(), torch.ones(6).double(), 3, 0.1, seeded())
    assert label.tolist() == [0] * 6
