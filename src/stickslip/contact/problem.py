"""The contact problem of one step: a small value that can be saved, and all that a solver sees.

A (v - v_free) = J^T lam            momentum
u = J v + bias                      constraint-space velocity
u_c, lam_c  obey  law_c             per constraint block; where it has compliance, with u + compliance lam for u
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from stickslip.arrays import Array, Ints, LongInts
from stickslip.checks import array
from stickslip.contact import delassus
from stickslip.contact.block_laws import Laws, contact_laws
from stickslip.contact.checks import LARGEST, check_equations, check_knowledge
from stickslip.contact.laws import CONTACT, LIMIT
from stickslip.contact.momentum import Momentum
from stickslip.contact.participating import Participating, participating
from stickslip.contact.scale import (
    AS_IT_IS,
    Scale,
    block_weight,
    counts_otherwise,
    has_compliant_contact,
    island_speeds,
    torsion_lengths,
)
from stickslip.errors import InputError
from stickslip.linalg import block_rows, given_inverse, inertia
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import NOTHING
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands, coupled_islands, find_islands
from stickslip.linalg.vectors import length
from stickslip.tolerances import SPEED_NOISE

KINDS = ("contact", "soft contact", "joint", "weld", "cavity", "element")
"""Kinds of constraints, by the numbers that keys of blocks begin with."""


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """One step's problem. Velocities v (nv,), impulses lam (m,), rows of a contact: normal, t1, t2[, torsion]."""

    momentum: Momentum
    J: BlockRows
    bias: Array
    laws: Laws
    step: float = 1.0
    """[s] time over which impulses act: lam / step are forces. Only conversions to forces and lengths read it."""
    prescribed: Array | None = None
    """(m,) [m/s] part of the bias that is the velocity of bodies with prescribed motion; None where it is not known."""
    soft: bool = False
    """Whether W is that of soft bodies, whose contacts do not determine each other; a hint for solvers that choose."""
    v_before: Array | None = None
    """(nv,) velocities at the start of the step, from which solvers of velocities begin; None where it is not known."""
    gap: Array | None = None
    """(nc,) [m] gaps of the contacts where they were found, which the bias holds capped; None where it is not known."""
    keys: LongInts | None = None
    """(n, 2) which kind of constraint each block is (KINDS) and its number among them, the same from step to step; None
    where they are not known."""
    scale: Scale = AS_IT_IS
    """What its errors are measured by, where its own numbers do not tell."""
    _sound: bool = field(default=False, init=False, repr=False)
    """Whether it is known that its tables fit together (contact/checks.py)."""

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not what was computed from them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def checked(self) -> ContactProblem:
        """The problem itself, or an InputError that names what is not finite, negative or of the wrong type or shape.

        It is checked once, however often it is solved.
        """
        if not self._sound:
            check_equations(self.momentum, self.J, self.bias, self.laws, self.step)
            known = self.prescribed, self.v_before, self.gap, self.keys, self.scale
            check_knowledge(self.A, self.J, self.laws, *known)
        return self.trusted()

    def trusted(self) -> ContactProblem:
        """The problem itself, marked as sound: its arrays were made here, or come from a problem that was checked."""
        object.__setattr__(self, "_sound", True)
        return self

    @property
    def A(self) -> Inertia:
        """The matrix of the momentum equation."""
        return self.momentum.A

    @property
    def v_free(self) -> Array:
        """(nv,) velocities without constraints; solved for at their first use."""
        return self.momentum.free

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
        return self.momentum.moved(block_rows.apply_transpose(self.J, lam))

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

    @cached_property
    def before(self) -> Array | None:
        """u (m,) [m/s] at ``v_before``; whoever knows it says so by ``starting_at``."""
        return None if self.v_before is None else self.constraint_velocity(self.v_before)

    def starting_at(self, before: Array) -> ContactProblem:
        """The problem itself, with what is known of ``before``."""
        self.__dict__["before"] = before
        return self

    @property
    def _rough(self) -> bool:
        """Whether what residuals are measured by comes from the diagonal blocks of A: nothing is factorised for it."""
        return self.A.has_soft and self.momentum.missing is not None

    @property
    def factorised(self) -> bool:
        """Whether A is factorised in its own orders of elimination: free velocities were solved for with it."""
        return self.momentum.missing is None

    @cached_property
    def diagonal_blocks(self) -> Inertia:
        """The diagonal blocks of A, of which each is a body or a node."""
        return self.A.diagonal_blocks()

    @cached_property
    def _rough_constraint_velocity(self) -> Array:
        """What ``free_constraint_velocity`` were if nodes moved one by one."""
        missing = self.momentum.missing
        assert missing is not None
        return self.constraint_velocity(self.momentum.at + self.diagonal_blocks.solve(missing))

    @cached_property
    def free_speed(self) -> float:
        """|q| [m/s], which scales residuals; spins that friction resists count at ``torsion_length``, others not.

        Limits count where they would be passed: far from them q is the way to go over the step, and says nothing. Where
        joints move together, q is rounding; it counts at least as SPEED_NOISE of the free velocities.
        """
        if self.scale.speed is not None:
            return self.scale.speed
        joined = bool((self.laws.law != CONTACT).any())
        v = self.momentum.at if self._rough else self.v_free
        rounding = self.scale.rounding
        least = 0.0 if rounding is None or not joined else float(rounding.max(initial=0.0))
        least = max(least, SPEED_NOISE * float(length(v)) if joined else 0.0)
        return max(float(length(self.measured_velocity)), least)

    @cached_property
    def islands(self) -> Islands:
        """Groups of constraint blocks that no body joins: each can be solved apart."""
        J, A = self.J, self.A
        if A.given is not None:
            return coupled_islands(J.row_start, A.given.indptr, A.given.indices)
        if A.has_soft:  # a soft body joins what touches its nodes
            body = A.bodies(len(J.column_start) - 1)
            return find_islands(J._replace(entry_column=body[J.entry_column]))
        return find_islands(J)

    @cached_property
    def island_speed(self) -> Array:
        """(n,) [m/s] ``free_speed`` of the island of each block, as if it were alone."""
        islands = self.islands
        if not self.has_others:
            return np.full(self.block_count, self.free_speed)
        if self.scale.island_speed is not None:
            return self.scale.island_speed
        v, scale = self.momentum.at if self._rough else self.v_free, self.scale
        return island_speeds(self.J, self.laws.law, islands, self.measured_velocity, v, scale.rounding)

    @cached_property
    def has_others(self) -> bool:
        """Whether there is more than one island, or beside it bodies that nothing touches."""
        islands = self.islands
        alone = self.A.is_dense and len(islands.column_order) < len(self.J.column_start) - 1
        return islands.island_count > 1 or (alone and islands.island_count == 1)

    def with_speed(self) -> Scale:
        """Its scale with the speeds that it has now, for problems that are made of it and measured alike."""
        return self.scale._replace(speed=self.free_speed, island_speed=self.island_speed if self.has_others else None)

    @cached_property
    def measured_velocity(self) -> Array:
        """(m,) [m/s] the rows of q as they count in ``free_speed``."""
        q = self._rough_constraint_velocity if self._rough else self.free_constraint_velocity
        if not counts_otherwise(self.J.row_start, self.laws.law):
            return q  # the common case: contacts without torsion, joints without limits
        limited = np.repeat(self.laws.law == LIMIT, np.diff(self.J.row_start))
        q = np.where(limited, np.minimum(q, 0.0), q)
        turning = np.flatnonzero((self.laws.law == CONTACT) & (np.diff(self.J.row_start) > 3))
        if len(turning):
            resisted = self.laws.friction[turning, 2] > 0.0
            q[self.J.row_start[turning] + 3] *= np.where(resisted, self.torsion_length[turning], 0.0)
        return q

    @property
    def masses(self) -> Inertia:
        """A by which errors of momentum are measured: without what the turning of forces adds to it."""
        return self.A if self.scale.masses is None else self.scale.masses

    @cached_property
    def momentum_size(self) -> Array:
        """(nv,) [N s] impulses beside J^T lam by which errors of momentum are measured: those within soft bodies."""
        given = self.scale.momentum
        return np.zeros(self.unknown_count) if given is None else given

    @cached_property
    def response(self) -> BlockRows:
        """J A^-1: the velocities that unit impulses cause."""
        return self.A.response(self.J)

    @cached_property
    def condensed(self) -> ContactProblem:
        """The same over impulses alone, u = W lam + q, where bodies are soft; else the problem itself.

        Only unknowns that rows touch take part ([han2023] sec. VI-A), and every solver can take it.
        """
        if not self.A.has_soft:
            return self
        W, used = self.A.dense_delassus(self.J, self.factorised)
        q = self.free_constraint_velocity
        A = Inertia(NOTHING, given=given_inverse.from_dense(W, used))
        return ContactProblem(
            Momentum(A, q), block_rows.identity(self.J.row_start), np.zeros(len(q)), self.laws,
            self.step, soft=True, keys=self.keys,
            scale=self.with_speed()._replace(momentum=None, masses=None, rounding=None, mobility=np.diagonal(W).copy()),
        ).trusted()  # fmt: skip

    @cached_property
    def participating(self) -> Participating:
        """The unknowns that constraints touch ([han2023] sec. VI-A); an InputError where only A^-1 is known."""
        return participating(self.J, self.A)

    @cached_property
    def delassus(self) -> BlockRows:
        """W = J A^-1 J^T (m, m) as block rows over the constraint blocks."""
        if self.A.has_soft:
            return self.condensed.delassus
        given = None if self.A.given is None else self.A.given.blocks(self.J)
        return delassus.blocks(self.J, self.response) if given is None else given

    @cached_property
    def diagonal(self) -> Array:
        """diag W (m,) [1/kg]; where nobody solves with A, by the diagonal blocks of A alone, which is less."""
        if self.scale.mobility is not None:
            return self.scale.mobility
        if self._rough:
            return self.diagonal_blocks.mobility(self.J)
        return self.participating.diagonal() if self.A.has_soft else self.A.mobility(self.J)

    @cached_property
    def weight(self) -> Array:
        """(n,) [1/kg] mean of diag W over the first three rows of each block: turns an impulse into a velocity."""
        weight = np.empty(self.block_count)
        block_weight(self.J.row_start, self.diagonal, weight)
        return weight

    @cached_property
    def contact_compliance(self) -> Array | None:
        """(n,) [1/kg] compliance of each contact along its normal, zero for rigid ones; None where all are rigid."""
        if not has_compliant_contact(self.J.row_start, self.laws.law, self.laws.compliance):
            return None
        return np.where(self.laws.law == CONTACT, self.laws.compliance[self.J.row_start[:-1]], 0.0)

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
        torsion_lengths(self.J.row_start, self.laws.law, self.diagonal, length_out)
        return length_out


def reordered(problem: ContactProblem, order: Ints) -> tuple[ContactProblem, NDArray[np.intp]]:
    """The same problem with its blocks in the given order (n,), and the old number (m,) of each of its rows."""
    rows = block_rows.rows_of(problem.J, order)
    laws = problem.laws
    taken = Laws(
        laws.law[order], laws.friction_set[order], laws.friction[order], laws.compliance[rows], laws.bound[rows]
    )
    J = block_rows.reordered(problem.J, order)
    inner = ContactProblem(
        problem.momentum, J, problem.bias[rows], taken, problem.step,
        keys=None if problem.keys is None else problem.keys[order],
        scale=_reordered_scale(problem, order, rows),
    )  # fmt: skip
    return inner.trusted(), rows


def _reordered_scale(problem: ContactProblem, order: Ints, rows: NDArray[np.intp]) -> Scale:
    """The scale of a problem whose blocks are put into another order."""
    speeds = problem.scale.island_speed
    return problem.scale._replace(
        mobility=problem.diagonal[rows], island_speed=None if speeds is None else speeds[order]
    )


def from_delassus(W: object, q: ArrayLike, mu: ArrayLike) -> ContactProblem:
    """Problem u = W lam + q with Coulomb friction mu; W (3n, 3n) dense or sparse, rows (normal, t1, t2)."""
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
    rows = block_rows.identity(row_start)
    given = inertia.given(
        np.ascontiguousarray(W.data, dtype=np.float64),
        np.ascontiguousarray(W.indices, dtype=np.int32),
        np.ascontiguousarray(W.indptr, dtype=np.int32),
    )
    return ContactProblem(Momentum(given, q), rows, np.zeros(len(q)), laws).checked()
