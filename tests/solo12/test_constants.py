"""The numbers: masses and centres of mass, poses, and the table of limits."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.solo12.constants import (
    BODY_NAMES,
    CONTROL_DT,
    CONTROL_SETUPS,
    FOOT_NAMES,
    FOOT_RADIUS,
    JOINT_NAMES,
    MOTOR_LAG,
    PHYSICS_DT,
    TOTAL_MASS,
    ControlSetup,
    link_inertias,
    symmetric_pose,
)
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.limits import (
    DRIVER_LIMITS,
    MECHANICAL_POSITION,
    SAFETY_LIMITS,
    TRAINING_LIMITS,
    VENDOR_CURRENT,
    Limits,
)
from solo_doi.solo12.limits import TORQUE_PER_AMPERE as PER_AMPERE

# DOMiNiC's front-left leg: mass, position of the frame in the base, centre of mass in that frame.
DOMINIC_FRONT_LEFT = {
    "SHOULDER": (0.14196048, (0.2141, 0.0875, 0.0), (-0.09407251, -0.00438935, 0.00001384)),
    "UPPER_LEG": (
        0.14737324,
        (0.2141 - 0.0195, 0.0875 + 0.014, 0.0),
        (0.00001530, 0.01767640, -0.07838230),
    ),
    "LOWER_LEG": (
        0.02318294,
        (0.1946, 0.0875 + 0.014 + 0.03745, -0.16),
        (0.0, 0.00776716, -0.07003876),
    ),
    "FOOT": (0.00693606, (0.1946, 0.0875 + 0.014 + 0.03745 + 0.009, -0.32), (0.0, 0.0, 0.00035767)),
}
# Origins of our frames at zero pose, front left.
OUR_FRONT_LEFT = {
    "SHOULDER": (0.1946, 0.0875, 0.0),
    "UPPER_LEG": (0.1946, 0.0875 + 0.014, 0.0),
    "LOWER_LEG": (0.1946, 0.0875 + 0.014 + 0.03745, -0.16),
    "FOOT": (0.1946, 0.0875 + 0.014 + 0.03745 + 0.008, -0.32),
}
LEGS = {"FL": (1, 1), "FR": (1, -1), "HL": (-1, 1), "HR": (-1, -1)}  # signs of x and y
MIRROR_LEFT_RIGHT = np.array([-1.0, 1.0, 1.0])  # HAA turns about x: it changes sign
MIRROR_FRONT_HIND = np.array([1.0, -1.0, -1.0])  # HFE and KFE turn about y: they do

setups = pytest.mark.parametrize("setup", CONTROL_SETUPS.values(), ids=CONTROL_SETUPS)


def test_joints_are_in_the_order_of_the_hardware() -> None:
    """Every array of 12 numbers has this order; recorded data depend on it."""
    assert (
        *("FL_HAA", "FL_HFE", "FL_KFE"),
        *("FR_HAA", "FR_HFE", "FR_KFE"),
        *("HL_HAA", "HL_HFE", "HL_KFE"),
        *("HR_HAA", "HR_HFE", "HR_KFE"),
    ) == JOINT_NAMES


def test_total_mass_is_that_of_dominic() -> None:
    """One base and four times shoulder, thigh, shank and foot weigh 2.529048 kg."""
    assert sum(link.mass for link in link_inertias().values()) == pytest.approx(2.529048, abs=1e-6)
    assert (
        pytest.approx(
            1.25123725 + 4 * sum(mass for mass, _, _ in DOMINIC_FRONT_LEFT.values()), abs=1e-6
        )
        == TOTAL_MASS
    )


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("part", DOMINIC_FRONT_LEFT)
def test_centres_of_mass_stay_where_dominic_has_them(leg: str, part: str) -> None:
    """The hip frames of the two files differ by 19.5 mm; the mass must not move with the frame."""
    sx, sy = LEGS[leg]
    mass, frame, com = DOMINIC_FRONT_LEFT[part]
    expected = np.add(frame, com) * [sx, sy, 1]
    # One part in four positions, rotated instead of mirrored: 14 um of z change sign.
    if part == "SHOULDER":
        expected[2] = sx * sy * com[2]
    if (
        part == "UPPER_LEG"
    ):  # thighs are left or right, the same in front and behind, and so are 15 um of x
        expected[0] = sx * frame[0] + sy * com[0]
    link = link_inertias()[f"{leg}_{part}"]
    assert link.mass == mass
    np.testing.assert_allclose(
        OUR_FRONT_LEFT[part] * np.array([sx, sy, 1]) + link.com, expected, atol=1e-12
    )


def test_whole_body_centre_of_mass_is_that_of_dominic() -> None:
    """Computed from DOMiNiC's own frames: 30.5 mm below the base's origin at zero pose."""
    masses, places = [1.25123725], [np.array([-0.00082966, 0.00000105, -0.00060210])]
    for sx, sy in LEGS.values():
        for mass, frame, com in DOMINIC_FRONT_LEFT.values():
            masses.append(mass)
            places.append(np.add(frame, com) * [sx, sy, 1])
    expected = np.average(places, axis=0, weights=masses)
    ours = []
    for name, link in link_inertias().items():
        leg, _, part = name.partition("_")
        origin = np.array(OUR_FRONT_LEFT[part]) * [*LEGS[leg], 1] if leg in LEGS else np.zeros(3)
        ours.append(origin + link.com)
    total = np.average(ours, axis=0, weights=[link.mass for link in link_inertias().values()])
    assert expected[2] == pytest.approx(-0.0305, abs=5e-5)
    # The table above mirrors the thighs' 15 um and the shoulders' 14 um, which cancel over the
    # four legs or nearly so.
    np.testing.assert_allclose(total, expected, atol=5e-6)


def test_every_link_has_a_possible_inertia() -> None:
    """Principal moments of a rigid body are positive and satisfy the triangle inequality."""
    for name, link in link_inertias().items():
        xx, xy, xz, yy, yz, zz = link.moments
        small, middle, large = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert small > 0, name
        assert small + middle >= large * 0.99, name  # published to eight digits


def test_contact_bodies_cover_every_link_once() -> None:
    """Contacts of a missing link would not be detected."""
    assert sorted((*FOOT_NAMES, *BODY_NAMES)) == sorted(link_inertias())


@setups
def test_default_poses_are_symmetric(setup: ControlSetup) -> None:
    """No HFE or KFE axis is mirrored in the URDF, so a symmetric stance has these signs."""
    fl, fr, hl, hr = setup.default_pose.reshape(4, 3)
    np.testing.assert_array_equal(fr, fl * MIRROR_LEFT_RIGHT)
    np.testing.assert_array_equal(hl, fl * MIRROR_FRONT_HIND)
    np.testing.assert_array_equal(hr, fl * MIRROR_LEFT_RIGHT * MIRROR_FRONT_HIND)


@setups
def test_default_poses_put_the_feet_on_a_rectangle(setup: ControlSetup) -> None:
    """This checks the signs of the poses."""
    feet = foot_positions(setup.default_pose)
    np.testing.assert_allclose(
        feet, feet[0] * [[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], atol=1e-12
    )


@pytest.mark.parametrize(
    ("task", "height"), [("locomotion", 0.24025 + 0.016), ("navigation", 0.24025 + 0.016)]
)
def test_standing_height_is_leg_height_plus_foot_radius(task: str, height: float) -> None:
    """A robot placed higher drops; one placed lower is pushed up by the contact."""
    setup = CONTROL_SETUPS[task]
    from_kinematics = FOOT_RADIUS - foot_positions(setup.default_pose)[:, 2].mean()
    assert from_kinematics == pytest.approx(height, abs=1e-5)
    assert setup.standing_height == round(from_kinematics, 3)


def test_tasks_have_the_poses_and_gains_of_dominics_walk() -> None:
    """A policy that was trained with one stiffness does not walk with another.

    Navigation starts from the walking expert, so both have its values.
    """
    locomotion, navigation = CONTROL_SETUPS["locomotion"], CONTROL_SETUPS["navigation"]
    np.testing.assert_array_equal(locomotion.default_pose, symmetric_pose(0.05, 0.6, -1.4))
    np.testing.assert_array_equal(navigation.default_pose, locomotion.default_pose)
    assert (locomotion.kp, locomotion.kd) == (5.0, 0.1)
    assert (navigation.kp, navigation.kd) == (5.0, 0.1)


def test_rates_fit_together() -> None:
    """50 Hz control, and a lag of three whole physics steps."""
    assert pytest.approx(1 / 50) == CONTROL_DT
    assert pytest.approx(3) == MOTOR_LAG / PHYSICS_DT


def test_shared_constants_cannot_be_changed() -> None:
    """Otherwise `pose += noise` would change the robot for the whole process."""
    with pytest.raises(ValueError, match="read-only"):
        CONTROL_SETUPS["locomotion"].default_pose[0] = 1.0


@pytest.mark.parametrize(
    ("inner", "outer"),
    [(TRAINING_LIMITS, SAFETY_LIMITS), (SAFETY_LIMITS, DRIVER_LIMITS)],
    ids=["safety", "driver"],
)
def test_limits_lie_inside_one_another(inner: Limits, outer: Limits) -> None:
    """Training limits are inside safety limits, and these inside driver limits."""
    assert (inner.position < outer.position).all()
    assert inner.velocity < outer.velocity
    assert inner.torque < outer.torque
    assert inner.current < outer.current


def test_driver_limits_are_within_the_mechanical_limits() -> None:
    """The outermost limit of the electronics is within the range of every joint."""
    assert DRIVER_LIMITS.position.shape == MECHANICAL_POSITION.shape == (12,)
    assert (DRIVER_LIMITS.position <= MECHANICAL_POSITION).all()


def test_default_poses_are_inside_the_training_limits() -> None:
    """Zero action must give the default pose, not a clamped one."""
    for setup in CONTROL_SETUPS.values():
        assert (np.abs(setup.default_pose) < TRAINING_LIMITS.position).all()


def test_currents_agree_with_torques() -> None:
    """The joint has 0.025 N m/A times gear 9.

    2.5 N m is 11.1 A, our driver limit is 12 A, and the vendor's 8 A gives only 1.8 N m.
    """
    assert pytest.approx(0.225) == PER_AMPERE
    assert TRAINING_LIMITS.current == pytest.approx(2.5 / 0.225)
    assert round(TRAINING_LIMITS.current, 1) == 11.1
    assert DRIVER_LIMITS.current == pytest.approx(12.0)
    assert pytest.approx(1.8) == VENDOR_CURRENT * PER_AMPERE
    assert TRAINING_LIMITS.current > VENDOR_CURRENT
