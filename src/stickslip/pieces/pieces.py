"""Steps that are cut into pieces where bodies move further than linearised contacts can carry them.

A fast body that hits a wall with a corner is spun so fast that within the step it would swing through. Such a step is
taken again in pieces, each no longer than what its contacts can carry: pieces that go too far are taken back and made
shorter, good ones are followed by longer ones. Their number is bounded. What is left when it is used up is taken at
once; bodies that go too far in it stay behind, so that nothing passes, and the step says so.

Pieces are taken by the Euler scheme, whose contacts are found at the start of a piece and closed at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Bools, Ints
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.bodies.rigid.advance import advance
from stickslip.bodies.rigid.energy import energies
from stickslip.certify.certificate import Certificate
from stickslip.certify.contact_report import contacts_of
from stickslip.certify.status import DEEPER_SHARE, MOST_TURN, WORST_FIRST, touching_turns
from stickslip.certify.step_result import StepContacts, StepResult
from stickslip.constraints.joint import joints
from stickslip.geometry import rotation
from stickslip.model.control import Control
from stickslip.model.memory import memory_of
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.pieces import soft_crossing
from stickslip.pieces.crossing import crossings, is_slow, watched_contacts
from stickslip.scene.joint import WORLD
from stickslip.solvers.budget import left
from stickslip.solvers.protocol import Solver
from stickslip.workspace import Workspace

LEAST_DEEPER = 5e-4
"""Of the thinner shape of a pair: by how much it must be deeper than recovery would leave it for a step to be taken
again."""
MOST_PIECES = 40
"""Pieces of a step at most, the last one included."""
MOST_TRIES = 80
"""Pieces that are tried at most, with those that are taken back."""
AIM = 0.5
"""Of what a piece can carry: how much the next try goes for."""
SHORTEST = 0.05
"""Share of a piece that went too far at which the next try is at least."""
NOBODY = -1
SHARES = (0.5, 0.25, 0.125, 0.0, 0.0, 0.0)
"""Shares of their displacements by which bodies move that cannot be carried: the first that lets nothing pass; zero
more than once, since others may be stopped by those that stay."""
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
    carrier: Ints
    """(nb,) the body of prescribed motion that each one, if it went too far, met there; -1: none."""

    @property
    def largest(self) -> float:
        """The larger of the two."""
        return max(self.turn, self.crossing)


FINE = Excess(0.0, 0.0, np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int32))
"""Of a step in which all bodies are slow."""


class TakePiece(Protocol):
    """Takes one piece."""

    def __call__(self, state: State, control: Control, options: Stepping, solver: Solver) -> StepResult:
        """The piece of length ``options.dt`` that starts at ``state``, under a control."""
        ...


def share_of(options: Stepping) -> float:
    """Share of the thinner shape of a pair from which on it is looked at."""
    return LEAST_DEEPER if options.tries else DEEPER_SHARE


def may_be_deeper(model: Model, before: State, after: State, options: Stepping) -> bool:
    """Whether two surfaces can have come nearer to each other than is looked at (deeper.py)."""
    if not len(model.moving) or model.others:
        return bool(model.others)
    way = 0.0
    for v in (before.body_velocity, after.body_velocity):
        squares = v * v
        speed = np.sqrt(squares[:, :3].sum(axis=1)) + model.lever * np.sqrt(squares[:, 3:].sum(axis=1))
        way = max(way, options.dt * float(speed.max(initial=0.0)))
    return 2.0 * way > share_of(options) * model.shape_points.thinnest


def excess(
    model: Model, before: State, result: StepResult, options: Stepping, workspace: Workspace | None = None
) -> Excess:
    """By what factor a step from ``before`` went too far."""
    after = result.state
    v, v_end = before.body_velocity, after.body_velocity
    if model.others:
        v, v_end = frame_velocities(model, before), frame_velocities(model, after)
    slow = is_slow(model, v, v_end, options.dt)
    if slow and not model.soft.names:
        return FINE
    through = soft_crossing.crossed(model, before, after) if model.soft.names else np.zeros(0, dtype=bool)
    carrier = np.full(model.body_count, NOBODY, dtype=np.int32)
    if slow:
        return Excess(0.0, np.inf if through.any() else 0.0, np.flatnonzero(through), carrier)
    way, way_end, q = options.dt * v, options.dt * v_end, frame_poses(model, before)
    turn = touching_turns(model, after, result.problem, result.solution.lam, options.dt) / MOST_TURN
    bodies = turn > 1.0
    # contacts that are found later in the step, as with the midpoint rule, may have been found too late
    found = None if options.rule.contacts_at > 0.0 else result.found
    ignored = model.ignored_pairs(before.joint_broken)
    watched = watched_contacts(model, q, way, way_end, found, options, ignored, workspace)
    crossing = np.zeros(0)
    if watched is not None:
        spin = np.maximum(*(np.linalg.norm(each[:, 3:], axis=1) for each in (way, way_end)))
        crossing = crossings(model, watched, q, frame_poses(model, after), spin)
        passed = watched.take(np.flatnonzero(crossing > 1.0))
        for body, other in ((passed.body_a, passed.body_b), (passed.body_b, passed.body_a)):
            bodies[body] = True
            given = model.block[other] < 0
            carrier[body[given]] = other[given]
    deepest = np.inf if through.any() else float(crossing.max(initial=0.0))
    if model.soft.count:
        bodies = np.concatenate([bodies, np.zeros(model.soft.count, dtype=bool)]) | through
    return Excess(float(turn.max(initial=0.0)), deepest, np.flatnonzero(bodies), carrier)


def take_in_pieces(
    take: TakePiece, model: Model, state: State, control: Control, options: Stepping, solver: Solver, whole: StepResult,
    too_far: Excess, workspace: Workspace | None = None,
) -> StepResult:  # fmt: skip
    """The step from ``state`` in pieces, where ``whole``, taken at once, went too far.

    Where the solver's budget does not allow more tries, it is ``whole`` with what went too far left behind. Without
    looking ahead it is ``whole`` as it is.
    """
    if not options.lookahead:  # with discrete detection the step says what that cost
        return _flagged(whole, too_far)
    taken, at_once = Taken(state, options.dt), too_far
    taken.count(whole)
    now, remaining, length = state, options.dt, options.dt * _next_share(too_far)
    while remaining > 0.0:
        some = left(solver, taken.iterations, taken.seconds)
        if some is None:
            taken.pieces.clear()
            taken.add(_left_behind(model, state, whole, options, at_once, workspace))
            return _flagged(taken.joined(), at_once)
        last = taken.tries > MOST_TRIES or len(taken.pieces) == MOST_PIECES - 1
        if last or length > 0.75 * remaining:
            length = remaining
        piece = replace(options, dt=length, scheme="euler")
        result = take(now, control, piece, some)
        taken.count(result)
        too_far = excess(model, now, result, piece, workspace)
        if too_far.largest > 1.0 and last:
            taken.add(_left_behind(model, now, result, piece, too_far, workspace))
            return _flagged(taken.joined(), too_far)
        if too_far.largest > 1.0:
            length *= _next_share(too_far)
            continue
        taken.add(result)
        now, remaining = result.state, remaining - length if length < remaining else 0.0
        length *= 2.0
    # nodes of a soft body that is turned inside out are pushed by no face, and creep through from piece to piece
    if model.soft.count and soft_crossing.crossed(model, state, now).any():
        return _flagged(taken.joined(), at_once._replace(crossing=np.inf))
    return taken.joined()


class Taken:
    """What was taken of a step so far; of each piece only what the step keeps, since problems are large."""

    def __init__(self, before: State, h: float) -> None:
        """A step of h [s] from ``before``."""
        self.before, self.h = before, h
        self.tries, self.iterations, self.timings = 0, 0, Counter[str]()
        self.pieces: list[tuple[Certificate, StepContacts, State]] = []
        self.last: StepResult | None = None

    @property
    def seconds(self) -> float:
        """[s] that all tries took."""
        return sum(self.timings.values())

    def count(self, result: StepResult) -> None:
        """Take note of the work of a try."""
        self.tries += 1
        self.iterations += result.solution.iterations
        self.timings.update(result.timings)

    def add(self, result: StepResult) -> None:
        """Add a piece that is kept."""
        self.pieces.append((result.certificate, contacts_of(result), result.state))
        self.last = result

    def joined(self) -> StepResult:
        """The result of the step: its last piece, with the errors and contacts of all, and the work of all tries."""
        assert self.last is not None
        certificates, contacts, states = zip(*self.pieces, strict=True)
        state = self.last.state
        memory = memory_of(
            state.contact_key, state.contact_impulse, np.sum([each.joint_impulse for each in states], axis=0),
            state.soft_key, state.soft_impulse, np.sum([each.weld_impulse for each in states], axis=0),
        )  # fmt: skip
        return replace(
            self.last,
            state=replace(state, time=self.before.time + self.h, steps=self.before.steps + 1, memory=memory),
            solution=replace(self.last.solution, iterations=self.iterations),
            certificate=replace(_joined_certificates(certificates), iterations=self.iterations),
            timings=dict(self.timings),
            earlier=contacts[:-1],
        )


def _left_behind(
    model: Model,
    before: State,
    result: StepResult,
    options: Stepping,
    too_far: Excess,
    workspace: Workspace | None,
) -> StepResult:
    """A piece in which bodies that went too far, and what is joined to them, move by a share of it, or not at all.

    They lose time; meanwhile they keep the velocities that they had, at its end those that were solved for. What met
    a body of prescribed motion rides along with it. Others that go too far then, because those are in their way, stay
    behind, too.
    """
    stays, carrier = np.zeros(model.body_count + model.soft.count, dtype=bool), too_far.carrier.copy()
    found = result
    for share in SHARES:
        stays[too_far.bodies] = True
        carrier = np.where(too_far.carrier != NOBODY, too_far.carrier, carrier)
        _spread(model, before, stays, carrier)
        found = replace(result, state=_behind(model, before, result.state, stays, carrier, share))
        too_far = excess(model, before, found, options, workspace)
        if too_far.crossing <= 1.0:
            break
    return replace(found, certificate=_certified(model, result, found))


def _spread(model: Model, before: State, stays: Bools, carrier: Ints) -> None:
    """Let what is joined or welded to bodies that stay behind stay with them, in place."""
    whole = ~before.joint_broken
    a, b = model.joints.body_a[whole], model.joints.body_b[whole]
    free_a, free_b = ((each != WORLD) & (model.block[each] >= 0) for each in (a, b))
    for _ in range(len(a)):
        known = stays[: model.body_count].sum(), (carrier != NOBODY).sum()
        for one, other, free in ((a, b, free_b), (b, a, free_a)):
            held = (one != WORLD) & stays[one]
            stays[other[held & free]] = True
            given = other[held & ~free & (other != WORLD)]
            carrier[one[held & ~free & (other != WORLD)]] = given
            hand_on = held & free & (carrier[one] != NOBODY)
            carrier[other[hand_on]] = carrier[one[hand_on]]
        if known == (stays[: model.body_count].sum(), (carrier != NOBODY).sum()):
            break
    welded = model.soft.weld_node[stays[model.soft.weld_body]]
    stays[model.body_count + model.soft.node_body[welded]] = True


def _behind(model: Model, before: State, after: State, stays: Bools, carrier: Ints, share: float) -> State:
    """The state ``after`` with bodies that stay behind at a share of their displacement from ``before``."""
    # frames of other kinds go where their kind does
    own, soft = slice(0, model.rigid_count), stays[model.body_count :]
    rigid, carrier = stays[own] & (model.block[own] >= 0), carrier[own]
    q, nodes = after.body_pose.copy(), after.node_position.copy()
    middle = advance(before.body_pose, before.body_velocity, share * (after.time - before.time))
    q[rigid] = middle[rigid]
    for body in np.flatnonzero(rigid & (carrier != NOBODY)):
        q[body] = _carried(middle[body], before.body_pose[carrier[body]], after.body_pose[carrier[body]])
    mine = soft[model.soft.node_body]
    nodes[mine] += (1.0 - share) * (before.node_position - after.node_position)[mine]
    if share == 0.0:
        return after.with_parts(body_pose=q, node_position=nodes)
    # a body that is still moving has met nothing yet
    v, node_v = after.body_velocity.copy(), after.node_velocity.copy()
    v[rigid], node_v[mine] = before.body_velocity[rigid], before.node_velocity[mine]
    return after.with_parts(q, v, nodes, node_v)


def _certified(model: Model, result: StepResult, found: StepResult) -> Certificate:
    """The certificate of a piece whose bodies were put elsewhere: energies are others, joints may be open.

    What that costs is an error of the numerics.
    """
    was, now = result.state, found.state
    mass = model.soft.mass
    moved, stayed = (energies(model, each.body_pose, each.body_velocity) for each in (now, was))
    kinetic, potential = np.subtract(moved, stayed).tolist()
    kinetic += 0.5 * float(mass @ (now.node_velocity**2 - was.node_velocity**2).sum(axis=1))
    potential -= float(mass @ ((now.node_position - was.node_position) @ model.gravity))
    ledger = result.certificate.energy
    ledger = replace(
        ledger,
        kinetic=ledger.kinetic + kinetic,
        potential=ledger.potential + potential,
        numerical=ledger.numerical + kinetic + potential,
    )
    apart = joints.joint_error(model, frame_poses(model, now), now.joint_broken) if model.joints.count else 0.0
    return replace(result.certificate, energy=ledger, joint_error=apart)


def _carried(q: Array, start: Array, end: Array) -> Array:
    """Pose q (7,) moved along with a body from ``start`` to ``end`` (7,)."""
    turn = rotation.multiply(end[3:], rotation.conjugate(start[3:]))
    place = end[:3] + rotation.matrix(turn) @ (q[:3] - start[:3])
    return np.concatenate([place, rotation.multiply(turn, q[3:])])


def _flagged(result: StepResult, too_far: Excess) -> StepResult:
    """The result of a step that says why it is not to be trusted: what passed, or would have and was left behind."""
    words = {result.certificate.status, "passed-through" if too_far.crossing > 1.0 else "turned-too-far"}
    status = next(word for word in WORST_FIRST if word in words)
    return replace(result, certificate=replace(result.certificate, status=status, converged=False))


def _next_share(too_far: Excess) -> float:
    """Share of a length that went too far to try next: turns grow with it, depths faster."""
    share = min(AIM / max(too_far.turn, AIM), 0.25 if too_far.crossing > 1.0 else 1.0)
    return float(np.clip(share, SHORTEST, 0.5))


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
