"""The matrix of a soft body, factorised: how A^-1, B^T A^-1 B and Schur complements are made of Cholesky factors.

Two libraries make them: ours (``own``) and MKL PARDISO (``mkl``, the extra of that name, for comparison).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from types import ModuleType

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from stickslip.arrays import Array, Ints
from stickslip.errors import DivergenceError, InputError
from stickslip.jit import kernel
from stickslip.linalg import block_cholesky, pardiso
from stickslip.linalg.block_matrix import BlockPattern
from stickslip.linalg.elimination import Symbolic
from stickslip.linalg.pardiso import PardisoSymbolic
from stickslip.workspace import Workspace

BACKENDS: dict[str, ModuleType] = {"own": block_cholesky, "mkl": pardiso}
"""Who factorises: modules with analyse, with_last, factorise, solve, inverse_product, schur, extended."""
Plan = Symbolic | PardisoSymbolic
"""The half of a factorisation that depends on the pattern alone."""

_chosen = "own"


def choose_backend(name: str) -> None:
    """Have soft bodies of models made from now on factorised by one of BACKENDS; ``own`` until then."""
    global _chosen  # noqa: PLW0603  (one switch for a process: models are compared run by run)
    if name not in BACKENDS:
        raise InputError(f"backend is {name!r}; it must be one of {', '.join(BACKENDS)}")
    if name == "mkl":
        pardiso.require()
    _chosen = name


class BlockFactors:
    """A factorised matrix of n block rows."""

    def __init__(self, plan: Plan, data: Array, workspace: Workspace | None = None) -> None:
        self.backend = _backend_of(plan)
        self.factor = self.backend.factorise(plan, data, None, workspace)
        if not self.factor.positive:
            raise DivergenceError(
                f"soft body: the matrix of a step is not positive definite at free node {self.factor.failed}; a "
                "shorter step would help; or is a force, a pressure or a stiffness without bound?"
            )
        self.solve: Callable[[Array], Array] = partial(self.backend.solve, self.factor)
        """x with matrix x = b; b (3 n,) or (3 n, k)."""
        self.inverse_product: Callable[[Array], Array] = partial(self.backend.inverse_product, self.factor)
        """B^T matrix^-1 B (k, k) for B (3 n, k)."""

    @cached_property
    def schur(self) -> Array:
        """The Schur complement (3 k, 3 k) on the last nodes of the plan."""
        return np.asarray(self.backend.schur(self.factor))

    @cached_property
    def schur_inverse(self) -> Array:
        """Its inverse, which is the inverse of the whole matrix on these nodes."""
        return inverted(self.schur, "soft body, whose step should be shorter")

    def extended(self, x_last: Array) -> Array:
        """x (3 n,) with x_last (3 k,) on the last nodes of the plan and matrix x = 0 on all others."""
        return self.backend.extended(self.factor, x_last)


def inverted(square: Array, where: str) -> Array:
    """The inverse of a positive definite matrix (n, n); a DivergenceError that names ``where`` if it is not one."""
    found, failed = dpotrf(square, lower=1, clean=0)
    if not failed:
        found, failed = dpotri(found, lower=1, overwrite_c=1)
    if failed:
        raise DivergenceError(f"{where}: the matrix of what takes part is not positive definite")
    inverse = np.empty_like(square)
    _mirror(found, inverse)
    return inverse


@kernel
def _mirror(lower, full_out):
    """The symmetric matrix whose lower triangle is given."""
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            full_out[i, j] = lower[i, j]
            full_out[j, i] = lower[i, j]


def eliminated(pattern: BlockPattern, backend: str | None = None) -> Plan:
    """The half of a factorisation that depends on the pattern alone, by the chosen backend or this one."""
    return BACKENDS[backend or _chosen].analyse(pattern.indptr, pattern.indices)


def ending_with(plan: Plan, pattern: BlockPattern, last: Ints) -> Plan:
    """The plan of the same pattern for other last nodes (k,)."""
    return _backend_of(plan).with_last(plan, pattern.indptr, pattern.indices, last)


def _backend_of(plan: Plan) -> ModuleType:
    return pardiso if isinstance(plan, PardisoSymbolic) else block_cholesky
