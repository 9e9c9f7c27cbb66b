"""COND: what W has beside its diagonal: rigid bodies with joints, groups of nodes, rods. Contacts do not see it."""

from __future__ import annotations

import numpy as np
import pytest
from nodal_problems import SCENES, dense_system, soft_cubes

from stickslip import InputError, Scene, Simulation, elastic, tet_generators
from stickslip.contact.potentials import with_potentials
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.scenes.running import prepare
from stickslip.solvers.budget import Clock
from stickslip.solvers.cond import coarse as cond_coarse
from stickslip.solvers.cond.chain import chain, is_chain, no_chain, solve_chain
from stickslip.solvers.cond.coarse import Coarse, apply_bodies, apply_groups, coarse_space, no_coarse
from stickslip.solvers.cond.cond import Cond, _Run
from stickslip.solvers.cond.interval import eigenvalue_interval
from stickslip.solvers.cond.levels import free_nodes, no_levels
from stickslip.solvers.cond.nodes import Nodal, nodalised
from stickslip.solvers.cond.steps import frobenius_steps, row_sums
from stickslip.workspace import Workspace


def spaces(problem: ContactProblem) -> tuple[Nodal, Coarse]:
    """A problem over nodes and its coarse space."""
    nodal = nodalised(problem, None, joined=True)
    return nodal, coarse_space(nodal, free_nodes(nodal), problem.A.nodes.places, Workspace())


@pytest.mark.parametrize("name", ["node-static", "node-rigid", "two-at-once", "edge-edge"])
def test_groups_move_like_rigid_bodies_and_leave_contacts_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z A_z^-1 Z^T is symmetric, zero wherever a row acts, and exact for rigid motions of the other nodes."""
    monkeypatch.setattr(cond_coarse, "MOST_TOUCHED", 0.99)  # of these small bodies contacts touch more than a quarter
    problem = SCENES[name]()
    nodal, C = spaces(problem)
    assert C.group_count > 0
    first, free = int(nodal.rigid.start[-1]), free_nodes(nodal)
    size = 3 * len(free)
    W = np.zeros((size, size))
    for i in range(size):
        apply_groups(C, np.eye(size)[i], -1.0, W[i])
    touched = np.abs(block_rows.to_dense(nodal.J)[:, first:]).sum(axis=0) > 0.0
    assert pytest.approx(W.T, abs=1e-12 * np.abs(W).max()) == W
    assert not W[touched].any()
    assert np.linalg.eigvalsh(W).min() >= -1e-10 * np.abs(W).max()
    A = dense_system(nodal)[0][first : first + size, first : first + size]
    motion = np.array([0.3, -0.2, 0.5]) + np.cross([1.0, 2.0, -0.7], problem.A.nodes.places)
    motion = np.where(free[:, None], motion, 0.0).ravel()
    assert W @ (A @ motion) == pytest.approx(motion, abs=1e-5 * np.abs(motion).max())


def test_bodies_are_solved_for_with_their_ties_and_joints() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    below = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.05), mass=1.0, friction=0.5)
    above = scene.add_box((0.1, 0.1, 0.1), (0, 0, 0.15), mass=2.0, friction=0.5)
    scene.add_revolute(below, above, (0, 0, 0.1), (0, 0, 1))
    nodal, C = spaces(Simulation(scene, dt=0.005, solver="cond").step().problem)
    assert list(C.rigid) == list(range(12))
    A = dense_system(nodal)[0][:12, :12]
    rng = np.random.default_rng(0)
    g, x = rng.normal(size=12), np.zeros(12)
    apply_bodies(C, g, -1.0, x)
    assert A @ x == pytest.approx(g, abs=1e-6 * np.abs(g).max())


def test_a_rod_is_solved_by_its_envelope() -> None:
    run = prepare("cable-winding", "cond", {"links": 24, "length": 1.2, "solver.criterion": "step"})
    for _ in range(5):
        result = run.sim.step()
    problem = with_potentials(result.problem)[0]
    assert is_chain(problem.A.nodes.pattern)
    nodal = nodalised(problem, 0.3, joined=True, chained=True)
    assert nodal.virtual == len(nodal.contact) > 0
    assert not len(nodal.node)  # no link is a node of a contact
    R = chain(nodal)
    A = dense_system(nodal)[0]
    first, size = int(nodal.rigid.start[-1]), len(R.work)
    A = A[first : first + size, first : first + size]
    g = np.random.default_rng(1).normal(size=size)
    R.work[:] = g
    solve_chain(R)
    assert A @ R.work == pytest.approx(g, abs=1e-6 * np.abs(g).max())


def test_they_save_iterations_and_change_no_solution() -> None:
    """Coarse fingers close on an object that a stiff joint holds: bending, a joint, and ties of a rigid body."""
    found = {}
    for levels in (True, False):
        settings = {"scale": 0.4, "solver.levels": levels, "solver.max_iterations": 20_000}
        sim = prepare("soft-gripper", "cond", settings).sim
        sim.run(8)
        counts = [sim.step().solution.iterations for _ in range(6)]
        found[levels] = float(np.mean(counts)), sim.state.v
    assert found[True][0] < 0.5 * found[False][0]
    assert found[True][1] == pytest.approx(found[False][1], abs=1e-4)


def test_a_step_without_contact_is_solved_directly() -> None:
    scene = Scene()
    scene.add_soft(
        tet_generators.box((0.1, 0.1, 0.1), 2), elastic(5e4, 0.35), (0, 0, 1.0), angular_velocity=(3.0, 0, 0)
    )
    found = {}
    for direct in (True, False):
        sim = Simulation(scene, dt=0.005, solver=Cond(criterion="step", tolerance=1e-9, direct=direct))
        found[direct] = [sim.step() for _ in range(3)]
    assert [each.solution.iterations for each in found[True]] == [1, 1, 1]
    assert min(each.solution.iterations for each in found[False]) > 1
    assert found[True][-1].state.v == pytest.approx(found[False][-1].state.v, abs=1e-7)


def test_the_paper_does_not_ask_for_the_momentum_of_bodies() -> None:
    assert Cond(net=1.0).net == 1.0
    for wrong in (0.0, -1.0, 1.5):
        with pytest.raises(InputError, match=r"solver cond: net is"):
            Cond(net=wrong)


@pytest.mark.parametrize(("scene", "steps", "most"), [("ball-grip", 30, 46.0), ("soft-gripper", 24, 52.0)])
def test_condition_numbers_of_the_step_size_matrix(scene: str, steps: int, most: float) -> None:
    """Roots of what Lanczos' method finds without contacts; 175 and 200 with a diagonal W."""
    sim = prepare(scene, "cond", {"solver.criterion": "step", "solver.tolerance": 1e-4}).sim
    for _ in range(steps):
        problem = sim.step().problem
    solver = Cond()
    N = nodalised(problem, None, joined=True)
    W = frobenius_steps(N, row_sums(N))
    run = _Run(solver, problem, N, W, np.zeros(problem.unknown_count), None, Clock(np.inf), False)
    low, high = eigenvalue_interval(N, run.W, run.L, run.C, run.R, 100)
    assert 0.0 < low < high
    assert 5.0 < np.sqrt(high / low) <= most


def test_intervals_are_those_of_the_dense_matrix() -> None:
    """W A of a small problem, without contacts and with those that push held still."""
    result = Simulation(soft_cubes(), dt=0.005, solver="cond").step()
    problem = result.problem
    N = nodalised(problem, None)
    W, L, C, R = frobenius_steps(N, row_sums(N)), no_levels(N), no_coarse(N), no_chain()
    A = dense_system(N)[0]
    size = len(A)
    root = np.sqrt(np.concatenate([W.soft, np.repeat(W.virtual, 3)]))
    values = np.linalg.eigvalsh(root[:, None] * A * root)
    assert eigenvalue_interval(N, W, L, C, R, size) == pytest.approx((values[0], values[-1]), rel=1e-5)
    lam = result.solution.lam
    assert (lam[::3] > 0.0).any()
    held = eigenvalue_interval(N, W, L, C, R, 2 * size, None, lam)
    assert values[0] - 1e-9 <= held[0] < held[1] <= values[-1] + 1e-9
