"""Random contact problems from a seed, as unkind as files and simulations can be.

Small ones, so that tens of thousands can be tried: bodies with mass ratios to 1e6 and friction from 0 to 5; contacts
that are repeated, opposed to each other (wedged), almost or wholly without response; zero right-hand sides; units from
1e-6 to 1e6; W of any rank, not quite symmetric; joints, limits and drives between the contacts, or alone; starts that
fit nothing. Some have no solution: a solver must then say so. The same seed gives the same problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.contact import row_by_row
from stickslip.contact.laws import BILATERAL, BOUNDED, CONTACT, DISC, ELASTIC, ELLIPSE, ELLIPSOID, LIMIT
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.row_by_row import Row
from stickslip.linalg.inertia import Inertia, block_diagonal

Vector = Array

MOST_CONTACTS = 8
"""Contacts of most problems; one in fifty has up to three times as many."""
DECADES = 6.0
"""Units, and ratios of masses, span so many powers of ten to either side, and in all."""
ASYMMETRY = 1e-3
"""Relative size of the part of W that is not symmetric, where there is one; files in use have as much."""


OTHER_SETS = 0.06
"""Share of problems in which half of the contacts have ellipses or torsion."""


class Range(NamedTuple):
    """How far problems go."""

    decades: float = DECADES
    """Masses differ by up to so many powers of ten."""
    other_sets: float = OTHER_SETS
    """As OTHER_SETS."""


USUAL, WIDE = Range(), Range(8.0, 0.5)


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """A problem, impulses (m,) to start from where not None, and words that say what is special about it."""

    problem: ContactProblem
    warm: Vector | None
    traits: tuple[str, ...]


def random_problem(seed: int, wide: bool = False) -> RandomProblem:
    """The problem of that seed; ``wide``: masses differ by up to 1e8, half of the problems have other friction sets."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, MOST_CONTACTS + 1)) * (3 if rng.random() < 0.02 else 1)
    traits: list[str] = []
    problem = (_rigid if rng.random() < 0.6 else _given)(rng, count, traits, WIDE if wide else USUAL)
    warm = None
    if rng.random() < 0.2:
        traits.append("warm start")
        scale = (problem.free_speed or 1.0) / max(float(problem.weight.max(initial=0.0)), 1e-12)
        warm = scale * rng.normal(size=problem.row_count) * 10.0 ** rng.uniform(-3.0, 3.0)
    return RandomProblem(problem, warm, tuple(traits))


def _chance(rng: np.random.Generator, probability: float, traits: list[str], name: str) -> bool:
    """True with the probability given, and then noted under ``name``."""
    happens = bool(rng.random() < probability)
    if happens:
        traits.append(name)
    return happens


def _friction(rng: np.random.Generator, count: int, traits: list[str]) -> Vector:
    """Coefficients (count,): none, usual, or up to 5."""
    kind = int(rng.integers(4))
    traits.append(("frictionless", "friction below 1", "friction to 5", "any friction")[kind])
    most = (np.zeros(count), np.ones(count), np.full(count, 5.0), rng.choice([0.0, 0.3, 1.0, 5.0], size=count))[kind]
    return most * rng.uniform(size=count)


def _units(rng: np.random.Generator, traits: list[str]) -> tuple[float, float]:
    """Factors on masses and on velocities."""
    if not _chance(rng, 0.3, traits, "strange units"):
        return 1.0, 1.0
    mass, velocity = 10.0 ** rng.uniform(-DECADES, DECADES, size=2)
    return float(mass), float(velocity)


# ---- bodies ----------------------------------------------------------------------------------------------------


def _rigid(rng: np.random.Generator, count: int, traits: list[str], within: Range) -> ContactProblem:
    """Contacts, and here and there joints, limits and drives, between rigid bodies and the ground."""
    traits.append("bodies")
    bodies = int(rng.integers(1, 5))
    mass_unit, velocity_unit = _units(rng, traits)
    ratio = rng.uniform(0.0, within.decades)
    mass = mass_unit * 10.0 ** (ratio * rng.uniform(size=bodies))
    size = 10.0 ** rng.uniform(-2.0, 0.0, size=bodies)
    free = velocity_unit * rng.normal(size=(bodies, 6))
    if _chance(rng, 0.05, traits, "zero q"):
        free[:] = 0.0
    rows = _contacts(rng, bodies, size, count, velocity_unit * float(np.any(free)), traits, within)
    if _chance(rng, 0.2, traits, "joints, limits and drives"):
        speed = velocity_unit * float(np.any(free))
        rows += [_joint(rng, bodies, mass_unit, speed) for _ in range(int(rng.integers(1, 4)))]
        if _chance(rng, 0.1, traits, "no contacts"):
            rows = [row for row in rows if row.law != CONTACT]
    if _chance(rng, 0.02, traits, "contact between fixed bodies"):
        rows.append(replace(rows[0], a=-1, b=-1))
    order = rng.permutation(len(rows))
    problem = row_by_row.assemble(mass.tolist(), (0.4 * mass * size**2).tolist(), free, [rows[k] for k in order])
    if _chance(rng, 0.3, traits, "slender bodies"):
        problem = replace(problem, momentum=replace(problem.momentum, A=_slender(rng, mass, size)))
    return problem


def _contacts(
    rng: np.random.Generator, bodies: int, size: Vector, count: int, speed: float, traits: list[str], within: Range
) -> list[Row]:
    """Contacts at random points, some of them again, reversed, or through the centre of mass."""
    mu = _friction(rng, count, traits)
    again, reverse, central, gaps, sets = (
        _chance(rng, probability, traits, name)
        for probability, name in (
            (0.25, "duplicates"), (0.2, "wedged"), (0.1, "points"), (0.3, "gaps"),
            (within.other_sets, "other friction sets"),
        )
    )  # fmt: skip
    rows: list[Row] = []
    for c in range(count):
        b = int(rng.integers(bodies))
        a = int(rng.integers(-1, bodies))
        a = -1 if a == b else a
        old = rows[int(rng.integers(len(rows)))] if rows else None
        if old is not None and again and rng.random() < 0.5:
            rows.append(replace(old, friction=(mu[c], mu[c], 0.0)) if old.friction_set == DISC else old)
            continue
        if old is not None and reverse and rng.random() < 0.5:
            rows.append(replace(old, rows_a=-old.rows_a, rows_b=-old.rows_b))
            continue
        normal = rng.normal(size=3) if rng.random() < 0.7 else np.array([0.0, 0.0, 1.0])
        normal /= np.linalg.norm(normal)
        arms = rng.normal(size=(2, 3)) * np.array([[size[a]], [size[b]]]) * (0.0 if central else 1.0)
        bias = speed * float(rng.normal()) if gaps else 0.0
        friction_set = int(rng.choice([ELLIPSE, ELLIPSOID])) if sets and rng.random() < 0.5 else DISC
        torsion = 0.01 * float(size[b]) if friction_set == ELLIPSOID else 0.0
        given = float(mu[c]) if friction_set == DISC else (float(mu[c]), 0.5 * float(mu[c]), torsion)
        rows.append(row_by_row.contact(a, b, normal, arms[0], arms[1], given, bias, friction_set))
    return rows


def _joint(rng: np.random.Generator, bodies: int, mass: float, speed: float) -> Row:
    """A block of any law but contact between a body and the ground or another one: joints have up to six rows.

    Rows may be repeated, rigid and compliant ones stand side by side, and bounds reach from nothing to out of reach.
    """
    b, law = int(rng.integers(bodies)), int(rng.choice([BILATERAL, LIMIT, ELASTIC, BOUNDED]))
    a = int(rng.integers(-1, bodies))
    a = -1 if a == b else a
    count = int(rng.integers(1, 7 if law in (BILATERAL, ELASTIC) else 3))
    rows = rng.normal(size=(count, 6)) * (1.0, 1.0, 1.0, 0.1, 0.1, 0.1)
    if count > 1 and rng.random() < 0.1:
        rows[-1] = rows[0] if rng.random() < 0.5 else -rows[0]
    soft = law == ELASTIC or rng.random() < 0.3
    compliance = rng.uniform(size=count) * rng.integers(2, size=count) / mass if soft else np.zeros(count)
    bound = mass * speed * rng.choice([0.0, 1e-3, 1.0, 1e9], size=count) * rng.uniform(size=count)
    bias = speed * rng.normal(size=count) if law == BOUNDED or rng.random() < 0.2 else np.zeros(count)
    return Row(a, b, -rows, rows, bias, law, DISC, (0.0, 0.0, 0.0), compliance, bound)


def _slender(rng: np.random.Generator, mass: Vector, size: Vector) -> Inertia:
    """Inertias whose principal values differ by up to 1e4, turned at random."""
    blocks, inverses = np.zeros((2, len(mass), 6, 6))
    for b in range(len(mass)):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        values = mass[b] * size[b] ** 2 * 10.0 ** rng.uniform(-4.0, 0.0, size=3)
        blocks[b, :3, :3], inverses[b, :3, :3] = mass[b] * np.eye(3), np.eye(3) / mass[b]
        for block, diagonal in ((blocks[b], values), (inverses[b], 1.0 / values)):
            inertia = (turn * diagonal) @ turn.T
            block[3:, 3:] = 0.5 * (inertia + inertia.T)
    return block_diagonal(blocks, inverses)


# ---- matrices --------------------------------------------------------------------------------------------------


def _given(rng: np.random.Generator, count: int, traits: list[str], within: Range) -> ContactProblem:
    """u = W lam + q with W = G G^T of any rank."""
    traits.append("matrix")
    m = 3 * count
    rank = int(rng.integers(1, m + 1)) if rng.random() < 0.7 else 1 + int(rng.integers(min(m, 3)))
    traits.append(f"rank {rank} of {m}")
    mass_unit, velocity_unit = _units(rng, traits)
    G = rng.normal(size=(m, rank))
    if _chance(rng, 0.3, traits, "masses differ"):
        G *= np.repeat(10.0 ** rng.uniform(-0.5 * within.decades, 0.0, size=count), 3)[:, None]
    if _chance(rng, 0.2, traits, "duplicates") and count > 1:
        G[3:6] = G[:3]
    if _chance(rng, 0.1, traits, "wedged") and count > 1:
        G[-3:] = -G[:3]
    if _chance(rng, 0.1, traits, "hardly any response"):
        G[:3] *= 10.0 ** rng.uniform(-8.0, -3.0)
    W = G @ G.T
    if _chance(rng, 0.1, traits, "not symmetric"):
        W = W * (1.0 + ASYMMETRY * rng.uniform(-1.0, 1.0, size=W.shape))
    if _chance(rng, 0.02, traits, "no response at all"):
        W[:3], W[:, :3] = 0.0, 0.0
    if _chance(rng, 0.05, traits, "zero q"):
        q = np.zeros(m)
    elif rng.random() < 0.6:
        traits.append("q in the range of W")
        q = G @ rng.normal(size=rank)
    else:
        q = rng.normal(size=m)
    q[::3] -= float(rng.random() < 0.5) * np.abs(q[::3])  # half of the problems press every contact together
    return from_delassus(W / mass_unit, velocity_unit * q, _friction(rng, count, traits))
