"""Settings of MuJoCo Warp: device, room for contacts, solver."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from solo_doi.common.errors import SoloError, UnknownNameError

Solver = Literal["newton", "cg"]
DEVICE_VARIABLE = "SOLO_WARP_DEVICE"
SOLVER_VARIABLE = "SOLO_WARP_SOLVER"
CONTACTS_VARIABLE = "SOLO_WARP_CONTACTS"
ROWS_VARIABLE = "SOLO_WARP_ROWS"
"""Environment variables of commands, by which the settings below are changed."""
LARGEST_ROOM = 10_000
"""Most contacts and rows for a robot: far more than any ground of boxes needs."""


@dataclass(frozen=True, kw_only=True)
class WarpConfig:
    """Settings of MuJoCo Warp."""

    device: str = "cuda:0"
    """Device that simulates, as Warp names it; `cpu` serves tests and is slow."""
    solver: Solver = "newton"
    """Constraint solver, as in MuJoCo. CG is for models in which Newton gives NaN."""
    contacts: int = 48
    """Contacts for which memory is reserved, per robot on average. A robot that lies flat on the
    ground has 32."""
    rows: int = 128
    """Rows of the constraint Jacobian for which memory is reserved, per robot: three per contact
    and one per joint at its end. Flat ground needs at most 108."""

    def __post_init__(self) -> None:
        """Refuse an unknown solver and reservations out of range."""
        if self.solver not in get_args(Solver):
            raise UnknownNameError("solver of MuJoCo Warp", self.solver, get_args(Solver))
        if not (1 <= self.contacts <= LARGEST_ROOM and 1 <= self.rows <= LARGEST_ROOM):
            raise SoloError(
                f"MuJoCo Warp needs room for contacts and rows, found {self.contacts} and "
                f"{self.rows}: expected 1 to {LARGEST_ROOM} each."
            )

    @property
    def provenance(self) -> dict[str, str]:
        """Settings that affect results, for records: solver, and kind of device without its number.

        Parts of a dataset may be made on several GPUs, and with more memory after an overflow.
        """
        return {"device": self.device.partition(":")[0], "solver": self.solver}


def warp_from_environment() -> WarpConfig:
    """Return the settings of commands: environment variables replace defaults."""
    default = WarpConfig()
    return WarpConfig(
        device=os.environ.get(DEVICE_VARIABLE, default.device),
        solver=os.environ.get(SOLVER_VARIABLE, default.solver),  # type: ignore[arg-type]
        contacts=_count(CONTACTS_VARIABLE, default.contacts),
        rows=_count(ROWS_VARIABLE, default.rows),
    )


def _count(variable: str, default: int) -> int:
    text = os.environ.get(variable, str(default))
    if not text.isdecimal():
        raise SoloError(f"{variable} is {text!r}, expected a whole number such as {default}.")
    return int(text)
