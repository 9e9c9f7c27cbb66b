"""Solvers by name: those of this package, of other packages (entry points) and of one's own (``register``)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, is_dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from stickslip import checks
from stickslip.arrays import Array
from stickslip.contact.laws import Law
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.errors import InputError, SolverWarning
from stickslip.keywords import unknown
from stickslip.names import hidden_characters, shown
from stickslip.solvers.admm import ADMM
from stickslip.solvers.apgd import APGD
from stickslip.solvers.auto import Automatic
from stickslip.solvers.cond.cond import Cond
from stickslip.solvers.dense.dense import DenseNewton
from stickslip.solvers.implicit.implicit import ImplicitComplementarity
from stickslip.solvers.input_checks import known_solution
from stickslip.solvers.ipm.ipm import InteriorPoint
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.lcp import LCP
from stickslip.solvers.methods import solve
from stickslip.solvers.nesterov import Nesterov
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.nsgs import NonsmoothGaussSeidel
from stickslip.solvers.penalty import Penalty
from stickslip.solvers.pgs import ProjectedGaussSeidel
from stickslip.solvers.protocol import (
    ALL_FRICTION_SETS,
    ALL_LAWS,
    Factors,
    Islands,
    Linearise,
    Relinearise,
    Solution,
    Solver,
    SolvesProblems,
    Takes,
    Unknowns,
)
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.prox.jacobi import ProxJacobi
from stickslip.solvers.proximal_point import ProximalPoint
from stickslip.solvers.sap.sap import Sap
from stickslip.solvers.xpbd import Xpbd

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = TypeVar("Kind", bound=type)
"""A class of solvers."""
GROUP = "stickslip.solvers"
"""The entry points by which other packages offer solvers."""
SOLVERS: dict[str, Any] = {
    solver.name: solver
    for solver in (
        Automatic,
        ProxGaussSeidel,
        ProxJacobi,
        NonsmoothNewton,
        DenseNewton,
        ImplicitComplementarity,
        ProjectedGaussSeidel,
        NonsmoothGaussSeidel,
        ProximalPoint,
        ADMM,
        InteriorPoint,
        Nesterov,
        APGD,
        LCP,
        Sap,
        Cond,
        Penalty,
        Xpbd,
    )
}
"""Solver classes by their names on the command line; ``known_solvers`` adds those of other packages."""
DEFAULT = Automatic.name
PATIENT: dict[str, dict[str, object]] = {Automatic.name: {"max_iterations": 20000, "max_work": inf}}
"""Options of solvers for problems from files, where a few seconds for the last one of a hundred are well spent."""
_LOADED: set[str] = set()
"""Groups of entry points that were looked at."""

# ---- by name -------------------------------------------------------------------------------------------------


def known_solvers() -> dict[str, Any]:
    """Every solver class by name, those of other packages included, which are loaded at the first call."""
    if GROUP not in _LOADED:
        from importlib.metadata import entry_points

        _LOADED.add(GROUP)
        for entry in entry_points(group=GROUP):
            _load(entry)
    return SOLVERS


def find_solver(name: str) -> Any:
    """The solver class of that name, or an InputError that lists them all."""
    found = None
    if isinstance(name, str):
        found = SOLVERS.get(name) or known_solvers().get(name)
    if found is None:
        raise unknown("solver", name, known_solvers())
    return found


def option_defaults(name: str) -> dict[str, Any]:
    """Options of the solver of that name and their defaults."""
    kind = find_solver(name)
    plain = kind()
    return {item.name: getattr(plain, item.name) for item in fields(kind) if item.init}


def make_solver(name: str, **options: object) -> Solver:
    """The solver of that name with the given options; unknown names and options raise an InputError."""
    kind = find_solver(name)
    known = [item.name for item in fields(kind) if item.init]
    for option in options:
        if option not in known:
            raise unknown(f"solver {name}: option", option, known)
    solver: Solver = kind(**options)
    return solver


# ---- solvers from elsewhere ----------------------------------------------------------------------------------


def register(kind: Kind) -> Kind:
    """Make a solver class known by its name; also as a decorator. An InputError says what it lacks.

    It is a frozen dataclass of options that all have defaults, with what protocol.Solver asks for; a subclass of
    solvers/iterative.py's Iterative needs ``name``, ``takes`` and ``run``. The same class may be registered again.
    """
    where = f"solver class {_words(kind)}"
    if not (isinstance(kind, type) and is_dataclass(kind) and _is_frozen(kind)):
        raise InputError(f"{where}: it must be a frozen dataclass of options: @dataclass(frozen=True)")
    name = _own(kind, "name")
    if not isinstance(name, str) or name in ("", Iterative.name) or hidden_characters(name) or set(name) & set(" ,="):
        raise InputError(
            f"{where}: name is {shown(name)}; it must be a word of its own, without spaces and commas, for the command "
            'line: name: ClassVar[str] = "my-solver"'
        )
    known = SOLVERS.get(name)
    # a cell of a notebook, or a module that is loaded again, defines the same class anew
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError(f"{where}: the name {name!r} is that of {_words(known)}; it must have another one")
    try:
        plain = kind()
    except Exception as error:
        raise InputError(
            f"{where}: it cannot be made with default options ({type(error).__name__}: {error}); every option must "
            "have a default that is right"
        ) from error
    for method in ("run", "solve", "residual"):
        found = _own(kind, method)
        if not callable(found) or found is Iterative.run:
            raise InputError(f"{where}: it has no method {method}; see stickslip.solvers.protocol.Solver")
    checks.any_number(where, "tolerance", _own(plain, "tolerance"))
    takes = _known_takes(where, _own(plain, "takes"))
    if takes.linearise == "own-steps" and not callable(_own(kind, "advance")):
        raise InputError(f"{where}: it takes 'own-steps' and has no method advance; see protocol.StepsItself")
    SOLVERS[name] = kind
    return kind


def as_solver(given: Solver | SolvesProblems) -> Solver:
    """A solver itself, or an object that has no more than ``solve(problem, warm, relinearise)`` as one."""
    if isinstance(given, Solver) and not isinstance(given, type):
        return given
    if isinstance(given, type) or not callable(_own(given, "solve")):
        raise InputError(
            f"solver is {shown(given)}; the name of a solver, a solver, or an object with solve(problem, warm, "
            "relinearise) is needed"
        )
    name, law, tolerance = _own(given, "name"), _own(given, "law"), _own(given, "tolerance")
    name = name if isinstance(name, str) else type(given).__name__
    takes = _own(given, "takes")
    takes = Takes(law="exact" if law is None else law) if takes is None else takes
    where = f"solver {name}"
    limit = inf if tolerance is None else checks.any_number(where, "tolerance", tolerance)
    return Adapted(given, name, _known_takes(where, takes), limit)


@dataclass(frozen=True)
class Adapted:
    """An object that has no more than ``solve``, with what else a solver has."""

    given: Any
    name: str
    takes: Takes
    tolerance: float

    def residual(self, problem: ContactProblem, lam: Array, u: Array) -> float:
        """The scaled residual of its law, at impulses lam and constraint velocities u (m,)."""
        return scaled_residual(problem, lam, u, self.takes.law)

    def run(self, problem: ContactProblem, warm: Array | None, relinearise: Relinearise | None) -> Solution:
        """Let it solve a problem that it takes; what it says of its residuals is not read."""
        found: Solution = self.given.solve(problem, warm, relinearise)
        return known_solution(self, problem, found).changed()

    def solve(
        self, problem: ContactProblem, warm: Array | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        """Solve any problem."""
        return solve(self, problem, warm, relinearise)


def _load(entry: EntryPoint) -> None:
    """Register the class of an entry point; what goes wrong is a warning, since other solvers are still there."""
    try:
        register(entry.load())
    except (Exception, SystemExit) as error:
        package = "an unknown package" if entry.dist is None else f"the package {entry.dist.name}"
        text = f"solver {entry.name!r} of {package} cannot be loaded: {type(error).__name__}: {error}"
        warnings.warn(text, SolverWarning, stacklevel=4)


def _known_takes(where: str, takes: object) -> Takes:
    """What a solver declares, or an InputError where that is no Takes of known words."""
    if not isinstance(takes, Takes):
        raise InputError(f"{where}: takes is {shown(takes)}; a stickslip.solvers.protocol.Takes is needed")
    choices = {"law": Law, "unknowns": Unknowns, "linearise": Linearise, "factors": Factors, "islands": Islands}
    for field, words in choices.items():
        checks.choice(where, f"takes.{field}", _own(takes, field), get_args(words))
    for field, all_words in (("laws", ALL_LAWS), ("friction_sets", ALL_FRICTION_SETS)):
        for word in _own(takes, field):
            checks.choice(where, f"takes.{field}", word, all_words)
    return takes


def _own(given: object, name: str) -> Any:
    """An attribute of an object that somebody else wrote; None where it has none."""
    return getattr(given, name, None)


def _is_frozen(kind: Any) -> bool:
    """Whether a dataclass is frozen."""
    return bool(kind.__dataclass_params__.frozen)


def _words(kind: Any) -> str:
    """A class by its module and name; anything else as it is shown."""
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else shown(kind)
