"""What no kernel may see: impulses of the wrong length, tables that lead out of arrays, options of the wrong type."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from mixed_problems import given_by_delassus, mixed_problem, tower
from nodal_problems import soft_cubes

from stickslip import InputError, Simulation
from stickslip.contact.problem import ContactProblem
from stickslip.solvers.methods import solve, solve_with_potentials
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.registry import SOLVERS, make_solver

NAN = float("nan")
PROBLEMS = {"contacts": lambda: tower(2), "mixed": lambda: mixed_problem(0), "given": lambda: given_by_delassus(0)}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", SOLVERS)
def test_impulses_to_start_from_must_fit(name: str, kind: str) -> None:
    problem, solver = PROBLEMS[kind](), make_solver(name)
    m = problem.row_count
    for shape in ((0,), (2,), (m - 1,), (m + 1,), (3 * m,), (m, 1), (1, m), ()):
        with pytest.raises(InputError, match=rf"solver {name}: warm has shape .*\({m},\)"):
            solver.solve(problem, np.zeros(shape))
    for other in ([0.0] * m, "warm", 1.0, np.array(["x"] * m), np.zeros(m, dtype=complex)):
        with pytest.raises(InputError, match=rf"solver {name}: warm is .*\({m},\)"):
            solver.solve(problem, other)


@pytest.mark.parametrize("name", SOLVERS)
def test_impulses_that_are_no_numbers_are_a_cold_start(name: str) -> None:
    problem, solver = mixed_problem(0), make_solver(name, max_iterations=30)
    cold = solver.solve(problem)
    for value in (NAN, np.inf, -np.inf):
        warm = np.full(problem.row_count, 0.1)
        warm[-1] = value
        found = solver.solve(problem, warm)
        assert found.lam.tobytes() == cold.lam.tobytes()
        assert np.isfinite(found.v).all()
    strided = np.full(2 * problem.row_count, 0.1)[::2]
    assert np.isfinite(solver.solve(problem, strided).lam).all()
    whole = solver.solve(problem, np.ones(problem.row_count, dtype=np.int64))
    assert whole.lam.tobytes() == solver.solve(problem, np.ones(problem.row_count)).lam.tobytes()


def with_J(problem: ContactProblem, **arrays: object) -> ContactProblem:
    return replace(problem, J=problem.J._replace(**arrays))


def with_momentum(problem: ContactProblem, **parts: object) -> ContactProblem:
    return replace(problem, momentum=replace(problem.momentum, **parts))


def with_A(problem: ContactProblem, **arrays: object) -> ContactProblem:
    """With other arrays in what A is made of: dense blocks, or the inverse."""
    A = problem.A
    if A.given is not None:
        return with_momentum(problem, A=replace(A, given=A.given._replace(**arrays)))
    return with_momentum(problem, A=replace(A, dense=A.dense._replace(**arrays)))


def numbers_of(problem: ContactProblem) -> np.ndarray:
    """The numbers of A, or of A^-1 where it is given."""
    return problem.A.dense.data if problem.A.given is None else problem.A.given.data


def with_laws(problem: ContactProblem, **arrays: object) -> ContactProblem:
    return replace(problem, laws=problem.laws._replace(**arrays))


def swapped(table: np.ndarray) -> np.ndarray:
    """Starts that fall somewhere."""
    other = table.copy()
    other[1], other[2] = other[2], other[1]
    return other


WRONG = {
    "J.entry_column above": (lambda p: with_J(p, entry_column=p.J.entry_column + np.int32(10)), "entry_column"),
    "J.entry_column below": (lambda p: with_J(p, entry_column=p.J.entry_column - np.int32(1)), "entry_column"),
    "J.entry_column short": (lambda p: with_J(p, entry_column=p.J.entry_column[:-1].copy()), "entry_start"),
    "J.row_start falls": (lambda p: with_J(p, row_start=swapped(p.J.row_start)), "row_start"),
    "J.row_start from 1": (lambda p: with_J(p, row_start=p.J.row_start + np.int32(1)), "row_start"),
    "J.row_start int64": (lambda p: with_J(p, row_start=p.J.row_start.astype(np.int64)), "row_start.*int32"),
    "J.row_start none": (lambda p: with_J(p, row_start=np.zeros(0, np.int32)), "row_start"),
    "J.entry_start falls": (lambda p: with_J(p, entry_start=swapped(p.J.entry_start)), "entry_start"),
    "J.data_start falls": (lambda p: with_J(p, data_start=swapped(p.J.data_start)), "data_start"),
    "J.data short": (lambda p: with_J(p, data=p.J.data[:-1].copy()), "data_start"),
    "J.data float32": (lambda p: with_J(p, data=p.J.data.astype(np.float32)), "data.*float64"),
    "J.data strided": (lambda p: with_J(p, data=np.repeat(p.J.data, 2)[::2]), "contiguous"),
    "J.data nan": (lambda p: with_J(p, data=np.full_like(p.J.data, NAN)), "J has the entry nan"),
    "J no rows": (lambda p: replace(p, J=None), "J is NoneType"),
    "J.column_start": (lambda p: with_J(p, column_start=p.J.column_start[:-1].copy()), "column"),
    "v_free short": (lambda p: with_momentum(p, at=p.v_free[:-1].copy()), "v_free has shape"),
    "v_free list": (lambda p: with_momentum(p, at=p.v_free.tolist()), "v_free is list"),
    "v_free nan": (lambda p: with_momentum(p, at=np.full_like(p.v_free, NAN)), "v_free has the entry nan"),
    "bias long": (lambda p: replace(p, bias=np.zeros(p.row_count + 1)), "bias has shape"),
    "laws.law short": (lambda p: with_laws(p, law=p.laws.law[:-1].copy()), "laws.law has shape"),
    "laws.law unknown": (lambda p: with_laws(p, law=np.full_like(p.laws.law, 99)), "law code 99"),
    "laws.law float": (lambda p: with_laws(p, law=p.laws.law.astype(float)), "laws.law.*int32"),
    "laws.friction (n,)": (lambda p: with_laws(p, friction=p.laws.friction[:, 0].copy()), "laws.friction has shape"),
    "laws.friction < 0": (lambda p: with_laws(p, friction=p.laws.friction - 5.0), "negative"),
    "laws.compliance": (lambda p: with_laws(p, compliance=np.zeros(1)), "laws.compliance has shape"),
    "laws.bound": (lambda p: with_laws(p, bound=np.zeros(1)), "laws.bound has shape"),
    "A.data nan": (lambda p: with_A(p, data=np.full_like(numbers_of(p), NAN)), "A.* has the entry nan"),
    "A.data short": (lambda p: with_A(p, data=numbers_of(p)[:-1].copy()), "A"),
    "A none": (lambda p: with_momentum(p, A=None), "A is NoneType"),
    "v_before": (lambda p: replace(p, v_before=np.zeros(1)), "v_before has shape"),
    "prescribed": (lambda p: replace(p, prescribed=np.zeros(1)), "prescribed has shape"),
    "gap": (lambda p: replace(p, gap=np.zeros(p.contact_count + 1)), "gap has shape"),
    "step": (lambda p: replace(p, step=NAN), "step is nan"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_problems_that_are_none_are_refused_by_every_solver(kind: str, wrong: str) -> None:
    change, words = WRONG[wrong]
    for name in SOLVERS:
        with pytest.raises(InputError, match=f"problem: .*{words}|problem: .*J is not I"):
            make_solver(name).solve(change(PROBLEMS[kind]()))


def test_blocks_of_A_are_checked() -> None:
    bodies, given = tower(2), given_by_delassus(0)
    for problem, words in (
        (with_A(bodies, inverse=bodies.A.dense.inverse[:-1].copy()), "A.dense.data_start does not give"),
        (with_A(bodies, start=bodies.A.dense.start[:-1].copy()), "A.dense.start does not divide"),
        (with_A(bodies, data_start=swapped(bodies.A.dense.data_start)), "A.dense.data_start does not divide"),
        (with_A(given, indices=given.A.given.indices + np.int32(1)), "A.given.indices has an index outside"),
        (with_A(given, indptr=swapped(given.A.given.indptr)), "A.given.indptr does not divide"),
        (with_momentum(bodies, A=given.A), "A.given.indptr does not divide"),
        (with_momentum(bodies, A=replace(bodies.A, given=given.A.given)), "blocks beside it"),
        (with_momentum(bodies, A=bodies.A.dense), "A is DenseBlocks"),
        (with_momentum(bodies, A=replace(bodies.A, sparse=bodies.A.dense)), "A.sparse is DenseBlocks"),
        (with_J(given, data=2.0 * given.J.data), "J is not I"),
    ):
        with pytest.raises(InputError, match=words):
            make_solver("auto").solve(problem)


def test_soft_problems_are_checked() -> None:
    sim = Simulation(soft_cubes())
    sim.run(3)
    problem = sim.last.problem
    assert problem.row_count
    A = problem.A.nodes
    for wrong, words in (
        (replace(A, data=A.data[:-1].copy()), "A.sparse.data has shape"),
        (replace(A, pattern=A.pattern._replace(indices=A.pattern.indices + np.int32(1))), "A.sparse.pattern.indices"),
        (replace(A, parts=()), "auto"),
        (replace(A, parts=(*A.parts, *A.parts)), "the parts of A"),
        (replace(A, pattern=A.pattern._replace(indptr=A.pattern.indptr[:-1].copy())), "column blocks"),
    ):
        free = np.zeros(problem.unknown_count)
        if words == "auto":
            continue
        with pytest.raises(InputError, match=words):
            solve(make_solver("auto"), with_momentum(problem, A=replace(problem.A, sparse=wrong), at=free))
    with pytest.raises(InputError, match="warm has shape"):
        solve(make_solver("auto"), problem, np.zeros(2))
    with pytest.raises(InputError, match="warm has shape"):
        solve_with_potentials(make_solver("cond"), mixed_problem(0), np.zeros(2))


def test_what_is_no_problem_is_refused() -> None:
    for name in SOLVERS:
        with pytest.raises(InputError, match=f"solver {name}: the problem is dict; a ContactProblem"):
            make_solver(name).solve({})


def test_a_problem_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from stickslip.contact import checks

    seen, problem = [], replace(tower(2))  # a copy is another problem
    monkeypatch.setattr(checks, "check_tables", lambda A, J: seen.append(A))
    for _ in range(3):
        make_solver("auto").solve(problem)
    assert len(seen) == 1
    assert seen[0] is problem.A


def test_linearising_again_must_keep_the_structure() -> None:
    problem = tower(3)
    for other in (tower(2), mixed_problem(0)):
        with pytest.raises(InputError, match="solver newton: relinearise gave a problem of"):
            NonsmoothNewton().solve(problem, None, lambda v, lam=None, other=other: other)


NUMBERS = (NAN, -1, -1.0, "1", None, [], [1.0], np.array([1.0, 2.0]), True, 10**400, -(10**400), object(), 1j)
WORDS = ("no such word", "", 0, NAN, None, [], ["scaled"], np.array(["scaled"]), True, object())
FLAGS = ("true", 1, 0.0, NAN, None, [], np.array([True]), object())


@pytest.mark.parametrize("name", SOLVERS)
def test_options_of_the_wrong_kind_are_refused(name: str) -> None:
    for item in fields(SOLVERS[name]):
        if not item.init:
            continue
        default = item.default
        wrong: tuple[object, ...] = (
            FLAGS if isinstance(default, bool) else WORDS if isinstance(default, str) else NUMBERS
        )
        allowed = {"power"}  # above -1, so that -0.1 is right and -1 is not
        for value in wrong:
            if value is None and default is None:
                continue
            if item.name in allowed and isinstance(value, int | float) and -1 < value < 1:
                continue
            with pytest.raises(InputError, match=f"solver .*{item.name}"):
                make_solver(name, **{item.name: value})
    with pytest.raises(InputError, match=r"max_iterations.*at most"):
        make_solver(name, max_iterations=2**31)
    assert make_solver(name, max_seconds=np.inf).max_seconds == np.inf
    for value in (0, 0.0, -np.inf):
        with pytest.raises(InputError, match="max_seconds is"):
            make_solver(name, max_seconds=value)
