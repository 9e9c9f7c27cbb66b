"""Our own form of a problem: named arrays that hold every field of :class:`ContactProblem` bit for bit.

``J.data``, ``laws.law``, ``momentum.at``, ``scale.speed``, ...; a field that is None is absent. A and ``scale.masses``
are in io/inertia_arrays.py. An ``.npz`` archive may hold ``solution`` (m,), ``guesses`` (k, m), ``title`` and
``description`` as well; FCLIB files have the arrays of the problem in a group of their own (io/fclib_own.py).

Version 1, which is still read, had ``inertia`` for the kind of A, "BlockDiagonal" or "GivenInverse", with its fields in
``A.start``, ...; ``v_free`` for ``momentum.at``; and nothing of ``missing``, ``prescribed``, ``soft``, ``v_before``,
``gap``, ``keys`` and ``scale``. Problems of soft bodies were over impulses alone.
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
KINDS_1 = {"BlockDiagonal": "A.dense.", "GivenInverse": "A.given."}
"""What A was in files of version 1, and how the names of its arrays begin now."""
OPTIONAL_SCALE = ("island_speed", "rounding", "momentum", "mobility")
"""Arrays of the scale."""


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
    arrays: dict[str, Any] = {"format": FORMAT, "version": VERSION, **inertia_arrays("A", problem.A)}
    for prefix, table in (("J", problem.J), ("laws", problem.laws)):
        arrays |= {f"{prefix}.{name}": array for name, array in table._asdict().items()}
    arrays |= {"momentum.at": problem.momentum.at, "bias": problem.bias, "step": problem.step, "soft": problem.soft}
    scale = problem.scale
    optional = {
        "momentum.missing": problem.momentum.missing, "prescribed": problem.prescribed, "v_before": problem.v_before,
        "v_likely": problem.v_likely,
        "gap": problem.gap, "keys": problem.keys, "scale.speed": scale.speed,
        **{f"scale.{name}": getattr(scale, name) for name in OPTIONAL_SCALE},
    }  # fmt: skip
    arrays |= {name: value for name, value in optional.items() if value is not None}
    return arrays if scale.masses is None else arrays | inertia_arrays("scale.masses", scale.masses)


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
        data = _from_version_1(data)
    A = read_inertia(data, "A")
    problem = ContactProblem(
        momentum=Momentum(A, numbers(data, "momentum.at"), _optional(data, "momentum.missing")),
        J=BlockRows(*(numbers(data, f"J.{item}", _type(item != "data")) for item in BlockRows._fields)),
        bias=numbers(data, "bias"),
        laws=Laws(*(numbers(data, f"laws.{item}", _type(item in LAW_CODES)) for item in Laws._fields)),
        step=_number(data, "step", 1.0),
        prescribed=_optional(data, "prescribed"),
        soft=bool(_number(data, "soft", 0.0)),
        v_before=_optional(data, "v_before"),
        v_likely=_optional(data, "v_likely"),
        gap=_optional(data, "gap"),
        keys=_optional(data, "keys", np.int64),
        scale=_scale(data),
    ).checked()
    warnings = check_inertia("A", A)
    if problem.scale.masses is not None:
        warnings += check_inertia("scale.masses", problem.scale.masses)
    return problem, warnings


def _from_version_1(data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a file of version 1 by the names that they have now; bounds are absent in the oldest."""
    kind = str(array_of(data, "inertia"))
    if kind not in KINDS_1:
        raise InputError(f"inertia is {kind!r}; {' or '.join(KINDS_1)} is needed")
    found = {name: data[name] for name in data if name.startswith(("J.", "laws.")) or name in ("bias", "step")}
    found |= {KINDS_1[kind] + name[2:]: data[name] for name in data if name.startswith("A.")}
    found.setdefault("laws.bound", np.zeros_like(array_of(data, "laws.compliance")))
    return found | {"momentum.at": array_of(data, "v_free")}


def _scale(data: dict[str, NDArray[Any]]) -> Scale:
    masses = any(name.startswith("scale.masses.") for name in data)
    return Scale(
        speed=_number(data, "scale.speed", 0.0) if "scale.speed" in data else None,
        masses=read_inertia(data, "scale.masses") if masses else None,
        **{name: _optional(data, f"scale.{name}") for name in OPTIONAL_SCALE},
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
