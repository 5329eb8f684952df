"""Kernels between the interface and MuJoCo Warp: targets, resets, domains, forces, states."""

# Warp compiles these functions: they return nothing, and `int(0)` is a variable, 0 a constant.
# ruff: noqa: ANN201, UP018, RUF046
# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"

import warp as wp

from solo_doi.solo12.observation import SCAN_SIDE, SCAN_STEP

wp.set_module_options({"enable_backward": False})  # nothing is differentiated


BASE_SPEED = wp.constant(6)
"""Linear and angular velocity, the first part of `qvel`."""
HUGE = wp.constant(1.0e10)
"""Magnitude above which MuJoCo counts a simulation as diverged."""


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
    packed: wp.array2d[float],
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
        packed[packed.shape[0] - 1, 0] = 0.0


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
def pack_state(
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    torque: wp.array2d[float],
    force: wp.array2d[wp.vec3],
    overflow: wp.array[int],
    peak_rows: wp.array[int],
    num_contacts: wp.array[int],
    num_pairs: wp.array[int],
    packed: wp.array2d[float],
):
    """Write all that is read back of a robot into one row, so that one copy is enough.

    The first number of the row after the last robot is 1 if any robot is not healthy.
    """
    robot = wp.tid()
    bad = float(0.0)
    column = int(0)
    for i in range(qpos.shape[1]):
        packed[robot, column] = qpos[robot, i]
        if not (wp.abs(qpos[robot, i]) < HUGE):
            bad = 1.0
        column += 1
    for i in range(qvel.shape[1]):
        packed[robot, column] = qvel[robot, i]
        if not (wp.abs(qvel[robot, i]) < HUGE):
            bad = 1.0
        column += 1
    for i in range(torque.shape[1]):
        packed[robot, column] = torque[robot, i]
        column += 1
    for i in range(force.shape[1]):
        for axis in range(3):
            packed[robot, column] = force[robot, i][axis]
            column += 1
    if bad > 0.0 or overflow[robot] != 0:
        wp.atomic_max(packed, packed.shape[0] - 1, 0, 1.0)
    packed[robot, column] = bad
    packed[robot, column + 1] = float(overflow[robot])
    packed[robot, column + 2] = float(peak_rows[robot])
    packed[robot, column + 3] = float(wp.max(num_contacts[0], num_pairs[0]))


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
