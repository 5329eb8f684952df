"""A skill at work: observation in, joint targets out, smooth from one skill to another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.solo12.state import Motion, standing

BLEND_STEPS = 15
"""Policy steps over which one skill hands over to another."""
REHEARSAL_STEPS = 20
"""As many as Python needs until it has seen which types its functions get, and some."""


class Walker:
    """Runs the skills of a bundle, one policy step at a time."""

    def __init__(self, bundle: Bundle, skill: int) -> None:
        """Start with a skill, as from standing."""
        self._bundle = bundle
        self._layout = LAYOUTS[bundle.contract.task]
        self.skill = skill
        self._start = self._shares = self._alone(skill)
        self._steps = BLEND_STEPS
        self._action = np.zeros(NUM_JOINTS)
        self.observation = np.zeros(self._layout.size, dtype=np.float32)
        """What the last step saw."""
        self.excess = 0.0

    def switch(self, skill: int) -> None:
        """Hand over to another skill."""
        if skill != self.skill:
            self._start, self.skill, self._steps = (
                self._shares,
                skill,
                0,
            )  # maybe in the midst of another hand-over

    def step(self, motion: Motion, command: Array) -> Array:
        """Return the joint targets of the next policy step, (12,)."""
        inputs = Inputs(motion=motion, previous_action=self._action, command=command)
        observation = self.observation = self._layout.build(inputs)
        self.excess = self._bundle.excess(observation)
        if self._steps == BLEND_STEPS:
            action, wished = self._bundle.run_one(observation, self.skill)
            self._action = action.astype(np.float64)
            return wished.astype(np.float64)
        self._steps += 1
        return self._blend(observation, self._steps / BLEND_STEPS)

    def _blend(self, observation: NDArray[np.float32], done: float) -> Array:
        """Let two skills, or more if one hand-over interrupted another, walk together."""
        self._shares = (1.0 - done) * self._start + done * self._alone(self.skill)
        self._action, target = np.zeros(NUM_JOINTS), np.zeros(NUM_JOINTS)
        for skill in np.flatnonzero(self._shares).tolist():
            action, wished = self._bundle.run_one(observation, skill)
            self._action += self._shares[skill] * action
            target += self._shares[skill] * wished
        return target

    def _alone(self, skill: int) -> Array:
        """Shares of the skills when one of them has the robot for itself."""
        return np.eye(self._bundle.num_skills)[skill]


def rehearse(bundle: Bundle) -> None:
    """Take a few steps that nobody follows: the first of a process takes twice as long as any other."""
    walker, setup = Walker(bundle, 0), CONTROL_SETUPS[bundle.contract.task]
    for _ in range(REHEARSAL_STEPS):
        walker.step(standing(setup, 1)[0], np.array(bundle.contract.command))
