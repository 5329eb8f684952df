"""Execution of skills: observation in, joint targets out, with smooth switches between skills."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.solo12.state import Motion, standing

BLEND_STEPS = 15
"""Policy steps over which one skill blends into another."""
REHEARSAL_STEPS = 20
"""Policy steps of a rehearsal: enough for Python's adaptive interpreter to specialise the code."""


class SkillRunner:
    """Runs the skills of a bundle, one policy step at a time."""

    def __init__(self, bundle: Bundle, skill: int) -> None:
        """Start with a skill, from standing."""
        self._bundle = bundle
        self._layout = LAYOUTS[bundle.contract.task]
        self.skill = skill
        self._weights = self._single(skill)
        self._start_weights = self._weights
        self._blend_step = BLEND_STEPS
        self._action = np.zeros(NUM_JOINTS)
        self.observation = np.zeros(self._layout.size, dtype=np.float32)
        """Observation of the last step."""
        self.excess = 0.0
        """Last observation relative to the training range: 1 at its edge, above 1 outside."""

    def switch(self, skill: int) -> None:
        """Start to blend into another skill, even during another blend."""
        if skill != self.skill:
            self._start_weights = self._weights
            self.skill = skill
            self._blend_step = 0

    def step(self, motion: Motion, command: Array) -> Array:
        """Return the joint targets of the next policy step, (12,) [rad]."""
        inputs = Inputs(motion=motion, previous_action=self._action, command=command)
        observation = self._layout.build(inputs)
        self.observation = observation
        self.excess = self._bundle.excess(observation)
        if self._blend_step == BLEND_STEPS:
            action, target = self._bundle.run_one(observation, self.skill)
            self._action = action.astype(np.float64)
            return target.astype(np.float64)
        self._blend_step += 1
        return self._blend(observation, self._blend_step / BLEND_STEPS)

    def _blend(self, observation: NDArray[np.float32], progress: float) -> Array:
        """Return the weighted mean of two skills, or of more after an interrupted blend."""
        end_weights = self._single(self.skill)
        self._weights = (1.0 - progress) * self._start_weights + progress * end_weights
        self._action = np.zeros(NUM_JOINTS)
        blended = np.zeros(NUM_JOINTS)
        for skill in np.flatnonzero(self._weights).tolist():
            action, target = self._bundle.run_one(observation, skill)
            self._action += self._weights[skill] * action
            blended += self._weights[skill] * target
        return blended

    def _single(self, skill: int) -> Array:
        """Return blending weights with one skill active, (num_skills,)."""
        return np.eye(self._bundle.num_skills)[skill]


def rehearse(bundle: Bundle) -> None:
    """Run some policy steps before the walk: the first steps of a process take twice as long."""
    runner = SkillRunner(bundle, 0)
    setup = CONTROL_SETUPS[bundle.contract.task]
    for _ in range(REHEARSAL_STEPS):
        runner.step(standing(setup, 1)[0], np.array(bundle.contract.command))
