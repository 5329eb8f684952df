"""First message to the Isaac Gym worker: description of robot, ground and solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.substeps import solver_steps
from solo_doi.solo12.constants import (
    BASE_NAME,
    CONTACT_BODIES,
    FOOT_NAMES,
    GRAVITY,
    JOINT_NAMES,
    NUM_JOINTS,
)
from solo_doi.solo12.urdf import solo12_urdf

PROTOCOL = 2
"""Version of the messages between client and worker."""
GROUND_FRICTION = 0.0
"""PhysX averages the friction of two shapes. With zero on the ground, the robot's alone decides,
and small combined values are possible too."""
FRICTION_STEP = 0.001
"""Resolution of friction: a run needs at most 5000 materials, PhysX has room for 64000."""
SPACING = 3.0
"""Distance between robots in PhysX's world [m]. Robots never collide, but in one place the search
for possible contacts would find all pairs. States are relative to each robot's origin."""

# Common settings for legged robots in Isaac Gym. One substep: the worker divides steps itself.
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
MANY_ROBOTS = 8000
"""Number of robots above which PhysX needs a larger contact buffer."""
MANY_CONTACT_PAIRS = 2**24
EDITED_ROOT = 1
"""Mark of a robot with a changed base state."""
EDITED_ALL = 2
"""Mark of a robot with changed base and joint states."""
JOINT_SPEED = 1000.0
"""Speed limit of joints, high enough never to act, as in the other simulators [rad/s]."""


def array_shapes(config: SimConfig, num_boxes: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every array that client and worker share."""
    robots = config.num_robots
    return {
        # State: written by the worker after every step. The client may edit it between steps, and
        # marks the robot in "edited".
        # Root: position, quaternion xyzw, linear and angular velocity, in the world frame.
        "root": ("float32", (robots, 13)),
        "joint": ("float32", (robots, NUM_JOINTS, 2)),  # position, velocity
        "edited": ("uint8", (robots,)),  # 0 not, EDITED_ROOT, EDITED_ALL
        # Measurements, written by the worker.
        "torque": ("float32", (robots, NUM_JOINTS)),
        "contact": ("float32", (robots, len(CONTACT_BODIES), 3)),
        "foot_sensor": ("float32", (robots, len(FOOT_NAMES), 3)),  # with friction; for tests
        # Commands and parameters, written by the client.
        "target": ("float32", (robots, config.decimation, NUM_JOINTS)),
        "push": ("float32", (robots, 3)),
        "kp": ("float32", (robots,)),
        "kd": ("float32", (robots,)),
        "friction": ("float32", (robots,)),  # of the robot's shapes, before averaging
        "repaved": ("uint8", (robots,)),  # robots with changed friction
        "box_centre": ("float32", (robots, num_boxes, 3)),  # read when a robot is reset
        "added_mass": ("float32", (robots,)),  # read once, as are the following
        "armature": ("float32", (robots,)),
        "box_size": ("float32", (robots, num_boxes, 3)),
    }


def setup_message(config: SimConfig, num_boxes: int, device: str) -> dict[str, Any]:
    """Return the description from which the worker builds the simulation."""
    parts = solver_steps(config.physics_dt)
    pairs = PHYSX["max_gpu_contact_pairs"]
    if config.num_robots > MANY_ROBOTS:
        pairs = MANY_CONTACT_PAIRS
    return {
        "protocol": PROTOCOL,
        "device": device,
        "robots": config.num_robots,
        "boxes": num_boxes,
        "spacing": SPACING,
        # Isaac Gym converts cylinders to capsules. Whether it reads capsules is not documented.
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
    """Friction of the robot's shapes that gives `combined` when averaged with the ground's."""
    return 2.0 * np.round(combined / FRICTION_STEP) * FRICTION_STEP - GROUND_FRICTION
