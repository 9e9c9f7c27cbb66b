"""Overlap that a step made and did not know of: a search for contacts where it led, and the step taken again with them.

Contacts are linearised where they are found, at the start. What overlaps at the end all the same (shapes that turn or
slide past each other, bodies that are hit on towards what was out of reach) is measured here, by how much deeper each
pair of shapes is than it was. Shapes get no deeper than they move: slow steps are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.bodies.registry import frame_poses
from stickslip.certify.record import Certificate
from stickslip.certify.status import DEEPER_SHARE, OVERLAPPING, worse
from stickslip.certify.step_result import StepResult
from stickslip.collision.contacts import NONE, Contacts
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.constraints.foreseen import added, foreseen_contacts
from stickslip.constraints.registry import Tried
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.pieces.pieces import may_be_deeper, share_of
from stickslip.solvers.budget import left
from stickslip.solvers.protocol import Solver
from stickslip.workspace import Workspace


class Deeper(NamedTuple):
    """Where shapes got deeper into each other within a step."""

    most: float
    """[m] the largest of all"""
    worst: float
    """The largest over the thickness of the thinner shape."""
    contacts: Contacts
    """nc contacts at the end, of pairs that are deeper by more than asked for"""
    began: Array
    """(nc,) [m] how deep each pair was at the start"""
    touching: Contacts | None = None
    """All contacts at the end of bodies that moved; None: nobody looked"""
    pose: Array | None = None
    """(nb, 7) of frames at the end"""
    start: Contacts = NONE
    """Contacts at the start of all bodies that were ..."""
    sought: Bools | None = None
    """(nb,) ... sought there; None: nobody was"""


NOWHERE = Deeper(0.0, 0.0, NONE, np.zeros(0))

TakeAgain = Callable[[State, Solver, Tried], StepResult]
"""Takes the step again: from a state with impulses to start from."""


def deeper(
    model: Model, before: State, after: State, options: Stepping, last: Deeper = NOWHERE,
    workspace: Workspace | None = None,
) -> Deeper:  # fmt: skip
    """Where shapes got deeper into each other from one state to another, by more than a share of the thinner one.

    last: what was seen after another try of the step, of which holds what hardly anybody moved differently.
    """
    share, thickness = share_of(options), model.shape_points.thickness
    least = share * model.shape_points.thinnest
    if not may_be_deeper(model, before, after, options):
        return NOWHERE
    q, q_end = _poses(model, before), _poses(model, after)
    ignored, nothing = model.ignored_pairs(before.joint_broken), np.zeros(model.body_count)
    # two that move by less than half of it each get no deeper by more
    known, moved = NONE, _ways(model, q, q_end) > 0.5 * least
    if last.touching is not None and last.pose is not None:
        known, moved = last.touching, _ways(model, last.pose, q_end) > 0.5 * least
    touching = find_contacts(model, q_end, nothing, known, moved, ignored=ignored, workspace=workspace)
    seen = NOWHERE._replace(touching=touching, pose=q_end, start=last.start, sought=last.sought)
    thin = np.minimum(thickness[touching.shape_a], thickness[touching.shape_b])
    deep = np.flatnonzero(touching.gap < -share * thin)
    if not len(deep):
        return seen
    found, thin = touching.take(deep), thin[deep]
    bodies = np.zeros(model.body_count, dtype=np.bool_)
    bodies[found.body_a] = bodies[found.body_b] = True
    start, sought, more_bodies = last.start, bodies, bodies
    if last.sought is not None:
        sought, more_bodies = bodies | last.sought, bodies & ~last.sought
    if more_bodies.any():
        start = find_contacts(model, q, nothing, start, more_bodies, ignored=ignored, workspace=workspace)
    seen = seen._replace(start=start, sought=sought)
    began = _depths(_pairs(start), -start.gap, _pairs(found))
    grown = -found.gap - began
    more = np.flatnonzero(grown + options.recovery * began > share * thin)
    if not len(more):
        return seen
    most = max(0.0, float(grown.max()))
    return seen._replace(most=most, worst=float((grown / thin).max()), contacts=found.take(more), began=began[more])


def looked_at(
    take: TakeAgain, model: Model, before: State, options: Stepping, solver: Solver, first: StepResult,
    workspace: Workspace,
) -> StepResult:  # fmt: skip
    """A step from ``before`` with what its certificate says of overlap that it made.

    Where the options say so, taken again with contacts found at its end, until there is none, or for so many times; of
    all tries, the one that got least deep.
    """
    timings = dict(first.timings)

    def look(after: State, last: Deeper) -> Deeper:
        started = perf_counter()
        seen = deeper(model, before, after, options, last, workspace)
        timings["collide"] += perf_counter() - started
        return seen

    found = look(first.state, NOWHERE)
    best, least, known = first, found, None
    result, iterations = first, first.solution.iterations
    for _ in range(options.tries):
        if not len(found.contacts):
            break
        some = left(solver, 0, sum(timings.values()))
        if some is None:
            break
        poses = _poses(model, before), _poses(model, result.state)
        known = added(known, foreseen_contacts(model, found.contacts, found.began, poses, options))
        result = take(replace(before, memory=result.state.memory), some, Tried(first.search, known))
        iterations += result.solution.iterations
        for stage in timings:
            timings[stage] += result.timings[stage]
        found = look(result.state, found)
        good = best.certificate.converged and least.worst <= DEEPER_SHARE
        if found.worst < least.worst and (result.certificate.converged or not good):
            best, least = result, found
    if best is first and not least.most:
        return replace(first, timings=timings)
    solution = replace(best.solution, iterations=iterations)
    certificate = with_deeper(replace(best.certificate, iterations=iterations), least)
    return replace(best, solution=solution, certificate=certificate, timings=timings)


def with_deeper(certificate: Certificate, found: Deeper) -> Certificate:
    """The certificate of a step that made overlap."""
    if not found.most:
        return certificate
    word = worse(certificate.status, OVERLAPPING) if found.worst > DEEPER_SHARE else certificate.status
    return replace(certificate, deepened=found.most, status=word, converged=word == "converged")


def _ways(model: Model, q: Array, q_end: Array) -> Array:
    """Bound (nb,) [m] of what any surface of each body moves by from poses q to q_end (nb, 7)."""
    same = np.where(np.einsum("bi,bi->b", q[:, 3:], q_end[:, 3:]) < 0.0, -1.0, 1.0)
    half_turn = np.linalg.norm(same[:, None] * q_end[:, 3:] - q[:, 3:], axis=1)
    return np.asarray(np.linalg.norm(q_end[:, :3] - q[:, :3], axis=1) + 2.3 * model.lever * half_turn)


def _poses(model: Model, state: State) -> Array:
    return frame_poses(model, state) if model.others else state.body_pose


def _pairs(contacts: Contacts) -> LongInts:
    """(nc,) numbers of pairs of shapes."""
    return np.asarray(contacts.key >> 16)


def _depths(pairs: LongInts, depth: Array, asked: LongInts) -> Array:
    """How deep (k,) [m] pairs that are asked for are, of contacts of ``pairs`` (nc,) with depths; 0: not at all."""
    if not len(pairs):
        return np.zeros(len(asked))
    known, first = np.unique(pairs, return_index=True)
    deepest = np.maximum.reduceat(depth, first)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[at] == asked, np.maximum(deepest[at], 0.0), 0.0)
