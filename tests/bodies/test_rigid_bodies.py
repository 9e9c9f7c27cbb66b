"""Rigid bodies: mass blocks, spin with torque against a reference integration, unit quaternions, contact rows."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stickslip import Model, Scene, Stepping, compile_scene
from stickslip.bodies.rigid import momentum as rigid_bodies
from stickslip.bodies.rigid.advance import advance
from stickslip.bodies.rigid.energy import energies
from stickslip.bodies.rigid.layout import scatter
from stickslip.collision import lookahead
from stickslip.collision.contacts import Contacts
from stickslip.collision.reach import speeds
from stickslip.constraints.contact import rows as contact_rows
from stickslip.geometry.rotation import matrix
from stickslip.linalg.block_rows import to_dense

INERTIA = np.array([[0.5, 0.05, -0.02], [0.05, 0.3, 0.04], [-0.02, 0.04, 0.7]])
TORQUE = np.array([0.4, -0.7, 0.5])
OMEGA = np.array([1.5, 2.0, -1.0])


def unit_quaternions(count: int, seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def crowd(count: int = 5) -> tuple[Model, np.ndarray, np.ndarray]:
    """A static body in front, then dynamic ones with full inertias; random configuration and velocity."""
    rng = np.random.default_rng(7)
    scene = Scene()
    scene.add_sphere(0.1, kind="static")
    for _ in range(count):
        root = rng.normal(size=(3, 3))
        spread = root @ root.T + 0.1 * np.eye(3)  # second moments of some mass, so its inertia is a possible one
        scene.add_sphere(0.1, mass=rng.uniform(0.1, 10), inertia=np.trace(spread) * np.eye(3) - spread)
    q = np.hstack([rng.normal(size=(count + 1, 3)), unit_quaternions(count + 1)])
    return compile_scene(scene), q, rng.normal(size=(count + 1, 6))


def top() -> Model:
    scene = Scene(gravity=(0, 0, 0))
    scene.add_sphere(0.1, mass=2.0, inertia=INERTIA)
    return compile_scene(scene)


def test_mass_blocks_and_their_inverses() -> None:
    model, q, _ = crowd()
    A = rigid_bodies.mass_blocks(model, q).dense
    blocks, inverses = A.data.reshape(-1, 6, 6), A.inverse.reshape(-1, 6, 6)
    assert len(blocks) == 5
    for b, i in enumerate(model.dynamic):
        R = matrix(q[i, 3:])
        expected = np.zeros((6, 6))
        expected[:3, :3] = model.mass[i] * np.eye(3)
        expected[3:, 3:] = R @ model.inertia[i] @ R.T
        np.testing.assert_allclose(blocks[b], expected, atol=1e-13 * np.abs(expected).max())
        np.testing.assert_array_equal(blocks[b], blocks[b].T)
        np.testing.assert_array_equal(inverses[b], inverses[b].T)
        # cofactors lose as many digits as the block's condition number has
        np.testing.assert_allclose(blocks[b] @ inverses[b], np.eye(6), atol=1e-14 * np.linalg.cond(expected))


def test_forces_and_gravity_accelerate() -> None:
    model, q, v = crowd()
    force = np.zeros((6, 6))
    force[:, :3] = np.random.default_rng(1).normal(size=(6, 3))
    free = rigid_bodies.free_velocity(model, q, v, force, 0.01).reshape(-1, 6)
    expected = v[1:, :3] + 0.01 * (model.gravity + force[1:, :3] / model.mass[1:, None])
    np.testing.assert_allclose(free[:, :3], expected, rtol=1e-14)


def body_frame_spin(h: float, torque: np.ndarray) -> np.ndarray:
    """Reference: Euler's equations in the body's frame, Runge-Kutta of order eight at a tolerance of 1e-13."""

    def rate(_: float, w: np.ndarray) -> np.ndarray:
        return np.linalg.solve(INERTIA, torque - np.cross(w, INERTIA @ w))

    return solve_ivp(rate, (0, h), OMEGA, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("torque", [np.zeros(3), TORQUE], ids=["free", "torque"])
def test_one_step_of_spin_is_second_order(torque: np.ndarray) -> None:
    """The midpoint rule errs by h^3 in one step: an eighth for half the step."""
    model = top()
    q = np.concatenate([[0, 0, 0], unit_quaternions(1)[0]])[None]
    R = matrix(q[0, 3:])
    v, force = np.zeros((1, 6)), np.zeros((1, 6))
    v[0, 3:], force[0, 3:] = R @ OMEGA, R @ torque
    errors = []
    for h in (0.02, 0.01, 0.005):
        after = rigid_bodies.free_velocity(model, q, v, force, h)[3:]
        errors.append(np.linalg.norm(R.T @ after - body_frame_spin(h, torque)))
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert ratios == pytest.approx([8.0, 8.0], rel=0.1)
    assert errors[-1] < 1e-6 * np.linalg.norm(OMEGA)


def world_motion(time: float) -> np.ndarray:
    """Reference: rotation matrix and angular momentum in the world under a torque that is constant there."""

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        R = y[:9].reshape(3, 3)
        w = R @ np.linalg.solve(INERTIA, R.T @ y[9:])
        return np.concatenate([np.cross(w, R, axisb=0, axisc=0).ravel(), TORQUE])

    start = np.concatenate([np.eye(3).ravel(), INERTIA @ OMEGA])
    y = solve_ivp(rate, (0, time), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    R = y[:9].reshape(3, 3)
    return np.concatenate([R.ravel(), R @ np.linalg.solve(INERTIA, R.T @ y[9:])])


@pytest.mark.parametrize(("scheme", "ratio"), [("euler", 2.0), ("moreau", 4.0)])
def test_tumbling_under_a_torque_converges_at_the_order_of_the_scheme(scheme: str, ratio: float) -> None:
    model = top()
    force = np.zeros((1, 6))
    force[0, 3:] = TORQUE
    reference = world_motion(1.0)
    errors = []
    for steps in (200, 400, 800):
        h = 1.0 / steps
        q, v = np.array([[0, 0, 0, 1.0, 0, 0, 0]]), np.concatenate([np.zeros(3), OMEGA])[None]
        for _ in range(steps):
            if scheme == "moreau":
                q = advance(q, v, 0.5 * h)
            v = rigid_bodies.free_velocity(model, q, v, force, h).reshape(1, 6)
            q = advance(q, v, h if scheme == "euler" else 0.5 * h)
        errors.append(np.linalg.norm(np.concatenate([matrix(q[0, 3:]).ravel(), v[0, 3:]]) - reference))
    assert np.array(errors[:-1]) / np.array(errors[1:]) == pytest.approx([ratio, ratio], rel=0.1)
    assert errors[-1] < (2e-2 if scheme == "euler" else 1e-5)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.0, 5.0, 20.0])
def test_fast_spin_keeps_its_energy(angle: float) -> None:
    """Up to three turns a step: every root of the midpoint rule has the same energy, so the root must be found."""
    scene = Scene(gravity=(0, 0, 0))
    for _ in range(20):
        scene.add_box((1.0, 0.3, 0.02))
    model = compile_scene(scene)
    q = np.hstack([np.zeros((20, 3)), unit_quaternions(20)])
    spin = np.random.default_rng(3).normal(size=(20, 3))
    v = np.hstack([np.zeros((20, 3)), spin / np.linalg.norm(spin, axis=1, keepdims=True)])
    h = angle  # at 1 rad/s
    start = energies(model, q, v)[0]
    for _ in range(200):
        v = rigid_bodies.free_velocity(model, q, v, np.zeros((20, 6)), h).reshape(20, 6)
        q = advance(q, v, h)
    assert energies(model, q, v)[0] == pytest.approx(start, rel=1e-9)


def test_rotations_stay_of_unit_length_over_many_steps() -> None:
    q = np.hstack([np.zeros((4, 3)), unit_quaternions(4)])
    v = np.random.default_rng(4).normal(size=(4, 6)) * np.array([[1e-6], [1.0], [50.0], [3000.0]])
    for _ in range(100_000):
        q = advance(q, v, 0.002)
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:], axis=1), 1.0, atol=4e-16)  # two roundings
    np.testing.assert_allclose(q[:, :3], 200.0 * v[:, :3], rtol=1e-10)  # 1e5 roundings


def test_constant_angular_velocity_turns_by_its_angle() -> None:
    q = np.array([[1.0, 2.0, 3.0, 1.0, 0, 0, 0]])
    v = np.array([[0.5, 0, 0, 0, 0, 2.0]])
    for _ in range(1000):
        q = advance(q, v, 0.001)
    np.testing.assert_allclose(q[0], [1.5, 2, 3, np.cos(1.0), 0, 0, np.sin(1.0)], atol=1e-13)


def test_scatter_touches_only_dynamic_bodies() -> None:
    model, _, v = crowd()
    blocks = np.arange(30.0)
    out = scatter(model, v, blocks)
    np.testing.assert_array_equal(out[0], v[0])
    np.testing.assert_array_equal(out[1:].ravel(), blocks)
    assert out is not v


# ---- contact rows ----------------------------------------------------------------------------------------------


def random_contacts(bodies: int, count: int = 12) -> tuple[np.ndarray, ...]:
    """Bodies a and b, points, normals and first tangents."""
    rng = np.random.default_rng(9)
    pairs = np.array([rng.choice(bodies, 2, replace=False) for _ in range(count)], dtype=np.int32)
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    tangent = np.cross(normal, rng.normal(size=(count, 3)))
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    a, b = np.ascontiguousarray(pairs.T)
    return a, b, rng.normal(size=(count, 3)), normal, tangent


def contacts_at(a: np.ndarray, b: np.ndarray, point: np.ndarray, normal: np.ndarray, tangent: np.ndarray) -> Contacts:
    """Contacts of which only the place is known."""
    count, two = len(a), np.zeros((len(a), 2))
    return Contacts(np.arange(count), a, b, a, b, point, normal, np.zeros(count), tangent, 0.0 * normal, two, two)


def relative_velocity(q: np.ndarray, v: np.ndarray, a: np.ndarray, b: np.ndarray, point: np.ndarray) -> np.ndarray:
    """By central differences: where material points of a and b that are at the contact now go."""
    eps = 1e-5

    def moved(body: int, x: np.ndarray, h: float) -> np.ndarray:
        local = matrix(q[body, 3:]).T @ (x - q[body, :3])
        new = advance(q, v, h)[body]
        return new[:3] + matrix(new[3:]) @ local

    def speed(body: int, x: np.ndarray) -> np.ndarray:
        return (moved(body, x, eps) - moved(body, x, -eps)) / (2 * eps)

    return np.array([speed(j, x) - speed(i, x) for i, j, x in zip(a, b, point, strict=True)])


@pytest.mark.parametrize("rows", [3, 4])
def test_contact_rows_are_the_relative_velocity_of_the_points(rows: int) -> None:
    """J v + the bias of the static body, against differences of positions (error eps^2 w^3 r and rounding / eps)."""
    model, q, v = crowd()
    v[0] = [0.3, -0.2, 0.1, 0.5, 0.4, -0.6]  # as if the fixed one were moved
    a, b, point, normal, tangent = random_contacts(6)
    assert 0 in a
    assert 0 in b
    contacts = contacts_at(a, b, point, normal, tangent)
    J = contact_rows.contact_jacobian(model, contacts, q, rows=rows)
    bias = contact_rows.contact_velocities(model, contacts, q, v, prescribed_only=True, rows=rows)
    u = to_dense(J) @ v[model.dynamic].ravel() + bias
    differences = relative_velocity(q, v, a, b, point)
    frames = np.stack([normal, tangent, np.cross(normal, tangent)], axis=1)
    expected = np.einsum("cij,cj->ci", frames, differences)
    np.testing.assert_allclose(u.reshape(-1, rows)[:, :3], expected, atol=1e-8)
    if rows == 4:  # the fourth is the relative spin about the normal
        spin = np.sum(normal * (v[b, 3:] - v[a, 3:]), axis=1)
        np.testing.assert_allclose(u.reshape(-1, 4)[:, 3], spin, atol=1e-13)
    whole = contact_rows.contact_velocities(model, contacts, q, v, rows=rows)
    np.testing.assert_allclose(whole, u, atol=1e-12)
    np.testing.assert_allclose(lookahead.approach(a, b, point, normal, q, v), expected[:, 0], atol=1e-8)


@pytest.mark.parametrize("rows", [3, 4])
def test_contact_impulses_are_equal_and_opposite(rows: int) -> None:
    """J^T lam changes neither the total momentum nor the total angular momentum of free bodies."""
    model, q, _ = crowd()
    contacts = random_contacts(6)
    both = (contacts[0] > 0) & (contacts[1] > 0)
    J = contact_rows.contact_jacobian(model, contacts_at(*(array[both] for array in contacts)), q, rows=rows)
    impulse = (to_dense(J).T @ np.random.default_rng(0).normal(size=J.row_count)).reshape(-1, 6)
    np.testing.assert_allclose(impulse[:, :3].sum(axis=0), 0, atol=1e-13)
    spin = impulse[:, 3:] + np.cross(q[1:, :3], impulse[:, :3])
    np.testing.assert_allclose(spin.sum(axis=0), 0, atol=1e-13)


def test_gap_bias_of_gaps_overlaps_and_impacts() -> None:
    """gap 1 mm: may close in the step; overlap: a fifth a step, capped; impact: e times the approach speed."""
    gap = np.array([1e-3, 0.0, 0.5e-9, -1e-6, -1.0, 0.0, 0.0, 1e-3])
    speed = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -2.0, -0.005, -0.1])
    restitution = np.zeros((8, 2))
    restitution[5:, 0] = 0.5
    u_before = np.column_stack([speed, np.full((8, 2), 0.3)]).ravel()
    slop = 1e-9
    stepping = Stepping(dt=0.001, slop=slop, recovery=0.2, recovery_speed=1.0, restitution_speed=0.01)
    bias = contact_rows.gap_bias(gap, restitution, u_before, stepping).reshape(-1, 3)
    expected = [(1e-3 - slop) / 1e-3, 0, 0, -0.2 * (1e-6 - slop) / 1e-3, -1.0, -1.0, 0.0, (1e-3 - slop) / 1e-3]
    np.testing.assert_allclose(bias[:, 0], expected, rtol=1e-12)
    np.testing.assert_array_equal(bias[:, 1:], 0)


def test_gap_bias_reverses_tangential_velocities_of_impacts_alone() -> None:
    """e_t times the velocity before, about the normal as well; nothing for slow, opening or distant contacts."""
    speed = np.array([-2.0, -0.005, 1.0, -2.0])
    gap = np.array([0.0, 0.0, 0.0, 0.1])
    u_before = np.column_stack([speed, np.tile([0.3, -0.4, 5.0], (4, 1))]).ravel()
    restitution = np.tile([0.5, 0.8], (4, 1))
    bias = contact_rows.gap_bias(gap, restitution, u_before, Stepping(dt=0.001)).reshape(-1, 4)
    np.testing.assert_allclose(bias[0], [-1.0, 0.24, -0.32, 4.0], rtol=1e-14)
    np.testing.assert_array_equal(bias[1:, 1:], 0)


def test_gap_bias_leaves_overlaps_to_post_stabilisation() -> None:
    bias = contact_rows.gap_bias(np.array([-1e-3]), np.zeros((1, 2)), np.zeros(3), Stepping(stabilisation=2))
    np.testing.assert_array_equal(bias, 0)


def test_speeds_bound_every_point_of_a_body() -> None:
    """No point of a body is faster than its bound, turning included."""
    scene = Scene()
    scene.add_box((1.0, 0.2, 0.2), velocity=(3, 0, 4), angular_velocity=(0, 0, 20))
    model = compile_scene(scene)
    tip = 0.5 * np.sqrt(1.0 + 0.04 + 0.04)
    assert speeds(model, model.v_start)[0] == pytest.approx(5.0 + 20.0 * tip, rel=1e-12)


def test_impacts_are_handed_on_to_bodies_that_can_move() -> None:
    """A ball at 8 m/s hits a row of three like it, with a wall behind: each hands on half of it, all with e = 1."""
    scene = Scene()
    for k in range(4):
        scene.add_sphere(0.1, (0.2 * k, 0, 0), mass=2.0)
    scene.add_half_space((-1, 0, 0), (0.7, 0, 0))
    model = compile_scene(scene)
    chain = np.array([0, 1, 2, 3], dtype=np.int32), np.array([1, 2, 3, 4], dtype=np.int32)
    gap, closing = np.zeros(4), np.array([-8.0, 0.0, 0.0, 0.0])
    gained = lookahead.velocity_gains(model, *chain, gap, closing, np.zeros((4, 2)), 0.01, 1e-6)
    # bounds: what a body stops by is counted as if it came back
    assert (gained[:4] >= [4.0, 4.0, 2.0, 1.0]).all()
    assert (gained <= 8.0).all()
    assert gained[4] == 0.0
    elastic = lookahead.velocity_gains(model, *chain, gap, closing, np.ones((4, 2)), 0.01, 1e-6)
    assert (elastic[1:4] >= 8.0).all()
    far_off = lookahead.velocity_gains(model, *chain, gap + 0.5, closing, np.zeros((4, 2)), 0.01, 1e-6)
    np.testing.assert_array_equal(far_off, 0.0)


def test_energies_by_hand() -> None:
    model, q, v = crowd()
    kinetic = potential = 0.0
    for i in range(1, 6):
        R = matrix(q[i, 3:])
        kinetic += 0.5 * model.mass[i] * v[i, :3] @ v[i, :3] + 0.5 * v[i, 3:] @ R @ model.inertia[i] @ R.T @ v[i, 3:]
        potential += model.mass[i] * 9.81 * q[i, 2]
    assert energies(model, q, v) == pytest.approx((kinetic, potential), rel=1e-13)
