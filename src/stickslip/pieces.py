"""Steps that are cut into pieces where bodies move further than linearised contacts can carry them.

A fast body that hits a wall with a corner is spun so fast that within the step it would swing through. Such a step is
taken again in pieces, each no longer than what its contacts can carry: pieces that go too far are taken back and made
shorter, good ones are followed by longer ones. Their number is bounded. What is left when it is used up is taken at
once; bodies that go too far in it stay where they were, so that nothing passes, and the step says so.

Pieces are taken by the Euler scheme, whose contacts are found at the start of a piece and closed at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stickslip import soft_crossing
from stickslip.certificate import Certificate
from stickslip.contact_report import contacts_of
from stickslip.crossing import crossings, is_slow, watched_contacts
from stickslip.joint_description import WORLD
from stickslip.model import Model
from stickslip.solvers.budget import left
from stickslip.solvers.protocol import Solver
from stickslip.state import State
from stickslip.step_status import MOST_TURN, WORST_FIRST, touching_turns
from stickslip.stepping import Stepping

if TYPE_CHECKING:
    from stickslip.simulation import StepResult

MOST_PIECES = 40
"""Pieces of a step at most, the last one included."""
MOST_TRIES = 80
"""Pieces that are tried at most, with those that are taken back."""
AIM = 0.5
"""Of what a piece can carry: how much the next try goes for."""
SHORTEST = 0.05
"""Share of a piece that went too far at which the next try is at least."""
MOST_STOPS = 4
"""Times that more bodies are left in place because others were."""
STATUSES = (*WORST_FIRST, "max-seconds", "max-iterations", "stalled")
"""What a step is called that has a piece of this status, worst first."""


class Excess(NamedTuple):
    """By what factor a piece went too far; fine up to 1."""

    turn: float
    """In turning, of a body that pushes another."""
    crossing: float
    """In what went through what."""
    bodies: NDArray[np.intp]
    """Those that went too far; soft ones after the rigid ones."""

    @property
    def largest(self) -> float:
        """The larger of the two."""
        return max(self.turn, self.crossing)


class TakePiece(Protocol):
    """Takes one piece."""

    def __call__(self, state: State, options: Stepping, solver: Solver) -> StepResult:
        """The piece of length ``options.dt`` that starts at ``state``."""
        ...


def excess(model: Model, before: State, result: StepResult, options: Stepping) -> Excess:
    """By what factor a step from ``before`` went too far."""
    after = result.state
    through = soft_crossing.crossed(model, before, after) if model.soft.count else np.zeros(0, dtype=bool)
    if is_slow(model, before.v, after.v, options.dt):
        return Excess(0.0, np.inf if through.any() else 0.0, np.flatnonzero(through))
    way, way_end = options.dt * before.v, options.dt * after.v
    turn = touching_turns(model, after, result.problem, result.solution.lam, options.dt) / MOST_TURN
    bodies = turn > 1.0
    # with the midpoint rule contacts are found half a step later, when it may be too late
    found = None if options.scheme == "moreau" else result.found
    ignored = model.ignored_pairs(before.joint_broken)
    watched = watched_contacts(model, before.q, way, way_end, found, options, ignored)
    crossing = np.zeros(0)
    if watched is not None:
        spin = np.maximum(*(np.linalg.norm(each[:, 3:], axis=1) for each in (way, way_end)))
        crossing = crossings(model, watched, before.q, after.q, spin)
        bodies[watched.body_a[crossing > 1.0]] = bodies[watched.body_b[crossing > 1.0]] = True
    deepest = np.inf if through.any() else float(crossing.max(initial=0.0))
    if model.soft.count:
        bodies = np.concatenate([bodies, np.zeros(model.soft.count, dtype=bool)]) | through
    return Excess(float(turn.max(initial=0.0)), deepest, np.flatnonzero(bodies))


def take_in_pieces(
    take: TakePiece, model: Model, state: State, options: Stepping, solver: Solver, whole: StepResult, too_far: Excess
) -> StepResult:
    """The step from ``state`` in pieces, where ``whole``, taken at once, went too far.

    Where the solver's budget does not allow more tries, it is ``whole`` with what went too far left in place.
    """
    done: list[StepResult] = []
    tries = [whole]
    at_once = too_far
    now, remaining, length = state, options.dt, options.dt * _next_share(too_far)
    while remaining > 0.0:
        some = left(solver, *_used(tries))
        if some is None:
            stopped = _left_in_place(model, state, whole, options, at_once)
            return _flagged(_joined([stopped], tries, state, options.dt), at_once)
        last = len(tries) > MOST_TRIES or len(done) == MOST_PIECES - 1
        if last or length > 0.75 * remaining:
            length = remaining
        piece = replace(options, dt=length, scheme="euler")
        result = take(now, piece, some)
        tries.append(result)
        too_far = excess(model, now, result, piece)
        if too_far.largest > 1.0 and last:
            result = _left_in_place(model, now, result, piece, too_far)
            return _flagged(_joined([*done, result], tries, state, options.dt), too_far)
        if too_far.largest > 1.0:
            length *= _next_share(too_far)
            continue
        done.append(result)
        now, remaining = result.state, remaining - length if length < remaining else 0.0
        length *= 2.0
    joined = _joined(done, tries, state, options.dt)
    # nodes of a soft body that is turned inside out are pushed by no face, and creep through from piece to piece
    if model.soft.count and soft_crossing.crossed(model, state, joined.state).any():
        return _flagged(joined, at_once)
    return joined


def _left_in_place(model: Model, before: State, result: StepResult, options: Stepping, too_far: Excess) -> StepResult:
    """A piece with the bodies that went too far, and what is joined to them, left where they were.

    They keep their velocities and lose the time. Others that now go too far, because those are in their way, stay, too.
    """
    stays = np.zeros(model.body_count + model.soft.count, dtype=bool)
    joints = model.joints
    ends = np.stack([np.where(joints.body_a == WORLD, joints.body_b, joints.body_a), joints.body_b], axis=1)
    for _ in range(MOST_STOPS):
        stays[too_far.bodies] = True
        for _ in range(joints.count):
            joined = stays[ends].any(axis=1)
            if stays[ends[joined]].all():
                break
            stays[ends[joined]] = True
        rigid, soft = stays[: model.body_count], stays[model.body_count :]
        rigid &= model.block >= 0
        q = np.where(rigid[:, None], before.q, result.state.q)
        nodes = np.where(soft[model.soft.node_body][:, None], before.node_position, result.state.node_position)
        result = replace(result, state=replace(result.state, q=q, node_position=nodes))
        too_far = excess(model, before, result, options)
        if too_far.crossing <= 1.0:
            break
    return result


def _used(tries: Sequence[StepResult]) -> tuple[int, float]:
    """Iterations and seconds that all tries together took."""
    return sum(each.solution.iterations for each in tries), sum(sum(each.timings.values()) for each in tries)


def _flagged(result: StepResult, too_far: Excess) -> StepResult:
    """The result of a step that says why it is not to be trusted: what passed, or would have and was left in place."""
    status = "passed-through" if too_far.crossing > 1.0 else "turned-too-far"
    return replace(result, certificate=replace(result.certificate, status=status, converged=False))


def _next_share(too_far: Excess) -> float:
    """Share of a length that went too far to try next: turns grow with it, depths faster."""
    share = min(AIM / max(too_far.turn, AIM), 0.25 if too_far.crossing > 1.0 else 1.0)
    return float(np.clip(share, SHORTEST, 0.5))


def _joined(done: Sequence[StepResult], tries: Sequence[StepResult], before: State, h: float) -> StepResult:
    """The result of a step of h: its last piece, with the errors and contacts of all, and the work of all tries."""
    last, iterations = done[-1], _used(tries)[0]
    state = replace(
        last.state,
        time=before.time + h,
        steps=before.steps + 1,
        joint_impulse=np.sum([each.state.joint_impulse for each in done], axis=0),
        weld_impulse=np.sum([each.state.weld_impulse for each in done], axis=0),
    )
    return replace(
        last,
        state=state,
        solution=replace(last.solution, iterations=iterations),
        certificate=replace(_joined_certificates([each.certificate for each in done]), iterations=iterations),
        timings={stage: sum(each.timings[stage] for each in tries) for stage in last.timings},
        earlier=tuple(contacts_of(each) for each in done[:-1]),
    )


def _joined_certificates(parts: Sequence[Certificate]) -> Certificate:
    """Largest errors, summed work and the worst status of several pieces."""
    last = parts[-1]
    largest = {
        item.name: max(getattr(part, item.name) for part in parts)
        for item in fields(Certificate)
        if isinstance(getattr(last, item.name), float)
    }
    spent = {
        name: sum(getattr(part.energy, name) for part in parts)
        for name in ("work", "friction", "damping", "impact", "numerical")
    }
    status = next((name for name in STATUSES if any(part.status == name for part in parts)), last.status)
    return replace(
        last,
        **largest,
        contacts=sum(part.contacts for part in parts),
        converged=all(part.converged for part in parts),
        status=status,
        energy=replace(last.energy, **spent),
    )
