"""The contact problem of one step: a small value that can be saved, and all that a solver sees.

A (v - v_free) = J^T lam            momentum
u = J v + bias                      constraint-space velocity
u_c, lam_c  obey  law_c             per constraint block; where it has compliance, with u + compliance lam for u
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from stickslip.arrays import Array, Ints, LongInts
from stickslip.constraint_kinds import KINDS as KINDS  # noqa: PLC0414
from stickslip.contact import delassus
from stickslip.contact.block_laws import Laws
from stickslip.contact.checks import check_equations, check_knowledge, checked_delassus
from stickslip.contact.habits import Habits
from stickslip.contact.laws import CONTACT
from stickslip.contact.measures import Measured, block_weights, counted_rows, has_compliant_contact, least_speed
from stickslip.contact.measures import measured as measured_at_once
from stickslip.contact.momentum import Momentum
from stickslip.contact.participating import Participating, participating
from stickslip.contact.scale import AS_IT_IS, Scale, island_speeds
from stickslip.linalg import block_rows, given_inverse, inertia
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.dense_blocks import NOTHING
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.islands import Islands, coupled_islands, find_islands
from stickslip.linalg.soft_delassus import dense_delassus
from stickslip.linalg.vectors import length
from stickslip.workspace import Workspace


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
    v_likely: Array | None = field(default=None, kw_only=True)
    """(nv,) velocities that solvers of velocities had better begin from, where those before the step are not near:
    with mean velocities as unknowns those of the step before. None: ``v_before``."""
    gap: Array | None = None
    """(nc,) [m] gaps of the contacts where they were found, which the bias holds capped; None where it is not known."""
    keys: LongInts | None = None
    """(n, 2) which kind of constraint each block is (constraint_kinds.KINDS) and its number among them, the same from
    step to step; None where they are not known."""
    scale: Scale = AS_IT_IS
    """What its errors are measured by, where its own numbers do not tell."""
    habits: Habits | None = field(default=None, repr=False)
    """What solved the islands of its bodies in the last step, and where solvers note what did in this one; None where
    that is not known. Files do not have it."""
    workspace: Workspace = field(default_factory=Workspace, repr=False)
    """What whoever solves it may remember for later problems; that of a simulation, or one that is forgotten with it.
    It is no part of the problem: files and copies do not have it."""
    _sound: bool = field(default=False, init=False, repr=False)
    """Whether it is known that its tables fit together (contact/checks.py)."""

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not what was computed from them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __repr__(self) -> str:
        blocks = f"{self.contact_count} contacts, {self.block_count - self.contact_count} other blocks"
        return f"ContactProblem({blocks}, {self.row_count} rows, {self.unknown_count} velocities, {self.step:g} s)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").problem_html(self))

    def checked(self) -> ContactProblem:
        """The problem itself, or an InputError that names what is not finite, negative or of the wrong type or shape.

        It is checked once, however often it is solved.
        """
        if not self._sound:
            check_equations(self.momentum, self.J, self.bias, self.laws, self.step)
            known = self.prescribed, self.v_before, self.gap, self.keys, self.scale
            check_knowledge(self.A, self.J, self.laws, *known, v_likely=self.v_likely)
        return self.trusted()

    def trusted(self) -> ContactProblem:
        """The problem itself, marked as sound: its arrays were made here, or come from a problem that was checked."""
        known, momentum, J = self.__dict__, self.momentum, self.J  # plain attributes cost solvers nothing
        known["_sound"], known["A"] = True, momentum.A
        known["block_count"] = len(J.row_start) - 1
        known["row_count"], known["unknown_count"] = int(J.row_start[-1]), int(J.column_start[-1])
        scale = self.scale
        known["masses"] = scale.masses or momentum.A
        known["momentum_size"] = np.zeros(known["unknown_count"]) if scale.momentum is None else scale.momentum
        if momentum.missing is None:
            known["v_free"] = momentum.at
        if scale.speed is not None:
            known["free_speed"] = scale.speed
        return self

    @cached_property
    def A(self) -> Inertia:
        """The matrix of the momentum equation."""
        return self.momentum.A

    @cached_property
    def v_free(self) -> Array:
        """(nv,) velocities without constraints; solved for at their first use."""
        return self.momentum.free

    @cached_property
    def unknown_count(self) -> int:
        """Number of velocities nv."""
        return self.J.column_count

    @cached_property
    def block_count(self) -> int:
        """Number of constraint blocks (contacts, joints, limits)."""
        return self.J.block_count

    @property
    def contact_count(self) -> int:
        """Number of contacts: blocks that are neither joints nor limits."""
        return int((self.laws.law == CONTACT).sum())

    @cached_property
    def row_count(self) -> int:
        """Number of impulses m."""
        return self.J.row_count

    def velocity(self, lam: Array) -> Array:
        """v = v_free + A^-1 J^T lam: velocities (nv,) that impulses (m,) lead to."""
        momentum, A, J = self.momentum, self.A, self.J
        impulse = lam + 0.0 if J.is_identity else block_rows.apply_transpose(J, lam)
        if momentum.missing is not None:
            return momentum.moved(impulse)
        if A.has_soft:
            return momentum.at + A.solve(impulse)
        return momentum.at + (A.dense.solve(impulse) if A.given is None else A.given.solve(impulse))

    def constraint_velocity(self, v: Array) -> Array:
        """u = J v + bias: constraint velocities (m,) at velocities (nv,)."""
        return (v + 0.0 if self.J.is_identity else block_rows.apply(self.J, v)) + self.bias

    def velocities(self, lam: Array) -> tuple[Array, Array]:
        """v and u = J v + bias of impulses lam (m,)."""
        v = self.velocity(lam)
        if self.J.is_identity:
            return v, (v + 0.0) + self.bias
        return v, self.constraint_velocity(v)

    def law_velocity(self, lam: Array, u: Array) -> Array:
        """u (m,) with compliance lam added on the normals of contacts: the velocity that their law is about."""
        C = self.contact_compliance
        if C is None:
            return u
        pressed, normal = u.copy(), self.J.row_start[:-1]
        pressed[normal] += C * lam[normal]
        return pressed

    def with_momentum(self, momentum: Momentum, scale: Scale) -> ContactProblem:
        """The same rows with another A of the same structure and another v_free, measured by ``scale``."""
        found = replace(self, momentum=momentum, scale=scale).trusted()
        return found._knowing(self, "islands", "has_others", "before", "contact_compliance")

    def measured_like(self, condensed: ContactProblem) -> ContactProblem:
        """The same problem measured by diag W of its ``condensed`` form."""
        found = replace(self, scale=self.scale._replace(mobility=condensed.diagonal)).trusted()
        found._knowing(self, "islands", "column_body", "has_others", "before", "free_constraint_velocity")
        found._knowing(self, "contact_compliance")
        if self.measured_velocity is self.free_constraint_velocity:  # no row counts by the diagonal
            found._knowing(self, "measured_velocity", "free_speed")
        return found._knowing(condensed, "weight", "torsion_length", "law_weight")

    def shaped_like(self, other: ContactProblem) -> ContactProblem:
        """The problem itself, with what is known of the structure that it shares with another one."""
        self.J.__dict__.update(other.J.__dict__)
        return self._knowing(other, "islands", "has_others")

    def _knowing(self, other: ContactProblem, *names: str) -> ContactProblem:
        """The problem itself, with what is known of another one that is the same in this respect."""
        known = other.__dict__
        self.__dict__.update((name, known[name]) for name in names if name in known)
        return self

    # derived quantities that a solver and the judge both need; computed once, at first use

    @cached_property
    def free_constraint_velocity(self) -> Array:
        """q = J v_free + bias (m,) [m/s]: the constraint velocity without impulses."""
        found = self._measured
        return self.constraint_velocity(self.v_free) if found is None else found.q

    @cached_property
    def before(self) -> Array | None:
        """u (m,) [m/s] at ``v_before``; whoever knows it says so by ``starting_at``."""
        return None if self.v_before is None else self.constraint_velocity(self.v_before)

    def starting_at(self, before: Array) -> ContactProblem:
        """The problem itself, with what is known of the velocities (nv,) ``before`` the step."""
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
        scale, found = self.scale, self._measured
        if scale.speed is not None:
            return scale.speed
        if found is not None:
            return least_speed(found.size, found.moved, found.joined, scale.rounding)
        size = float(length(self.measured_velocity))
        if not (self.laws.law != CONTACT).any():
            return size
        return least_speed(size, float(length(self.momentum.at if self._rough else self.v_free)), True, scale.rounding)

    @cached_property
    def _measured(self) -> Measured | None:
        """All that residuals are measured by, found in one call; None where A has not dense blocks alone."""
        momentum, J, scale, known = self.momentum, self.J, self.scale, self.__dict__
        if not momentum.A.is_dense or momentum.missing is not None:
            return None
        bodies = J.over_bodies
        if not bodies and J.is_identity:
            return None
        found = measured_at_once(momentum, J, bodies, self.bias, self.laws, scale.mobility, J.contact_height)
        known["free_constraint_velocity"], known["measured_velocity"] = found.q, found.velocity
        known["diagonal"], known["weight"], known["torsion_length"] = found.diagonal, found.weight, found.radius
        if not found.compliant:
            known["contact_compliance"], known["law_weight"] = None, found.weight
        if scale.speed is None:
            known["free_speed"] = least_speed(found.size, found.moved, found.joined, self.scale.rounding)
        return found

    @cached_property
    def islands(self) -> Islands:
        """Groups of constraint blocks that no body joins: each can be solved apart."""
        J, A = self.J, self.A
        if A.given is not None:
            return coupled_islands(J.row_start, A.given.indptr, A.given.indices)
        if A.has_soft:  # a soft body joins what touches its nodes
            return find_islands(J._replace(entry_column=self.column_body[J.entry_column]))
        return find_islands(J)

    @cached_property
    def column_body(self) -> Ints:
        """(columns,) column blocks of one soft body have the number of its first one, others their own."""
        return self.A.bodies(len(self.J.column_start) - 1)

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
        count = len(islands.start) - 1
        alone = self.A.is_dense and len(islands.column_order) < len(self.J.column_start) - 1
        return count > 1 or (alone and count == 1)

    def with_speed(self) -> Scale:
        """Its scale with the speeds that it has now, for problems that are made of it and measured alike."""
        return self.scale._replace(speed=self.free_speed, island_speed=self.island_speed if self.has_others else None)

    @cached_property
    def measured_velocity(self) -> Array:
        """(m,) [m/s] the rows of q as they count in ``free_speed``."""
        found = self._measured
        if found is not None:
            return found.velocity
        q = self._rough_constraint_velocity if self._rough else self.free_constraint_velocity
        return counted_rows(self.J.row_start, self.laws, q, lambda: self.torsion_length)

    @cached_property
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
        A = self.A
        if A.sparse is None:
            return self
        C = self.contact_compliance
        W, used = dense_delassus(self.J, A.dense, A.sparse, self.momentum.missing is None)
        q, J = self.free_constraint_velocity, block_rows.identity(self.J.row_start)
        scale, islands = self.with_speed(), self.islands
        A = Inertia(NOTHING, given=given_inverse.from_dense(W, used))
        scale = scale._replace(momentum=None, masses=None, rounding=None, mobility=np.diagonal(W).copy())
        found = ContactProblem(
            Momentum(A, q), J, np.zeros(len(q)), self.laws, self.step, soft=True, keys=self.keys, scale=scale,
            workspace=self.workspace,
        ).trusted()  # fmt: skip
        known = found.__dict__
        if np.diff(self.J.entry_start).all():  # columns are blocks, and what bodies join is coupled in W
            known["islands"] = islands._replace(column_start=islands.start, column_order=islands.order)
            known["has_others"] = len(islands.start) > 2
        # what everybody who solves it asks for first
        known["contact_compliance"], known["free_constraint_velocity"] = C, q + 0.0
        known["law_weight"] = found.weight if C is None else found.weight + C / 3.0
        return found

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
        found = self._measured
        if found is not None:
            return found.diagonal
        if self.scale.mobility is not None:
            return self.scale.mobility
        if self._rough:
            return self.diagonal_blocks.mobility(self.J)
        return self.participating.diagonal() if self.A.has_soft else self.A.mobility(self.J)

    @cached_property
    def weight(self) -> Array:
        """(n,) [1/kg] mean of diag W over the first three rows of each block: turns an impulse into a velocity."""
        found = self._measured
        return self._weigh()[0] if found is None else found.weight

    def _weigh(self) -> tuple[Array, Array]:
        """``weight`` and ``torsion_length``, which are known from now on."""
        weight, radius = np.empty(self.block_count), np.empty(self.block_count)
        block_weights(self.J.row_start, self.laws.law, self.diagonal, weight, radius)
        self.__dict__["weight"], self.__dict__["torsion_length"] = weight, radius
        return weight, radius

    @cached_property
    def contact_compliance(self) -> Array | None:
        """(n,) [1/kg] compliance of each contact along its normal, zero for rigid ones; None where all are rigid."""
        found, law = self._measured, self.laws.law
        if not (found.compliant if found else has_compliant_contact(self.J.row_start, law, self.laws.compliance)):
            return None
        return np.where(law == CONTACT, self.laws.compliance[self.J.row_start[:-1]], 0.0)

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
        found = self._measured
        return self._weigh()[1] if found is None else found.radius


def from_delassus(W: object, q: ArrayLike, mu: ArrayLike) -> ContactProblem:
    """Problem u = W lam + q with Coulomb friction mu; W (3n, 3n) dense or sparse, rows (normal, t1, t2)."""
    matrix, free, laws = checked_delassus(W, q, mu)
    return given_problem(matrix, free, laws, 3 * np.arange(len(laws.law) + 1, dtype=np.int32))


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
