"""Contact problems of rigid bodies put together block by block, by hand: for galleries, random problems and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import BILATERAL, CONTACT, DISC, ELLIPSOID
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import block_diagonal

Vector = Array


@dataclass(frozen=True, eq=False)
class KnownProblem:
    """A problem with its solution."""

    problem: ContactProblem
    v: Vector
    impulses: Vector | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """One constraint block between bodies a and b (-1: fixed): its rows over each body, and its law."""

    a: int
    b: int
    rows_a: Vector
    rows_b: Vector
    bias: Vector
    law: int = CONTACT
    friction_set: int = DISC
    friction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    compliance: float | Vector = 0.0
    """Of all rows, or (rows,) of each."""
    bound: float | Vector = 0.0
    """Likewise."""


def contact(
    a: int,
    b: int,
    normal: ArrayLike,
    arm_a: ArrayLike,
    arm_b: ArrayLike,
    mu: float | tuple[float, float, float],
    bias: float = 0.0,
    friction_set: int = DISC,
    tangent: ArrayLike | None = None,
) -> Row:
    """A contact with its normal from a to b and the arms from both centres of mass to the point."""
    n = np.asarray(normal, dtype=np.float64)
    t1 = np.asarray(tangent, dtype=np.float64) if tangent is not None else np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t1 = t1 / np.linalg.norm(t1)
    frame = [n, t1, np.cross(n, t1)]

    def rows(arm: ArrayLike, sign: float) -> Vector:
        lines = [np.concatenate([d, np.cross(np.asarray(arm, dtype=np.float64), d)]) for d in frame]
        if friction_set == ELLIPSOID:
            lines.append(np.concatenate([np.zeros(3), n]))
        return sign * np.array(lines)

    coefficients = (mu, mu, 0.0) if isinstance(mu, float | int) else mu
    total = np.zeros(4 if friction_set == ELLIPSOID else 3)
    total[0] = bias
    return Row(a, b, rows(arm_a, -1.0), rows(arm_b, 1.0), total, CONTACT, friction_set, coefficients)


def assemble(mass: Sequence[float], inertia: Sequence[float], v_free: ArrayLike, rows: Sequence[Row]) -> ContactProblem:
    """Problem of bodies with masses and isotropic inertias, and constraint blocks between them."""
    diagonal = np.array([[m, m, m, i, i, i] for m, i in zip(mass, inertia, strict=True)])
    blocks = np.einsum("bi,ij->bij", diagonal, np.eye(6))
    inverse = np.einsum("bi,ij->bij", 1.0 / diagonal, np.eye(6))
    entries = [[(body, data) for body, data in ((r.a, r.rows_a), (r.b, r.rows_b)) if body >= 0] for r in rows]
    flat = [entry for block in entries for entry in block]

    def starts(counts: Sequence[int]) -> Ints:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    dims = [len(r.bias) for r in rows]
    J = BlockRows(
        starts(dims),
        starts([len(block) for block in entries]),
        np.array([body for body, _ in flat], dtype=np.int32),
        starts([data.size for _, data in flat]),
        np.concatenate([data.ravel() for _, data in flat]),
        (6 * np.arange(len(mass) + 1)).astype(np.int32),
    )
    laws = Laws(
        np.array([r.law for r in rows], dtype=np.int32),
        np.array([r.friction_set for r in rows], dtype=np.int32),
        np.array([r.friction for r in rows]),
        np.concatenate([np.full(d, r.compliance) for d, r in zip(dims, rows, strict=True)]),
        np.concatenate([np.full(d, r.bound) for d, r in zip(dims, rows, strict=True)]),
    )
    free = np.array(v_free, dtype=np.float64).ravel()
    momentum = Momentum(block_diagonal(blocks, inverse), free)
    return ContactProblem(momentum, J, np.concatenate([r.bias for r in rows]), laws).checked()


def ball_joint(a: int, b: int, arm_a: ArrayLike, arm_b: ArrayLike) -> Row:
    """A ball joint, three rows, at the point with these arms from both centres of mass; a or b -1: the world."""

    def rows(arm: ArrayLike) -> Vector:
        return np.hstack([np.eye(3), np.cross(np.eye(3), np.asarray(arm, dtype=np.float64)).T]).astype(np.float64)

    return Row(a, b, -rows(arm_a), rows(arm_b), np.zeros(3), BILATERAL)


def hinge(a: int, b: int, arm_a: ArrayLike, arm_b: ArrayLike, axis: int) -> Row:
    """A hinge about the coordinate axis 0, 1 or 2: a ball joint with two rows more."""
    ball, turns = ball_joint(a, b, arm_a, arm_b), np.delete(np.eye(6)[3:], axis, axis=0)
    return Row(a, b, np.vstack([ball.rows_a, -turns]), np.vstack([ball.rows_b, turns]), np.zeros(5), BILATERAL)
