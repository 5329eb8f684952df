"""Mirror loss: skills act on mirrored observations as their partners act on the originals."""

from __future__ import annotations

import torch
from torch import Tensor

from solo_doi.policies.masked_policy import NORMALISER_FLOOR
from solo_doi.solo12.mirror import mirrored_joints, mirrored_layout
from solo_doi.solo12.observation import Layout

from .networks import GaussianPolicy, Normaliser

SHARE = 4
"""One sample in this many is used. The loss is smooth, and a sample costs two policy passes."""


class MirrorLoss:
    """Mean squared difference between actions and the partner's mirrored actions."""

    def __init__(self, layout: Layout, num_skills: int, *, pairs: bool) -> None:
        """Give every skill its partner: itself, or with `pairs` 0 itself, 1 and 2, 3 and 4.

        A skill that is left over is its own partner.
        """
        place, sign = mirrored_layout(layout)
        self._place = torch.from_numpy(place)
        self._sign = torch.from_numpy(sign).float()
        joints, signs = mirrored_joints()
        self._joints = torch.from_numpy(joints)
        self._joint_sign = torch.from_numpy(signs).float()
        partner = list(range(num_skills))
        if pairs:
            for first in range(1, num_skills - 1, 2):
                partner[first], partner[first + 1] = first + 1, first
        self.partner = torch.tensor(partner)

    def __call__(
        self, policy: GaussianPolicy, normaliser: Normaliser, observation: Tensor, skill: Tensor
    ) -> Tensor:
        """Return the loss of normalised observations (B, observation) under skills (B,)."""
        observation = observation[::SHARE]
        skill = skill[::SHARE]
        scale = normaliser.var.sqrt() + NORMALISER_FLOOR
        raw = observation * scale + normaliser.mean
        image = normaliser(self._sign * raw[:, self._place])
        action = policy(observation, skill)
        expected = self._joint_sign * action[:, self._joints]
        return (policy(image, self.partner[skill]) - expected).square().mean()
