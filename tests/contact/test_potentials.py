"""Joints, rods and welds as potentials in A: the problem of the rows up to a small compliance, for all solvers."""

from collections.abc import Callable

import numpy as np
import pytest

from stickslip import Drive, InputError, Scene, Simulation, Stepping, elastic
from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, LIMIT
from stickslip.contact.potentials import STRUCTURES, is_held, with_potentials
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.geometry import tet_generators
from stickslip.linalg.block_rows import apply_transpose, to_dense
from stickslip.linalg.inertia import Inertia
from stickslip.robots.records import RobotRecord, TreeJoint, TreeLink
from stickslip.scenes.cable_winding import cable_winding
from stickslip.solvers.methods import solve, solve_with_potentials
from stickslip.solvers.protocol import Solution
from stickslip.solvers.registry import make_solver
from stickslip.tolerances import POTENTIAL_COMPLIANCE

SOLVERS = {
    "auto": (make_solver("auto"), 1e-5),
    "sap": (make_solver("sap"), 2e-3),  # its contacts give way, with rows as much
    "pgs": (make_solver("pgs", tolerance=1e-9, max_iterations=20000), 1e-5),
    "apgd": (make_solver("apgd", tolerance=1e-9, max_iterations=20000), 1e-5),
    "apgd factorised": (make_solver("apgd", operator="factorised", tolerance=1e-9, max_iterations=20000), 1e-5),
    "admm nodes": (make_solver("admm", splitting="nodes", tolerance=1e-9, max_iterations=20000), 1e-5),
    "cond": (make_solver("cond", tolerance=1e-8, max_iterations=200000), 1e-4),
}
"""With what share of the speeds in a problem its velocities are the same."""


def pendulum() -> Scene:
    """A ball on a hinge that its weight presses onto the ground, beside one that nothing joins."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    ball = scene.add_sphere(0.1, (0.4, 0, 0.0999), mass=2.0)
    scene.add_revolute(None, ball, (0, 0, 0), (0, 1, 0))  # at the height of the contact, which does not slide
    scene.add_sphere(0.1, (0, 2, 0.0999), mass=1.0)
    return scene


def rod() -> Scene:
    """An elastic rod, held at one end, whose other end touches the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    points = np.array([0.0, 0.0, 0.0099]) + np.linspace(0.0, 0.3, 6)[:, None] * np.array([1.0, 0.0, 0.0])
    post = scene.add_box((0.02, 0.02, 0.02), (-0.011, 0, 0.0099), kind="static")
    made = scene.add_rod(points, 0.01, young=1e6, density=1000.0, damping=0.01, fixed_start=post)
    for link in made.links:
        scene.ignore_collision(post, link)
    return scene


def driven() -> Scene:
    """Two links with a drive of limited force, a drive without one, and limits that stop one of them."""
    scene = Scene()
    first = scene.add_box((0.3, 0.1, 0.1), (0.15, 0, 1), mass=1.0)
    second = scene.add_box((0.3, 0.1, 0.1), (0.45, 0, 1), mass=1.0)
    strong, weak = Drive(stiffness=200.0, damping=5.0, position=0.3), Drive(damping=9.0, velocity=-2.0, limit=1.0)
    scene.add_revolute(None, first, (0, 0, 1), (0, 1, 0), drive=weak, limits=(-0.5, 0.0))
    scene.add_revolute(first, second, (0.3, 0, 1), (0, 1, 0), drive=strong)
    return scene


def welded() -> Scene:
    """A soft beam welded to a box on a hinge, beside a soft body that lies on the ground alone."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    box = scene.add_box((0.1, 0.1, 0.1), (0, 0, 1), mass=1.0)
    scene.add_revolute(None, box, (0, 0, 1), (0, 1, 0))
    material = elastic(1e5, 0.3, beta=0.01)
    mesh = tet_generators.box((0.3, 0.1, 0.1), (3, 1, 1))
    beam = scene.add_soft(mesh, material, (0.2, 0, 1))
    scene.weld_nodes(beam, mesh.nodes_on_plane("x", float(mesh.nodes[:, 0].min())), box)
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), 1), material, (0, 1, 0.0499), friction=0.8)
    return scene


SCENES = (pendulum, rod, driven, welded)


def problem_of(make: Callable[[], Scene], steps: int = 3) -> ContactProblem:
    """The problem of a step, linearised at its start."""
    sim = Simulation(make(), stepping=Stepping(dt=0.005, joints="potentials"))
    sim.run(steps)
    assert sim.last is not None
    return sim.last.problem


def dense(A: Inertia, size: int) -> np.ndarray:
    return np.column_stack([A.apply(e) for e in np.eye(size)])


@pytest.mark.parametrize("make", SCENES)
def test_against_dense_algebra(make) -> None:
    """A' = A + J^T K J and b' = b - J^T K bias, in other units and another order; J' are the rows that are left."""
    problem = problem_of(make)
    stiff, recover = with_potentials(problem)
    n, J = problem.unknown_count, to_dense(problem.J)
    held = np.repeat(is_held(problem.laws.law), np.diff(problem.J.row_start))
    assert held.any()
    assert np.array_equal(np.flatnonzero(held), recover.held_rows)
    assert np.array_equal(np.sort(recover.unknown), np.arange(n))
    T = np.zeros((n, n))  # old unknowns of new ones
    T[recover.unknown, np.arange(n)] = recover.unit
    K, J_r = np.diag(recover.stiffness), J[held]
    expected = T.T @ (dense(problem.A, n) + J_r.T @ K @ J_r) @ T
    found = dense(stiff.A, n)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max())
    assert to_dense(stiff.J) == pytest.approx(J[~held] @ T)
    b = T.T @ (-problem.momentum.gain(np.zeros(n)) - J_r.T @ K @ problem.bias[held])
    assert -stiff.momentum.gain(np.zeros(n)) == pytest.approx(b, rel=1e-9, abs=1e-9 * np.abs(b).max())
    # compliances stay where they are, and what has none gets little
    soft = problem.laws.compliance[held] > 0.0
    assert (1.0 / recover.stiffness >= problem.laws.compliance[held] * (1.0 - 1e-12)).all()
    assert soft.any() == (make in (rod, driven))
    assert set(stiff.laws.law) <= {CONTACT, LIMIT, BOUNDED}
    # what is joined is factorised together, as few parts as there are
    assert stiff.A.has_soft
    assert len(stiff.A.nodes.parts) == {pendulum: 1, rod: 1, driven: 1, welded: 2}[make]
    assert stiff.A.dense.block_count == (1 if make is pendulum else 0)
    assert found @ stiff.A.solve(b) == pytest.approx(b, abs=1e-7 * np.abs(b).max())


@pytest.mark.parametrize("make", SCENES)
@pytest.mark.parametrize("name", SOLVERS)
def test_the_same_velocities_as_with_rows(name: str, make) -> None:
    problem = problem_of(make)
    rows = solve(make_solver("auto", tolerance=1e-10), problem)
    solver, close = SOLVERS[name]
    found = solve_with_potentials(solver, problem)
    if name == "cond" and not found.converged:
        assert make is not rod  # rigid joints are too stiff for steps by a diagonal, and it says so
        return
    assert found.converged
    size = max(problem.free_speed, np.abs(rows.v).max())
    assert found.v == pytest.approx(rows.v, abs=close * size)
    # momentum is met with the impulses of all rows, those of joints among them
    error = problem.momentum.gain(found.v) - apply_transpose(problem.J, found.lam)
    assert np.abs(error).max() <= close * np.abs(apply_transpose(problem.J, rows.lam)).max()
    if name == "auto":
        assert apply_transpose(problem.J, found.lam) == pytest.approx(
            apply_transpose(problem.J, rows.lam), abs=1e-4 * np.abs(rows.lam).max()
        )


def carried() -> Scene:
    """A rod that touches the ground, whose end an arm of four joints holds: a tree does not fill up blocks of three."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    links, axes = [], ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    for k, axis in enumerate(axes):
        joint = TreeJoint(f"joint{k}", "revolute", axis, damping=0.2, stiffness=5.0)
        place = (0.0, 0.0, 0.2) if k == 0 else (0.08, 0.0, 0.0)
        links.append(TreeLink(f"link{k}", k - 1, (joint,), 0.4, 1e-3 * np.eye(3), (0.04, 0.0, 0.0), place))
    arm = scene.add_tree(RobotRecord("arm", tuple(links)), position=(-0.4, 0.0, -0.1901))
    points = np.array([-0.08, 0.0, 0.0099]) + np.linspace(0.0, 0.3, 6)[:, None] * np.array([1.0, 0.0, 0.0])
    scene.add_rod(points, 0.01, young=1e6, density=1000.0, damping=0.01, fixed_start=arm.link("link3"))
    return scene


def test_trees_of_any_number_of_joints_are_joined() -> None:
    """The same A' and b' as by dense algebra, with two unknowns of nothing; velocities are those of the rows."""
    problem = problem_of(carried)
    stiff, recover = with_potentials(problem)
    n, J = problem.unknown_count, to_dense(problem.J)
    size = len(recover.unknown)
    assert (n, size) == (4 + 30, 36)
    real = recover.unknown < n
    assert np.array_equal(np.sort(recover.unknown[real]), np.arange(n))
    held = np.repeat(is_held(problem.laws.law), np.diff(problem.J.row_start))
    T = np.zeros((n, size))
    T[recover.unknown[real], np.flatnonzero(real)] = recover.unit[real]
    K, J_r = np.diag(recover.stiffness), J[held]
    expected = T.T @ (dense(problem.A, n) + J_r.T @ K @ J_r) @ T
    found = dense(stiff.A, size)
    filled = np.flatnonzero(~real)
    assert (found[filled, filled] > 0.0).all()
    expected[filled, filled] = found[filled, filled]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max())
    v = np.random.default_rng(1).standard_normal(n)
    assert recover.velocities(recover.new_velocities(v)) == pytest.approx(v, rel=1e-12)
    rows = solve(make_solver("auto", tolerance=1e-10), problem)
    for name in ("auto", "cond"):
        solver, close = SOLVERS[name]
        solved = solve_with_potentials(solver, problem)
        assert solved.converged
        assert solved.v == pytest.approx(rows.v, abs=close * max(problem.free_speed, np.abs(rows.v).max()))


def test_rigid_joints_open_by_holding() -> None:
    """The velocity that is left in their rows is C lam, POTENTIAL_COMPLIANCE of what they took away."""
    problem = problem_of(pendulum)
    found = solve_with_potentials(make_solver("auto"), problem)
    rigid = np.repeat(problem.laws.law == BILATERAL, np.diff(problem.J.row_start))
    left = np.abs(problem.constraint_velocity(found.v)[rigid]).max()
    taken = np.abs(problem.constraint_velocity(problem.v_free)[rigid]).max()
    assert 0.0 < left <= 3.0 * POTENTIAL_COMPLIANCE * taken


def test_problems_without_joints_and_given_by_their_matrix() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.0999))
    rows, potentials = (Simulation(scene, stepping=Stepping(joints=each)) for each in ("rows", "potentials"))  # type: ignore[arg-type]
    assert np.array_equal(rows.run(5).body_pose, potentials.run(5).body_pose)
    with pytest.raises(InputError, match="given by its Delassus matrix W"):
        with_potentials(from_delassus(np.eye(3), np.zeros(3), [0.5]))
    with pytest.raises(InputError, match=r"joints is 'none'.*rows, potentials"):
        Stepping(joints="none")  # type: ignore[arg-type]


def test_structures_are_kept_while_joints_hold() -> None:
    """One for all steps, and another one after a joint has broken; bodies fall as without potentials."""
    scene = Scene()
    chain = [scene.add_sphere(0.05, (0.2 * k, 0, 0), mass=1.0) for k in range(4)]
    for a, b in zip(chain[:-1], chain[1:], strict=True):
        joint = scene.add_ball(a, b, scene.bodies[b.index].position, break_force=50.0 if b is chain[-1] else None)
    sim = Simulation(scene, stepping=Stepping(dt=0.005, joints="potentials"))
    sim.run(5)
    known = sim.workspace.slot(STRUCTURES, dict)
    assert len(known) == 1
    structure = next(iter(known.values()))
    assert [part.pattern.size for part in structure.parts] == [8]
    sim.set_force(chain[-1], (200.0, 0, 0))
    sim.run(3)
    assert sim.joint_broken(joint)
    assert len(known) == 2
    assert sorted(part.pattern.size for part in list(known.values())[-1].parts) == [6]


@pytest.mark.parametrize("scheme", ["euler", "moreau", "passive"])
def test_momentum_is_conserved(scheme) -> None:
    """A spinning dumb-bell with a spring between two pairs, in free flight."""
    scene = Scene(gravity=(0, 0, 0))
    a, b, c = (
        scene.add_box(
            (0.2, 0.1, 0.1), (0.3 * k, 0, 0), mass=1.0 + k, velocity=(0.0, 0.2 * k, 0.1), angular_velocity=(0, 0, 1)
        )
        for k in range(3)
    )
    scene.add_ball(a, b, (0.15, 0, 0))
    scene.add_fixed(b, c, (0.45, 0, 0), stiffness=1e4, damping=1.0, bending_stiffness=50.0)
    sim = Simulation(scene, stepping=Stepping(dt=0.002, scheme=scheme, joints="potentials"))
    mass = np.array([1.0, 2.0, 3.0])
    before = mass @ sim.state.body_velocity[:, :3]
    for _ in range(50):
        result = sim.step()
        assert result.certificate.converged
    assert mass @ sim.state.body_velocity[:, :3] == pytest.approx(before, abs=1e-9)
    assert sim.joint_error() < 1e-4


@pytest.mark.parametrize("make", SCENES)
def test_motions_are_those_with_rows(make) -> None:
    """A step that is linearised once differs by the square of what joints turn by in it."""
    rows, potentials = (Simulation(make(), stepping=Stepping(dt=0.002, joints=each)) for each in ("rows", "potentials"))
    rows.run(40)
    for _ in range(40):
        assert potentials.step().certificate.converged
    assert potentials.state.body_pose == pytest.approx(rows.state.body_pose, abs=2e-3)
    assert potentials.state.node_position == pytest.approx(rows.state.node_position, abs=2e-3)
    assert potentials.joint_error() < 1e-4


CABLE = {
    "auto": (make_solver("auto"), 1e-3),
    "sap": (make_solver("sap"), 3e-3),
    "pgs": (make_solver("pgs", criterion="velocity", tolerance=1e-4), 1e-3),
    "apgd": (make_solver("apgd", operator="factorised", criterion="velocity", tolerance=1e-4), 1e-3),
    "admm": (make_solver("admm", splitting="nodes", criterion="velocity", tolerance=1e-4), 1e-3),
    "cond": (make_solver("cond", criterion="step", tolerance=1e-4), 15e-3),  # theta says little of what is missing
    "cond to 1e-6": (make_solver("cond", criterion="step", tolerance=1e-6), 1e-3),
}
"""With which positions [m] are the same after 0.6 s."""


@pytest.fixture(scope="module")
def wound_with_rows() -> np.ndarray:
    return Simulation(cable_winding(links=40), dt=0.01).run(60).body_pose


@pytest.mark.parametrize("name", CABLE)
def test_the_cable_with_the_methods_of_the_paper(name: str, wound_with_rows: np.ndarray) -> None:
    solver, close = CABLE[name]
    sim = Simulation(cable_winding(links=40), solver=solver, stepping=Stepping(dt=0.01, joints="potentials"))
    found: list[Solution] = []
    sim.run(60, lambda result: found.append(result.solution))
    assert all(each.converged for each in found)
    assert sim.state.body_pose[:, :3] == pytest.approx(wound_with_rows[:, :3], abs=close)
    assert len(sim.workspace.slot(STRUCTURES, dict)) == 1
