"""The numbers: masses and centres of mass, poses, and the one table of limits."""

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
    DRIVER,
    MECHANICAL_POSITION,
    SAFETY,
    TRAINING,
    VENDOR_CURRENT,
    Limits,
)
from solo_doi.solo12.limits import TORQUE_PER_AMPERE as PER_AMPERE

# DOMiNiC's front-left leg: mass, where its file puts the frame in the base, centre of mass in that
# frame.
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
# Where the origins of our frames lie at zero pose, front left.
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
    """Every array of 12 numbers means these joints in this order; recorded data depends on it."""
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
    """The two files' hip frames differ by 19.5 mm: the mass must not move with the frame."""
    sx, sy = LEGS[leg]
    mass, frame, com = DOMINIC_FRONT_LEFT[part]
    expected = np.add(frame, com) * [sx, sy, 1]
    if part == "SHOULDER":  # one part in four places, turned, not mirrored: 14 um of z change sign
        expected[2] = sx * sy * com[2]
    if (
        part == "UPPER_LEG"
    ):  # thighs are left or right, the same in front and behind: so are 15 um of x
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
    """A link missing here could touch the ground unseen."""
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
    """The signs above are right only if the feet come out mirrored too."""
    feet = foot_positions(setup.default_pose)
    np.testing.assert_allclose(
        feet, feet[0] * [[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], atol=1e-12
    )


@pytest.mark.parametrize(
    ("task", "height"), [("locomotion", 0.24025 + 0.016), ("navigation", 0.22627 + 0.016)]
)
def test_standing_height_is_leg_height_plus_foot_radius(task: str, height: float) -> None:
    """A robot placed higher drops, one placed lower is shot up by the contact."""
    setup = CONTROL_SETUPS[task]
    from_kinematics = FOOT_RADIUS - foot_positions(setup.default_pose)[:, 2].mean()
    assert from_kinematics == pytest.approx(height, abs=1e-5)
    assert setup.standing_height == round(from_kinematics, 3)


def test_tasks_have_the_poses_and_gains_of_dominic() -> None:
    """A policy trained with one stiffness does not walk with another."""
    locomotion, navigation = CONTROL_SETUPS["locomotion"], CONTROL_SETUPS["navigation"]
    np.testing.assert_array_equal(locomotion.default_pose, symmetric_pose(0.05, 0.6, -1.4))
    np.testing.assert_array_equal(navigation.default_pose, symmetric_pose(0, np.pi / 4, -np.pi / 2))
    assert (locomotion.kp, locomotion.kd) == (5.0, 0.1)
    assert (navigation.kp, navigation.kd) == (2.5, 0.1)


def test_rates_fit_together() -> None:
    """50 Hz control, and a lag of three whole physics steps."""
    assert pytest.approx(1 / 50) == CONTROL_DT
    assert pytest.approx(3) == MOTOR_LAG / PHYSICS_DT


def test_shared_constants_cannot_be_changed() -> None:
    """One `pose += noise` would otherwise change the robot for the whole process."""
    with pytest.raises(ValueError, match="read-only"):
        CONTROL_SETUPS["locomotion"].default_pose[0] = 1.0


@pytest.mark.parametrize(
    ("inner", "outer"), [(TRAINING, SAFETY), (SAFETY, DRIVER)], ids=["safety", "driver"]
)
def test_limits_lie_inside_one_another(inner: Limits, outer: Limits) -> None:
    """Training limits are inside safety limits, and these inside driver limits."""
    assert (inner.position < outer.position).all()
    assert inner.velocity < outer.velocity
    assert inner.torque < outer.torque
    assert inner.current < outer.current


def test_driver_stops_before_the_metal_does() -> None:
    """The outermost limit that electronics know is within the joints' range, joint by joint."""
    assert DRIVER.position.shape == MECHANICAL_POSITION.shape == (12,)
    assert (DRIVER.position <= MECHANICAL_POSITION).all()


def test_default_poses_are_inside_the_training_limits() -> None:
    """Zero action must ask for the default pose, not for a clamped one."""
    for setup in CONTROL_SETUPS.values():
        assert (np.abs(setup.default_pose) < TRAINING.position).all()


def test_currents_agree_with_torques() -> None:
    """0.025 N m/A times gear 9.

    2.5 N m is 11.1 A, our driver limit 12 A, and the vendor's 8 A only 1.8 N m.
    """
    assert pytest.approx(0.225) == PER_AMPERE
    assert TRAINING.current == pytest.approx(2.5 / 0.225)
    assert round(TRAINING.current, 1) == 11.1
    assert DRIVER.current == pytest.approx(12.0)
    assert pytest.approx(1.8) == VENDOR_CURRENT * PER_AMPERE
    assert TRAINING.current > VENDOR_CURRENT
