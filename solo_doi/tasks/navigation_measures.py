"""Measures of the navigation task: target reached, and route round or over the box."""

from __future__ import annotations

import numpy as np

from .declarations import Episodes, Measure
from .navigation_rewards import REACHED, distance

ROUTES = ("left", "right", "over", "stuck")


def reached(episodes: Episodes) -> np.ndarray:
    """Return which robots are at the target at the end without a fall, (N,)."""
    return (final_distance(episodes) < REACHED) & ~episodes.fallen.any(0)


def final_distance(episodes: Episodes) -> np.ndarray:
    """Return the distance to the target at the end [m], (N,)."""
    return distance(episodes.position_w[-1], episodes.command)


def route(episodes: Episodes) -> np.ndarray:
    """Return the route of every robot as index into `ROUTES`, (N,).

    It is read where the base passes the middle of the first box: beside it, left or right, or over
    it. A robot that never passes is stuck.
    """
    middle = episodes.terrain.centre[:, 0]
    half_width = episodes.terrain.size[:, 0, 1] / 2
    passed = episodes.position_w[..., 0] > middle[:, 0]
    first = passed.argmax(axis=0)
    robots = np.arange(len(first))
    beside = episodes.position_w[first, robots, 1] - middle[:, 1]
    routes = np.where(np.abs(beside) <= half_width, 2, np.where(beside > 0, 0, 1))
    return np.where(passed.any(axis=0), routes, 3)


def _took(name: str) -> Measure:
    index = ROUTES.index(name)
    side = "over the box" if name == "over" else f"{name} of the box"
    meaning = f"share of episodes that pass {side}, by the base at the box's middle"
    return Measure(name, name, meaning, lambda episodes: route(episodes) == index)


SUCCESS = Measure(
    "success",
    "reached",
    f"share of episodes that end within {REACHED:g} m of the target, without a fall",
    reached,
)
DISTANCE = Measure(
    "distance", "distance at the end [m]", "distance to the target at the end [m]", final_distance
)
LEFT = _took("left")
RIGHT = _took("right")
OVER = _took("over")
