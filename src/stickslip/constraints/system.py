"""The system of a step: the kinds of bodies and the constraints of one step, joined; nothing else joins them.

Constraints are functions of the configuration at the end of the step, q(v). Methods that take the problem once get it
linearised at the start; a method that is nonlinear in positions ([macklin2019] eq. 46-50) asks for it again at each of
its iterates: J and bias are then such that u = J v + bias is exact at that v. Rows come in the order of the
constraints, unknowns in that of the kinds.

Forces act along the rows at the end of the step (eq. 46), which damps; with the midpoint rule along those at its
middle, so that what is held at both ends of the step does no work. Where the unknowns are mean velocities of the step,
they lead from its start to its end, and forces act at the middle of that path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.motions import Motions
from stickslip.bodies.protocol import KindMomentum, Place
from stickslip.constraint_kinds import KIND
from stickslip.constraints.protocol import Constraint, joined_rows
from stickslip.constraints.settling import settled_velocities
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.contact.scale import AS_IT_IS
from stickslip.linalg.inertia import Inertia
from stickslip.model.control import Control
from stickslip.model.memory import memory_of_parts
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.budget import Clock
from stickslip.solvers.protocol import Solution, SubstepResult
from stickslip.workspace import Workspace

TakeSubsteps = Callable[["StepSystem", int, Clock], SubstepResult]


class StepSystem:
    """One step before it is taken, as solvers see it (solvers/protocol.Step)."""

    def __init__(
        self,
        model: Model,
        state: State,
        control: Control,
        options: Stepping,
        motions: Motions,
        constraints: Sequence[Constraint],
        take_substeps: TakeSubsteps,
        workspace: Workspace,
    ) -> None:
        """``motions``: the kinds of bodies within this step, and where they are."""
        self.model, self.state, self.control, self.options = model, state, control, options
        self.motions, self.constraints, self.workspace = motions, constraints, workspace
        self.start = motions.start
        """(nv,) velocities at which the problem of ``at_start`` is linearised."""
        self.take_substeps = take_substeps
        self.latest: tuple[Array, Place, ContactProblem] | None = None
        """Velocities of the latest ``held_at``, where they led, and the problem there, which the last round asks for
        again without the turning of forces."""
        self.held = [(k, each) for k, each in enumerate(constraints) if each.at_positions]
        """Constraints beside contacts, with their numbers."""
        self.row_start = np.zeros(len(constraints) + 1, dtype=np.intp)
        """Where the rows of each constraint start in the problem, of the last linearisation: all have as many."""

    # ---- the problem -----------------------------------------------------------------------------------------

    def at_start(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows where contacts were found; with lam (m,), forces of about that size turn."""
        problem = self._problem(self.motions.place, False)
        return self._turned(problem, self.motions.place, lam) if self.held else problem

    def ahead(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows where the velocities before the step would lead; contacts stay as they were found.

        What turns with the velocity that it has is held there up to the square of the change of velocity, and at the
        start up to the square of the velocity.
        """
        return self.held_at(self.start, lam)

    def at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem with all rows at the configuration to which v (nv,) leads; see protocol.Relinearise."""
        place = self.motions.end(v)
        return self._turned(self._problem(place, True), place, lam)

    def held_at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The same with contacts as they were found."""
        if self.latest is None or self.latest[0] is not v:
            place = self.motions.end(v)
            self.latest = v, place, self._problem(place, False)
        _, place, problem = self.latest
        return self._turned(problem, place, lam)

    def _problem(self, place: Place, contacts_move: bool) -> ContactProblem:
        """The problem linearised at a place."""
        parts = [each.rows(place, contacts_move) for each in self.constraints]
        self.row_start[1:] = np.cumsum([len(part.bias) for part in parts])
        found = parts[0] if len(parts) == 1 else joined_rows(parts)
        gap, keys = self.gap, self.keys
        momentum, size = self._momentum(place)
        scale = AS_IT_IS if size is None else AS_IT_IS._replace(momentum=size)
        for _, each in self.held:
            if each.measures:
                scale = each.measured(scale, momentum, parts, place)
        if self.held:
            # what needs no force leaves the rounding of positions; residuals are not measured by that
            scale = scale._replace(rounding=self.motions.rounding(place))
        as_they_are = found.J.column_start is self.model.columns and not place.twists
        J = found.J if as_they_are else self.motions.over_unknowns(found.J, place)
        problem = ContactProblem(
            momentum, J, found.bias, found.laws, self.options.dt,
            found.prescribed, v_before=self.start, gap=gap, keys=keys, scale=scale,
            workspace=self.workspace,
        )  # fmt: skip
        return (problem if found.before is None else problem.starting_at(found.before)).trusted()

    def _momentum(self, place: Place) -> tuple[Momentum, Array | None]:
        """Momentum of all unknowns, and what its errors are measured by beside J^T lam."""
        parts = self.motions.momentum(place)
        return joined_momentum(parts)

    def _turned(self, problem: ContactProblem, place: Place, lam: Array | None) -> ContactProblem:
        """The problem with the turning of forces in its A, about lam (m,)."""
        if lam is None or not self.held or self.options.rule.forces_at == "found" or not np.isfinite(lam).all():
            return problem
        for k, each in self.held:
            problem = each.turned(problem, place, self.rows_of(k, lam))
        return problem

    @cached_property
    def keys(self) -> LongInts:
        """(n, 2) keys of the blocks of all linearisations, in their order (ContactProblem.keys)."""
        keys = np.empty((sum(len(each.numbers) for each in self.constraints), 2), dtype=np.int64)
        first = 0
        for each in self.constraints:
            part = keys[first : first + len(each.numbers)]
            part[:, 0], part[:, 1] = KIND[each.kind], each.numbers
            first += len(each.numbers)
        return keys

    @cached_property
    def gap(self) -> Array:
        """(nc,) [m] of all contacts."""
        return _joined([each.gap for each in self.constraints if each.gap is not None])

    @cached_property
    def springs(self) -> Array:
        """(nc, 2) 1 / stiffness [m/N] and dissipation time [s] of all contacts."""
        return _joined([each.springs for each in self.constraints if each.springs is not None])

    def recall(self) -> Array:
        """Impulses (m,) of the last step, matched to the rows of this one."""
        return _joined([each.recall(self.state) for each in self.constraints])

    def substeps(self, count: int, clock: Clock) -> SubstepResult:
        """Take it in ``count`` parts; see protocol.Step."""
        return self.take_substeps(self, count, clock)

    # ---- what it leads to ------------------------------------------------------------------------------------

    def rows_of(self, k: int, lam: Array) -> Array:
        """Those of lam (m,) that are of constraint k."""
        return lam[self.row_start[k] : self.row_start[k + 1]]

    def advance(self, problem: ContactProblem, solution: Solution) -> tuple[Solution, State]:
        """The solution, with the velocities at the end of the step, and the state to which it leads."""
        rule, state = self.options.rule, self.state
        if rule.mean_velocities and solution.v_end is None:
            v_end = self.start + rule.gain * (solution.v - self.start)
            solution = replace(solution, v_end=self.motions.closing(solution.v, v_end))
        lam, rows = solution.lam, self.row_start
        kept = [(each.kind, *each.remembered(lam[rows[k] : rows[k + 1]])) for k, each in enumerate(self.constraints)]
        q, v = self.motions.coordinates(solution.v, solution.v_end)
        after = state.following(self.options.dt, q, v, memory_of_parts(kept))
        settles = self.held or rule.settles != "nothing"
        return solution, self._settled(after, problem, solution) if settles else after

    def _settled(self, after: State, problem: ContactProblem, solution: Solution) -> State:
        """The state at the end of a step, with velocities along which holds what the scheme says, and with all that
        constraints keep in it."""
        settles = self.options.rule.settles
        if settles == "all":
            v = self.motions.unknowns(after)
            held = [each.holding(after, problem, solution.lam, v) for each in self.constraints]
            M = Inertia(self.motions.masses(after))
            settled = settled_velocities([each for each in held if each is not None], M, v, problem.step)
            after = after if settled is v else self.motions.with_unknowns(after, settled)
        elif settles != "nothing":
            for _, each in self.held:
                after = each.tangent(after)
        for _, each in self.held:
            after = each.after(self.state, after, self.options.dt)
        return after


def joined_momentum(parts: Sequence[KindMomentum]) -> tuple[Momentum, Array | None]:
    """Momentum of all kinds; their unknowns one after the other. Rigid bodies, the first, may be none but are there."""
    first = parts[0].dense
    if len(parts) == 1 and first is not None:
        return Momentum(Inertia(first), parts[0].at, parts[0].missing), parts[0].size
    dense = [part.dense for part in parts if part.dense is not None]
    blocks = dense[0]
    for more in dense[1:]:
        blocks = blocks.followed_by(more)
    sparse = next((part.sparse for part in parts if part.sparse is not None), None)
    missing, size = _filled([part.missing for part in parts], parts), _filled([part.size for part in parts], parts)
    at = np.concatenate([part.at for part in parts])
    return Momentum(Inertia(blocks, sparse), at, missing), size


def _filled(some: Sequence[Array | None], parts: Sequence[KindMomentum]) -> Array | None:
    """All of them, zero where a kind has none; None where no kind has any."""
    if all(each is None for each in some):
        return None
    return np.concatenate(
        [np.zeros(len(part.at)) if each is None else each for each, part in zip(some, parts, strict=True)]
    )


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
