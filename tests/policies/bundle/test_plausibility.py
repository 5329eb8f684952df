"""Contracts of the right shapes with implausible numbers: the field is named and refused."""

from __future__ import annotations

import pytest

from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.contract_checks import check_contract
from solo_doi.policies.bundle.plausibility import implausible_fields
from solo_doi.solo12.constants import NUM_JOINTS
from tests.policies.bundles import contract

FAR = (0.0,) * (NUM_JOINTS - 1) + (3.0,)
ABSURD = {
    "kp": (0.0, -5.0, 10.1, 1e9),
    "kd": (-0.1, 0.7),
    "torque_limit": (0.0, 2.6),
    "action_scale": (0.0, -0.25, 1e9),
    "control_dt": (0.0, -0.02, 1e-300, 0.0204, 0.11),
    "motor_lag": ((0.015, 0.02, 0.03), (0.015, -0.01, 0.03)),
    "default_pose": (FAR, ()),
    "position_limit": (FAR, (0.0,) * 11),
    "command": ((1e3, 0.0, 0.0), (1e300, 0.0, 0.0)),
    "envelope": ({"low": (1.0,) * 48, "high": (0.0,) * 48},),
    "skills": (
        ({},),
        ({"skill": "one"},),
        ({"skill": 0, "selected": "no"},),
        ({"skill": 0, "success": "good"},),
    ),
}


def test_exported_contracts_are_plausible() -> None:
    """A success that was not measured is plausible."""
    assert implausible_fields(contract()) == []
    assert (
        implausible_fields(
            contract(skills=({"skill": 0, "success": None}, {"skill": 1, "success": 1}))
        )
        == []
    )


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in ABSURD.items() for value in values]
)
def test_an_absurd_number_is_named(name: str, value: object) -> None:
    """The list contains only this field, and so does the error."""
    absurd = contract(**{name: value})
    assert implausible_fields(absurd) == [name]
    with pytest.raises(BundleError, match=f"implausible contract fields: {name} "):
        check_contract(absurd, "skills.onnx")
