"""Checks of a contract against this version's description of Solo12."""

from __future__ import annotations

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import check_joint_names
from solo_doi.solo12.observation import LAYOUTS

from .contract import ROBOT, BundleError, Contract
from .plausibility import implausible_fields


def check_contract(contract: Contract, where: str) -> None:
    """Refuse a contract that contradicts this version's description of Solo12."""
    try:
        check_joint_names(contract.joint_names, where)
    except SoloError as error:
        raise BundleError(str(error)) from error
    if contract.robot != ROBOT:
        raise BundleError(f"{where}: made for robot {contract.robot!r}, expected {ROBOT!r}.")
    if contract.task not in LAYOUTS:
        raise BundleError(
            f"{where}: made for task {contract.task!r}, expected one of {', '.join(LAYOUTS)}."
        )
    _check_observation(contract, where)
    _check_range(contract.envelope, "envelope", LAYOUTS[contract.task].size, where)
    _check_range(contract.command_range, "command_range", len(contract.command), where)
    fields = implausible_fields(contract)
    if fields:
        values = ", ".join(f"{name} {getattr(contract, name)!r}"[:80] for name in fields)
        raise BundleError(f"{where}: implausible contract fields: {values}. Export it again.")


def _check_observation(contract: Contract, where: str) -> None:
    """Refuse observation terms that differ from those that the controller builds."""
    if contract.history != 1:
        raise BundleError(
            f"{where}: needs the observations of {contract.history} steps, this program supports "
            "1, the current one."
        )
    expected = [(term.name, term.size) for term in LAYOUTS[contract.task].terms]
    found = [(term.get("name"), term.get("size")) for term in contract.observation]
    if found != expected:
        raise BundleError(
            f"{where}: observes {found}, this program builds {expected}. "
            "Export it with this version."
        )


def _check_range(ends: dict[str, tuple[float, ...]], name: str, size: int, where: str) -> None:
    """Refuse a range that does not have `low` and `high` of the same size."""
    sizes = {end: len(values) for end, values in ends.items()}
    if sizes != {"low": size, "high": size}:
        raise BundleError(
            f"{where}: {name} needs low and high with {size} numbers each, found {sizes}. "
            "Export it again."
        )
