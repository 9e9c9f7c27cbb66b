"""Rows are where ``row_start`` says: blocks of five and one row have a mean of three, and joints have four rows too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Drive, Scene, Simulation, elastic, tet_generators
from stickslip.contact.gallery import contact
from stickslip.contact.laws import BILATERAL, BOUNDED, ELLIPSOID
from stickslip.contact.problem import ContactProblem
from stickslip.contact.row_by_row import Row, assemble
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import to_dense
from stickslip.model.stepping import Stepping
from stickslip.solvers.methods import solve
from stickslip.solvers.registry import SOLVERS, make_solver
from stickslip.solvers.verdict import judge_solution


def driven_hinge_and_soft_cube(contact_too: bool = False) -> Scene:
    """A box on a hinge that a weak motor turns, and elsewhere a soft cube: five rows and one, and no others."""
    scene = Scene()
    box = scene.add_box((0.2, 0.1, 0.1), (0, 0, 1.0), mass=1.0)
    drive = Drive(damping=5.0, velocity=3.0, limit=2.0)
    scene.add_revolute(None, box, (-0.1, 0, 1.0), (0, 1, 0), drive=drive)
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), 1), elastic(5e4, 0.35, beta=1e-3), (2, 0, 1.0))
    if contact_too:
        scene.add_half_space(position=(0, 0, 0.95), friction=0.5)
    return scene


@pytest.mark.parametrize("name", SOLVERS)
def test_a_driven_hinge_beside_a_soft_body(name: str) -> None:
    solver = make_solver(name)
    sim = Simulation(driven_hinge_and_soft_cube(), solver=solver, stepping=Stepping(dt=0.01))
    for _ in range(20):
        result = sim.step()
        problem = result.problem
        assert np.diff(problem.J.row_start)[:2].tolist() == [5, 1]  # with newton, rows of elements follow
        assert np.isfinite(sim.state.body_pose).all()
        assert np.isfinite(result.solution.lam).all()
        # the status is true
        if result.solution.converged:
            assert sim.joint_error() < 1e-3
        assert abs(result.solution.lam[5]) <= 2.0 * 0.01 * (1 + 1e-9)  # the motor's limit
    if name in ("auto", "admm", "lcp", "implicit", "newton", "prox-gs", "proximal-point", "sap"):
        assert result.certificate.status == "converged"


def test_condensed_blocks_have_their_own_sizes() -> None:
    """Five rows and one row, beside four contacts of three rows and a weld: W by blocks is W."""
    for contact_too in (False, True):
        sim = Simulation(driven_hinge_and_soft_cube(contact_too), stepping=Stepping(dt=0.01))
        sim.run(3)
        problem = sim.last.problem
        W = to_dense(problem.delassus)
        dense = to_dense(problem.J)
        expected = np.column_stack(
            [dense @ (problem.velocity(e) - problem.velocity(0 * e)) for e in np.eye(problem.row_count)]
        )
        np.testing.assert_allclose(W, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def with_rows_of_four(seed: int) -> ContactProblem:
    """Joints of four rows alone, each of them any direction of force."""
    rng = np.random.default_rng(seed)
    rows = [
        Row(a, b, rng.normal(size=(4, 6)), rng.normal(size=(4, 6)), np.zeros(4), BILATERAL, compliance=1e-3)
        for a, b in ((-1, 0), (0, 1), (1, 2))
    ]
    return assemble([1.0, 2.0, 3.0], [0.5, 0.4, 0.3], rng.normal(size=18), rows)


def test_joints_of_four_rows_act_with_all_of_them() -> None:
    problem = with_rows_of_four(0)
    dense, lam = to_dense(problem.J), np.random.default_rng(1).normal(size=12)
    np.testing.assert_allclose(block_rows.apply_transpose(problem.J, lam), dense.T @ lam, atol=1e-12)
    np.testing.assert_allclose(block_rows.apply(problem.J, problem.v_free), dense @ problem.v_free, atol=1e-12)
    for name in SOLVERS:
        solver = make_solver(name, tolerance=1e-6, max_iterations=20000)
        found = solver.solve(problem)
        assert judge_solution(solver, problem, found).honest, name


def test_contacts_of_four_rows_with_joints_of_two_and_drives() -> None:
    """Four and two rows, a mean of three; and a contact whose last row is no pure spin."""
    rng = np.random.default_rng(2)
    touch = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0.1, 0, -0.5), (0.5, 0.5, 0.1), friction_set=ELLIPSOID)
    twisted = replace(touch, rows_b=touch.rows_b + np.vstack([np.zeros((3, 6)), [[0.3, 0.2, 0, 0, 0, 0]]]))
    pair = Row(0, 1, rng.normal(size=(2, 6)), rng.normal(size=(2, 6)), np.zeros(2), BILATERAL)
    drive = Row(0, 1, -np.eye(6)[3:5], np.eye(6)[3:5], np.full(2, 0.3), BOUNDED, bound=0.01)
    for rows in ([touch, pair], [touch, pair, drive], [twisted, pair], [twisted], [pair, touch]):
        problem = assemble([1.0, 2.0], [0.5, 0.4], [0, 0, -1, 0.2, 0, 0.5, 0.1, 0, 0, 0, 0, 0], rows)
        for name in ("auto", "prox-gs", "prox-jacobi", "pgs", "newton"):
            solver = make_solver(name, tolerance=1e-7, max_iterations=20000)
            found = solve(solver, problem)
            assert found.converged, (name, found.status)
            assert judge_solution(solver, problem, found).honest, name
