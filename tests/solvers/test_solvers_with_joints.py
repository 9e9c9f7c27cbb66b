"""Joints, limits and drives: every solver on blocks of one to six rows, rigid, compliant, bounded, redundant, alone."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip.contact.block_laws import Laws
from stickslip.contact.gallery import GALLERY
from stickslip.contact.joint_gallery import heavy_chain
from stickslip.contact.laws import BILATERAL, BOUNDED, ELASTIC, LIMIT
from stickslip.contact.momentum import Momentum
from stickslip.contact.physical import physical_residual
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import residual
from stickslip.contact.row_by_row import Row, assemble, ball_joint, contact, hinge
from stickslip.errors import FileError
from stickslip.io.problem_file import load_problem, save_problem
from stickslip.linalg.block_rows import to_dense
from stickslip.linalg.small_inverse import invert_small
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.registry import SOLVERS, make_solver
from stickslip.solvers.verdict import judge_solution

JOINTS = ("pendulum", "drive-holds", "drive-saturates", "four-bar", "short-chain", "heavy-chain")
FIRST_ORDER = ("prox-jacobi", "nsgs", "pgs", "apgd", "xpbd", "cond", "nesterov")
"""Methods that need as many iterations as masses differ, times the square of the length of a chain."""
TOO_HARD = {(solver, "heavy-chain") for solver in FIRST_ORDER}


@pytest.mark.parametrize("name", JOINTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_known_solution(solver: str, name: str) -> None:
    """Without contacts all laws agree, so every solver finds the same velocities."""
    if (solver, name) in TOO_HARD:
        pytest.skip("a first-order method on a long chain with a heavy end")
    # regularised by a share of what moves each row, a chain gives way under a load of 10,000 times its links
    regularised = solver in ("sap", "penalty")
    close = 1e-3 if regularised and name == "heavy-chain" else 1e-7
    known = GALLERY[name]()
    method = make_solver(solver, tolerance=1e-9)
    solution = method.solve(known.problem)
    verdict = judge_solution(method, known.problem, solution)
    assert solution.converged
    assert verdict.honest
    np.testing.assert_allclose(solution.v, known.v, atol=close * max(1.0, known.problem.free_speed))
    assert verdict.physical.bilateral <= close
    assert verdict.physical.limit <= close
    if known.impulses is not None:
        np.testing.assert_allclose(solution.lam, known.impulses, rtol=max(1e-4, 20.0 * close), atol=1e-6)


@pytest.mark.parametrize("solver", FIRST_ORDER)
def test_a_chain_that_is_too_hard_is_not_called_solved(solver: str) -> None:
    known = GALLERY["heavy-chain"]()
    method = make_solver(solver, max_iterations=300)
    solution = method.solve(known.problem)
    assert not solution.converged
    assert judge_solution(method, known.problem, solution).honest


@pytest.mark.parametrize(
    "solver",
    [
        name
        for name in SOLVERS
        if "ellipsoid" in make_solver(name).takes.friction_sets and name not in ("newton", "penalty")
    ],
)
def test_torsion_and_a_joint(solver: str) -> None:
    known = GALLERY["disc-with-load"]()
    solution = make_solver(solver, tolerance=1e-10).solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8)


@pytest.mark.parametrize("wanted", [-3.0, 0.5, 1.2, 4.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_bounded_rows_saturate_on_both_sides(solver: str, wanted: float) -> None:
    """A wheel of 0.2 kg m^2 at 1 rad/s and a drive of 0.1 N m s: it may change the speed by 0.5 rad/s either way."""
    drive = Row(-1, 0, np.zeros((1, 6)), np.eye(6)[5:], np.array([-wanted]), BOUNDED, bound=0.1)
    problem = assemble([3.0], [0.2], [0, 0, 0, 0, 0, 1.0], [hinge(-1, 0, (0, 0, 0), (0, 0, 0), 2), drive])
    solution = make_solver(solver, tolerance=1e-8).solve(problem)
    assert solution.converged
    turned = float(np.clip(wanted, 0.5, 1.5))
    np.testing.assert_allclose(solution.v, [0, 0, 0, 0, 0, turned], atol=1e-7)
    np.testing.assert_allclose(solution.lam[-1], 0.2 * (turned - 1.0), atol=1e-7)


@pytest.mark.parametrize("bound", [0.0, 1e100])
@pytest.mark.parametrize("solver", SOLVERS)
def test_drives_without_force_and_without_limit(solver: str, bound: float) -> None:
    drive = Row(-1, 0, np.zeros((1, 6)), np.eye(6)[5:], np.array([-2.0]), BOUNDED, bound=bound)
    problem = assemble([3.0], [0.2], [0, 0, 0, 0, 0, 1.0], [drive])
    solution = make_solver(solver, tolerance=1e-8).solve(problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v[5], 1.0 if bound == 0.0 else 2.0, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_soft_drive_gives_what_its_compliance_allows(solver: str) -> None:
    """u + C lam = 0 with u = 1/m lam + q: lam = -q / (C + 1/m), a spring's; the bound cuts it off."""
    for bound in (1.0, 0.1):
        drive = Row(-1, 0, np.zeros((1, 6)), np.eye(1, 6), np.array([0.3]), BOUNDED, compliance=0.5, bound=bound)
        problem = assemble([2.0], [1.0], np.zeros(6), [drive])
        solution = make_solver(solver).solve(problem)
        assert solution.converged
        np.testing.assert_allclose(solution.lam, [-min(0.3 / (0.5 + 0.5), bound)], atol=1e-8)


def mixed(seed: int) -> ContactProblem:
    """A hinged arm with a drive and limits of two rows that rests on the ground, a weld with soft rows, a spring."""
    rng = np.random.default_rng(seed)
    arm = [0.3 * rng.normal(size=3) for _ in range(4)]
    turn = np.eye(6)[4:5]
    weld = np.array([1e-3, 0, 0, 0.1, 0.1, 0.0])
    rows = [
        contact(-1, 2, (0, 0, 1), (0, 0, 0), (0.1, 0.1, -0.1), 0.0),
        contact(-1, 2, (0, 0, 1), (0, 0, 0), (-0.1, 0.1, -0.1), 0.0),
        hinge(-1, 0, (0, 0, 0), arm[0], 1),
        Row(-1, 0, np.zeros((2, 6)), np.vstack([turn, -turn]), rng.uniform(0.0, 0.5, size=2), LIMIT),
        ball_joint(0, 1, arm[1], arm[2]),
        Row(0, 1, -turn, turn, rng.normal(size=1), BOUNDED, bound=0.02),
        Row(1, 2, -np.eye(6), np.eye(6), np.zeros(6), BILATERAL, compliance=weld),
        Row(-1, 2, np.zeros((1, 6)), np.eye(1, 6), np.zeros(1), ELASTIC, compliance=0.5),
    ]
    free = np.tile([0, 0, -0.1, 0, 0, 0], 3) + 0.1 * rng.normal(size=18)
    return assemble([1.0, 0.5, 2.0], [0.1, 0.05, 0.2], free, rows)


@pytest.mark.parametrize("seed", range(4))
def test_solvers_agree(seed: int) -> None:
    """No contact has friction, so that all four laws are one."""
    problem = mixed(seed)
    found = {}
    for name in SOLVERS:
        if make_solver(name).takes.law == "penalty":  # contacts without overlap bear nothing
            continue
        method = make_solver(name, tolerance=1e-10, **({} if name == "lcp" else {"max_iterations": 100_000}))
        solution = method.solve(replace(problem))
        assert solution.converged, (name, solution.status, solution.history[-1:])
        found[name] = solution.v
    for name, v in found.items():
        # near-rigid contacts give way, by R = beta^2 / (4 pi^2) = 2e-5 of what moves them
        np.testing.assert_allclose(v, found["auto"], atol=3e-5 if name == "sap" else 1e-6, err_msg=name)


@pytest.mark.parametrize("solver", SOLVERS)
def test_repeated_joints_share_their_load(solver: str) -> None:
    """Redundant rows, within a block and as a block of their own, move nothing."""
    joint = ball_joint(-1, 0, (0, 0, 0), (0.2, 0.1, 0.3))
    twice = replace(joint, rows_a=np.tile(joint.rows_a, (2, 1)), rows_b=np.tile(joint.rows_b, (2, 1)), bias=np.zeros(6))
    free = [0.3, -0.2, -0.1, 0.5, 0.1, -0.4]
    once = make_solver(solver).solve(assemble([1.0], [0.1], free, [joint]))
    for rows in ([twice], [joint, joint], [twice, joint]):
        solution = make_solver(solver).solve(assemble([1.0], [0.1], free, rows))
        assert solution.converged
        np.testing.assert_allclose(solution.v, once.v, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_to_do(solver: str) -> None:
    """No blocks at all, and a joint that is closed already."""
    known = GALLERY["pendulum"]()
    J = known.problem.J
    none = np.zeros(0)
    empty = J._replace(
        row_start=J.row_start[:1], entry_start=J.entry_start[:1], entry_column=J.entry_column[:0],
        data_start=J.data_start[:1], data=none,
    )  # fmt: skip
    laws = Laws(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3)), none, none)
    solution = make_solver(solver).solve(replace(known.problem, J=empty, bias=none, laws=laws))
    assert solution.converged
    np.testing.assert_array_equal(solution.v, known.problem.v_free)
    solution = make_solver(solver).solve(replace(known.problem, momentum=Momentum(known.problem.A, np.zeros(6))))
    assert solution.converged
    np.testing.assert_array_equal(solution.v, np.zeros(6))


def test_a_long_chain_needs_no_sweeps() -> None:
    """auto goes to Newton steps at once, whose number does not grow with the chain."""
    for links in (50, 400):
        solution = make_solver("auto", tolerance=1e-9).solve(heavy_chain(links).problem)
        assert solution.converged
        assert solution.method == "joints"
        assert solution.iterations <= 10


def test_contacts_before_joints_and_after_them_give_the_same() -> None:
    """The fast kernels sweep contacts that stand before all other blocks; the general one sweeps any order."""
    rows = [contact(-1, k, (0, 0, 1), (0, 0, 0), (x, 0.1, -0.1), 0.5) for k in range(2) for x in (-0.1, 0.1)]
    joint = ball_joint(0, 1, (0.3, 0, 0), (-0.3, 0, 0))
    free = [0.3, 0.1, -0.1, 0, 0, 0.2, 0, 0, -0.1, 0, 0.1, 0]
    found = [
        ProxGaussSeidel(tolerance=1e-11, subspace=0).solve(assemble([1.0, 2.0], [0.1, 0.2], free, order))
        for order in ([*rows, joint], [joint, *rows])
    ]
    assert all(solution.converged for solution in found)
    np.testing.assert_allclose(found[0].v, found[1].v, atol=1e-8)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_slabs_take_joints(monkeypatch: pytest.MonkeyPatch, mu: float) -> None:
    """A row of cubes linked by ball joints, swept in slabs of contacts.

    Without friction velocities are unique and must be those of plain sweeps. With friction this problem has several
    solutions (methods end at velocities 1e-3 m/s apart, all of them right to 1e-10), so the judge decides alone.
    """
    count, corners = 12, [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    rows = [contact(-1, k, (0, 0, 1), (0, 0, 0), corner, mu) for k in range(count) for corner in corners]
    rows += [contact(k, k + 1, (1, 0, 0), (0.1, 0, 0), (-0.1, 0, 0), 0.6 * mu) for k in range(count - 1)]
    joints = [ball_joint(k, k + 1, (0.15, 0, 0), (-0.15, 0, 0)) for k in range(0, count - 1, 2)]
    free = np.tile([0.05, 0, -0.1, 0, 0, 0], count) + 0.02 * np.random.default_rng(1).normal(size=6 * count)
    problem = assemble([1.0] * count, [0.01] * count, free, rows + joints)
    plain = ProxGaussSeidel(tolerance=1e-10).solve(problem)
    monkeypatch.setattr("stickslip.solvers.prox.gauss_seidel.SLAB_BLOCKS", 10)
    slabs = ProxGaussSeidel(tolerance=1e-10).solve(problem)
    assert plain.converged
    assert slabs.converged
    assert residual(problem, slabs.lam).scaled <= 1e-10  # impulses in the order given
    if mu == 0.0:
        np.testing.assert_allclose(slabs.v, plain.v, atol=1e-8)


def test_small_inverses_leave_out_dependent_rows() -> None:
    rng = np.random.default_rng(0)
    for rank in range(1, 7):
        B = rng.normal(size=(6, rank))
        W = B @ B.T
        inverse = W.ravel().copy()
        invert_small(6, 0, inverse, np.empty(6))  # type: ignore[no-untyped-call]
        x = inverse.reshape(6, 6) @ (W @ np.arange(6.0))
        np.testing.assert_allclose(W @ x, W @ np.arange(6.0), atol=1e-7 * np.abs(W).max())


def test_joints_are_closed_by_one_update() -> None:
    """R of a joint is the inverse of its block: one sweep over one joint is the solution, whatever its arms."""
    problem = assemble([1.0], [0.1], [0.1, 0.2, 0.3, 1, 2, 3], [hinge(-1, 0, (0, 0, 0), (0.4, -0.3, 0.2), 0)])
    solution = ProxGaussSeidel(max_iterations=1, subspace=0).solve(problem)
    np.testing.assert_allclose(to_dense(problem.J) @ solution.v, 0.0, atol=1e-12)


def test_physical_errors_of_bounded_rows() -> None:
    known = GALLERY["drive-saturates"]()
    assert known.impulses is not None
    assert physical_residual(known.problem, known.impulses).limit < 1e-12
    wrong = known.impulses.copy()
    wrong[-1] *= 0.5  # the drive could do more
    assert physical_residual(known.problem, wrong).limit == pytest.approx(0.5 * 0.05 / 0.2)


def test_files(tmp_path) -> None:
    """The own form holds bounds; FCLIB has no place for them and says so."""
    known = GALLERY["drive-saturates"]()
    save_problem(known.problem, tmp_path / "drive.npz")
    back = load_problem(tmp_path / "drive.npz")
    np.testing.assert_array_equal(back.laws.bound, known.problem.laws.bound)
    np.testing.assert_allclose(make_solver("auto").solve(back).v, known.v, atol=1e-7)
    with pytest.raises(FileError, match=r"law 'bounded'.*npz"):
        save_problem(known.problem, tmp_path / "drive.hdf5")
    with pytest.raises(FileError, match=r"law 'limit'.*npz"):
        save_problem(GALLERY["hanging-pair"]().problem, tmp_path / "limit.hdf5")
