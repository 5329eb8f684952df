"""Masses and rotor inertias of robots, and what MuJoCo derives from them."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from solo_doi.sim.domain import Domain
from solo_doi.solo12.constants import BASE_NAME, Array


class BaseInertia:
    """Inertia of a base with added mass.

    C MuJoCo derives constants, robot by robot: its result has double precision and leaves other
    robots unchanged. MuJoCo Warp's own function computes all robots again.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        """Copy the model, which has nominal masses."""
        self._model = copy.copy(model)
        self._data = mujoco.MjData(self._model)
        base = model.body(BASE_NAME).id
        self._base = base
        self._mass = float(model.body_mass[base])
        self._inertia = model.body_inertia[base].copy()

    def mass(self, domain: Domain) -> Array:
        """Mass of each robot's base, (N,) [kg]."""
        return self._mass + domain.added_mass

    def inertia(self, domain: Domain) -> Array:
        """Inertia of each robot's base, in proportion to its mass, (N, 3) [kg m^2]."""
        return self._inertia * (self.mass(domain) / self._mass)[:, None]

    def derived_constants(self, domain: Domain) -> Array:
        """Masses of subtrees and inverse weights of bodies and joints, (N, columns)."""
        model = self._model
        rows = []
        for mass, inertia, armature in zip(
            self.mass(domain), self.inertia(domain), domain.armature, strict=True
        ):
            model.body_mass[self._base] = mass
            model.body_inertia[self._base] = inertia
            model.dof_armature[6:] = armature
            mujoco.mj_setConst(model, self._data)
            weights = (model.body_invweight0.ravel(), model.dof_invweight0)
            rows.append(np.concatenate([model.body_subtreemass, *weights]))
        return np.array(rows)
