"""Ground: flat, or with upright boxes that differ from robot to robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.solo12.constants import Array

# [DOMiNiC] "boxes" tiles: five per robot, sides 0.8 to 2 m, up to 0.245 m high.
BOXES_PER_ROBOT = 5
BOX_SIDE = (0.8, 2.0)
BOX_HEIGHT = (0.05, 0.245)
BOX_PLACE = (1.9, 4.0)
"""Distance from a robot's start to the centre of a box [m].
At 1.9 m, the corner of a 2 m box on the diagonal is 0.34 m away in x and y; feet reach 0.3 m."""


@dataclass(frozen=True)
class Terrain:
    """Ground at height zero plus K boxes per robot, sides along x and y."""

    centre: Array  # (N, K, 2) [m]
    size: Array  # (N, K, 3) full side lengths and height [m]

    def __post_init__(self) -> None:
        """Refuse wrong shapes, non-finite places and boxes without volume."""
        if self.centre.shape != (*self.size.shape[:2], 2) or self.size.shape[2:] != (3,):
            raise SoloError(
                f"Terrain needs centres (robots, boxes, 2) and sizes (robots, boxes, 3), "
                f"found {self.centre.shape} and {self.size.shape}."
            )
        bad = ~(
            np.isfinite(self.centre).all(-1)
            & (self.size > 0).all(-1)
            & np.isfinite(self.size).all(-1)
        )
        if bad.any():
            robot, box = np.argwhere(bad)[0]
            raise SoloError(
                f"Terrain box {box} of robot {robot} has centre {self.centre[robot, box]} and size "
                f"{self.size[robot, box]}: expected finite numbers and sides above zero."
            )

    @property
    def num_robots(self) -> int:
        """Number of robots, each with its own boxes."""
        return self.size.shape[0]

    @property
    def num_boxes(self) -> int:
        """Number of boxes of each robot."""
        return self.size.shape[1]

    @classmethod
    def flat(cls, num_robots: int) -> Self:
        """Ground without boxes."""
        return cls(np.zeros((num_robots, 0, 2)), np.zeros((num_robots, 0, 3)))

    @classmethod
    def random_boxes(cls, num_robots: int, rng: np.random.Generator) -> Self:
        """Five boxes around every robot, none where it starts."""
        shape = (num_robots, BOXES_PER_ROBOT)
        angle = rng.uniform(-np.pi, np.pi, shape)
        radius = rng.uniform(*BOX_PLACE, shape)
        sides = rng.uniform(*BOX_SIDE, (*shape, 2))
        height = rng.uniform(*BOX_HEIGHT, (*shape, 1))
        centre = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return cls(centre, np.concatenate([sides, height], axis=-1))

    def height(self, points_w: Array) -> Array:
        """Exact height of the ground (N, P) [m] under world points (N, P, 2)."""
        x = points_w[..., 0]
        y = points_w[..., 1]
        heights = np.zeros(x.shape)
        # Box by box: one array over points and boxes is slower.
        for box in range(self.num_boxes):
            side_x, side_y, height = self.size[:, box].T
            box_x, box_y = self.centre[:, box].T
            inside = np.abs(x - box_x[:, None]) <= side_x[:, None] / 2
            inside &= np.abs(y - box_y[:, None]) <= side_y[:, None] / 2
            np.maximum(heights, np.where(inside, height[:, None], 0.0), out=heights)
        return heights


def make_terrain(name: str, num_robots: int, rng: np.random.Generator) -> Terrain:
    """Return a terrain by name."""
    if name == "flat":
        return Terrain.flat(num_robots)
    if name == "boxes":
        return Terrain.random_boxes(num_robots, rng)
    raise UnknownNameError("terrain", name, ("flat", "boxes"))
