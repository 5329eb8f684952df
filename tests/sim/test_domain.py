"""Physics per robot: nominal values, selection, and implausible values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain
from solo_doi.sim.domain import NOMINAL, PLAUSIBLE


def test_nominal_is_the_robot_without_randomisation() -> None:
    """Friction 1, no added mass, 15 ms of lag, no rotor inertia, gains as configured."""
    domain = Domain.nominal(2)
    assert {name: getattr(domain, name).tolist() for name in NOMINAL} == {
        "friction": [1.0, 1.0],
        "added_mass": [0.0, 0.0],
        "motor_lag": [0.015, 0.015],
        "armature": [0.0, 0.0],
        "kp_scale": [1.0, 1.0],
        "kd_scale": [1.0, 1.0],
    }


def test_every_field_has_a_nominal_value_and_a_range_around_it() -> None:
    """A new field without them would be neither checked nor recorded."""
    assert set(NOMINAL) == set(PLAUSIBLE) == set(vars(Domain.nominal(1)))
    assert all(low <= NOMINAL[name] <= high for name, (low, high) in PLAUSIBLE.items())


def test_keywords_replace_single_fields() -> None:
    """A keyword has one number for all robots, or one for each."""
    domain = Domain.nominal(3, friction=0.5, added_mass=np.array([0.0, 0.1, 0.2]))
    assert domain.friction.tolist() == [0.5, 0.5, 0.5]
    assert domain.added_mass.tolist() == [0.0, 0.1, 0.2]
    assert domain.motor_lag.tolist() == [0.015] * 3


def test_replacing_some_robots_leaves_the_original() -> None:
    """Trajectories store their domain, which a later draw must not change."""
    before = Domain.nominal(4)
    after = before.replaced(np.array([1, 3]), Domain.nominal(2, friction=np.array([0.3, 0.4])))
    assert after.friction.tolist() == [1.0, 0.3, 1.0, 0.4]
    assert before.friction.tolist() == [1.0] * 4
    assert len(after) == 4


@pytest.mark.parametrize("index", [np.array([0, 2]), slice(0, 3, 2), np.array([True, False, True])])
def test_robots_are_selected_by_index_slice_and_mask(index: object) -> None:
    """Records of finished episodes contain their domains."""
    domain = Domain.nominal(3, friction=np.array([0.1, 0.2, 0.3]))
    assert domain[index].friction.tolist() == [0.1, 0.3]


@pytest.mark.parametrize("name", PLAUSIBLE)
@pytest.mark.parametrize("what", ["below", "above", "nan"])
def test_an_implausible_value_names_robot_field_and_range(name: str, what: str) -> None:
    """Examples are friction 50, and a lag in milliseconds."""
    low, high = PLAUSIBLE[name]
    values = np.full(3, NOMINAL[name])
    values[2] = {"below": low - 0.01, "above": high + 0.01, "nan": np.nan}[what]
    with pytest.raises(
        SoloError, match=rf"field '{name}' of robot 2 is .*, expected {low} to {high}"
    ):
        Domain.nominal(3, **{name: values})


def test_unknown_fields_are_refused() -> None:
    """A misspelt name must not leave the nominal value in place."""
    with pytest.raises(
        SoloError, match=r"Unknown domain fields \['fricton'\]. Known: friction, added_mass"
    ):
        Domain.nominal(1, fricton=0.5)


def test_fields_of_different_lengths_are_refused() -> None:
    """Each robot has every parameter."""
    with pytest.raises(
        SoloError, match=r"must all have shape \(robots,\), found .*'friction': \(2,\)"
    ):
        replace(Domain.nominal(3), friction=np.ones(2))
