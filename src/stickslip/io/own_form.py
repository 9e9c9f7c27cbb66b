"""Our own form of a problem: named arrays that hold every field of :class:`ContactProblem` bit for bit.

``A.start``, ``J.data``, ``laws.law``, ``momentum.at``, ``scale.speed``, ...; a field that is None is absent. The kind
of A is ``inertia``, that of ``scale.masses`` is ``scale.masses`` (io/inertia_arrays.py). An ``.npz`` archive may hold
``solution`` (m,), ``guesses`` (k, m), ``title`` and ``description`` as well; FCLIB files have the arrays of the problem
in a group of their own (io/fclib_own.py).

Version 1, which is still read, had ``v_free`` for ``momentum.at`` and nothing of ``missing``, ``prescribed``, ``soft``,
``v_before``, ``gap``, ``keys`` and ``scale``; problems of soft bodies were over impulses alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.block_laws import Laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import Scale
from stickslip.errors import InputError
from stickslip.io.inertia_arrays import check_inertia, inertia_arrays, numbers, read_inertia
from stickslip.io.sparse_parts import array_of, vector
from stickslip.io.stored_problem import ProblemFile
from stickslip.linalg.block_rows import BlockRows

FORMAT, VERSION = "stickslip-problem", 2
LAW_CODES = ("law", "friction_set")


def own_arrays(content: ProblemFile) -> dict[str, Any]:
    """The arrays of an archive."""
    arrays = problem_arrays(content.problem)
    arrays |= {name: text for name in ("title", "description") if (text := getattr(content, name))}
    if content.solution is not None:
        arrays["solution"] = content.solution
    if content.guesses:
        arrays["guesses"] = np.array(content.guesses)
    return arrays


def problem_arrays(problem: ContactProblem) -> dict[str, Any]:
    """The arrays of a problem."""
    A, scale = problem.A, problem.scale
    arrays: dict[str, Any] = {"format": FORMAT, "version": VERSION, "inertia": type(A).__name__}
    arrays |= inertia_arrays("A", A)
    for prefix, table in (("J", problem.J), ("laws", problem.laws)):
        arrays |= {f"{prefix}.{name}": array for name, array in table._asdict().items()}
    optional = {
        "momentum.missing": problem.momentum.missing, "prescribed": problem.prescribed, "v_before": problem.v_before,
        "gap": problem.gap, "keys": problem.keys, "scale.speed": scale.speed, "scale.momentum": scale.momentum,
        "scale.mobility": scale.mobility,
    }  # fmt: skip
    arrays |= {name: value for name, value in optional.items() if value is not None}
    if scale.masses is not None:
        arrays |= {"scale.masses": type(scale.masses).__name__, **inertia_arrays("scale.masses", scale.masses)}
    return arrays | {
        "momentum.at": problem.momentum.at, "bias": problem.bias, "step": problem.step, "soft": problem.soft,
        "scale.rounding": scale.rounding,
    }  # fmt: skip


def read_own(data: dict[str, NDArray[Any]]) -> ProblemFile:
    """The contents of an archive; an InputError names the array that is wrong."""
    problem, warnings = read_problem(data)
    size = problem.row_count
    solution = vector("solution", data["solution"], size) if "solution" in data else None
    guesses = np.atleast_2d(data["guesses"]) if "guesses" in data else np.zeros((0, size))
    tried = tuple(vector(f"guesses[{k}]", guess, size) for k, guess in enumerate(guesses))
    title, description = (str(data[item]) if item in data else "" for item in ("title", "description"))
    return ProblemFile(problem, tried, solution, title, description, tuple(warnings))


def read_problem(data: dict[str, NDArray[Any]]) -> tuple[ContactProblem, list[str]]:
    """The problem in these arrays, and warnings; an InputError names the array that is wrong."""
    if str(data["format"]) != FORMAT:
        raise InputError(f"its format is {str(data['format'])!r}; {FORMAT!r} is needed")
    version = str(array_of(data, "version"))
    if version not in [str(known) for known in range(1, VERSION + 1)]:
        newer = "; a newer stickslip wrote it" if version.isdigit() and int(version) > VERSION else ""
        raise InputError(f"it has version {version}; this stickslip reads versions 1 to {VERSION}{newer}")
    if version == "1":
        data = {"momentum.at": array_of(data, "v_free"), **_known_to_version_1(data)}
    A = read_inertia(data, "A", str(array_of(data, "inertia")))
    problem = ContactProblem(
        momentum=Momentum(A, numbers(data, "momentum.at"), _optional(data, "momentum.missing")),
        J=BlockRows(*(numbers(data, f"J.{item}", _type(item != "data")) for item in BlockRows._fields)),
        bias=numbers(data, "bias"),
        laws=Laws(*(numbers(data, f"laws.{item}", _type(item in LAW_CODES)) for item in Laws._fields)),
        step=_number(data, "step", 1.0),
        prescribed=_optional(data, "prescribed"),
        soft=bool(_number(data, "soft", 0.0)),
        v_before=_optional(data, "v_before"),
        gap=_optional(data, "gap"),
        keys=_optional(data, "keys", np.int64),
        scale=_scale(data),
    ).checked()
    warnings = check_inertia("A", A)
    if problem.scale.masses is not None:
        warnings += check_inertia("scale.masses", problem.scale.masses)
    return problem, warnings


def _known_to_version_1(data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What such files may hold; bounds are absent in the oldest."""
    own = ("A.", "J.", "laws.")
    known = {name: array for name, array in data.items() if name.startswith(own) or name in ("bias", "step")}
    known.setdefault("laws.bound", np.zeros_like(array_of(data, "laws.compliance")))
    return known | {"inertia": array_of(data, "inertia")}


def _scale(data: dict[str, NDArray[Any]]) -> Scale:
    masses = None
    if "scale.masses" in data:
        masses = read_inertia(data, "scale.masses", str(data["scale.masses"]))
    return Scale(
        speed=_number(data, "scale.speed", 0.0) if "scale.speed" in data else None,
        rounding=_number(data, "scale.rounding", 0.0),
        momentum=_optional(data, "scale.momentum"),
        mobility=_optional(data, "scale.mobility"),
        masses=masses,
    )


def _type(whole: bool) -> type[np.generic]:
    return np.int32 if whole else np.float64


def _optional(data: dict[str, NDArray[Any]], name: str, needed: type[np.generic] = np.float64) -> NDArray[Any] | None:
    """An array that may be absent."""
    return numbers(data, name, needed) if name in data else None


def _number(data: dict[str, NDArray[Any]], name: str, otherwise: float) -> float:
    """A number that may be absent."""
    if name not in data:
        return otherwise
    value = data[name]
    if value.shape not in ((), (1,)) or value.dtype.kind not in "fiub":
        raise InputError(f"{name} is an array of {value.dtype} of shape {value.shape}; one number is needed")
    return float(value.reshape(-1)[0])
