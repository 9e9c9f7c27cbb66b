"""Random problems with everything that a solver must take: contacts, joints, limits, elastic rows, duplicates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.contact.gallery import Row, assemble, contact
from stickslip.contact.laws import BILATERAL, ELASTIC, LIMIT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.linalg.inertia import given


def mixed_problem(seed: int) -> ContactProblem:
    """Three bodies with random contacts (one twice, one without friction), a joint, a limit and an elastic row."""
    rng = np.random.default_rng(seed)
    rows = []
    for c in range(int(rng.integers(2, 6))):
        a, b = (-1, int(rng.integers(3))) if c % 2 else (0, int(rng.integers(1, 3)))
        normal = rng.normal(size=3)
        mu = 0.0 if c == 0 else float(rng.uniform(0.1, 1.0))
        rows.append(contact(a, b, normal / np.linalg.norm(normal), rng.normal(size=3), rng.normal(size=3), mu))
    rows.append(rows[-1])
    rows.append(Row(-1, 0, np.zeros((3, 6)), np.eye(3, 6), np.zeros(3), BILATERAL))
    rows.append(Row(0, 1, -np.eye(6)[3:5], np.eye(6)[3:5], np.zeros(2), LIMIT, compliance=0.1))
    rows.append(Row(1, 2, -np.eye(1, 6), np.eye(1, 6), rng.normal(size=1), ELASTIC, compliance=0.5))
    return assemble([1.0, 3.0, 0.2], [0.5, 1.0, 0.1], rng.normal(size=18), rows)


def tower(count: int) -> ContactProblem:
    """Cubes on each other, four contacts each: 6 velocities and 12 rows per cube, coupled to two others only."""
    rows = [
        contact(i - 1, i, (0, 0, 1), (x, y, 1.0), (x, y, -1.0), 0.5)
        for i in range(count)
        for x in (-1.0, 1.0)
        for y in (-1.0, 1.0)
    ]
    return assemble([1.0] * count, [0.7] * count, np.tile([0, 0, -0.1, 0, 0, 0], count), rows)


def given_by_delassus(seed: int, asymmetry: float = 0.0, unit: float = 1.0) -> ContactProblem:
    """Six contacts of rank twelve given by W and q in the range of W; velocities in a unit, impulses in its inverse."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(18, 12))
    W = B @ B.T * (1.0 + asymmetry * rng.normal(size=(18, 18)))
    return from_delassus(unit * W, B @ rng.normal(size=12), rng.uniform(0.1, 1.0, size=6))


def with_idle_contact(seed: int, speed: float) -> ContactProblem:
    """As ``given_by_delassus``, the first contact cut off from everything (W_cc = 0); it opens at the speed."""
    problem = given_by_delassus(seed)
    A = problem.A.given
    assert A is not None
    row = np.repeat(np.arange(problem.row_count), np.diff(A.indptr))
    data = np.where((row < 3) | (A.indices < 3), 0.0, A.data)
    free = problem.v_free.copy()
    free[:3] = speed, 0.0, 0.0
    return replace(problem, momentum=Momentum(given(data, A.indices, A.indptr), free))
