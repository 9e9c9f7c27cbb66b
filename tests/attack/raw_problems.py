"""Random contact problems as plain arrays (raw_arrays.py), made with NumPy alone.

They are as unkind as numbers can be: masses from 1e-6 to 1e9, units from 1e-10 to 1e10, rows that are repeated, zero or
depend on each other, friction that is zero or huge, joints of one to six rows between contacts, and nothing at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from raw_arrays import (
    BILATERAL,
    BOUNDED,
    BOX,
    CONTACT,
    DISC,
    ELASTIC,
    ELLIPSE,
    ELLIPSOID,
    LIMIT,
    Block,
    RawProblem,
    Vector,
)


def raw_problem(rng: np.random.Generator) -> RawProblem:
    """A problem of one of the kinds."""
    kind = rng.choice(["matrix", "bodies", "joints", "soft"], p=[0.25, 0.4, 0.25, 0.1])
    count = int(rng.integers(1, 13))
    chance = rng.random()
    if chance < 0.02:
        count = 0
    elif chance < 0.12:
        count = int(rng.integers(13, 25))
    elif chance < 0.13:
        count = int(rng.integers(25, 100))
    if kind == "matrix":
        return _given(rng, count)
    if kind == "soft":
        return _soft(rng, min(count, 12))
    return _bodies(rng, count, joints=kind == "joints")


# ---- numbers ----------------------------------------------------------------------------------------------------


def _units(rng: np.random.Generator, traits: list[str]) -> tuple[float, float]:
    """Factors on masses and velocities: usual, strange, or almost too large to be squared and multiplied."""
    chance = rng.random()
    if chance < 0.5:
        return 1.0, 1.0
    span = 4.0 if chance < 0.75 else 10.0 if chance < 0.95 else 19.0
    traits.append(f"units to 1e{span:.0f}")
    mass, velocity = 10.0 ** rng.uniform(-span, span, size=2)
    return float(mass), float(velocity)


def _coefficients(rng: np.random.Generator, count: int, traits: list[str]) -> Vector:
    """Friction (count,): none, usual, large, huge, or one of them for each contact."""
    kind = int(rng.integers(5))
    traits.append(("frictionless", "friction below 1", "friction to 5", "huge friction", "any friction")[kind])
    most = [0.0, 1.0, 5.0, 10.0 ** rng.uniform(1.0, 10.0)]
    if kind < 4:
        return np.full(count, most[kind]) * rng.uniform(size=count)
    return rng.choice([0.0, 0.0, 0.3, 1.0, 5.0, 1e4, 1e-9], size=count)


def _definite(rng: np.random.Generator, size: int, decades: float) -> Vector:
    """A symmetric positive definite matrix whose eigenvalues span so many powers of ten below one."""
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    found = (turn * 10.0 ** -rng.uniform(0.0, decades, size=size)) @ turn.T
    return 0.5 * (found + found.T)


# ---- W alone ----------------------------------------------------------------------------------------------------


def _given(rng: np.random.Generator, count: int) -> RawProblem:
    """u = W lam + q: contacts, or any blocks, over W = G G^T of any rank, dense or with zeros."""
    traits = ["W"]
    mixed = rng.random() < 0.3
    mu = _coefficients(rng, count, traits)
    mass, speed = _units(rng, traits)
    blocks = []
    for c in range(count):
        if mixed and rng.random() < 0.4:
            blocks.append(_joint(rng, mass, speed))
        else:
            blocks.append(_contact(rng, mu[c], mass, plain=not mixed or rng.random() < 0.7))
    if mixed:
        traits.append("joints in W")
    heights = [len(b.bias) for b in blocks]
    m = sum(heights)
    rank = int(rng.integers(1, m + 1)) if m and rng.random() < 0.6 else m
    G = rng.normal(size=(m, rank))
    if rng.random() < 0.3:
        traits.append("masses differ")
        G *= np.repeat(10.0 ** rng.uniform(-4.0, 0.0, size=count), heights)[:, None]
    if rng.random() < 0.5:
        traits.append("sparse")
        G *= np.repeat(rng.random(size=(count, rank)) < 0.4, heights, axis=0)
    row = np.concatenate([[0], np.cumsum(heights)]).astype(int)
    alike = [(a, b) for a in range(count) for b in range(a) if heights[a] == heights[b]]
    if alike and rng.random() < 0.25:
        traits.append("repeated or opposed rows")
        a, b = alike[int(rng.integers(len(alike)))]
        G[row[a] : row[a + 1]] = rng.choice([1.0, -1.0]) * G[row[b] : row[b + 1]]
    if count and rng.random() < 0.08:
        traits.append("no response")
        c = int(rng.integers(count))
        G[row[c] : row[c + 1]] *= 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-9.0, -3.0)
    W = G @ G.T
    if rng.random() < 0.08:
        traits.append("not symmetric")
        W = W * (1.0 + 1e-3 * rng.uniform(-1.0, 1.0, size=W.shape))
    q = G @ rng.normal(size=rank) if rng.random() < 0.5 else rng.normal(size=m)
    q = _signs(rng, q, row, traits)
    for c, block in enumerate(blocks):
        block.bias = np.zeros(heights[c])
        block.columns = {c: np.eye(heights[c])}
    return RawProblem("matrix", heights, speed * q, blocks, W / mass, sparse=rng.random() < 0.5, traits=traits)


def _signs(rng: np.random.Generator, q: Vector, row: NDArray[np.int_], traits: list[str]) -> Vector:
    """Free constraint velocities (m,) as they are, all pressing, all opening, or zero."""
    chance, normal = rng.random(), row[:-1]
    q = q.copy()
    if chance < 0.4:
        q[normal] = -np.abs(q[normal])
    elif chance < 0.47:
        traits.append("opening")
        q[normal] = np.abs(q[normal])
    elif chance < 0.52:
        traits.append("zero q")
        q[:] = 0.0
    return q


# ---- blocks without their rows ----------------------------------------------------------------------------------


def _contact(rng: np.random.Generator, mu: float, mass: float, plain: bool) -> Block:
    """A contact of three rows with a disc, or of three or four with another friction set; now and then compliant."""
    kind = DISC if plain else int(rng.choice([DISC, ELLIPSE, ELLIPSOID, BOX], p=[0.2, 0.35, 0.35, 0.1]))
    rows = 4 if kind == ELLIPSOID or (not plain and rng.random() < 0.3) else 3
    friction = (mu, mu, 0.0)
    if kind != DISC:  # torsion is for the sets that have it
        friction = (mu, mu * float(rng.choice([0.0, 0.3, 1.0, 2.0])), float(rng.choice([0.0, 1e-3, 0.1, 10.0])))
        friction = friction if rows == 4 and kind in (ELLIPSOID, BOX) else (*friction[:2], 0.0)
    compliance = np.zeros(rows)
    if rng.random() < 0.08:
        compliance[0] = 10.0 ** rng.uniform(-6.0, 3.0) / mass
    return Block(CONTACT, {}, np.zeros(rows), kind, friction, compliance)


def _joint(rng: np.random.Generator, mass: float, speed: float) -> Block:
    """A block of one to six rows of any law but contact, each of them with or without compliance."""
    law = int(rng.choice([BILATERAL, LIMIT, ELASTIC, BOUNDED]))
    rows = int(rng.integers(1, 7 if law in (BILATERAL, ELASTIC) else 4))
    soft = law == ELASTIC or rng.random() < 0.25
    compliance = np.where(rng.random(rows) < 0.7, 10.0 ** rng.uniform(-6.0, 2.0, size=rows), 0.0) / mass
    bound = mass * speed * rng.choice([0.0, 1e-3, 1.0, 1e9], size=rows) * rng.uniform(size=rows)
    return Block(law, {}, np.zeros(rows), compliance=compliance if soft else np.zeros(rows), bound=bound)


# ---- bodies -----------------------------------------------------------------------------------------------------


def _bodies(rng: np.random.Generator, count: int, joints: bool) -> RawProblem:
    """Contacts between bodies and the ground; with ``joints`` also blocks of other laws, hinges with drives."""
    traits = ["joints"] if joints else ["bodies"]
    bodies = int(rng.integers(1, 8))
    mass_unit, speed = _units(rng, traits)
    decades = float(rng.choice([0.0, 2.0, 6.0, 15.0], p=[0.3, 0.4, 0.2, 0.1]))
    mass = mass_unit * 10.0 ** rng.uniform(-0.4 * decades, 0.6 * decades, size=bodies)
    size = 10.0 ** rng.uniform(-2.0, 1.0, size=bodies) if rng.random() < 0.5 else np.ones(bodies)
    odd = rng.random() < 0.1
    if odd:
        traits.append("other widths")
    width = [int(rng.integers(1, 7)) if odd else 6 for _ in range(bodies)]
    matrix, inverse = _masses(rng, width, mass, size, traits)
    mu = _coefficients(rng, count, traits)
    sets = rng.random() < 0.2
    if sets:
        traits.append("other friction sets")
    blocks: list[Block] = []
    for c in range(count):
        if joints and rng.random() < 0.5:
            block = _joint(rng, mass_unit, speed)
            other = Block(BOUNDED, {}, np.zeros(1), bound=np.array([mass_unit * speed * rng.uniform()]))
            if rng.random() < 0.3:  # a hinge and its drive: three rows a block in the mean
                block = Block(BILATERAL, {}, np.zeros(5)) if rng.random() < 0.5 else other
        else:
            block = _contact(rng, mu[c], mass_unit, plain=not sets)
        _attach(rng, block, width, size)
        blocks.append(block)
    if joints and rng.random() < 0.2:
        blocks += [_attached(rng, b, width, size) for b in (Block(BILATERAL, {}, np.zeros(5)),
                   Block(BOUNDED, {}, np.zeros(1), bound=np.array([mass_unit * speed])))]  # fmt: skip
    if joints and rng.random() < 0.15:
        traits.append("no contacts")
        blocks = [b for b in blocks if b.law != CONTACT]
    _spoil(rng, blocks, traits)
    v_free = speed * rng.normal(size=sum(width))
    found = RawProblem("bodies", width, v_free, blocks, inverse, matrix, traits=traits)
    _biases(rng, found, speed)
    return found


def _masses(
    rng: np.random.Generator, width: list[int], mass: Vector, size: Vector, traits: list[str]
) -> tuple[Vector, Vector]:
    """A and A^-1 of all bodies: m and inertia of six unknowns, or any positive definite block."""
    total = sum(width)
    A, inverse = np.zeros((2, total, total))
    kind = int(rng.integers(3))
    traits.append(("balls", "slender bodies", "any blocks")[kind])
    first = 0
    for b, k in enumerate(width):
        here = slice(first, first + k)
        scale = np.where(np.arange(k) < 3, mass[b], 0.4 * mass[b] * size[b] ** 2)
        if kind == 0:
            A[here, here], inverse[here, here] = np.diag(scale), np.diag(1.0 / scale)
        else:
            core = np.eye(k)
            if kind == 1 and k > 3:
                core[3:, 3:] = _definite(rng, k - 3, 4.0)
            elif kind == 2:
                core = _definite(rng, k, 3.0)
            root = np.sqrt(scale)
            A[here, here] = root[:, None] * core * root
            back = np.linalg.inv(core)
            inverse[here, here] = 0.5 * (back + back.T) / root[:, None] / root
        first += k
    return A, inverse


def _attached(rng: np.random.Generator, block: Block, width: list[int], size: Vector) -> Block:
    """The block itself, after ``_attach``."""
    _attach(rng, block, width, size)
    return block


def _attach(rng: np.random.Generator, block: Block, width: list[int], size: Vector) -> None:
    """Rows over one or two bodies, in a frame with arms where bodies have six unknowns, else of any numbers."""
    bodies = len(width)
    b, a = int(rng.integers(bodies)), int(rng.integers(-1, bodies))
    rows = len(block.bias)
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0] if rng.random() < 0.7 else np.eye(3)[[2, 0, 1]]
    any_numbers = rng.random() < 0.15
    for body, sign in ((b, 1.0), (a, -1.0)):
        if body < 0 or (body == b and sign < 0.0):
            continue
        if width[body] != 6 or any_numbers:
            block.columns[body] = rng.normal(size=(rows, width[body]))
            continue
        arm = size[body] * rng.normal(size=3) * (0.0 if rng.random() < 0.1 else 1.0)
        lines = [np.concatenate([d, np.cross(arm, d)]) for d in frame] + [np.concatenate([0.0 * d, d]) for d in frame]
        if block.law != CONTACT and rows < 6 and rng.random() < 0.5:
            lines = [lines[k] for k in rng.permutation(6)]
        block.columns[body] = sign * np.array(lines[:rows])


def _spoil(rng: np.random.Generator, blocks: list[Block], traits: list[str]) -> None:
    """Repeat, oppose, scale or clear rows here and there."""
    if len(blocks) > 1 and rng.random() < 0.3:
        traits.append("repeated or opposed rows")
        for _ in range(1 + len(blocks) // 4):
            a, b = rng.choice(len(blocks), size=2, replace=False)
            if len(blocks[a].bias) == len(blocks[b].bias):
                sign = rng.choice([1.0, -1.0])
                blocks[a].columns = {k: sign * rows for k, rows in blocks[b].columns.items()}
    if blocks and rng.random() < 0.15:
        traits.append("dependent or zero rows")
        for k, rows in (block := blocks[int(rng.integers(len(blocks)))]).columns.items():
            chosen = int(rng.integers(len(rows)))
            changed = rows.copy()
            changed[chosen] = float(rng.choice([0.0, 1.0, -2.0])) * rows[0]
            block.columns[k] = changed
    if blocks and rng.random() < 0.05:
        traits.append("nothing responds")
        blocks[int(rng.integers(len(blocks)))].columns = {}
    if rng.random() < 0.08:
        traits.append("rows of any length")
        for block in blocks:
            scale = 10.0 ** rng.uniform(-6.0, 6.0)
            block.columns = {k: scale * rows for k, rows in block.columns.items()}


def _biases(rng: np.random.Generator, raw: RawProblem, speed: float) -> None:
    """Gaps and drives in the bias; free velocities that press, part, stand still, or almost cancel."""
    chance = rng.random()
    if chance < 0.05:
        raw.traits.append("at rest")
        raw.v_free = np.zeros_like(raw.v_free)
        return
    free = raw.J @ raw.v_free
    row = raw.row_start
    for c, block in enumerate(raw.blocks):
        if rng.random() < 0.3:
            block.bias[:] = speed * rng.normal(size=len(block.bias)) * (rng.random() < 0.5 or block.law != CONTACT)
            block.bias[0] = speed * rng.normal()
        if chance < 0.1:
            block.bias[:] = -free[row[c] : row[c + 1]]
        elif chance < 0.15:
            block.bias[0] = -free[row[c]] + speed * rng.uniform()
        elif chance < 0.5 and block.law == CONTACT:
            block.bias[0] = -free[row[c]] - speed * rng.uniform()
    if chance < 0.15:
        raw.traits.append("zero q" if chance < 0.1 else "opening")


# ---- soft bodies ------------------------------------------------------------------------------------------------


def _soft(rng: np.random.Generator, count: int) -> RawProblem:
    """One or two nets of springs, some rigid bodies, contacts at nodes, points of triangles and bodies."""
    traits = ["soft"]
    rigid = int(rng.integers(0, 3))
    mass_unit, speed = _units(rng, traits)
    sizes = [int(rng.integers(2, 10)) for _ in range(int(rng.integers(1, 3)))]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    width = [6] * rigid + [3] * int(starts[-1])
    stiffness = 10.0 ** rng.uniform(-2.0, 6.0)
    springs = []
    for s, size in zip(starts, sizes, strict=False):
        springs += [(int(s + i), int(s + rng.integers(i))) for i in range(1, size)]
        springs += [(int(s + i), int(s + j)) for i, j in rng.integers(size, size=(size, 2)) if i != j]
    A = np.zeros((sum(width), sum(width)))
    rigid_mass = mass_unit * 10.0 ** rng.uniform(-2.0, 2.0, size=rigid)
    A[: 6 * rigid, : 6 * rigid], _ = _masses(rng, [6] * rigid, rigid_mass, np.ones(rigid), traits)
    first = 6 * rigid
    A[first:, first:] = mass_unit * np.diag(10.0 ** np.repeat(rng.uniform(-1.0, 1.0, size=starts[-1]), 3))
    for i, j in springs:
        direction = rng.normal(size=3)
        K = mass_unit * stiffness * (np.outer(direction, direction) + 0.1 * np.eye(3))
        for a, b, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            A[first + 3 * a : first + 3 * a + 3, first + 3 * b : first + 3 * b + 3] += sign * K
    mu = _coefficients(rng, count, traits)
    blocks = []
    for c in range(count):
        joint = rng.random() < 0.25
        block = _joint(rng, mass_unit, speed) if joint else _contact(rng, mu[c], mass_unit, rng.random() < 0.9)
        rows = len(block.bias)
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turned = np.vstack([frame, 0.0 * frame])[:rows]
        body = int(rng.integers(len(sizes)))
        nodes = starts[body] + rng.permutation(sizes[body])[: int(rng.choice([1, 2, 3]))]
        share = rng.dirichlet(np.ones(len(nodes)))
        for node, s in zip(nodes, share, strict=True):
            block.columns[rigid + int(node)] = s * turned
        if rigid and rng.random() < 0.3:
            rest = {int(rng.integers(rigid)): -np.hstack([turned, rng.normal(size=(rows, 3))])}
            block.columns = rest | block.columns
        blocks.append(block)
    found = RawProblem("soft", width, speed * rng.normal(size=sum(width)), blocks, None, A, False, rigid, springs)
    found.bodies, found.traits = [int(s) for s in starts], traits
    _biases(rng, found, speed)
    if rng.random() < 0.3:
        traits.append("free velocities unsolved")
        found.missing = np.concatenate([np.zeros(first), mass_unit * speed * rng.normal(size=sum(width) - first)])
    return found
