"""Kernels between the interface and MuJoCo Warp: targets, resets, domains, forces, states."""

# Warp compiles these functions: they return nothing, and `int(0)` is a variable, 0 a constant.
# ruff: noqa: ANN201, UP018, RUF046
# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc,index"

import warp as wp

from solo_doi.solo12.constants import ANKLE_Z, KFE_Z
from solo_doi.solo12.observation import SCAN_SIDE, SCAN_STEP

wp.set_module_options({"enable_backward": False})  # nothing is differentiated


BASE_SPEED = wp.constant(6)
"""Linear and angular velocity, the first part of `qvel`."""
HUGE = wp.constant(1.0e10)
"""Magnitude above which MuJoCo counts a simulation as diverged."""


UPPER_LEG = wp.constant(KFE_Z)
LOWER_LEG = wp.constant(ANKLE_Z)
"""Positions of knee and foot below the joint above [m]."""


@wp.kernel
def begin_step(
    incoming: wp.array2d[float],
    push: wp.array[wp.vec3],
    base: int,
    history: wp.array3d[float],
    applied: wp.array2d[wp.spatial_vector],
    overflow: wp.array[int],
    peak_rows: wp.array[int],
    substep: wp.array[int],
    alarm: wp.array[float],
):
    """Begin a control step: shift old targets, add the new ones, apply pushes, clear counters."""
    robot = wp.tid()
    depth = history.shape[1]
    joints = history.shape[2]
    for joint in range(joints):
        for back in range(1, depth):
            history[robot, depth - back, joint] = history[robot, depth - back - 1, joint]
        history[robot, 0, joint] = incoming[robot, joint]
    applied[robot, base] = wp.spatial_vector(push[robot], wp.vec3(0.0, 0.0, 0.0))
    overflow[robot] = 0
    peak_rows[robot] = 0
    if robot == 0:
        substep[0] = 0
        alarm[0] = 0.0


@wp.kernel
def hold_target(
    history: wp.array3d[float],
    age: wp.array2d[int],
    substep: wp.array[int],
    control: wp.array2d[float],
):
    """Give the motors the target that has reached them in this physics step."""
    robot, joint = wp.tid()
    control[robot, joint] = history[robot, age[robot, substep[0]], joint]


@wp.kernel
def end_substep(rows: wp.array[int], peak_rows: wp.array[int], substep: wp.array[int]):
    """Count physics steps, and keep the largest number of constraint rows of a control step."""
    robot = wp.tid()
    peak_rows[robot] = wp.max(peak_rows[robot], rows[robot])
    if robot == 0:
        substep[0] += 1


@wp.kernel
def add_forces(
    num_contacts: wp.array[int],
    world: wp.array[int],
    geoms: wp.array[wp.vec2i],
    frame: wp.array[wp.mat33],
    address: wp.array2d[int],
    row_force: wp.array2d[float],
    part_of_geom: wp.array[int],
    force: wp.array2d[wp.vec3],
):
    """Add each contact's force along its normal to the part of the robot that it acts on."""
    contact = wp.tid()
    if contact >= num_contacts[0]:
        return
    row = address[contact, 0]
    if row < 0:
        return
    robot = world[contact]
    if row >= row_force.shape[1]:
        return
    normal = wp.vec3(frame[contact][0, 0], frame[contact][0, 1], frame[contact][0, 2])
    strength = row_force[robot, row]
    first = part_of_geom[geoms[contact][0]]
    second = part_of_geom[geoms[contact][1]]
    # The normal points from the first to the second geom.
    if first >= 0:
        wp.atomic_add(force, robot, first, -strength * normal)
    if second >= 0:
        wp.atomic_add(force, robot, second, strength * normal)


@wp.kernel
def pack_motion(
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    base_position: wp.array2d[float],
    base_quaternion: wp.array2d[float],
    linear_b: wp.array2d[float],
    angular_b: wp.array2d[float],
    joint_position: wp.array2d[float],
    joint_velocity: wp.array2d[float],
    linear_w: wp.array2d[float],
):
    """Write motions as the interface has them: linear velocities in the base frame, too."""
    robot = wp.tid()
    # MuJoCo's quaternions have w first, Warp's last. Linear velocities are those of the world.
    attitude = wp.quat(qpos[robot, 4], qpos[robot, 5], qpos[robot, 6], qpos[robot, 3])
    linear = wp.quat_rotate_inv(attitude, wp.vec3(qvel[robot, 0], qvel[robot, 1], qvel[robot, 2]))
    for axis in range(3):
        base_position[robot, axis] = qpos[robot, axis]
        linear_b[robot, axis] = linear[axis]
        angular_b[robot, axis] = qvel[robot, 3 + axis]
        linear_w[robot, axis] = qvel[robot, axis]
    for i in range(4):
        base_quaternion[robot, i] = qpos[robot, 3 + i]
    for joint in range(joint_position.shape[1]):
        joint_position[robot, joint] = qpos[robot, 7 + joint]
        joint_velocity[robot, joint] = qvel[robot, 6 + joint]


@wp.kernel
def pack_feet(
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    hips: wp.array[wp.vec3],
    leg_width: wp.array[float],
    position: wp.array3d[float],
    velocity: wp.array3d[float],
):
    """Write positions and velocities of feet in the world frame, as in `solo12.kinematics`."""
    robot, leg = wp.tid()
    haa = 7 + 3 * leg
    cos_haa = wp.cos(qpos[robot, haa])
    sin_haa = wp.sin(qpos[robot, haa])
    knee = qpos[robot, haa + 1] + qpos[robot, haa + 2]
    knee_x = LOWER_LEG * wp.sin(knee)
    knee_z = LOWER_LEG * wp.cos(knee)
    x = UPPER_LEG * wp.sin(qpos[robot, haa + 1]) + knee_x
    z = UPPER_LEG * wp.cos(qpos[robot, haa + 1]) + knee_z
    lateral = cos_haa * leg_width[leg] - sin_haa * z
    height = sin_haa * leg_width[leg] + cos_haa * z
    haa_rate = qvel[robot, haa - 1]
    hfe_rate = qvel[robot, haa]
    kfe_rate = qvel[robot, haa + 1]
    up = -(hfe_rate * x + kfe_rate * knee_x)
    along = hfe_rate * z + kfe_rate * knee_z
    swing = wp.vec3(along, -haa_rate * height - sin_haa * up, haa_rate * lateral + cos_haa * up)
    attitude = wp.quat(qpos[robot, 4], qpos[robot, 5], qpos[robot, 6], qpos[robot, 3])
    foot = hips[leg] + wp.vec3(x, lateral, height)
    turning = wp.cross(wp.vec3(qvel[robot, 3], qvel[robot, 4], qvel[robot, 5]), foot)
    foot_w = wp.quat_rotate(attitude, foot)
    speed_w = wp.quat_rotate(attitude, turning + swing)
    for axis in range(3):
        position[robot, leg, axis] = qpos[robot, axis] + foot_w[axis]
        velocity[robot, leg, axis] = qvel[robot, axis] + speed_w[axis]


@wp.kernel
def pack_forces(
    torque: wp.array2d[float],
    force: wp.array2d[wp.vec3],
    packed_torque: wp.array2d[float],
    foot_force: wp.array3d[float],
    body_force: wp.array3d[float],
):
    """Write torques and contact forces; the feet come first in `force`."""
    robot = wp.tid()
    for joint in range(torque.shape[1]):
        packed_torque[robot, joint] = torque[robot, joint]
    feet = foot_force.shape[1]
    for part in range(force.shape[1]):
        for axis in range(3):
            if part < feet:
                foot_force[robot, part, axis] = force[robot, part][axis]
            else:
                body_force[robot, part - feet, axis] = force[robot, part][axis]


@wp.kernel
def pack_health(
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    overflow: wp.array[int],
    peak_rows: wp.array[int],
    num_contacts: wp.array[int],
    num_pairs: wp.array[int],
    health: wp.array2d[float],
    alarm: wp.array[float],
):
    """Write the health of robots; `alarm` is set to 1 if any is not healthy."""
    robot = wp.tid()
    bad = float(0.0)
    for i in range(qpos.shape[1]):
        if not (wp.abs(qpos[robot, i]) < HUGE):
            bad = 1.0
    for i in range(qvel.shape[1]):
        if not (wp.abs(qvel[robot, i]) < HUGE):
            bad = 1.0
    if bad > 0.0 or overflow[robot] != 0:
        wp.atomic_max(alarm, 0, 1.0)
    health[robot, 0] = bad
    health[robot, 1] = float(overflow[robot])
    health[robot, 2] = float(peak_rows[robot])
    health[robot, 3] = float(wp.max(num_contacts[0], num_pairs[0]))


@wp.kernel
def scan_ground(
    qpos: wp.array2d[float],
    centre: wp.array2d[wp.vec3],
    half_size: wp.array2d[wp.vec3],
    geom_of_box: wp.array[int],
    height: wp.array2d[float],
):
    """Find the highest box below a point of the height scan, as `scan_points` places it."""
    robot, point = wp.tid()
    w = qpos[robot, 3]
    x = qpos[robot, 4]
    y = qpos[robot, 5]
    z = qpos[robot, 6]
    yaw = wp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    ahead = float(point // SCAN_SIDE - SCAN_SIDE // 2) * SCAN_STEP
    left = float(point % SCAN_SIDE - SCAN_SIDE // 2) * SCAN_STEP
    point_x = qpos[robot, 0] + wp.cos(yaw) * ahead - wp.sin(yaw) * left
    point_y = qpos[robot, 1] + wp.sin(yaw) * ahead + wp.cos(yaw) * left
    highest = float(0.0)
    for box in range(geom_of_box.shape[0]):
        half = half_size[robot, geom_of_box[box]]
        middle = centre[robot, box]
        if wp.abs(point_x - middle[0]) <= half[0] and wp.abs(point_y - middle[1]) <= half[1]:
            highest = wp.max(highest, middle[2] + half[2])
    height[robot, point] = highest


@wp.kernel
def set_motion(
    rows: wp.array2d[float],
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    warmstart: wp.array2d[float],
    boxes: wp.array2d[wp.vec3],
):
    """Put robots into given states. A row has the robot, then qpos, qvel and box centres."""
    i = wp.tid()
    robot = int(rows[i, 0])
    column = int(1)
    for j in range(qpos.shape[1]):
        qpos[robot, j] = rows[i, column]
        column += 1
    for j in range(qvel.shape[1]):
        qvel[robot, j] = rows[i, column]
        warmstart[robot, j] = 0.0
        column += 1
    for box in range(boxes.shape[1]):
        boxes[robot, box] = wp.vec3(rows[i, column], rows[i, column + 1], rows[i, column + 2])
        column += 3


@wp.kernel
def set_base_velocity(rows: wp.array2d[float], qvel: wp.array2d[float]):
    """Set the velocities of bases. A row has the robot, then three linear and three angular."""
    i = wp.tid()
    robot = int(rows[i, 0])
    for j in range(BASE_SPEED):
        qvel[robot, j] = rows[i, 1 + j]


@wp.kernel
def set_history(rows: wp.array2d[float], history: wp.array3d[float]):
    """Fill the memory of robots' motors with one target. A row has the robot, then its target."""
    i = wp.tid()
    robot = int(rows[i, 0])
    for back in range(history.shape[1]):
        for joint in range(history.shape[2]):
            history[robot, back, joint] = rows[i, 1 + joint]


@wp.kernel
def set_age(rows: wp.array2d[float], age: wp.array2d[int]):
    """Set the age of the target of each physics step. A row has the robot, then the ages."""
    i = wp.tid()
    robot = int(rows[i, 0])
    for substep in range(age.shape[1]):
        age[robot, substep] = int(rows[i, 1 + substep])


@wp.kernel
def set_constants(
    rows: wp.array2d[float],
    subtree_mass: wp.array2d[float],
    body_weight: wp.array2d[wp.vec2],
    dof_weight: wp.array2d[float],
):
    """Set what MuJoCo derives from masses.

    A row has the robot, then masses of subtrees, inverse weights of bodies (2 each) and of joints.
    """
    i = wp.tid()
    robot = int(rows[i, 0])
    bodies = subtree_mass.shape[1]
    for body in range(bodies):
        subtree_mass[robot, body] = rows[i, 1 + body]
        column = 1 + bodies + 2 * body
        body_weight[robot, body] = wp.vec2(rows[i, column], rows[i, column + 1])
    for dof in range(dof_weight.shape[1]):
        dof_weight[robot, dof] = rows[i, 1 + 3 * bodies + dof]


@wp.kernel
def set_physics(
    rows: wp.array2d[float],
    part_of_geom: wp.array[int],
    base: int,
    friction: wp.array2d[wp.vec3],
    mass: wp.array2d[float],
    inertia: wp.array2d[wp.vec3],
    armature: wp.array2d[float],
    gain: wp.array3d[float],
    bias: wp.array3d[float],
):
    """Set the model's fields of robots.

    A row has robot, friction, base mass, its inertia (3), armature, kp and kd.
    """
    i = wp.tid()
    robot = int(rows[i, 0])
    for geom in range(friction.shape[1]):
        if part_of_geom[geom] >= 0:
            old = friction[robot, geom]
            friction[robot, geom] = wp.vec3(rows[i, 1], old[1], old[2])
    mass[robot, base] = rows[i, 2]
    inertia[robot, base] = wp.vec3(rows[i, 3], rows[i, 4], rows[i, 5])
    for dof in range(BASE_SPEED, armature.shape[1]):
        armature[robot, dof] = rows[i, 6]
    for motor in range(gain.shape[1]):
        gain[robot, motor, 0] = rows[i, 7]
        bias[robot, motor, 1] = -rows[i, 7]
        bias[robot, motor, 2] = -rows[i, 8]
