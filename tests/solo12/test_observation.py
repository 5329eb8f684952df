"""Observations: layout, noise, clipping and the height scan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.observation import LAYOUTS, Inputs, Layout, scan_points
from solo_doi.solo12.rotations import from_rpy, projected_gravity
from solo_doi.solo12.state import Motion

# Position of each term and amplitude of its training noise, as published with DOMiNiC.
PUBLISHED = {
    "locomotion": [
        ("linear_velocity", 0, 3, 0.2),
        ("angular_velocity", 3, 6, 0.2),
        ("joint_position", 6, 18, 0.05),
        ("joint_velocity", 18, 30, 1.0),
        ("gravity", 30, 33, 0.1),
        ("previous_action", 33, 45, 0.0),
        ("command", 45, 48, 0.0),
    ],
    "navigation": [
        ("linear_velocity", 0, 3, 0.2),
        ("angular_velocity", 3, 6, 0.2),
        ("joint_position", 6, 18, 0.05),
        ("joint_velocity", 18, 30, 0.5),
        ("gravity", 30, 33, 0.1),
        ("height_scan", 33, 154, 0.02),
        ("previous_action", 154, 166, 0.0),
        ("target", 166, 170, 0.05),
        ("time_left", 170, 171, 0.0),
    ],
}

tasks = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def random_inputs(*leading: int, seed: int = 0) -> Inputs:
    """Return inputs of every term with any leading dimensions, all numbers different."""
    rng = np.random.default_rng(seed)

    def draw(size: int) -> np.ndarray:
        return rng.uniform(-0.3, 0.3, (*leading, size))

    return Inputs(
        motion=Motion(
            base_position_w=draw(3),
            base_quaternion=from_rpy(*np.moveaxis(draw(3), -1, 0)),
            linear_velocity_b=draw(3),
            angular_velocity_b=draw(3),
            joint_position=draw(12),
            joint_velocity=draw(12),
        ),
        previous_action=draw(12),
        command=draw(3),
        scan_height=draw(121),
        target=draw(4),
        time_left=draw(1),
    )


@pytest.mark.parametrize(("task", "size"), [("locomotion", 48), ("navigation", 171)])
def test_terms_lie_where_published(task: str, size: int) -> None:
    """Published checkpoints expect these positions."""
    layout = LAYOUTS[task]
    assert [
        (term.name, layout.slices[term.name].start, layout.slices[term.name].stop, term.noise)
        for term in layout.terms
    ] == PUBLISHED[task]
    assert layout.size == size
    assert layout.build(random_inputs(7)).shape == (7, size)


@tasks
def test_values_lie_in_their_slices(layout: Layout) -> None:
    """Each number has the meaning and frame of its name and is not scaled."""
    inputs = random_inputs(4)
    motion = inputs.motion
    assert inputs.scan_height is not None
    expected: dict[str, np.ndarray | None] = {
        "linear_velocity": motion.linear_velocity_b,
        "angular_velocity": motion.angular_velocity_b,
        "joint_position": motion.joint_position - CONTROL_SETUPS[layout.task].default_pose,
        "joint_velocity": motion.joint_velocity,
        "gravity": projected_gravity(motion.base_quaternion),
        "height_scan": motion.base_position_w[:, 2:] - 0.25 - inputs.scan_height,
        "previous_action": inputs.previous_action,
        "command": inputs.command,
        "target": inputs.target,
        "time_left": inputs.time_left,
    }
    observation = layout.build(inputs)
    assert observation.dtype == np.float32
    for name, place in layout.slices.items():
        np.testing.assert_allclose(
            observation[:, place], np.array(expected[name]), atol=1e-6, err_msg=name
        )


@tasks
def test_one_robot_equals_a_row_of_a_batch(layout: Layout) -> None:
    """The controller uses the same code as training."""
    inputs = random_inputs(5)
    single = Inputs(
        motion=inputs.motion[2],
        **{name: getattr(inputs, name)[2] for name in vars(inputs) if name != "motion"},
    )
    np.testing.assert_array_equal(layout.build(single), layout.build(inputs)[2])


@tasks
def test_noise_fills_its_published_range_and_no_more(layout: Layout) -> None:
    """The noise is uniform within +-n.

    Over 20000 draws the extremes come within 1 % of n, and the deviation is n / sqrt(3).
    """
    clean = layout.build(random_inputs())
    inputs = random_inputs()
    many = Inputs(
        motion=Motion(
            **{name: np.tile(value, (20000, 1)) for name, value in vars(inputs.motion).items()}
        ),
        **{
            name: np.tile(value, (20000, 1))
            for name, value in vars(inputs).items()
            if name != "motion"
        },
    )
    noise = layout.build(many, np.random.default_rng(0)) - clean
    for name, start, stop, amplitude in PUBLISHED[layout.task]:
        part = noise[:, start:stop]
        rounding = 4e-7 + 1e-6 * amplitude
        assert np.abs(part).max() <= amplitude + rounding, name
        if amplitude:
            assert (part.max(axis=0) > 0.99 * amplitude).all(), name
            assert (part.min(axis=0) < -0.99 * amplitude).all(), name
            np.testing.assert_allclose(
                part.std(axis=0), amplitude / np.sqrt(3), rtol=0.03, err_msg=name
            )
        else:
            np.testing.assert_array_equal(part, 0.0, err_msg=name)


@tasks
def test_noise_repeats_with_its_seed(layout: Layout) -> None:
    """The seed reproduces a trajectory; another seed gives another."""
    first, same, other = (
        layout.build(random_inputs(3), np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@tasks
def test_noise_is_drawn_for_every_number_by_itself(layout: Layout) -> None:
    """Noise that robots or joints share would be a bias that policies can learn."""
    noise = layout.build(random_inputs(2), np.random.default_rng(0)) - layout.build(
        random_inputs(2)
    )
    noisy = noise[:, layout.noise > 0] / layout.noise[layout.noise > 0]
    assert len(np.unique(np.round(noisy, 5))) > 0.99 * noisy.size


@tasks
def test_observations_are_clipped_after_noise(layout: Layout) -> None:
    """300 rad/s of a falling robot become 100; 99.9 plus a noise of 1 stays at most 100."""
    inputs = random_inputs(500)
    fast = np.full((500, 12), 99.9)
    fast[:, 0], fast[:, 1] = 300.0, -300.0
    observation = layout.build(
        replace(inputs, motion=replace(inputs.motion, joint_velocity=fast)),
        np.random.default_rng(0),
    )[:, layout.slices["joint_velocity"]]
    np.testing.assert_array_equal(observation[:, 0], 100.0)
    np.testing.assert_array_equal(observation[:, 1], -100.0)
    assert observation.max() == 100.0
    assert (observation[:, 2:] < 100).any()


@pytest.mark.parametrize("field", ["command", "scan_height", "target", "time_left"])
def test_a_missing_input_is_named(field: str) -> None:
    """A forgotten input must not become zeros.

    The error names the term, the task and the missing field.
    """
    task, term = {
        "command": ("locomotion", "command"),
        "scan_height": ("navigation", "height_scan"),
    }.get(field, ("navigation", field))
    with pytest.raises(
        SoloError,
        match=rf"'{term}' of task '{task}' got nothing, expected shape \(2, \d+\).*`Inputs`",
    ):
        LAYOUTS[task].build(replace(random_inputs(2), **{field: None}))  # type: ignore[arg-type]


def test_an_input_of_another_shape_is_named() -> None:
    """Numpy would broadcast one command for two robots."""
    with pytest.raises(SoloError, match=r"'command' .* got shape \(3,\), expected shape \(2, 3\)"):
        LAYOUTS["locomotion"].build(replace(random_inputs(2), command=np.zeros(3)))


def test_scan_points_have_x_as_the_slow_index() -> None:
    """Point k lies at ix = k // 11, iy = k % 11, from -0.5 to 0.5 m in steps of 0.1."""
    points = scan_points(np.array([2.0, -1.0, 0.3]), from_rpy(0, 0, 0))
    assert points.shape == (121, 2)
    for k, point in enumerate(points):
        np.testing.assert_allclose(
            point, (2.0 - 0.5 + 0.1 * (k // 11), -1.0 - 0.5 + 0.1 * (k % 11)), atol=1e-12
        )


def test_scan_turns_with_yaw_alone() -> None:
    """Facing +y, the point 0.5 m ahead is at +y; roll and pitch do not move the grid."""
    ahead = 10 * 11 + 5
    upright = scan_points(np.zeros(3), from_rpy(0, 0, np.pi / 2))
    np.testing.assert_allclose(upright[ahead], (0, 0.5), atol=1e-12)
    np.testing.assert_allclose(upright[0], (0.5, -0.5), atol=1e-12)  # hind right of the robot
    tilted = scan_points(np.zeros(3), from_rpy(0.2, -0.3, np.pi / 2))
    np.testing.assert_allclose(tilted, upright, atol=1e-12)


def test_a_wall_ahead_lowers_the_clearance_of_the_points_ahead() -> None:
    """The ground is 0.2 m high from x = 0.25 m on.

    Rows ix = 8, 9, 10 read base height - 0.25 - 0.2, the others are unchanged.
    """
    inputs = random_inputs()
    position = np.array([0.0, 0.0, 0.28])
    motion = replace(inputs.motion, base_position_w=position, base_quaternion=from_rpy(0, 0, 0))
    ground = np.where(scan_points(position, motion.base_quaternion)[:, 0] > 0.25, 0.2, 0.0)
    layout = LAYOUTS["navigation"]
    scan = layout.build(replace(inputs, motion=motion, scan_height=ground))[
        layout.slices["height_scan"]
    ]
    expected = np.full((11, 11), 0.28 - 0.25)
    expected[8:] -= 0.2
    np.testing.assert_allclose(scan.reshape(11, 11), expected, atol=1e-6)


def test_scan_is_limited_to_a_metre() -> None:
    """The limit applies to a robot high in the air or over a pit."""
    inputs = random_inputs()
    layout = LAYOUTS["navigation"]
    for ground, reading in ((-5.0, 1.0), (5.0, -1.0)):
        observation = layout.build(replace(inputs, scan_height=np.full(121, ground)))
        np.testing.assert_array_equal(observation[layout.slices["height_scan"]], reading)
