"""The first message to the Isaac Gym worker: everything it knows about the robot, the ground and the solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.substeps import parts_of_step
from solo_doi.solo12.constants import (
    BASE_NAME,
    BODY_NAMES,
    FOOT_NAMES,
    GRAVITY,
    JOINT_NAMES,
    NUM_JOINTS,
)
from solo_doi.solo12.urdf import solo12_urdf

PROTOCOL = 1
CONTACT_BODIES = (*FOOT_NAMES, *BODY_NAMES)
GROUND_FRICTION = 0.0
"""PhysX uses the average of the friction of two shapes. With none on the ground, the robot's alone decides, and every
combined value can be had, the smallest as well."""
FRICTION_STEP = 0.001
"""Friction is rounded to this, so that no run makes more than 5000 materials; PhysX has room for 64000."""
SPACING = 3.0
"""Distance of robots in PhysX's world [m]. They never meet, but if they stood in one place the search for pairs that
might touch would find all of them. States are relative to each robot's own origin."""

# Legged robots have been trained with these in Isaac Gym; one substep, since the worker divides steps itself.
PHYSX = {
    "solver_type": 1,  # temporal Gauss-Seidel
    "num_position_iterations": 4,
    "num_velocity_iterations": 1,  # with none, bodies sink slightly
    "contact_offset": 0.01,
    "rest_offset": 0.0,
    "bounce_threshold_velocity": 0.5,
    "max_depenetration_velocity": 1.0,
    "max_gpu_contact_pairs": 2**23,
    "default_buffer_size_multiplier": 5.0,
    "num_threads": 4,
}
MANY_ROBOTS, MANY_CONTACT_PAIRS = 8000, 2**24
EDITED_ROOT, EDITED_ALL = 1, 2
JOINT_SPEED = 1000.0
"""No limit on the speed of joints, as in the other simulators [rad/s]."""


def array_shapes(config: SimConfig, num_boxes: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every array that client and worker share."""
    robots = config.num_robots
    return {
        # State: the worker writes it after every step; the client may edit it between steps and marks the robot.
        "root": (
            "float32",
            (robots, 13),
        ),  # position, quaternion xyzw, linear and angular velocity, world axes
        "joint": ("float32", (robots, NUM_JOINTS, 2)),  # position, velocity
        "edited": ("uint8", (robots,)),  # 0 not, EDITED_ROOT, EDITED_ALL
        # What the worker measures.
        "torque": ("float32", (robots, NUM_JOINTS)),
        "contact": ("float32", (robots, len(CONTACT_BODIES), 3)),
        "foot_sensor": (
            "float32",
            (robots, len(FOOT_NAMES), 3),
        ),  # friction included; for the self-test
        # What the client asks for.
        "target": ("float32", (robots, config.decimation, NUM_JOINTS)),
        "push": ("float32", (robots, 3)),
        "kp": ("float32", (robots,)),
        "kd": ("float32", (robots,)),
        "friction": (
            "float32",
            (robots,),
        ),  # of the robot's shapes, before averaging with the ground's
        "repaved": ("uint8", (robots,)),  # robots whose friction changed
        "added_mass": ("float32", (robots,)),  # read once, as are the following
        "armature": ("float32", (robots,)),
        "box_centre": ("float32", (robots, num_boxes, 2)),
        "box_size": ("float32", (robots, num_boxes, 3)),
    }


def first_message(config: SimConfig, num_boxes: int, device: str) -> dict[str, Any]:
    """Return what the worker needs to build the simulation."""
    parts = parts_of_step(config.physics_dt)
    pairs = (
        MANY_CONTACT_PAIRS if config.num_robots > MANY_ROBOTS else PHYSX["max_gpu_contact_pairs"]
    )
    return {
        "protocol": PROTOCOL,
        "device": device,
        "robots": config.num_robots,
        "boxes": num_boxes,
        "spacing": SPACING,
        # Isaac Gym makes capsules of cylinders, as it has for many robots; whether it reads capsules is not known.
        "urdf": solo12_urdf().replace("<capsule", "<cylinder"),
        "base": BASE_NAME,
        "feet": list(FOOT_NAMES),
        "joints": list(JOINT_NAMES),
        "contact_bodies": list(CONTACT_BODIES),
        "gravity": GRAVITY,
        "ground_friction": GROUND_FRICTION,
        "torque_limit": config.torque_limit,
        "joint_speed": JOINT_SPEED,
        "dt": config.physics_dt / parts,
        "parts": parts,
        "decimation": config.decimation,
        "physx": {**PHYSX, "max_gpu_contact_pairs": pairs},
    }


def shape_friction(combined: np.ndarray) -> np.ndarray:
    """Friction of the robot's shapes that averages to a combined value with the ground's."""
    return 2.0 * np.round(combined / FRICTION_STEP) * FRICTION_STEP - GROUND_FRICTION
