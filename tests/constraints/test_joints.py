"""Joints in the problem of a step: rows against formulas, reactions, energies, breaking."""

from dataclasses import replace

import numpy as np
import pytest
from joint_scenes import all_joints, random_configuration

from stickslip import Drive, InputError, Scene, Simulation, compile_scene
from stickslip.bodies.rigid import momentum as rigid_bodies
from stickslip.bodies.rigid.advance import advance
from stickslip.constraints.joint import joints
from stickslip.constraints.joint.rows import measure_rows, row_speed
from stickslip.contact import laws
from stickslip.geometry.rotation import about_axis
from stickslip.law_codes import BILATERAL, BOUNDED, LIMIT
from stickslip.linalg import block_rows
from stickslip.model.control import initial_control
from stickslip.model.joint_tables import X, Y, Z
from stickslip.model.state import initial_state

H = 0.01


def part_at(model, q, v, tau=H, ahead=False, broken=None):
    state = initial_state(model)
    layout = joints.joint_layout(model, state.joint_broken if broken is None else broken)
    angles = state.joint_angle, initial_control(model).target
    return layout, joints.joint_part(model, layout, *angles, q, v, H, tau, ahead)


def test_codes_of_laws_are_those_of_the_problem() -> None:
    assert (BILATERAL, LIMIT, BOUNDED) == (laws.BILATERAL, laws.LIMIT, laws.BOUNDED)
    assert (X, Y, Z) == (0, 1, 2)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("tau", [H, 0.5 * H])
def test_rows_are_implicit_spring_dampers(ahead: bool, tau: float) -> None:
    """lam of a bilateral row at the solution is -h (s c+ + d (u - w)), for any u: checked at u = J v itself."""
    model, rng = all_joints(2), np.random.default_rng(1)
    tables = model.joints
    q, v = random_configuration(model, rng), rng.normal(size=(model.body_count, 6))
    v[model.body_kind == 0] = 0.0
    layout, part = part_at(model, q, v, tau, ahead)
    value, J = measure_rows(tables, q, v, np.zeros((tables.count, 2)), H if ahead else H - tau)
    speed = tables.row_sign * row_speed(tables, tables.row_joint, J, v)
    offset, wanted = tables.row_offset.copy(), np.zeros(tables.row_count)
    driven = np.flatnonzero(tables.row_driven)
    offset[driven], wanted[driven] = tables.target[tables.row_joint[driven], tables.row_coordinate[driven]].T
    end = tables.row_sign * (value - offset) + (0.0 if ahead else tau) * speed
    u = block_rows.apply(part.J, v[model.dynamic].ravel()) + part.bias
    rigid = np.isinf(tables.row_stiffness)
    # a limit that the first half of a step has passed stops what moves, and no more
    limit = (tables.row_coordinate >= 0) & (tables.row_driven == 0)
    rigid &= ~limit | (end - tau * speed >= 0.0) | (tau == H)
    np.testing.assert_array_equal(layout.row, np.arange(tables.row_count))
    np.testing.assert_allclose(u[rigid] * tau, end[rigid], atol=1e-12)
    assert (part.compliance[rigid] == 0.0).all()
    soft = np.isfinite(tables.row_stiffness)
    force = tables.row_stiffness[soft] * end[soft] + tables.row_damping[soft] * (speed - wanted)[soft]
    np.testing.assert_allclose(u[soft] / part.compliance[soft], H * force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(part.bound, H * tables.row_bound)


def test_prescribed_part_is_what_other_bodies_do() -> None:
    model, rng = all_joints(4), np.random.default_rng(2)
    q, v = random_configuration(model, rng), rng.normal(size=(model.body_count, 6))
    _, moving = part_at(model, q, v)
    still = v.copy()
    still[model.block < 0] = 0.0
    _, rest = part_at(model, q, still)
    assert np.abs(rest.prescribed).max() == 0.0
    np.testing.assert_allclose(moving.bias - rest.bias, moving.prescribed, atol=1e-10)
    assert (moving.prescribed != 0.0).any()


def test_broken_joints_are_left_out() -> None:
    model = all_joints(5)
    broken = np.zeros(model.joints.count, dtype=bool)
    broken[::2] = True
    v = np.zeros((model.body_count, 6))
    _, whole = part_at(model, model.q_start, v)
    layout, part = part_at(model, model.q_start, v, broken=broken)
    kept = ~broken[model.joints.row_joint]
    np.testing.assert_array_equal(layout.row, np.flatnonzero(kept))
    np.testing.assert_array_equal(block_rows.to_dense(part.J), block_rows.to_dense(whole.J)[kept])
    np.testing.assert_array_equal(part.bias, whole.bias[kept])
    impulse = joints.stored_impulses(model, layout, np.ones(len(layout.row)))
    np.testing.assert_array_equal(impulse, kept.astype(float))
    all_gone = joints.joint_layout(model, np.ones_like(broken))
    assert len(all_gone.row) == len(all_gone.entry_column) == 0


def test_joined_block_rows_follow_each_other() -> None:
    model, rng = all_joints(6), np.random.default_rng(3)
    q, v = random_configuration(model, rng), np.zeros((model.body_count, 6))
    _, part = part_at(model, q, v)
    both = block_rows.joined(part.J, part.J)
    dense = block_rows.to_dense(part.J)
    np.testing.assert_array_equal(block_rows.to_dense(both), np.vstack([dense, dense]))
    x, lam = rng.normal(size=both.column_count), rng.normal(size=both.row_count)
    np.testing.assert_allclose(block_rows.apply(both, x), np.concatenate([dense @ x, dense @ x]), atol=1e-11)
    np.testing.assert_allclose(block_rows.apply_transpose(both, lam), np.vstack([dense, dense]).T @ lam, atol=1e-11)


def test_reactions_are_the_forces_that_bodies_feel() -> None:
    """J^T lam on b is the reaction at b's point; on a its opposite, at the same point."""
    model, rng = all_joints(8), np.random.default_rng(4)
    tables, q = model.joints, random_configuration(all_joints(8), np.random.default_rng(5))
    layout, part = part_at(model, q, np.zeros((model.body_count, 6)))
    for j in range(tables.count):
        lam = np.where(tables.row_joint == j, rng.normal(size=tables.row_count), 0.0)
        force, torque = joints.reactions(model, q, lam, H)
        f = block_rows.apply_transpose(part.J, lam[layout.row]).reshape(-1, 6) / H
        a, b = tables.body_a[j], tables.body_b[j]
        point = tables.anchor_b[j]
        if b >= 0:
            point = q[b, :3] + rotated(q[b, 3:], point)
        for body, sign in ((a, -1.0), (b, 1.0)):
            if body >= 0 and model.block[body] >= 0:
                moment = torque[j] + np.cross(point - q[body, :3], force[j])
                np.testing.assert_allclose(f[model.block[body]], sign * np.concatenate([force[j], moment]), atol=1e-9)


def rotated(quaternion, x):
    return np.asarray(rigid_bodies.quat_matrix(tuple(quaternion))).reshape(3, 3) @ x


def test_forces_are_the_gradient_of_the_elastic_energy() -> None:
    scene = Scene()
    a = scene.add_box((0.3, 0.2, 0.4), (0, 0, 0))
    b = scene.add_box((0.3, 0.2, 0.4), (0.5, 0.1, 0))
    scene.add_fixed(a, b, (0.2, 0, 0), stiffness=40.0, bending_stiffness=3.0)
    scene.add_spring(a, b, (0, 0, 1), (1, 0, 1), 20.0, length=0.7)
    scene.add_distance(a, b, (0, 1, 0), (1, 1, 0), limits=(0.1, 1.2), stiffness=30.0)
    model = compile_scene(scene)
    broken, rng = np.zeros(3, dtype=bool), np.random.default_rng(6)
    tables = model.joints
    for _ in range(5):
        q = model.q_start.copy()
        q[:, :3] += 0.3 * rng.normal(size=(2, 3))
        q[:, 3:] = [about_axis(rng.normal(size=3), 1.0) for _ in q]
        v, step = rng.normal(size=(2, 6)), 1e-6
        energy = [joints.elastic_energy(model, advance(q, v, s * step), broken) for s in (-1, 1)]
        value, J = measure_rows(tables, q, v, np.zeros((3, 2)), 0.0)
        stretch = tables.row_sign * (value - tables.row_offset)
        taut = (tables.row_coordinate < 0) | (stretch < 0.0)
        force = np.where(taut, tables.row_stiffness * stretch, 0.0)
        power = np.sum(force * tables.row_sign * row_speed(tables, tables.row_joint, J, v))
        assert (energy[1] - energy[0]) / (2 * step) == pytest.approx(power, rel=1e-6, abs=1e-7)


def test_energies_of_a_spring() -> None:
    scene = Scene(gravity=(0, 0, 0))
    ball = scene.add_sphere(0.1, (0, 0, -1))
    scene.add_spring(None, ball, (0, 0, 0), (0, 0, -1), 50.0, 4.0, length=0.8)
    model = compile_scene(scene)
    v = np.array([[0.5, 0, -2.0, 0, 0, 0]])
    whole, gone = np.array([False]), np.array([True])
    assert joints.elastic_energy(model, model.q_start, whole) == pytest.approx(0.5 * 50 * 0.2**2)
    assert joints.elastic_energy(model, model.q_start, gone) == 0.0
    state = initial_state(model)
    energies, by_joint = joints.joint_energies(model, state, state, v, 0.1)
    assert energies.damping == pytest.approx(0.1 * 4 * 2.0**2)
    assert by_joint[2] == pytest.approx(energies.damping)
    assert energies.elastic == energies.elastic_before == joints.elastic_energy(model, model.q_start, whole)
    broken = replace(state, joint_broken=gone)
    assert joints.joint_energies(model, broken, broken, v, 0.1)[0].damping == 0.0


def test_joint_error_counts_rigid_translations() -> None:
    scene = Scene()
    body = scene.add_box((0.2, 0.2, 0.2))
    scene.add_revolute(None, body, (0, 0, 0), (0, 0, 1))
    scene.add_spring(None, body, (0, 0, 1), (0, 0, 0), 5.0)
    model = compile_scene(scene)
    q = model.q_start.copy()
    q[0, :3] = 0.003, 0.0, -0.004
    assert joints.joint_error(model, q, np.array([False, False])) == pytest.approx(0.005)
    assert joints.joint_error(model, q, np.array([True, False])) == 0.0


def test_a_joint_breaks_above_its_force_or_torque() -> None:
    scene = Scene()
    body = scene.add_box((0.2, 0.2, 0.2))
    scene.add_fixed(None, body, (0, 0, 0), break_force=10.0)
    scene.add_fixed(None, body, (0, 0, 0), break_torque=2.0)
    scene.add_fixed(None, body, (0, 0, 0))
    model = compile_scene(scene)
    whole = np.zeros(3, dtype=bool)
    for force, torque, expected in (
        (9.9, 5.0, [False, True, False]),
        (10.1, 1.9, [True, False, False]),
        (9.9, 1.9, [False, False, False]),
    ):
        impulse = H * np.tile([0, force, 0, torque, 0, 0], 3)
        found = joints.newly_broken(model, model.q_start, impulse, H, whole)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        joints.newly_broken(model, model.q_start, np.zeros(18), H, np.array([False, False, True])), [False, False, True]
    )


def test_linearising_again_closes_joints_at_position_level() -> None:
    """A fixed point of the linearisations satisfies c(q+) = 0. Turns by tau |omega| within the step, 0.1 rad here, are
    what J at the end of the step differs by, so the error falls by such a factor each round."""
    scene = Scene()
    link = [scene.add_box((0.1, 0.1, 0.4), (0, 0, -0.25 - 0.5 * k), angular_velocity=(0, 9, 3)) for k in range(3)]
    scene.add_ball(None, link[0], (0, 0, 0))
    scene.add_revolute(link[0], link[1], (0, 0, -0.5), (0, 1, 0))
    scene.add_universal(link[1], link[2], (0, 0, -1), (1, 0, 0), (0, 1, 0))
    model = compile_scene(scene)
    state = initial_state(model)
    A = np.zeros((18, 18))
    for k, block in enumerate(rigid_bodies.mass_blocks(model, state.body_pose).dense.data.reshape(-1, 6, 6)):
        A[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
    free = rigid_bodies.free_velocity(model, state.body_pose, state.body_velocity, model.force_start, H)
    v, q, ahead, errors = state.body_velocity, state.body_pose, False, []
    for _ in range(12):
        _, part = part_at(model, q, v, ahead=ahead)
        J = block_rows.to_dense(part.J)
        lam = np.linalg.solve(J @ np.linalg.solve(A, J.T), -(J @ free + part.bias))
        v = (free + np.linalg.solve(A, J.T @ lam)).reshape(-1, 6)
        q, ahead = advance(state.body_pose, v, H), True
        errors.append(joints.joint_error(model, q, state.joint_broken))
    assert errors[0] > 1e-4
    assert all(after < 0.1 * before for before, after in zip(errors[:4], errors[1:5], strict=True))
    assert errors[-1] < 1e-15


def test_a_wheel_may_turn_to_a_limit_beyond_a_turn() -> None:
    scene = Scene(gravity=(0, 0, 0))
    wheel = scene.add_cylinder(0.2, 0.1, angular_velocity=(0, 0, 12))
    joint = scene.add_revolute(None, wheel, (0, 0, 0), (0, 0, 1), limits=(-1, 9.0))
    sim = Simulation(scene, dt=0.01)
    sim.run(100)
    assert sim.joint_position(joint)[0] == pytest.approx(9.0, abs=1e-9)
    assert abs(sim.joint_velocity(joint)[0]) < 1e-9


def test_drives_reach_their_target_and_no_more_than_their_limit() -> None:
    scene = Scene(gravity=(0, 0, 0))
    cart = scene.add_box((0.2, 0.2, 0.2), mass=2.0)
    weak = scene.add_prismatic(None, cart, (1, 0, 0), drive=Drive(damping=1e6, velocity=5.0, limit=4.0))
    sim = Simulation(scene, dt=0.01)
    sim.run(50)
    assert sim.joint_velocity(weak)[0] == pytest.approx(4.0 / 2.0 * 0.5, rel=1e-9)
    force, torque = sim.joint_force(weak)
    np.testing.assert_allclose(force, [4.0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(torque, 0, atol=1e-9)
    sim.set_drive(weak, velocity=1.0)
    sim.run(3)
    assert sim.joint_velocity(weak)[0] == pytest.approx(1.0, rel=1e-5)


def test_drive_angles_are_followed_over_many_turns() -> None:
    scene = Scene()
    wheel = scene.add_cylinder(0.2, 0.1)
    joint = scene.add_revolute(None, wheel, (0, 0, 0), (0, 0, 1), drive=Drive(stiffness=400.0, damping=80.0))
    sim = Simulation(scene, dt=0.01)
    sim.set_drive(joint, position=20.0)
    sim.run(300)
    assert sim.joint_position(joint)[0] == pytest.approx(20.0, abs=1e-3)


def test_aims_of_drives_are_checked() -> None:
    scene = Scene()
    joint = scene.add_revolute(None, scene.add_box((0.1, 0.1, 0.1)), axis=(0, 1, 0), drive=Drive(1.0), name="hinge")
    sim = Simulation(scene)
    for bad in (0.0, True, None, "0"):
        with pytest.raises(InputError, match=f"joint 'hinge': coordinate is {bad!r}; it must be a whole number"):
            sim.set_drive(joint, position=1.0, coordinate=bad)
    with pytest.raises(InputError, match=r"coordinate 1 has no drive; those that have: \[0\]"):
        sim.set_drive(joint, position=1.0, coordinate=1)
    with pytest.raises(InputError, match="neither position nor velocity"):
        sim.set_drive(joint)
    assert not sim.control.target.any()
    sim.set_drive(joint, velocity=2.0, coordinate=np.int32(0))
    assert sim.control.target[0, 0].tolist() == [0.0, 2.0]


def test_a_hanging_weight_breaks_its_joint_and_falls() -> None:
    scene = Scene()
    ball = scene.add_sphere(0.1, mass=1.0)
    joint = scene.add_ball(None, ball, (0, 0, 0), break_force=15.0)
    sim = Simulation(scene, dt=0.01)
    sim.run(5)
    assert not sim.joint_broken(joint)
    np.testing.assert_allclose(sim.joint_force(joint)[0], [0, 0, 9.81], atol=1e-9)
    sim.set_force(ball, (0, 0, -6.0))
    sim.step()
    assert sim.joint_broken(joint)
    sim.run(10)
    assert sim.velocity(ball)[2] == pytest.approx(-(9.81 + 6.0) * 0.1, rel=1e-9)
    assert not sim.state.joint_impulse.any()
    assert replace(sim.state).joint_broken.all()
