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
from functools import cached_property, partial

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.bodies.calming import calmed
from stickslip.bodies.motions import Motions
from stickslip.bodies.protocol import Place
from stickslip.constraint_kinds import KIND
from stickslip.constraints.protocol import Constraint, Rows, joined_rows
from stickslip.constraints.settling import settled_velocities
from stickslip.contact.habits import Habits
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.inertia import Inertia
from stickslip.model.control import Control
from stickslip.model.memory import memory_of_lead, memory_of_parts
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
        self.asked = [True] * len(constraints)
        """Which constraints are asked for rows: those that have some, one at least; all, where one measures by them."""
        if len(constraints) > 1 and not any(each.measures for each in constraints):
            self.asked = [len(each.numbers) > 0 for each in constraints]
            self.asked[0] = self.asked[0] or not any(self.asked)
        self.habits: Habits | None = None
        """What solved which island in the last step, and in this one: all linearisations share it."""
        self.rows = [slice(0, 0)] * len(constraints)
        """The rows of each constraint in the problem, of the last linearisation: all have as many."""

    # ---- the problem -----------------------------------------------------------------------------------------

    def at_start(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows where contacts were found; with lam (m,), forces of about that size turn."""
        problem = self._problem(self.motions.place, False)
        return problem if lam is None or not self.held else self._turned(problem, self.motions.place, lam)

    def ahead(self, lam: Array | None = None) -> ContactProblem:
        """The problem with its rows where the velocities before the step would lead; contacts stay as they were found.

        What turns with the velocity that it has is held there up to the square of the change of velocity, and at the
        start up to the square of the velocity.
        """
        likely = self.motions.likely if self.options.rule.mean_velocities else None
        return self.held_at(self.start if likely is None else likely, lam)

    def at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem with all rows at the configuration to which v (nv,) leads; see protocol.Relinearise."""
        place = self.motions.end(v)
        problem = self._problem(place, True)
        return problem if lam is None or not self.held else self._turned(problem, place, lam)

    def held_at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The same with contacts as they were found."""
        if self.latest is None or self.latest[0] is not v:
            place = self.motions.end(v)
            self.latest = v, place, self._problem(place, False)
        _, place, problem = self.latest
        return problem if lam is None or not self.held else self._turned(problem, place, lam)

    def _problem(self, place: Place, contacts_move: bool) -> ContactProblem:
        """The problem linearised at a place."""
        gap, keys = self.gap, self.keys
        parts: list[Rows] = []
        count = 0
        for k, each in enumerate(self.constraints):
            if self.asked[k]:
                part = each.rows(place, contacts_move)
                if place.twists is not None and not part.over_unknowns:
                    part = self._over_unknowns(part, place, each.at_positions)
                parts.append(part)
                self.rows[k] = slice(count, count + len(parts[-1].bias))
                count += len(parts[-1].bias)
        found = parts[0] if len(parts) == 1 else joined_rows(parts)
        # what needs no force leaves the rounding of positions; residuals are not measured by that
        momentum, scale = self.motions.momentum(place, bool(self.held))
        for _, each in self.held:
            if each.measures:
                scale = each.measured(scale, momentum, parts, place)
        as_they_are = found.J.column_start is self.model.columns or place.twists is not None
        J = found.J if as_they_are else self.motions.over_unknowns(found.J, place)
        if place.twists is not None:  # blocks of six unknowns may be those of any kind, and are never taken for bodies
            J.__dict__.update(contact_height=0, over_bodies=False)
        if self.habits is None:
            self.habits = Habits(len(J.column_start) - 1, partial(self.state.memory.of, "island"), {}, {})
        problem = ContactProblem(
            momentum, J, found.bias, found.laws, self.options.dt,
            found.prescribed, v_before=self.start, gap=gap, keys=keys, scale=scale, habits=self.habits,
            workspace=self.workspace, v_likely=self.motions.likely if self.options.rule.mean_velocities else None,
        )  # fmt: skip
        if found.before is not None:
            problem.starting_at(found.before)
        if self.latest is not None:  # rows are the same ones at all linearisations
            problem.shaped_like(self.latest[2])
        return problem.trusted()

    def _over_unknowns(self, part: Rows, place: Place, at_positions: bool) -> Rows:
        """Rows over twists at a place as rows over unknowns, along which forces act where the scheme says."""
        J, forces_at = self.motions.over_unknowns(part.J, place), self.options.rule.forces_at
        if not at_positions or forces_at == "end" or place.unknown is None:
            return part._replace(J=J)
        start = self.motions.place
        assert start.twists is not None
        assert place.twists is not None
        # S half a step on is the mean of both ends up to the square of the step, as all of these schemes is
        S = start.twists if forces_at == "found" else 0.5 * (start.twists + place.twists)
        acting = self.motions.over_unknowns(part.J, place._replace(twists=S))
        moved = block_rows.apply(J, place.unknown) - block_rows.apply(acting, place.unknown)
        return part._replace(J=acting, bias=part.bias + moved)

    def _turned(self, problem: ContactProblem, place: Place, lam: Array) -> ContactProblem:
        """The problem with the turning of forces in its A, about lam (m,)."""
        if self.options.rule.forces_at == "found" or not np.isfinite(lam).all():
            return problem
        for k, each in self.held:
            problem = each.turned(problem, place, lam[self.rows[k]])
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
        parts = [each.recall(self.state) for each, asked in zip(self.constraints, self.asked, strict=True) if asked]
        return _joined(parts)

    def substeps(self, count: int, clock: Clock) -> SubstepResult:
        """Take it in ``count`` parts; see protocol.Step."""
        return self.take_substeps(self, count, clock)

    # ---- what it leads to ------------------------------------------------------------------------------------

    def advance(self, problem: ContactProblem, solution: Solution) -> tuple[Solution, State]:
        """The solution, with the velocities at the end of the step, and the state to which it leads."""
        rule, state = self.options.rule, self.state
        if rule.mean_velocities and solution.v_end is None:
            v_end = self.start + rule.gain * (solution.v - self.start)
            solution = replace(solution, v_end=self.motions.closing(solution.v, v_end))
        kept = []
        for k, each in enumerate(self.constraints):
            if self.asked[k] or each.at_positions:
                kept.append((each.kind, *each.remembered(solution.lam[self.rows[k]])))
        if self.habits is not None and self.habits.after:
            kept.append(("island", *self.habits.table()))
        q, v = self.motions.coordinates(solution.v, solution.v_end)
        after = state.following(self.options.dt, q, v, memory_of_parts(kept)).with_views()
        mean = self.motions.coordinates(solution.v, None)[1] if rule.mean_velocities else v
        if rule.mean_velocities and self.options.calmed:
            after = calmed(self.model, self.options, state, after, mean)
        if rule.settles != "nothing":
            after = self._settled(after, problem, solution)
        if rule.mean_velocities:
            after = replace(after, memory=memory_of_parts([*kept, memory_of_lead(after.v - mean)])).with_views()
        for _, each in self.held:
            after = each.after(state, after, self.options.dt)
        return solution, after

    def _settled(self, after: State, problem: ContactProblem, solution: Solution) -> State:
        """The state at the end of a step, with velocities along which holds what the scheme says."""
        constraints = self.constraints
        if self.options.rule.settles != "all":
            for _, each in self.held:
                after = each.tangent(after)
            constraints = [each for _, each in self.held if each.tangential] if self.model.others else []
        v = self.motions.unknowns(after)
        found = [each.holding(after, problem, solution.lam, v) for each in constraints]
        held = [each for each in found if each is not None]
        if not held:
            return after
        if not all(each.over_unknowns for each in held):
            place = self.motions.end(solution.v)
            held = [
                each if each.over_unknowns else each._replace(J=self.motions.over_unknowns(each.J, place))
                for each in held
            ]
        settled = settled_velocities(held, Inertia(self.motions.masses(after)), v, problem.step)
        return after if settled is v else self.motions.with_unknowns(after, settled)


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
