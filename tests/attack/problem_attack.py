"""Random contact problems against the solvers: no crash, no NaN, and nothing called converged that is not.

A case is one problem (raw_problems.py) that eight solvers get one after the other, and now and then a ninth. What they
call converged is judged in long double (problem_judge.py) by the law that each declares: twice the tolerance passes.
What is above that and within the bound of rounding that the judge knows is counted as rounding, the rest is a failure.
"""

from __future__ import annotations

import time
import traceback
from typing import Any

import numpy as np
from built_problems import built
from outcome import Outcome
from problem_judge import Judge
from raw_arrays import RawProblem
from raw_problems import raw_problem

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import StickslipError
from stickslip.solvers.methods import solve
from stickslip.solvers.protocol import Solution, Solver
from stickslip.solvers.registry import make_solver

SECONDS = 60
"""Longest time of a case."""
MEGABYTES = 2000
"""Largest memory of a case."""
ITERATIONS = {
    "auto": 300, "prox-gs": 200, "admm": 300, "newton": 60, "sap": 60, "nsgs": 200, "implicit": 60, "cond": 300,
}  # fmt: skip
"""The solvers that take every problem, and the iterations that they get: enough for most, few enough for many."""
OTHERS = {"prox-jacobi": 300, "pgs": 200, "apgd": 300, "lcp": 2000, "proximal-point": 60}
"""Of these, one problem in five gets one."""
OWN_LAWS = {"sap": "sap", "pgs": "box", "apgd": "convex", "lcp": "pyramid"}
"""Laws as the judge calls them, of solvers that obey another than the exact one."""
LENIENT = 2.0
"""Times the tolerance that a residual may be."""


def attack(seed: int, index: int) -> Outcome:
    """One problem against the solvers."""
    rng = np.random.default_rng([seed, index])
    out = Outcome()
    raw = raw_problem(rng)
    problem = built(raw)
    judge = Judge(raw)
    names = [*ITERATIONS, *([str(rng.choice(list(OTHERS)))] if rng.random() < 0.2 else [])]
    tolerance = float(rng.choice([1e-8, 1e-8, 1e-6, 1e-4]))
    criterion = "siconos" if rng.random() < 0.08 else "scaled"
    warm = _warm(rng, raw, judge)
    known: Array | None = None
    near = 1.0 + 10.0 ** rng.uniform(-12.0, 0.0) * rng.normal(size=problem.row_count)
    again = rng.random(len(names)) < 0.3  # who starts from what another one found; drawn whatever comes of it
    before = _fingerprint(problem, warm)
    if raw.missing is not None:  # free velocities that nobody solved for are for solvers that look for velocities
        names = ["sap", "cond"]
    for name, near_known in zip(names, again, strict=False):
        options: dict[str, Any] = {"tolerance": tolerance, "max_iterations": (ITERATIONS | OTHERS)[name]}
        solver = make_solver(name, **options, **({"criterion": criterion} if name != "cond" else {}))
        start = known * near if warm is None and known is not None and near_known else warm
        began = time.process_time()
        found = _solved(out, solver, problem, start, raw)
        out.counts[f"{name}: ms"] += round(1000.0 * (time.process_time() - began))
        if found is not None:
            _look(out, solver, raw, judge, found)
            known = found.lam if found.converged and np.isfinite(found.lam).all() else known
    if _fingerprint(problem, warm) != before:
        out.fail("changed", f"a solver wrote into the problem or the warm start; {_words(raw)}")
    out.counts["problems"] += 1
    return out


def _warm(rng: np.random.Generator, raw: RawProblem, judge: Judge) -> Array | None:
    """Impulses to start from: mostly none, else of about the right size, far too large, or no numbers at all."""
    chance, rows = rng.random(), len(judge.bias)
    if chance < 0.7:
        return None
    scale = float(judge.size if judge.size > 0.0 else 1.0) / float(judge.mobility.max(initial=1e-300))
    warm = scale * rng.normal(size=rows) * 10.0 ** rng.uniform(-6.0, 6.0)
    if chance > 0.9:
        warm = rng.choice([1e30, -1e30, 1e150, 1e300, 1.0], size=rows)
    if chance > 0.95 and rows:
        warm[int(rng.integers(rows))] = rng.choice([np.nan, np.inf, -np.inf])
    raw.traits.append("warm start")
    return np.asarray(warm, dtype=np.float64)


def _solved(
    out: Outcome, solver: Solver, problem: ContactProblem, warm: Array | None, raw: RawProblem
) -> Solution | None:
    """The solution, or None where the solver refused the problem or broke."""
    try:
        with np.errstate(all="ignore"):
            return solve(solver, problem, None if warm is None else warm.copy())
    except StickslipError:
        out.counts[f"{solver.name}: refused"] += 1
    except Exception as error:  # whatever it is, it is not for users
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{at.filename.rsplit('/', 2)[-1]}:{at.lineno}"
        out.fail("exception", f"{solver.name} raises {type(error).__name__} at {place}: {error}; {_words(raw)}")
    return None


def _look(out: Outcome, solver: Solver, raw: RawProblem, judge: Judge, found: Solution) -> None:
    """Whether a solution is finite, and as good as its status says."""
    name = solver.name
    out.counts[f"{name}: solved"] += 1
    if found.lam.shape != judge.bias.shape or found.v.shape != judge.v_free.shape:
        out.fail("shape", f"{name}: lam {found.lam.shape}, v {found.v.shape}; {_words(raw)}")
        return
    if not (np.isfinite(found.lam).all() and np.isfinite(found.v).all()):
        out.fail("not finite", f"{name} returns numbers that are not finite, status {found.status}; {_words(raw)}")
        return
    if not found.converged:
        return
    out.counts[f"{name}: converged"] += 1
    tolerance, siconos = solver.tolerance, solver.criterion == "siconos"  # type: ignore[attr-defined]
    law = OWN_LAWS.get(name, "exact")
    judged = [judge.judge(found.lam, law, siconos)]
    if name == "cond" and raw.kind != "matrix":
        # it leaves momentum to iterations, which counts beside the law at its own velocities; and the law at those that
        # the impulses lead to, unless bodies are soft: nothing solves with A to know them
        own = [judge.judge(found.lam, law, siconos, found.v), judge.momentum(found.lam, found.v)]
        judged = own if raw.kind == "soft" else [*judged, *own]
    elif not _belongs(judge, found, tolerance):
        out.fail("velocities", f"{name}: v is not what lam leads to; tolerance {tolerance:g}; {_words(raw)}")
    worst = max(judged, key=lambda f: f.residual - f.rounding)
    if worst.residual <= LENIENT * tolerance:
        return
    if worst.residual <= LENIENT * tolerance + worst.rounding or worst.undivided <= LENIENT * tolerance:
        out.counts[f"{name}: rounding"] += 1
        return
    out.fail(
        "false converged",
        f"{name}: residual {worst.residual:.3g} for a tolerance of {tolerance:g} ({solver.criterion}), of which "  # type: ignore[attr-defined]
        f"rounding {worst.rounding:.3g}; {_words(raw)}",
    )


def _belongs(judge: Judge, found: Solution, tolerance: float) -> bool:
    """Whether velocities are those of the impulses: what they differ by moves no row by more than a residual may."""
    v = judge.velocity(found.lam)
    caused = judge.condition @ (np.abs(judge.J).T @ np.abs(found.lam))
    doubt = judge.terms * np.finfo(float).eps * (np.abs(judge.v_free) + caused)
    u, doubt_u = judge.J @ (found.v - v), np.abs(judge.J) @ doubt
    return bool(np.sqrt((u**2).sum()) <= LENIENT * tolerance * judge.size + np.sqrt((doubt_u**2).sum()))


def _fingerprint(problem: ContactProblem, warm: Array | None) -> bytes:
    """The bytes of all that was given."""
    A = problem.A
    arrays = [problem.J.data, problem.bias, *problem.laws, A.dense.data, A.nodes.data, *(A.given or ())]
    arrays += [] if warm is None else [warm]
    if problem.momentum.missing is None:
        arrays.append(problem.v_free)
    return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)


def _words(raw: RawProblem) -> str:
    """What the problem is like."""
    return f"{len(raw.blocks)} blocks, {int(raw.row_start[-1])} rows: {', '.join(raw.traits)}"
