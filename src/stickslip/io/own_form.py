"""Our own form of a problem in an ``.npz`` archive: every array of :class:`ContactProblem` bit for bit.

They are named ``A.start``, ``J.data``, ``laws.law``, ...; with them ``solution`` (m,), ``guesses`` (k, m), ``title``
and ``description``, all four optional.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.contact.block_laws import Laws
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.io.definiteness import examine
from stickslip.io.global_form import require_definite
from stickslip.io.sparse_parts import array_of, vector
from stickslip.io.stored_problem import ProblemFile
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import NOTHING, DenseBlocks
from stickslip.linalg.given_inverse import GivenInverse
from stickslip.linalg.inertia import Inertia

FORMAT, VERSION = "stickslip-problem", 1
INVERSE_ERROR = 1e-6
"""Largest entry of A A^-1 - I that is taken: blocks of the worst bodies have 1e-10."""
KINDS: dict[str, type[DenseBlocks] | type[GivenInverse]] = {"BlockDiagonal": DenseBlocks, "GivenInverse": GivenInverse}
"""What A is in a file, by the names that files have."""


def own_arrays(content: ProblemFile) -> dict[str, Any]:
    """The arrays of an archive."""
    problem = content.problem
    assert not problem.A.has_soft  # saved in its condensed form
    kind, A = ("BlockDiagonal", problem.A.dense) if problem.A.given is None else ("GivenInverse", problem.A.given)
    arrays: dict[str, Any] = {"format": FORMAT, "version": VERSION, "inertia": kind}
    for prefix, table in (("A", A), ("J", problem.J), ("laws", problem.laws)):
        arrays |= {f"{prefix}.{name}": array for name, array in table._asdict().items()}
    arrays |= {"v_free": problem.v_free, "bias": problem.bias, "step": problem.step}
    arrays |= {name: text for name in ("title", "description") if (text := getattr(content, name))}
    if content.solution is not None:
        arrays["solution"] = content.solution
    if content.guesses:
        arrays["guesses"] = np.array(content.guesses)
    return arrays


def read_own(data: dict[str, NDArray[Any]]) -> ProblemFile:
    """The contents of an archive; an InputError names the array that is wrong."""
    if str(data["format"]) != FORMAT:
        raise InputError(f"its format is {str(data['format'])!r}; {FORMAT!r} is needed")
    if str(array_of(data, "version")) != str(VERSION):
        raise InputError(f"it has version {data['version']}; this stickslip reads version {VERSION}")
    name = str(array_of(data, "inertia"))
    if name not in KINDS:
        raise InputError(f"inertia is {name!r}; {' or '.join(KINDS)} is needed")
    kind = KINDS[name]
    data.setdefault("laws.bound", np.zeros_like(array_of(data, "laws.compliance")))  # absent in older files
    whole = ("start", "data_start", "indices", "indptr")
    table = kind(*(_numbers(data, f"A.{item}", item in whole) for item in kind._fields))
    inertia = Inertia(table) if isinstance(table, DenseBlocks) else Inertia(NOTHING, given=table)
    problem = ContactProblem(
        momentum=Momentum(inertia, _numbers(data, "v_free")),
        J=BlockRows(*(_numbers(data, f"J.{item}", item != "data") for item in BlockRows._fields)),
        bias=_numbers(data, "bias"),
        laws=Laws(*(_numbers(data, f"laws.{item}", item in ("law", "friction_set")) for item in Laws._fields)),
        step=float(data.get("step", 1.0)),
    )
    problem.checked()
    warnings = _check_inertia(problem)
    size = problem.row_count
    solution = vector("solution", data["solution"], size) if "solution" in data else None
    guesses = np.atleast_2d(data["guesses"]) if "guesses" in data else np.zeros((0, size))
    tried = tuple(vector(f"guesses[{k}]", guess, size) for k, guess in enumerate(guesses))
    title, description = (str(data[item]) if item in data else "" for item in ("title", "description"))
    return ProblemFile(problem, tried, solution, title, description, tuple(warnings))


def _numbers(data: dict[str, NDArray[Any]], name: str, whole: bool = False) -> NDArray[Any]:
    """An array of the type that kernels expect, contiguous."""
    array = array_of(data, name)
    needed = np.dtype(np.int32 if whole else np.float64)
    if array.dtype != needed:
        raise InputError(f"{name} holds {array.dtype}; {needed} is needed")
    return np.ascontiguousarray(array)


def _check_inertia(problem: ContactProblem) -> list[str]:
    """Warnings about A; blocks that are not positive definite or not inverse to each other raise an InputError."""
    if problem.A.given is not None:
        given = problem.A.given.matrix()
        given.sum_duplicates()
        return examine(given, "A^-1 = W")
    A = problem.A.dense
    width = np.diff(A.start)
    for size in np.unique(width[width > 0]):
        members = np.flatnonzero(width == size)
        where = A.data_start[members][:, None] + np.arange(size * size)
        blocks, inverses = (array[where].reshape(-1, size, size) for array in (A.data, A.inverse))
        require_definite("A", blocks, A.start[members])
        error = np.abs(np.einsum("bij,bjk->bik", blocks, inverses) - np.eye(size)).max()
        if not error <= INVERSE_ERROR:
            raise InputError(f"A.inverse is not the inverse of A: A A^-1 differs from I by {error:.2g}")
    return []
