"""A skill at work: observation in, joint targets out, smooth from one skill to another."""

from __future__ import annotations

import numpy as np

from solo_doi.policies.bundle import Bundle
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.solo12.state import Motion

BLEND_STEPS = 15
"""Policy steps over which one skill hands over to another."""


class Walker:
    """Runs the skills of a bundle, one policy step at a time."""

    def __init__(self, bundle: Bundle, skill: int) -> None:
        """Start with a skill, as from standing."""
        self._bundle = bundle
        self._layout = LAYOUTS[bundle.contract.task]
        self.skill = self._before = skill
        self._share = 1.0
        self._action = np.zeros(NUM_JOINTS)
        self.excess = 0.0

    def switch(self, skill: int) -> None:
        """Hand over to another skill."""
        if skill != self.skill:
            self._before, self.skill, self._share = self.skill, skill, 0.0

    def step(self, motion: Motion, command: Array) -> Array:
        """Return the joint targets of the next policy step, (12,)."""
        inputs = Inputs(motion=motion, previous_action=self._action, command=command)
        observation = self._layout.build(inputs)
        self.excess = self._bundle.excess(observation)
        skills = np.array([self.skill, self._before] if self._share < 1.0 else [self.skill], dtype=np.int64)
        actions, targets = self._bundle.run(np.tile(observation, (len(skills), 1)), skills)
        if len(skills) == 1:
            self._action = actions[0].astype(np.float64)
            return targets[0].astype(np.float64)
        self._share = min(1.0, self._share + 1.0 / BLEND_STEPS)
        shares = np.array([self._share, 1.0 - self._share])
        self._action = shares @ actions
        return shares @ targets
