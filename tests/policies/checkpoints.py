"""Checkpoints of the official layouts, made up from the published tables of keys and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from solo_doi.policies.masked_policy import MaskedPolicy

ACTIONS = 12


@dataclass(frozen=True)
class Sizes:
    """Differences between the layouts."""

    observations: int
    hidden: tuple[int, int]
    skills: int
    features: int
    groups: int
    robots: int = 6
    """4096 in the official run; only the length of some lists."""


POSITION = Sizes(observations=171, hidden=(256, 128), skills=8, features=3, groups=3)
VELOCITY = Sizes(observations=48, hidden=(512, 256), skills=8, features=7, groups=2)
OURS = Sizes(observations=48, hidden=(192, 96), skills=5, features=7, groups=2)


class Source:
    """Random tensors from one seed."""

    def __init__(self, seed: int) -> None:
        """Start at a seed."""
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        """Return numbers of a size that keeps networks stable."""
        return 0.2 * torch.randn(*shape, generator=self._generator)

    def positive(self, *shape: int) -> Tensor:
        """Numbers above zero."""
        return 0.1 + torch.rand(*shape, generator=self._generator)


def policy_state(sizes: Sizes, source: Source) -> dict[str, Tensor]:
    """Return the nine entries of `policy_state_dict`, in the official order.

    Masks are real numbers, as trained on a GPU.
    """
    first, second = sizes.hidden
    return {
        "log_std": source.normal(ACTIONS),
        "policy_latent_layers.0.weight": source.normal(first, sizes.observations),
        "policy_latent_layers.0.bias": source.normal(first),
        "policy_latent_layers.2.weight": source.normal(second, first),
        "policy_latent_layers.2.bias": source.normal(second),
        "action_mean_net.weight": source.normal(ACTIONS, second),
        "action_mean_net.bias": source.normal(ACTIONS),
        "masks.0": source.positive(sizes.skills, first),
        "masks.1": source.positive(sizes.skills, second),
    }


def value_state(sizes: Sizes, outputs: int, source: Source) -> dict[str, Tensor]:
    """Return the state of a value or of the successor features."""
    first, second = sizes.hidden
    shapes = {0: (first, sizes.observations), 2: (second, first), 4: (outputs, second)}
    layers = {
        f"layers.{index}.{part}": source.normal(*(shape if part == "weight" else shape[:1]))
        for index, shape in shapes.items()
        for part in ("weight", "bias")
    }
    return {
        **layers,
        "masks.0": source.positive(sizes.skills, first),
        "masks.1": source.positive(sizes.skills, second),
    }


def normaliser_state(size: int, source: Source) -> dict[str, Tensor]:
    """Return mean, variance and deviation in rows of one; there is no count."""
    std = source.positive(1, size)
    return {"_mean": source.normal(1, size), "_var": std.square(), "_std": std}


def adam_state(parameters: list[Tensor]) -> dict[str, Any]:
    """Return the state of an Adam optimiser after one step."""
    leaves = [nn.Parameter(tensor.clone()) for tensor in parameters]
    optimiser = torch.optim.Adam(leaves, lr=1e-3)
    for leaf in leaves:
        leaf.grad = torch.ones_like(leaf)
    optimiser.step()
    return optimiser.state_dict()


def position_checkpoint(sizes: Sizes = POSITION, seed: int = 0) -> dict[str, Any]:
    """Return the content of an official `model_<iteration>.pt` of the position task."""
    source = Source(seed)
    values = {
        f"{name}_state_dict": value_state(sizes, 1, source)
        for name in ("intrinsic_value", *(f"ext_value_{group}" for group in range(sizes.groups)))
    }
    policy, successor = policy_state(sizes, source), value_state(sizes, sizes.features, source)
    lagrange = [nn.Parameter(source.normal(sizes.skills)) for _ in range(sizes.groups)]
    return {
        "policy_state_dict": policy,
        **values,
        "succ_feat_state_dict": successor,
        "obs_norm_state_dict": normaliser_state(sizes.observations, source),
        "lagrange": lagrange,
        "avg_ext_values": [source.positive(sizes.skills) for _ in range(sizes.groups)],
        "global_succ_feat": source.normal(sizes.skills, sizes.features),
        "policy_optimizer_state_dict": adam_state(list(policy.values())),
        "value_optimizer_state_dict": adam_state(
            [tensor for value in values.values() for tensor in value.values()]
        ),
        "lagrange_optimizer_state_dict": adam_state([parameter.detach() for parameter in lagrange]),
        "succ_feat_optimizer_state_dict": adam_state(list(successor.values())),
        "iteration": 2000,
        "tot_timesteps": 393_216_000,
        "tot_time": 7560.5,
        "infos": None,
        "curriculum": [torch.zeros(sizes.robots, dtype=torch.int32), torch.arange(sizes.robots)],
        "init_obs": source.normal(sizes.robots, sizes.observations),
    }


def velocity_checkpoint(sizes: Sizes = VELOCITY, seed: int = 0) -> dict[str, Any]:
    """Return a checkpoint of the older velocity task, without multipliers and iteration."""
    source = Source(seed)
    policy = policy_state(sizes, source)
    return {
        "policy_state_dict": policy,
        "intrinsic_value_state_dict": value_state(sizes, 1, source),
        "optimizer_state_dict": adam_state(list(policy.values())),
        "ext_value_0_state_dict": value_state(sizes, 1, source),
        "ext_value_1_state_dict": value_state(sizes, 1, source),
        "obs_norm_state_dict": normaliser_state(sizes.observations, source),
        "feat_norm_state_dict": normaliser_state(sizes.features, source),
        "succ_feat_state_dict": value_state(sizes, sizes.features, source),
        "infos": None,
    }


def our_checkpoint(sizes: Sizes = OURS, seed: int = 0) -> dict[str, Any]:
    """Return a checkpoint like those of this project."""
    source = Source(seed)
    return {
        "policy_state_dict": policy_state(sizes, source),
        "obs_norm_state_dict": normaliser_state(sizes.observations, source),
        "iteration": 1500,
        "tot_timesteps": 11_520_000,
    }


LAYOUTS = {
    "position": (POSITION, position_checkpoint),
    "velocity": (VELOCITY, velocity_checkpoint),
    "ours": (OURS, our_checkpoint),
}

SMALL = Sizes(observations=5, hidden=(6, 4), skills=3, features=2, groups=1)
"""Sizes for tests that do not depend on them."""


def small_checkpoint() -> dict[str, Any]:
    """Return a good small checkpoint, to be spoiled."""
    return our_checkpoint(SMALL)


def written(path: Path, content: object) -> Path:
    """Write a file with `torch.save`."""
    torch.save(content, path)
    return path


def small_policy(seed: int = 0) -> MaskedPolicy:
    """Return a policy of a few numbers."""
    source = Source(seed)

    def array(*shape: int) -> np.ndarray:
        return source.normal(*shape).numpy()

    (first, second), inputs, skills = SMALL.hidden, SMALL.observations, SMALL.skills
    return MaskedPolicy(
        mean=array(inputs),
        std=source.positive(inputs).numpy(),
        weights=(array(first, inputs), array(second, first), array(ACTIONS, second)),
        biases=(array(first), array(second), array(ACTIONS)),
        masks=(array(skills, first), array(skills, second)),
        log_std=array(ACTIONS),
    )
