"""Weights of a policy with fewer inputs or units, placed into a larger network."""

from __future__ import annotations

import torch
from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.solo12.observation import Layout, layout_of_size

from .networks import GaussianPolicy, Normaliser

OLD_SAMPLES = 100_000
"""Number of samples that the statistics of old inputs count as; small, so that new inputs adapt
quickly."""


def layout_of(policy: MaskedPolicy, where: object) -> Layout:
    """Return the layout whose size a policy's observation has."""
    layout = layout_of_size(policy.observation_size)
    if layout is None:
        raise SoloError(
            f"{where}: takes observations of {policy.observation_size} numbers, which no task has."
        )
    return layout


def shared_columns(old: Layout, new: Layout) -> tuple[Tensor, Tensor]:
    """Return the columns of the terms that two layouts share, in the old and in the new one."""
    before: list[int] = []
    after: list[int] = []
    for term in old.terms:
        place = new.slices.get(term.name)
        if place is not None and place.stop - place.start == term.size:
            before += range(old.slices[term.name].start, old.slices[term.name].stop)
            after += range(place.start, place.stop)
    return torch.tensor(before), torch.tensor(after)


@torch.no_grad()
def start_from_policy(
    policy: GaussianPolicy, normaliser: Normaliser, old: MaskedPolicy, layout: Layout, where: object
) -> None:
    """Place a policy of one skill into the first units of a larger one, for all its skills.

    The larger policy gives the same actions. At first, additional inputs have no effect, and
    additional units have no effect on the actions.
    """
    network = policy.network
    sizes = tuple(map(len, old.biases[:2]))
    room = (len(network.first.bias), len(network.second.bias))
    if old.num_skills != 1 or sizes[0] > room[0] or sizes[1] > room[1]:
        raise SoloError(
            f"{where}: a policy with {old.num_skills} skills and {sizes} hidden units. To start a "
            f"network of {room} units, expected one skill and as many units or fewer."
        )
    before, after = shared_columns(layout_of(old, where), layout)
    weights = [torch.from_numpy(weight.copy()) for weight in old.weights]
    biases = [torch.from_numpy(bias.copy()) for bias in old.biases]
    first, second = sizes
    network.first.weight[:first] = 0.0
    network.first.weight[:first, after] = weights[0][:, before]
    network.first.bias[:first] = biases[0]
    network.second.weight[:second] = 0.0
    network.second.weight[:second, :first] = weights[1]
    network.second.bias[:second] = biases[1]
    network.head.weight[:] = 0.0
    network.head.weight[:, :second] = weights[2]
    network.head.bias[:] = biases[2]
    network.mask0[:, :first] = 1.0
    network.mask1[:, :second] = 1.0
    normaliser.mean[after] = torch.from_numpy(old.mean.copy()).flatten()[before]
    normaliser.var[after] = torch.from_numpy(old.std.copy()).flatten()[before].square()
    normaliser.count.fill_(OLD_SAMPLES)
