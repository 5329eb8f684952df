"""Everything random in an episode, drawn from the episode's own seed.

An episode simulated alone, or in any batch on any machine, gets the same numbers: datasets can be made in
parts, and a stored trajectory can be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.solo12.constants import CONTROL_DT, NUM_JOINTS
from solo_doi.solo12.observation import Layout
from solo_doi.solo12.state import Motion

from .locomotion import initial_motion
from .randomisation import Randomisation

Seed = tuple[int, int, int]
"""Seed of the dataset, number of its source, number of the episode."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """The random numbers of N episodes of T control steps."""

    domain: Domain
    motion: Motion
    """Where the robots start, (N,)."""
    bias: np.ndarray  # (N, observation) constant error of the sensors
    noise: np.ndarray  # (T + 1, N, observation) observation noise
    action: np.ndarray  # (T, N, 12) standard normal, for policies that explore
    kick: np.ndarray  # (T, N, 6) change of the base's velocities by pushes, mostly zero


def draw_episodes(
    seeds: Sequence[Seed],
    standing: np.ndarray,
    steps: int,
    preset: Randomisation,
    layout: Layout,
    fixed: frozenset[str] = frozenset(),
) -> Draws:
    """Draw each episode from its own seed; `standing` (N,) says which start from the standing pose."""
    rows = [
        _draw(np.random.default_rng(seed), bool(stand), steps, preset, layout)
        for seed, stand in zip(seeds, standing, strict=True)
    ]
    domains, motions, biases, noises, actions, kicks = zip(*rows, strict=True)
    nominal = {name: value for name, value in NOMINAL.items() if name in fixed}
    return Draws(
        domain=Domain(
            **{
                name: np.array([nominal.get(name, domain[name]) for domain in domains])
                for name in NOMINAL
            }
        ),
        motion=Motion(
            **{
                name: np.concatenate([getattr(m, name) for m in motions])
                for name in vars(motions[0])
            }
        ),
        bias=np.stack(biases),
        noise=np.stack(noises, axis=1),
        action=np.stack(actions, axis=1),
        kick=np.stack(kicks, axis=1),
    )


def _draw(
    rng: np.random.Generator, standing: bool, steps: int, preset: Randomisation, layout: Layout
) -> tuple[dict[str, float], Motion, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    domain = {
        name: rng.uniform(*preset.domain.get(name, (value, value)))
        for name, value in NOMINAL.items()
    }
    motion = initial_motion(1, float(standing), rng)
    bias = preset.draw_bias(1, layout, rng)[0]
    noise = np.zeros((steps + 1, layout.size), dtype=np.float32)
    if preset.observation_noise:
        noise = (2 * rng.random((steps + 1, layout.size), dtype=np.float32) - 1) * layout.noise
    action = rng.standard_normal((steps, NUM_JOINTS), dtype=np.float32)
    pushed = rng.random((steps, 1)) < CONTROL_DT / preset.push_interval
    kick = pushed * rng.uniform(-preset.push_velocity, preset.push_velocity, (steps, 6))
    return domain, motion, bias, noise, action, kick
