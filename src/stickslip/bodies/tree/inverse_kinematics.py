"""Inverse kinematics: postures of a robot in which a link is where it should be.

Damped least squares (Levenberg and Marquardt) on position and rotation, with joint limits as bounds, and a weak pull to
a posture within what the target leaves free. Written here because robots of any tree are at hand as kernels, and the
libraries for it bring robot models of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools, LongInts
from stickslip.bodies.tree.advance import advance_tree
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.kind import TreeBodies, jacobian_at
from stickslip.geometry import rotation as rotations
from stickslip.robots.records import TreeLink

MOST_ITERATIONS = 200
BEGIN_AT = (0.5, 0.35, 0.65, 0.2, 0.8)
"""Shares of the ranges of joints at which it begins again where it got stuck."""
Ranges = tuple[Array, Array, Bools]
"""Lower and upper ends (nv,), and which velocities (nv,) do not move."""
Places = tuple[LongInts, LongInts]
"""Numbers of velocities and coordinates of joints that have one of each."""
POSTURE = 1e-3
"""Weight of the pull to a posture, which acts along what the target leaves free."""
NEARLY = 2e-3
"""[m] and [rad] up to which a miss may be near enough for who asked."""
AT_END = 1e-9
"""[rad] or [m] from an end of its range within which a joint is at it."""


class Reached(NamedTuple):
    """A posture, and how well it does."""

    q: Array
    """(nq,)"""
    position_error: float
    """[m]"""
    rotation_error: float
    """[rad]"""
    iterations: int
    converged: bool


def solve(
    trees: TreeBodies, links: tuple[TreeLink, ...], link: int, q: Array, position: Array, turn: Array | None,
    point: Array, tolerance: float, posture: Array | None, base_moves: bool,
) -> Reached:  # fmt: skip
    """A posture in which a ``point`` (3,) of a link is at a position (3,), and the link turned as ``turn`` (4,) says.

    q (nq,): the robot; posture (nq,): what to prefer, where it begins. base_moves: whether free joints may move, too.
    Where a straight arm or the limits of joints are in the way, it begins again at q, and then at other postures.
    """
    ranges, scalar = _ranges(links, len(trees.v_start), base_moves), _scalar_coordinates(links)
    goal = None if turn is None else rotations.matrix(turn)
    wanted = q if posture is None else posture
    near = q.copy()
    near[scalar[1]] = wanted[scalar[1]]
    best = _approach(trees, ranges, scalar, link, near, position, goal, point, tolerance, wanted)
    again = [] if posture is None else [q]
    for start in (*again, *(_within(ranges, scalar, q, share) for share in BEGIN_AT)):
        if best.converged:
            break
        found = _approach(trees, ranges, scalar, link, start, position, goal, point, tolerance, wanted)
        if found.converged or _missing(found) < _missing(best):
            best = found
    return best


def _missing(found: Reached) -> float:
    return float(np.hypot(found.position_error, found.rotation_error))


def _within(ranges: Ranges, scalar: Places, q: Array, share: float) -> Array:
    """q (nq,) with joints at a share of their ranges, in turns of the share and of what it leaves of the range."""
    lower, upper, fixed = ranges
    other = q.copy()
    for k, (v, place) in enumerate(zip(*scalar, strict=True)):
        if not fixed[v]:
            part = share if k % 2 else 1.0 - share
            low, high = max(lower[v], q[place] - np.pi), min(upper[v], q[place] + np.pi)
            other[place] = low + part * (high - low)
    return other


def _approach(
    trees: TreeBodies, ranges: Ranges, scalar: Places, link: int, q: Array, position: Array, goal: Array | None,
    point: Array, tolerance: float, wanted: Array,
) -> Reached:  # fmt: skip
    """The posture to which steps from q lead."""
    lower, upper, fixed = ranges
    single = np.isfinite(lower) | np.isfinite(upper)
    bounded = scalar[0][single[scalar[0]]], scalar[1][single[scalar[0]]]
    best, damping, weight = q.copy(), 1e-3, POSTURE
    error, J = _error(trees, best, link, point, position, goal)
    for iteration in range(MOST_ITERATIONS):
        apart = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        if apart[0] <= tolerance and apart[1] <= tolerance:
            return Reached(best, *apart, iteration, True)
        pull = np.zeros(len(fixed))
        pull[scalar[0]] = weight * (wanted[scalar[1]] - best[scalar[1]])
        step = _step(J, error, pull, damping, fixed)
        # joints that would leave their ranges stay at the end of them, and others do their part
        out = np.zeros(len(fixed), dtype=np.bool_)
        at = best[bounded[1]] + step[bounded[0]]
        out[bounded[0]] = (at < lower[bounded[0]]) & (best[bounded[1]] <= lower[bounded[0]] + AT_END)
        out[bounded[0]] |= (at > upper[bounded[0]]) & (best[bounded[1]] >= upper[bounded[0]] - AT_END)
        if out.any():
            step = _step(J, error, pull, damping, fixed | out)
        largest = float(np.abs(step).max(initial=0.0))
        step *= min(1.0, 0.5 / largest) if largest > 0.0 else 1.0
        new = np.empty_like(best)
        advance_tree(trees.tables, best, step, 1.0, new)
        new[bounded[1]] = np.clip(new[bounded[1]], lower[bounded[0]], upper[bounded[0]])
        tried, J_new = _error(trees, new, link, point, position, goal)
        if np.linalg.norm(tried) < np.linalg.norm(error):
            best, error, J, damping = new, tried, J_new, max(0.3 * damping, 1e-12)
            weight = min(2.0 * weight, POSTURE)
        else:
            # the pull is along what the target leaves free to first order only: the last micrometres are without it
            damping, weight = 4.0 * damping, 0.1 * weight
            if damping > 1e6:
                break
    apart = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
    return Reached(best, *apart, MOST_ITERATIONS, apart[0] <= tolerance and apart[1] <= tolerance)


def _step(J: Array, error: Array, pull: Array, damping: float, fixed: Bools) -> Array:
    """(nv,) a damped step towards the target, and one along ``pull`` (nv,) that leaves the target where it is."""
    J, pull = np.where(fixed, 0.0, J), np.where(fixed, 0.0, pull)
    W, one = J @ J.T, np.eye(len(error))
    return J.T @ np.linalg.solve(W + damping * one, error) + pull - J.T @ np.linalg.solve(W + 1e-9 * one, J @ pull)


def _error(
    trees: TreeBodies, q: Array, link: int, point: Array, position: Array, goal: Array | None
) -> tuple[Array, Array]:
    """What is missing (3,) or (6,), and its Jacobian."""
    work = trees.placed(q)
    R = work.turn[link].reshape(3, 3)
    at = work.pose[link, :3] + R @ point
    J = jacobian_at(trees, work, link, at)
    if goal is None:
        return position - at, J[:3]
    turned = rotations.from_matrix(goal @ R.T)
    turned = turned if turned[0] >= 0.0 else -turned
    s = float(np.linalg.norm(turned[1:]))
    vector = turned[1:] * (2.0 * np.arctan2(s, turned[0]) / s if s > 1e-12 else 2.0)
    return np.concatenate([position - at, vector]), J


def _ranges(links: tuple[TreeLink, ...], count: int, base_moves: bool) -> Ranges:
    """Lower and upper ends (nv,) of the ranges of joints, and which velocities (nv,) do not move."""
    lower, upper, fixed = np.full(count, -np.inf), np.full(count, np.inf), np.zeros(count, dtype=np.bool_)
    for place in joint_places(links).values():
        if place.joint.kind == "free":
            fixed[place.v : place.v + 6] = not base_moves
        elif place.joint.limits is not None and place.velocities == 1:
            lower[place.v], upper[place.v] = place.joint.limits
    return lower, upper, fixed


def _scalar_coordinates(links: tuple[TreeLink, ...]) -> Places:
    """Numbers of the velocities and coordinates of joints that have one of each."""
    both = [(place.v, place.q) for place in joint_places(links).values() if place.velocities == 1]
    pairs = np.array(both, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
