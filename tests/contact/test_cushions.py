"""Compliant contacts: every solver finds what a slow dense iteration finds; files keep them or refuse them."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.cushions import cushioned
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.random_problems import random_problem
from stickslip.contact.residual import residual
from stickslip.errors import FileError, InputError
from stickslip.io.problem_file import load_file, save_problem
from stickslip.linalg.block_rows import to_dense
from stickslip.solvers.registry import SOLVERS, make_solver
from stickslip.solvers.verdict import judge_solution

EXACT = [name for name in SOLVERS if make_solver(name).takes.law == "exact"]
TORSION = [name for name in EXACT if "ellipsoid" in make_solver(name).takes.friction_sets]


def groove(torsion: float = 0.0) -> ContactProblem:
    """Two balls in a groove, the upper one on the lower, pushed along: five contacts, three of them compliant."""
    scene = Scene()
    for side in (-1.0, 1.0):
        scene.add_half_space((side, 0, 1), friction=0.3, contact_stiffness=2e4 if side > 0 else None, torsion=torsion)
    for k in range(2):
        scene.add_sphere(
            0.1, (0, 0.19 * k, 0.1414), mass=1.0 + 3.0 * k, friction=0.3, velocity=(0.1, -0.4 * k, -0.2),
            contact_stiffness=3e4 if k else None, contact_dissipation=0.01, torsion=torsion,
        )  # fmt: skip
    return Simulation(scene, dt=0.005).step().problem


def slow_impulses(problem: ContactProblem, opening: float) -> np.ndarray:
    """Fixed point of lam = P(lam - r (G lam + q + opening mu |u_t| n)) with G = W + C dense, for discs of one mu."""
    G, q, mu = to_dense(problem.delassus) + np.diag(problem.laws.compliance), problem.free_constraint_velocity, 0.3
    lam, r = np.zeros(len(q)), 0.5 / np.linalg.norm(G, 2)
    for _ in range(60_000):
        u = (G @ lam + q).reshape(-1, 3)
        z = lam.reshape(-1, 3) - r * u
        z[:, 0] -= r * opening * mu * np.hypot(u[:, 1], u[:, 2])
        size = np.hypot(z[:, 1], z[:, 2])
        inside, below = size <= mu * z[:, 0], mu * size <= -z[:, 0]
        n = np.where(inside, z[:, 0], np.where(below, 0.0, (mu * size + z[:, 0]) / (1.0 + mu * mu)))
        share = np.where(inside, 1.0, np.where(below, 0.0, mu * n / np.maximum(size, 1e-300)))
        new = np.column_stack([n, share * z[:, 1], share * z[:, 2]]).ravel()
        if np.abs(new - lam).max() < 1e-14:
            return new
        lam = new
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize("name", [*EXACT, "apgd"])
def test_solvers_agree_with_a_dense_iteration(name: str) -> None:
    problem = groove()
    assert problem.contact_compliance is not None
    assert 0 < np.count_nonzero(problem.contact_compliance) < problem.block_count
    wanted = slow_impulses(problem, 0.0 if name == "apgd" else 1.0)
    solver = make_solver(name, tolerance=1e-10, max_iterations=20_000)
    given = from_delassus(to_dense(problem.delassus), problem.free_constraint_velocity, problem.laws.friction[:, 0])
    for each in (problem, replace(given, laws=problem.laws)):
        if name in ("cond", "ipm") and each is not problem:
            continue  # cond needs the inverse of W, ipm solves W alone to 1e-7; there are more rows than velocities
        found = solver.solve(each)
        assert found.converged
        assert found.lam == pytest.approx(wanted, abs=1e-7 * wanted.max())
        # cond never solves with A: velocities follow from impulses up to the tolerance
        assert found.v == pytest.approx(each.velocity(found.lam), abs=1e-9 if name == "cond" else 1e-12)
        assert judge_solution(solver, each, found).honest


def test_sap_agrees_with_a_dense_iteration_as_far_as_it_regularises() -> None:
    problem = groove()
    wanted = slow_impulses(problem, 0.0)
    found = make_solver("sap", tolerance=1e-9).solve(problem)
    assert found.converged
    assert found.lam == pytest.approx(wanted, abs=0.02 * wanted.max())


@pytest.mark.parametrize("name", TORSION)
def test_torsion_and_compliance(name: str) -> None:
    problem = groove(torsion=0.005)
    assert problem.J.row_start[1] == 4
    solver = make_solver(name, tolerance=1e-9, max_iterations=20_000)
    found = solver.solve(problem)
    assert found.converged
    assert residual(problem, found.lam).scaled < 1e-8


def test_residuals_of_both_forms_are_the_same() -> None:
    problem = groove()
    hard = cushioned(problem)
    assert hard.contact_compliance is None
    lam = np.abs(np.random.default_rng(1).normal(size=problem.row_count))
    for law in ("exact", "convex", "box"):
        ours, theirs = residual(problem, lam, law=law), residual(hard, lam, law=law)
        assert ours.scaled == pytest.approx(theirs.scaled, rel=1e-12)
        assert ours.siconos == pytest.approx(theirs.siconos, rel=1e-12)
    rigid = replace(problem, laws=problem.laws._replace(compliance=np.zeros(problem.row_count)))
    assert cushioned(rigid) is rigid
    assert residual(rigid, lam).scaled != pytest.approx(ours.scaled, rel=1e-3)


@pytest.mark.parametrize("name", SOLVERS)
def test_random_problems_with_compliance_are_judged_honestly(name: str) -> None:
    solver = make_solver(name, max_iterations=50)
    for seed in range(40):
        drawn = random_problem(seed)
        problem, rng = drawn.problem, np.random.default_rng(seed)
        normal = problem.J.row_start[:-1]
        size = rng.uniform(size=len(normal)) * rng.integers(2, size=len(normal)) * problem.weight
        compliance = problem.laws.compliance.copy()
        compliance[normal] = np.where(problem.laws.law == 0, size, compliance[normal])
        problem = replace(problem, laws=problem.laws._replace(compliance=compliance)).checked()
        try:
            with np.errstate(all="ignore"):
                solution = solver.solve(problem, drawn.warm)
        except InputError as error:
            assert "friction set" in str(error)  # noqa: PT017
            continue
        verdict = judge_solution(solver, problem, solution)
        assert verdict.finite, (seed, drawn.traits)
        # a cushion's share of the residual is rounded otherwise than C lam
        assert verdict.honest or verdict.own <= 1.001 * solver.tolerance, (seed, drawn.traits, verdict.own)


def test_files_keep_compliance_or_refuse(tmp_path) -> None:
    problem = groove()
    lam = make_solver("prox-gs").solve(problem).lam
    save_problem(problem, tmp_path / "a.npz", lam)
    again = load_file(tmp_path / "a.npz")
    assert np.array_equal(again.problem.laws.compliance, problem.laws.compliance)
    assert residual(again.problem, again.solution).scaled == residual(problem, lam).scaled
    with pytest.raises(FileError, match="which has compliance"):
        save_problem(problem, tmp_path / "a.hdf5")
    assert not (tmp_path / "a.hdf5").exists()


def test_compliance_across_the_normal_is_refused() -> None:
    problem = groove()
    laws = contact_laws(problem.laws.friction[:, 0])._replace(compliance=np.full(problem.row_count, 0.1))
    with pytest.raises(InputError, match=r"row 1 is 0\.1; contacts have one along normals only"):
        replace(problem, laws=laws).checked()
