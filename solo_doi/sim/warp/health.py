"""Health of simulated robots: divergence, and contacts that did not fit into reserved memory."""

from __future__ import annotations

import mujoco_warp as mjw
import numpy as np

from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import SimulationError
from solo_doi.sim.warp_config import CONTACTS_VARIABLE, ROWS_VARIABLE, SOLVER_VARIABLE, WarpConfig
from solo_doi.solo12.constants import Array

_CONTACTS = mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE | mjw.OverflowType.CCD
_LIMIT_REACHED = mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS
"""Not an error: C MuJoCo continues with the last iteration, too."""


def check_health(health: Array, domain: Domain, settings: WarpConfig) -> None:
    """Raise if a robot diverged or lost contacts; `health` (N, 4) as `packed_state` has it."""
    diverged, flags, rows, contacts = health.T
    flags = flags.astype(np.int64) & ~int(_LIMIT_REACHED)
    short = np.flatnonzero(flags & int(mjw.OverflowType.NEFC))
    if short.size:
        robot = short[np.argmax(rows[short])]
        raise SimulationError(
            f"Robot {robot} needed {rows[robot]:.0f} constraint rows in MuJoCo Warp and "
            f"{settings.rows} are reserved, so contacts were dropped. "
            f"Set {ROWS_VARIABLE} (`WarpConfig.rows`) to {rows[robot]:.0f} or more."
        )
    if (flags & int(_CONTACTS)).any():
        needed = int(np.ceil(contacts.max() / len(health)))
        raise SimulationError(
            f"The {len(health)} robots needed memory for more than {settings.contacts} contacts "
            "each on average in MuJoCo Warp, so contacts were dropped. "
            f"Set {CONTACTS_VARIABLE} (`WarpConfig.contacts`) to "
            f"{max(needed, settings.contacts + 1)} or more."
        )
    if flags.any():
        robot = np.argmax(flags != 0)
        raise SimulationError(
            f"MuJoCo Warp dropped part of the physics of robot {robot}: "
            f"{mjw.OverflowType(int(flags[robot]))!r}."
        )
    if diverged.any():
        robot = np.argmax(diverged)
        advice = f"or set {SOLVER_VARIABLE}=cg, since the Newton solver of MuJoCo Warp can fail"
        if settings.solver == "cg":
            advice = "targets and the physics step"
        raise SimulationError(
            f"The physics of robot {robot} diverged: check its domain {domain[[robot]]}, {advice}."
        )
