"""All random numbers of an episode, drawn beforehand from the episode's own seed.

An episode simulated alone, or in any batch on any machine, gets the same numbers. So datasets can
be made in parts, and a stored trajectory can be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from solo_doi.sim.domain import Domain
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.observation import Layout
from solo_doi.solo12.state import Motion

from .randomisation import Randomisation

Seed = tuple[int, int, int]
"""Seed of the dataset, number of its source, number of the episode."""
PerRobot = TypeVar("PerRobot", Domain, Motion)


class TaskDeclaration(Protocol):
    """Part of a task's class that draws depend on."""

    layout: ClassVar[Layout]
    joint_names: ClassVar[tuple[str, ...]]
    randomised: ClassVar[bool]

    @staticmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw start motions."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """The random numbers of N episodes of T control steps."""

    domain: Domain
    motion: Motion
    """Motion in which the robots start, (N,)."""
    bias: np.ndarray  # (N, observation) constant error of the sensors
    noise: np.ndarray  # (T + 1, N, observation) observation noise
    action: np.ndarray  # (T, N, actions) for policies that explore: standard normal, or in [-1, 1]
    kick: np.ndarray  # (T, N, 6) change of base velocity by pushes [m/s, rad/s], mostly zero


def draw_episodes(
    task: type[TaskDeclaration],
    seeds: Sequence[Seed],
    standing: np.ndarray,
    steps: int,
    preset: Randomisation,
    fixed: frozenset[str] = frozenset(),
) -> Draws:
    """Draw each episode from its own seed.

    Robots with `standing` (N,) start from the standing pose. Domain fields in `fixed` stay nominal.
    """
    if not task.randomised:
        return _draw_starts(task, seeds, steps)
    rows = []
    for seed, stands in zip(seeds, standing, strict=True):
        rng = np.random.default_rng(seed)
        rows.append(_draw_episode(task, rng, bool(stands), steps, preset, fixed))
    return Draws(
        domain=_joined([row.domain for row in rows]),
        motion=_joined([row.motion for row in rows]),
        bias=np.concatenate([row.bias for row in rows]),
        noise=np.stack([row.noise for row in rows], axis=1),
        action=np.stack([row.action for row in rows], axis=1),
        kick=np.stack([row.kick for row in rows], axis=1),
    )


def _draw_starts(task: type[TaskDeclaration], seeds: Sequence[Seed], steps: int) -> Draws:
    """Draw episodes whose starts and actions alone are random; actions evenly from [-1, 1]."""
    motions = []
    actions = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        motions.append(task.initial_motion(1, 0.0, rng))
        drawn = rng.random((steps, len(task.joint_names)), dtype=np.float32)
        actions.append(2 * drawn - 1)
    count = len(seeds)
    size = task.layout.size
    nothing = np.zeros((), dtype=np.float32)
    return Draws(
        domain=Domain.nominal(count),
        motion=_joined(motions),
        bias=np.zeros((count, size), dtype=np.float32),
        # Views without memory: episodes may be many and short.
        noise=np.broadcast_to(nothing, (steps + 1, count, size)),
        action=np.stack(actions, axis=1),
        kick=np.broadcast_to(nothing, (steps, count, 6)),
    )


def _draw_episode(
    task: type[TaskDeclaration],
    rng: np.random.Generator,
    standing: bool,
    steps: int,
    preset: Randomisation,
    fixed: frozenset[str],
) -> Draws:
    """Draw one episode; arrays over steps have no dimension of robots yet.

    The order of the draws defines the datasets: do not change it.
    """
    layout = task.layout
    domain = preset.draw_domain(1, rng, fixed)
    motion = task.initial_motion(1, float(standing), rng)
    bias = preset.draw_bias(1, layout, rng)
    noise = np.zeros((steps + 1, layout.size), dtype=np.float32)
    if preset.observation_noise:
        noise = layout.draw_noise((steps + 1,), rng)
    action = rng.standard_normal((steps, NUM_JOINTS), dtype=np.float32)
    pushed = preset.draw_pushed((steps, 1), rng)
    kick = pushed * preset.draw_push_velocity((steps, 6), rng)
    return Draws(domain=domain, motion=motion, bias=bias, noise=noise, action=action, kick=kick)


def _joined(parts: Sequence[PerRobot]) -> PerRobot:
    """Concatenate the arrays of all parts, field by field."""
    arrays = {}
    for field in fields(parts[0]):
        arrays[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
    return type(parts[0])(**arrays)
