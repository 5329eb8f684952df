"""Solo12 in MuJoCo as a robot at 1 kHz, for dry runs where PyBullet cannot be installed."""

from __future__ import annotations

from solo_doi.sim.simulator import SimConfig

from .bullet_solo import BulletSolo
from .mujoco_body import MujocoBody


class MujocoSolo(BulletSolo):
    """The robot of dry runs with MuJoCo's physics; clock, sensors and delay are the same."""

    def _make_body(self, config: SimConfig, *, gui: bool) -> MujocoBody:
        """Return the simulated body; it has no window."""
        return MujocoBody(config)
