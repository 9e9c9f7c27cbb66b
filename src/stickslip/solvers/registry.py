"""Solvers by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.solvers.admm import ADMM
from stickslip.solvers.apgd import APGD
from stickslip.solvers.auto import Automatic
from stickslip.solvers.cond import Cond
from stickslip.solvers.implicit import ImplicitComplementarity
from stickslip.solvers.lcp import LCP
from stickslip.solvers.newton import NonsmoothNewton
from stickslip.solvers.nsgs import NonsmoothGaussSeidel
from stickslip.solvers.penalty import Penalty
from stickslip.solvers.pgs import ProjectedGaussSeidel
from stickslip.solvers.protocol import Solver
from stickslip.solvers.prox_gs import ProxGaussSeidel
from stickslip.solvers.prox_jacobi import ProxJacobi
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.sap import Sap
from stickslip.solvers.xpbd import Xpbd

SOLVERS: dict[str, Any] = {
    solver.name: solver
    for solver in (
        Automatic,
        ProxGaussSeidel,
        ProxJacobi,
        NonsmoothNewton,
        ImplicitComplementarity,
        ProjectedGaussSeidel,
        NonsmoothGaussSeidel,
        ProximalPoint,
        ADMM,
        APGD,
        LCP,
        Sap,
        Cond,
        Penalty,
        Xpbd,
    )
}
"""Every solver class by its name on the command line."""
DEFAULT = Automatic.name
PATIENT: dict[str, dict[str, object]] = {Automatic.name: {"max_iterations": 20000}}
"""Options of solvers for problems from files, where a few seconds for the last one of a hundred are well spent."""


def make_solver(name: str, **options: object) -> Solver:
    """The solver of that name with the given options; unknown names and options raise an InputError."""
    if not isinstance(name, str) or name not in SOLVERS:
        raise InputError(f"solver {shown(name)} is unknown; known: {', '.join(SOLVERS)}")
    known = [field.name for field in fields(SOLVERS[name]) if field.init]
    for option in options:
        if option not in known:
            raise InputError(f"solver {name}: option {option!r} is unknown; known: {', '.join(known)}")
    solver: Solver = SOLVERS[name](**options)
    return solver
