"""Geometric stiffness as a diagonal of absolute column sums, [lee2023] sec. II-A: A stays definite, steps the same."""

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping, elastic
from stickslip.bodies.soft import momentum as soft_bodies
from stickslip.bodies.soft.column_sums import column_sums
from stickslip.constraints.joint.stiffness import geometric_stiffness, stiffness_parts
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.tet_generators import box
from stickslip.linalg import block_matrix

SCHEMES = ("euler", "moreau", "passive")
MODELS = ("corotational", "neo-hookean", "st-venant-kirchhoff")


def dense_matrix(model: str, stretch: float, scheme: str, geometric: str, convex: float) -> np.ndarray:
    """A of a free bar of two cubes that is stretched along its axis, after a step of 20 ms."""
    mesh = box((0.2, 0.1, 0.1), (2, 1, 1))
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_soft(mesh, elastic(1e5, 0.3, model=model))
    sim = Simulation(scene, stepping=Stepping(dt=0.02, scheme=scheme, geometric=geometric))
    sim.set_node_position(body, mesh.nodes * [stretch, 1, 1])
    soft, motion = sim.model.soft, soft_bodies.soft_motion(sim.model, sim.state, sim.control, sim.stepping)
    blocks = soft_bodies.momentum(soft, motion, motion.v, convex).matrix
    return block_matrix.to_csr(soft.pattern, blocks).toarray()


def least(A: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(A)[0])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("model", MODELS)
def test_compressed_elements_are_indefinite_and_made_definite(model: str, scheme: str) -> None:
    exact = dense_matrix(model, 0.6, scheme, "projected", 0.0)
    bounded = dense_matrix(model, 0.6, scheme, "column-sums", 1.0)
    assert least(exact) < 0.0
    assert least(bounded) > 0.0
    assert least(bounded - exact) > -1e-12  # never less than the Hessian
    np.testing.assert_allclose(bounded, bounded.T, atol=1e-15)


@pytest.mark.parametrize("model", MODELS)
def test_stretched_elements_too_and_at_rest_nothing_is_added(model: str) -> None:
    exact, bounded = (dense_matrix(model, 1.5, "euler", kind, c) for kind, c in (("projected", 0), ("column-sums", 1)))
    assert least(bounded) > 0.0
    assert least(bounded - exact) > -1e-12
    exact, bounded = (dense_matrix(model, 1.0, "euler", kind, c) for kind, c in (("projected", 0), ("column-sums", 1)))
    np.testing.assert_allclose(bounded, exact, atol=1e-12)


def test_what_is_added_is_the_diagonal_of_sums() -> None:
    """The difference to the turned stiffness, by hand."""
    exact = dense_matrix("corotational", 0.7, "euler", "projected", 0.0)
    bounded = dense_matrix("corotational", 0.7, "euler", "column-sums", 1.0)
    turned = dense_matrix("lagged-corotational", 0.7, "euler", "projected", 0.0)
    np.testing.assert_allclose(bounded, turned + np.diag(np.abs(exact - turned).sum(axis=0)), atol=1e-10)


def test_sums_of_columns() -> None:
    blocks = np.arange(36.0).reshape(4, 3, 3) - 18.0
    dense = np.block([[blocks[0], blocks[1]], [blocks[2], blocks[3]]])
    found = column_sums(np.array([0, 1, 0, 1]), blocks, 2)
    np.testing.assert_allclose(found.ravel(), np.abs(dense).sum(axis=0))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_hanging_bar_moves_the_same(scheme: str) -> None:
    found = []
    for geometric in ("projected", "column-sums"):
        mesh = box((0.4, 0.1, 0.1), (3, 1, 1))
        scene = Scene()
        body = scene.add_soft(mesh, elastic(3e4, 0.3, model="corotational", beta=1e-3))
        scene.hold_nodes(body, mesh.nodes[:, 0] < -0.19)
        sim = Simulation(scene, stepping=Stepping(dt=0.005, scheme=scheme, geometric=geometric))
        for _ in range(25):
            assert sim.step().certificate.converged
        found.append(sim.nodes(body))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def pendulum(scheme: str = "euler", geometric: str = "projected", dt: float = 0.01) -> Simulation:
    """A heavy thin rod that swings fast about a ball joint at its end."""
    scene, turn = Scene(), about_axis((0, 1, 0), 2.0)
    down = matrix(turn) @ [0, 0, -1.0]
    rod = scene.add_box((0.05, 0.05, 0.5), 0.25 * down, turn, mass=1.0, angular_velocity=(0, 0, 0))
    bob = scene.add_sphere(0.1, 1.0 * down, mass=5.0)
    scene.add_ball(None, rod, (0, 0, 0))
    scene.add_distance(rod, bob, 0.5 * down, 1.0 * down)
    return Simulation(scene, stepping=Stepping(dt=dt, scheme=scheme, geometric=geometric))


def test_the_stiffness_of_joints_is_bounded_by_a_diagonal() -> None:
    sim = pendulum()
    sim.run(30)
    model, state = sim.model, sim.state
    exact, turning = stiffness_parts(model, state.body_pose, state.joint_impulse, 0.01)
    exact[:, 3:, 3:] += turning
    summed = geometric_stiffness(model, state.body_pose, state.joint_impulse, 0.01, column_sums=True)
    for full, diagonal in zip(exact, summed, strict=True):
        assert np.abs(full).max() > 0.0
        np.testing.assert_array_equal(diagonal, np.diag(np.diag(diagonal)))
        assert least(diagonal) >= 0.0
        assert least(diagonal - full) > -1e-12 * np.abs(full).max()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_swinging_joint_moves_the_same(scheme: str) -> None:
    found = []
    for geometric in ("projected", "column-sums"):
        sim = pendulum(scheme, geometric)
        for _ in range(40):
            assert sim.step().certificate.converged
        assert sim.joint_error() < 1e-8
        found.append(sim.state.body_pose)
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match=r"geometric is 'none'.*projected, column-sums"):
        Stepping(geometric="none")  # type: ignore[arg-type]
