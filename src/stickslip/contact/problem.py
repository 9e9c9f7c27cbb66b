"""The contact problem of one step: a small value that can be saved, and all that a solver sees.

A (v - v_free) = J^T lam            momentum
u = J v + bias                      constraint-space velocity
u_c, lam_c  obey  law_c             per constraint block; where it has compliance, with u + compliance lam for u
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array, Ints
from stickslip.checks import array
from stickslip.contact import delassus
from stickslip.contact.checks import LARGEST, checked, trusted
from stickslip.contact.laws import CONTACT, DISC, ELLIPSE, ELLIPSOID, LIMIT
from stickslip.contact.participating import Participating, participating
from stickslip.contact.soft_delassus import dense_delassus, full_blocks, given_inverse
from stickslip.errors import InputError
from stickslip.jit import kernel
from stickslip.linalg import block_rows, inertia
from stickslip.linalg.block_rows import BlockRows, all_sized
from stickslip.linalg.inertia import BlockDiagonal, GivenInverse, Inertia, SparseInertia
from stickslip.linalg.vectors import length

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NOISE = 1e-6
"""Constraint velocities of joints below this share of the free velocities are rounding, when residuals are scaled: what
a tolerance of 1e-8 then asks for is 1e-14 of the velocities."""


class Laws(NamedTuple):
    """The law of each of n constraint blocks; see contact/laws.py for the codes."""

    law: Ints
    """(n,) CONTACT, BILATERAL, LIMIT, ELASTIC or BOUNDED."""
    friction_set: Ints
    """(n,) DISC, ELLIPSE, ELLIPSOID or BOX_SET; read where the law is CONTACT."""
    friction: Array
    """(n, 3) friction coefficients along t1 and t2, and about the normal [m]."""
    compliance: Array
    """(m,) [1/kg] per row: u + compliance lam takes the place of u; of contacts, on the normal row alone."""
    bound: Array
    """(m,) [N s] largest impulse of each row, read where the law is BOUNDED."""


class Unsolved(NamedTuple):
    """Free velocities that nobody has computed yet: A (v_free - v) = impulse. Solvers of velocities never need them."""

    v: Array
    """(nv,) velocities at which momentum was linearised."""
    impulse: Array
    """(nv,) [N s] that is missing there."""


def solved_later(v: Array, impulse: Array) -> Array:
    """Free velocities of a problem whose momentum lacks ``impulse`` (nv,) at v (nv,), solved for at their first use."""
    return cast("Array", Unsolved(v, impulse))


def joined_laws(first: Laws, second: Laws) -> Laws:
    """Laws of the blocks of ``first``, followed by those of ``second``."""
    return Laws(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in Laws._fields))


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """One step's problem. Velocities v (nv,), impulses lam (m,), rows of a contact: normal, t1, t2[, torsion]."""

    A: Inertia
    v_free: Array
    """(nv,) velocities without constraints; by ``solved_later`` they are computed when somebody asks for them."""
    J: BlockRows
    bias: Array
    laws: Laws
    step: float = 1.0
    """[s] time over which impulses act: lam / step are forces. Only conversions to forces and lengths read it."""
    prescribed: Array | None = None
    """(m,) [m/s] part of the bias that is the velocity of bodies with prescribed motion; None where nothing says."""
    soft: bool = False
    """Whether W is that of soft bodies, whose contacts do not determine each other; a hint for solvers that choose."""
    v_before: Array | None = None
    """(nv,) velocities at the start of the step, from which solvers of velocities begin; None where nothing says."""
    gap: Array | None = None
    """(nc,) [m] gaps of the contacts where they were found, which the bias holds capped; None where nothing says."""

    def __post_init__(self) -> None:
        given = self.__dict__["v_free"]
        self.__dict__["unsolved"] = given if isinstance(given, Unsolved) else None
        if isinstance(given, Unsolved):
            del self.__dict__["v_free"]

    if TYPE_CHECKING:
        unsolved: ClassVar[Unsolved | None]
    else:

        def __getattr__(self, name: str) -> Array:
            """Solve for the free velocities at their first use."""
            unsolved = self.__dict__.get("unsolved")
            if name != "v_free" or unsolved is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            found = unsolved.v + inertia.solve(self.A, unsolved.impulse)
            self.__dict__["v_free"] = found
            return found

    @property
    def unknown_count(self) -> int:
        """Number of velocities nv."""
        return self.J.column_count

    @property
    def block_count(self) -> int:
        """Number of constraint blocks (contacts, joints, limits)."""
        return self.J.block_count

    @property
    def contact_count(self) -> int:
        """Number of contacts: blocks that are neither joints nor limits."""
        return int((self.laws.law == CONTACT).sum())

    @property
    def row_count(self) -> int:
        """Number of impulses m."""
        return self.J.row_count

    def velocity(self, lam: Array) -> Array:
        """v = v_free + A^-1 J^T lam."""
        impulse = block_rows.apply_transpose(self.J, lam)
        if self.unsolved is not None and "v_free" not in self.__dict__:  # one solve in the place of two
            return self.unsolved.v + inertia.solve(self.A, self.unsolved.impulse + impulse)
        return self.v_free + inertia.solve(self.A, impulse)

    def momentum_gain(self, v: Array) -> Array:
        """A (v - v_free) [N s], for which nothing is solved; an InputError where only A^-1 is known."""
        if self.unsolved is None:
            return inertia.apply(self.A, v - self.v_free)
        return inertia.apply(self.A, v - self.unsolved.v) - self.unsolved.impulse

    def constraint_velocity(self, v: Array) -> Array:
        """u = J v + bias."""
        return block_rows.apply(self.J, v) + self.bias

    def law_velocity(self, lam: Array, u: Array) -> Array:
        """u (m,) with compliance lam added on the normals of contacts: the velocity that their law is about."""
        C = self.contact_compliance
        if C is None:
            return u
        pressed, normal = u.copy(), self.J.row_start[:-1]
        pressed[normal] += C * lam[normal]
        return pressed

    # derived quantities that a solver and the judge both need; computed once, at first use

    @cached_property
    def free_constraint_velocity(self) -> Array:
        """q = J v_free + bias (m,) [m/s]: the constraint velocity without impulses."""
        return self.constraint_velocity(self.v_free)

    @property
    def _rough(self) -> bool:
        """Whether what residuals are measured by comes from the diagonal blocks of A: nothing is factorised for it."""
        return isinstance(self.A, SparseInertia) and self.unsolved is not None

    @cached_property
    def diagonal_blocks(self) -> BlockDiagonal:
        """The diagonal blocks of A, of which each is a body or a node."""
        assert isinstance(self.A, SparseInertia)
        return inertia.diagonal_blocks(self.A)

    @cached_property
    def _rough_constraint_velocity(self) -> Array:
        """What ``free_constraint_velocity`` were if nodes moved one by one."""
        v, missing = cast("Unsolved", self.unsolved)
        return self.constraint_velocity(v + inertia.solve(self.diagonal_blocks, missing))

    @cached_property
    def free_speed(self) -> float:
        """|q| [m/s], which scales residuals; spins that friction resists count at ``torsion_length``, others not.

        Limits count where they would be passed: far from them q is the way to go over the step, and says nothing. Where
        joints move together, q is rounding; it counts at least as NOISE of the free velocities.
        """
        joined = bool((self.laws.law != CONTACT).any())
        v = self.v_free if self.unsolved is None or not self._rough else self.unsolved.v
        return max(float(length(self.measured_velocity)), NOISE * float(length(v)) if joined else 0.0)

    @cached_property
    def measured_velocity(self) -> Array:
        """(m,) [m/s] the rows of q as they count in ``free_speed``."""
        q = self._rough_constraint_velocity if self._rough else self.free_constraint_velocity
        if all_sized(self.J.row_start, 3) and (self.laws.law == CONTACT).all():
            return q  # the common case: contacts without torsion
        limited = np.repeat(self.laws.law == LIMIT, np.diff(self.J.row_start))
        q = np.where(limited, np.minimum(q, 0.0), q)
        turning = np.flatnonzero((self.laws.law == CONTACT) & (np.diff(self.J.row_start) > 3))
        if len(turning):
            resisted = self.laws.friction[turning, 2] > 0.0
            q[self.J.row_start[turning] + 3] *= np.where(resisted, self.torsion_length[turning], 0.0)
        return q

    @cached_property
    def masses(self) -> Inertia:
        """A by which errors of momentum are measured: without what the turning of forces adds to it."""
        return self.A  # where something was added, who added it writes what there was before

    @cached_property
    def momentum_size(self) -> Array:
        """(nv,) [N s] impulses beside J^T lam by which errors of momentum are measured: those within soft bodies."""
        return np.zeros(self.unknown_count)  # where bodies are soft, who makes the problem writes it

    @cached_property
    def response(self) -> BlockRows:
        """J A^-1: the velocities that unit impulses cause."""
        return delassus.impulse_response(self.J, self.A)

    @cached_property
    def condensed(self) -> ContactProblem:
        """The same over impulses alone, u = W lam + q, where bodies are soft; else the problem itself.

        Only unknowns that rows touch take part ([han2023] sec. VI-A), and every solver can take it.
        """
        if not isinstance(self.A, SparseInertia):
            return self
        W, used = dense_delassus(self.J, self.A)
        rows = _identity_rows(self.J.row_start)
        q = self.free_constraint_velocity
        found = ContactProblem(given_inverse(W, used), q, rows, np.zeros(len(q)), self.laws, self.step, soft=True)
        self.__dict__["diagonal"] = found.__dict__["diagonal"] = np.diagonal(W).copy()
        found.__dict__["free_speed"] = self.free_speed
        if used.all() and all_sized(self.J.row_start, 3):
            found.__dict__["delassus"] = full_blocks(W, self.J.row_start)
        return trusted(found)

    @cached_property
    def participating(self) -> Participating:
        """The unknowns that constraints touch ([han2023] sec. VI-A); an InputError where only A^-1 is known."""
        if isinstance(self.A, GivenInverse):
            raise InputError("problem: it was given by its Delassus matrix W, so no unknowns can be eliminated")
        return participating(self.J, self.A)

    @cached_property
    def delassus(self) -> BlockRows:
        """W = J A^-1 J^T (m, m) as block rows over the constraint blocks."""
        if isinstance(self.A, SparseInertia):
            return self.condensed.delassus
        given = delassus.given_blocks(self.J, self.A)
        return delassus.blocks(self.J, self.response) if given is None else given

    @cached_property
    def diagonal(self) -> Array:
        """diag W (m,) [1/kg]; where nobody solves with A, by the diagonal blocks of A alone, which is less."""
        if self._rough:
            return delassus.diagonal(self.J, self.diagonal_blocks)
        if isinstance(self.A, SparseInertia):
            return self.participating.diagonal()
        return delassus.diagonal(self.J, self.A)

    @cached_property
    def weight(self) -> Array:
        """(n,) [1/kg] mean of diag W over the first three rows of each block: turns an impulse into a velocity."""
        weight = np.empty(self.block_count)
        _block_weight(self.J.row_start, self.diagonal, weight)
        return weight

    @cached_property
    def contact_compliance(self) -> Array | None:
        """(n,) [1/kg] compliance of each contact along its normal, zero for rigid ones; None where all are rigid."""
        if not self.laws.compliance.any():
            return None
        found = np.where(self.laws.law == CONTACT, self.laws.compliance[self.J.row_start[:-1]], 0.0)
        return found if found.any() else None

    @cached_property
    def law_weight(self) -> Array:
        """(n,) [1/kg] ``weight`` with the compliance of contacts: an impulse as a velocity that the law is about."""
        C = self.contact_compliance
        return self.weight if C is None else self.weight + C / 3.0

    @cached_property
    def torsion_length(self) -> Array:
        """(n,) [m] radius at which an impulse about the normal moves a contact as easily as one along a tangent.

        Measured at it, the torsional row is in the units of the others, which projections onto friction sets need.
        """
        length_out = np.ones(self.block_count)
        _torsion_length(self.J.row_start, self.laws.law, self.diagonal, length_out)
        return length_out


def reordered(problem: ContactProblem, order: Ints) -> tuple[ContactProblem, NDArray[np.intp]]:
    """The same problem with its blocks in the given order (n,), and the old number (m,) of each of its rows."""
    rows = block_rows.rows_of(problem.J, order)
    laws = problem.laws
    taken = Laws(
        laws.law[order], laws.friction_set[order], laws.friction[order], laws.compliance[rows], laws.bound[rows]
    )
    J = block_rows.reordered(problem.J, order)
    inner = ContactProblem(problem.A, problem.v_free, J, problem.bias[rows], taken, problem.step)
    # the same numbers in both orders: computed once
    diagonal = np.empty(problem.row_count)
    diagonal[rows] = inner.diagonal
    problem.__dict__["diagonal"] = diagonal
    return trusted(inner), rows


def contact_laws(mu: ArrayLike, rows: int = 3) -> Laws:
    """Laws of contacts of 3 or 4 rows with Coulomb friction mu (n,), or (n, 3) along t1, t2 and about the normal.

    The friction set follows from the coefficients: a disc, an ellipse where the first two differ, an ellipsoid
    where there is torsion ([erleben2017] eq. 15-16).
    """
    given = array("problem", "mu", mu, (), (None,), (None, 3))
    count = len(given.reshape(-1)) if given.ndim < 2 else len(given)
    friction = np.zeros((count, 3))
    if given.ndim < 2:
        friction[:, 0] = friction[:, 1] = given.reshape(-1)
    else:
        friction[:] = given
    friction_set = np.where(friction[:, 0] == friction[:, 1], DISC, ELLIPSE)
    friction_set = np.where(friction[:, 2] > 0.0, ELLIPSOID, friction_set).astype(np.int32)
    none = np.zeros(rows * count)
    return Laws(np.full(count, CONTACT, dtype=np.int32), friction_set, friction, none, none.copy())


def from_delassus(W: object, q: ArrayLike, mu: ArrayLike) -> ContactProblem:
    """Problem u = W lam + q with Coulomb friction mu; W (3n, 3n) dense or sparse, rows (normal, t1, t2)."""
    from scipy.sparse import csr_array, issparse

    if issparse(W):
        matrix = csr_array(W)
        if matrix.dtype.kind not in "iuf":
            raise InputError(f"problem: W holds {matrix.dtype}; numbers are needed")
        try:
            matrix.check_format()  # kernels trust indices without looking
        except ValueError as error:
            raise InputError(f"problem: W is no sound sparse matrix: {error}") from None
    else:
        matrix = csr_array(array("problem", "W", W, (None, None), largest=LARGEST))
    matrix.sort_indices()
    free = array("problem", "q", q, (None,), (None, 1), (1, None), (None, 3), largest=LARGEST).reshape(-1)
    laws = contact_laws(mu)
    count = len(laws.law)
    if len(free) != 3 * count or matrix.shape != (3 * count, 3 * count):
        raise InputError(
            f"problem: W has shape {matrix.shape}, q {free.shape}, mu ({count},); needed: (3n, 3n), (3n,), (n,)"
        )
    return given_problem(matrix, free, laws, 3 * np.arange(count + 1, dtype=np.int32))


def given_problem(W: csr_array, q: Array, laws: Laws, row_start: Ints) -> ContactProblem:
    """Problem u = W lam + q with blocks that start at ``row_start`` (n + 1,); W (m, m) with sorted indices.

    It is the problem with J = I and A^-1 = W (linalg/inertia.py).
    """
    rows = _identity_rows(row_start)
    given = GivenInverse(
        np.ascontiguousarray(W.data, dtype=np.float64),
        np.ascontiguousarray(W.indices, dtype=np.int32),
        np.ascontiguousarray(W.indptr, dtype=np.int32),
    )
    return checked(ContactProblem(given, q, rows, np.zeros(len(q)), laws))


def _identity_rows(row_start: Ints) -> BlockRows:
    """J = I over blocks that start at ``row_start`` (n + 1,)."""
    height = np.diff(row_start)
    each = np.arange(len(height) + 1, dtype=np.int32)
    data_start = block_rows.summed(height**2)
    ones = np.zeros(int(data_start[-1]))
    inside = np.arange(int(row_start[-1])) - np.repeat(row_start[:-1], height)
    ones[np.repeat(data_start[:-1], height) + inside * (np.repeat(height, height) + 1)] = 1.0
    return BlockRows(row_start, each, each[:-1].copy(), data_start, ones, row_start)


@kernel
def _block_weight(row_start, diagonal, weight_out):
    """Mean of diag W over the first three rows of each block; the torsional row has other units."""
    for c in range(row_start.shape[0] - 1):
        first = row_start[c]
        count = min(row_start[c + 1] - first, 3)
        total = 0.0
        for i in range(count):
            total += diagonal[first + i]
        weight_out[c] = total / count


@kernel
def _torsion_length(row_start, law, diagonal, length_out):
    """sqrt(mean W_tt / W_zz) of contacts with a torsional row."""
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        if law[c] == CONTACT and row_start[c + 1] - i > 3 and diagonal[i + 3] > 0.0:
            length_out[c] = sqrt(0.5 * (diagonal[i + 1] + diagonal[i + 2]) / diagonal[i + 3])
