"""Ground: flat, or with upright boxes that differ from robot to robot and between episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import Array

SOLID_HEIGHT = 1.0
"""Height of the solid of every box [m]. Its lower part is below the ground, so that engines that
cannot resize a solid change the height of a box by its place alone."""
FAR_AWAY = 50.0
"""Coordinate x of the centre of a box that an episode does not use [m]."""


@dataclass(frozen=True)
class Terrain:
    """Ground at height zero plus K boxes per robot, sides along x and y."""

    centre: Array  # (N, K, 2) [m]
    size: Array  # (N, K, 3) full side lengths and height [m]

    def __post_init__(self) -> None:
        """Refuse wrong shapes, non-finite places, boxes without volume and too high boxes."""
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
        if (self.size[..., 2] > SOLID_HEIGHT).any():
            robot, box = np.argwhere(self.size[..., 2] > SOLID_HEIGHT)[0]
            raise SoloError(
                f"Terrain box {box} of robot {robot} is {self.size[robot, box, 2]} m high: "
                f"expected at most {SOLID_HEIGHT:g} m."
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

    def __getitem__(self, robots: np.ndarray) -> Self:
        """Return the terrain of some robots."""
        return type(self)(self.centre[robots], self.size[robots])

    def replaced(self, robots: np.ndarray, other: Terrain) -> Self:
        """Return this terrain with that of some robots replaced by `other`."""
        centre = self.centre.copy()
        size = self.size.copy()
        centre[robots] = other.centre
        size[robots] = other.size
        return type(self)(centre, size)

    @property
    def solid_size(self) -> Array:
        """Side lengths and height of the solids, (N, K, 3) [m]."""
        size = self.size.copy()
        size[..., 2] = SOLID_HEIGHT
        return size

    @property
    def solid_centre(self) -> Array:
        """Centres of the solids, (N, K, 3) [m]."""
        height = self.size[..., 2:] - SOLID_HEIGHT / 2
        return np.concatenate([self.centre, height], axis=-1)

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
