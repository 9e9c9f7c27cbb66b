"""Kinematics and momentum of random trees against finite differences of their poses, and factors against matrices."""

import numpy as np
import pytest

from stickslip.bodies.tree import articulated, free_motion, momentum
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.stiffening import stiffening_rows
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.geometry.rotation import matrix
from stickslip.robots.records import TREE_JOINT_KINDS, TreeJoint, TreeLink

GRAVITY = np.array([0.3, -0.2, -9.81])
STEP = 1e-4


def unit(x):
    return x / np.linalg.norm(x)


def random_link(rng, number, parent):
    """A link with one or two joints of any kind, or none; free joints at roots alone."""
    kinds = TREE_JOINT_KINDS[1:] if parent >= 0 or rng.random() < 0.5 else TREE_JOINT_KINDS[:1]
    count = 1 if kinds[0] == "free" else int(rng.integers(0 if parent >= 0 else 1, 3))
    joints = tuple(
        TreeJoint(
            f"joint-{number}-{k}", kinds[rng.integers(len(kinds))], tuple(unit(rng.normal(size=3))),
            tuple(0.3 * rng.normal(size=3)), pitch=0.1 * rng.normal(), zero=0.2 * rng.normal(), armature=0.05,
        )
        for k in range(count)
    )  # fmt: skip
    turn = matrix(unit(rng.normal(size=4)))
    inertia = turn @ np.diag(rng.uniform(0.1, 0.15, 3)) @ turn.T
    pose = tuple(rng.normal(size=3)), tuple(unit(rng.normal(size=4)))
    return TreeLink(
        f"link-{number}", parent, joints, rng.uniform(0.5, 2.0), inertia, tuple(0.2 * rng.normal(size=3)), *pose
    )


def random_trees(seed):
    """Two trees of five links each, with coordinates and velocities."""
    rng = np.random.default_rng(seed)
    links = []
    for root in (0, 5):
        links += [random_link(rng, root + k, -1 if k == 0 else int(rng.integers(root, root + k))) for k in range(5)]
    tree = tree_tables(links, GRAVITY)
    q = rng.normal(size=sum((7, 4, 1, 1, 1)[kind] for kind, _, _ in tree.joint_index))
    return links, tree, q, rng.normal(size=len(tree.dofs))


def placed(tree, q):
    work = tree_work(tree)
    place_links(tree, q, work)
    return work


def moved(tree, q, v, h):
    """Positions of centres of mass (nl, 3) and rotations (nl, 3, 3) after h."""
    q_end = np.empty_like(q)
    advance_tree(tree, q, v, h, q_end)
    work = placed(tree, q_end)
    turn = work.turn.reshape(-1, 3, 3)
    return work.pose[:, :3] + np.einsum("lij,lj->li", turn, tree.links[:, 8:11]), turn


def rates(tree, q, v):
    """Velocities of centres of mass and angular velocities (nl, 3), by central differences."""
    (x0, R0), (x1, R1) = moved(tree, q, v, -STEP), moved(tree, q, v, STEP)
    spin = np.einsum("lij,lkj->lik", (R1 - R0) / (2.0 * STEP), 0.5 * (R0 + R1))
    omega = 0.5 * np.stack(
        [spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]], 1
    )
    return (x1 - x0) / (2.0 * STEP), omega


def world_inertias(links, turn):
    return np.array([R @ link.inertia @ R.T for link, R in zip(links, turn, strict=True)])


def full(tree, rows):
    """Block diagonal matrix (nv, nv) of rows along paths."""
    flat, A = np.zeros(tree.square[-1]), np.zeros((len(tree.dofs),) * 2)
    momentum.fill_matrix(tree, rows, flat)
    for t, (a, b) in enumerate(zip(tree.start, tree.start[1:], strict=False)):
        A[a:b, a:b] = flat[tree.square[t] : tree.square[t + 1]].reshape(b - a, b - a)
    return A


@pytest.mark.parametrize("seed", range(8))
def test_mass_and_bias_are_those_of_the_links_by_themselves(seed):
    links, tree, q, v = random_trees(seed)
    work = placed(tree, q)
    assert momentum.linearise(tree, v, work)
    mass = np.array([link.mass for link in links])
    inertia = world_inertias(links, work.turn.reshape(-1, 3, 3))
    J = [rates(tree, q, e) for e in np.eye(len(v))]
    linear, angular = np.array([x for x, _ in J]), np.array([w for _, w in J])
    expected = np.einsum("alx,l,blx->ab", linear, mass, linear) + np.einsum(
        "alx,lxy,bly->ab", angular, inertia, angular
    )
    np.fill_diagonal(expected, expected.diagonal() + 0.05)
    np.testing.assert_allclose(full(tree, work.mass), expected, atol=1e-6 * np.abs(expected).max())

    # accelerations and changes of angular momentum along a path with constant velocities
    h = 1e-3
    (x0, _), (x, _), (x1, _) = (moved(tree, q, v, s) for s in (-h, 0.0, h))
    acceleration = (x1 - 2.0 * x + x0) / h**2 - GRAVITY
    spins = []
    for s in (-h, h):
        q_near = np.empty_like(q)
        advance_tree(tree, q, v, s, q_near)
        turn = placed(tree, q_near).turn.reshape(-1, 3, 3)
        spins.append(np.einsum("lxy,ly->lx", world_inertias(links, turn), rates(tree, q_near, v)[1]))
    gain = (spins[1] - spins[0]) / (2.0 * h)
    bias = np.einsum("alx,l,lx->a", linear, mass, acceleration) + np.einsum("alx,lx->a", angular, gain)
    np.testing.assert_allclose(work.bias, bias, atol=2e-4 * np.abs(bias).max())


@pytest.mark.parametrize("seed", range(3))
def test_velocities_of_links_are_those_of_their_poses(seed):
    _, tree, q, v = random_trees(seed)
    work = placed(tree, q)
    momentum.linearise(tree, v, work)
    x, omega = rates(tree, q, v)
    at = work.centre[tree.link_index[:, 4]]
    turn = work.turn.reshape(-1, 3, 3)
    com = work.pose[:, :3] + np.einsum("lij,lj->li", turn, tree.links[:, 8:11])
    np.testing.assert_allclose(work.velocity[:, :3], omega, atol=1e-6)
    np.testing.assert_allclose(work.velocity[:, 3:] + np.cross(work.velocity[:, :3], com - at), x, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_factors_solve_and_invert(seed):
    _, tree, q, v = random_trees(seed)
    work = placed(tree, q)
    momentum.linearise(tree, v, work)
    A, b = full(tree, work.mass), np.random.default_rng(seed).normal(size=len(v))
    x, inverse = b.copy(), np.zeros(tree.square[-1])
    momentum.solve_factors(tree, work.factor, x)
    np.testing.assert_allclose(A @ x, b, atol=1e-11)
    momentum.invert_factors(tree, work.factor, inverse)
    for t, (first, last) in enumerate(zip(tree.start, tree.start[1:], strict=False)):
        block = inverse[tree.square[t] : tree.square[t + 1]].reshape(last - first, last - first)
        np.testing.assert_allclose(block @ A[first:last, first:last], np.eye(last - first), atol=1e-10)


def test_what_is_not_positive_definite_is_said():
    link = TreeLink("rod", -1, (TreeJoint("hinge", "revolute"),), 0.0, np.zeros((3, 3)))
    tree = tree_tables([link], GRAVITY)
    work = placed(tree, np.zeros(1))
    assert not momentum.linearise(tree, np.zeros(1), work)


@pytest.mark.parametrize("seed", range(8))
def test_elimination_from_link_to_link_solves_what_the_full_matrix_does(seed):
    """A = M + D + h K, K of the momenta that links lack; rounding of a matrix of condition 1e3 or so."""
    _, tree, q, v = random_trees(seed)
    rng, h = np.random.default_rng(seed + 100), 0.1
    twist, diagonal, b = rng.normal(size=(len(tree.links), 6)), rng.uniform(0.0, 1.0, len(v)), rng.normal(size=len(v))
    work = placed(tree, q)
    momentum.weigh_links(tree, work)
    momentum.compose_mass(tree, work)
    stiffening_rows(tree, twist, v, work)
    A = full(tree, work.mass) + h * full(tree, work.stiffening) + np.diag(diagonal)
    momentum.weigh_links(tree, work)
    articulated.lacking(tree, twist, v, work)
    articulated.eliminate(tree, diagonal, h, work)
    x = b.copy()
    articulated.solve_links(tree, work, x)
    np.testing.assert_allclose(A @ x, b, atol=1e-9 * np.linalg.norm(A) * np.linalg.norm(x))


@pytest.mark.parametrize("seed", range(4))
def test_a_newton_step_leaves_no_momentum_lacking(seed):
    """S^T (I S v - p) + D v = h f where the step ends, from momenta of other velocities."""
    _, tree, q, v = random_trees(seed)
    rng, h, n = np.random.default_rng(seed + 200), 1e-3, len(v)
    push, diagonal = rng.normal(size=n), rng.uniform(0.0, 0.1, n)
    start, work = placed(tree, q), tree_work(tree)
    momentum.move_links(tree, v, start)
    twist = np.empty((len(tree.links), 6))
    free_motion.free_twists(tree, start, np.zeros((len(tree.links), 6)), h, twist)
    q_at, found, left = np.empty_like(q), np.empty(n), np.empty(n)
    assert articulated.newton_velocity(tree, (q, v), (twist, push, diagonal), q_at, work, h, found)
    q_end = np.empty_like(q)
    advance_tree(tree, q, found, h, q_end)
    place_links(tree, q_end, work)
    momentum.weigh_links(tree, work)
    articulated.lacking(tree, twist, found, work)
    articulated.residual(tree, (found, v), push, diagonal, h, work, left)
    assert np.abs(left).max() < 1e-9 * (1.0 + np.abs(found).max())
