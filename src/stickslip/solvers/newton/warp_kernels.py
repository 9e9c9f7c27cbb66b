"""The iteration of `newton` as kernels of Warp, which run on a CUDA card or on the CPU, in 64 or 32 bit.

The formulas are those of rows.py and ncp.py, equation numbers there; the linear solver is that of linalg/krylov.py.
Matrices are kept apart and in compressed rows, as the paper has them on its card: J, J^T, H^-1, and products follow one
after the other. No thread adds to what another one adds to: sums run over chunks of rows, and then over the chunks of
an island, in an order that does not depend on the device, so results are the same bits in every run.

An array of type Any is of the precision of the solve. Vectors over rows are in the order of islands.
"""

# Warp reads annotations as types of its own, which mypy does not know.
# mypy: ignore-errors

from typing import Any

from stickslip.errors import MissingDependencyError
from stickslip.law_codes import BOUNDED, CONTACT, LIMIT
from stickslip.solvers.newton.ncp import MINIMUM_MAP

try:
    import warp as wp
except ImportError:
    raise MissingDependencyError(
        "solver newton: a device needs warp; install it with: pip install 'stickslip[gpu]'"
    ) from None

wp.config.log_level = wp.LOG_WARNING
wp.set_module_options({"enable_backward": False})  # nothing is differentiated; it is half of the time to compile
_CONTACT, _LIMIT, _BOUNDED = wp.constant(CONTACT), wp.constant(LIMIT), wp.constant(BOUNDED)
_MINIMUM_MAP = wp.constant(MINIMUM_MAP)
FLOPS = {
    "row_terms": 7, "multiply": 2, "subtract": 1, "add_share": 3, "copy": 0, "right_side": 4, "begin": 2,
    "energies": 5, "choose_direction": 1, "turn": 7, "choose_length": 1, "advance": 9, "judge": 2, "take_back": 2,
}  # fmt: skip
"""Operations with numbers by kernel, for each entry of its largest array: about 40 a row in row_terms, whose terms are
six a row."""
Ints = wp.array(dtype=wp.int32)
Reals = wp.array(dtype=Any)
Rows = wp.array2d(dtype=Any)

# ---- functions, see ncp.py -------------------------------------------------------------------------------------------


@wp.func
def root_of_squares(a: Any, b: Any):
    """The square root of a^2 + b^2."""
    large = wp.max(wp.abs(a), wp.abs(b))
    small = wp.min(wp.abs(a), wp.abs(b))
    if large == type(a)(0.0):
        return large
    ratio = small / large
    return large * wp.sqrt(type(a)(1.0) + ratio * ratio)


@wp.func
def ncp_value(function: int, a: Any, b: Any):
    """The NCP function phi(a, b)."""
    if function == _MINIMUM_MAP:
        return wp.min(a, b)
    root = root_of_squares(a, b)
    if a + b <= type(a)(0.0):
        return a + b - root
    return type(a)(2.0) * wp.min(a, b) * (wp.max(a, b) / (a + b + root))


@wp.func
def less_than_root(a: Any, b: Any, root: Any):
    """1 - a / root."""
    if a <= type(a)(0.0):
        return type(a)(1.0) - a / root
    return (b / root) * (b / (root + a))


@wp.func
def friction_compliance(function: int, slip: Any, limit: Any, size: Any, r: Any, least_share: Any):
    """W of eq. (35), with limit = mu lam_n > 0."""
    zero = type(slip)(0.0)
    g = r * (limit - size)
    if function == _MINIMUM_MAP:
        return wp.max(slip - g, zero) / limit
    root = root_of_squares(slip, g)
    if g >= zero:
        if slip == zero:
            return zero
        next_slip = slip * (slip / (root + g))
        next_force = size + ncp_value(function, slip, g) / r
        if next_force > zero:
            return next_slip / next_force
        return next_slip / limit
    next_force = limit - (g / r) * (g / (slip + root))
    return (root - g) / wp.max(next_force, least_share * limit)


@wp.func
def unilateral(function: int, gap: Any, lam: Any, r: Any, diagonal: Any, compliance: Any, large: Any):
    """C, h and |phi| of a row 0 <= gap, 0 <= lam; eq. (93)-(98)."""
    one, zero = type(gap)(1.0), type(gap)(0.0)
    b = r * lam
    phi = ncp_value(function, gap, b)
    dgap, dlam = zero, r
    if function == _MINIMUM_MAP:
        if b >= gap:
            dgap, dlam = one, zero
    else:
        root = root_of_squares(gap, b)
        if root > zero:
            dgap, dlam = less_than_root(gap, b, root), less_than_root(b, gap, root) * r
    if dlam >= large * diagonal * dgap:
        return large * diagonal, large * diagonal * phi / dlam, wp.abs(phi)
    return compliance + dlam / dgap, phi / dgap, wp.abs(phi)


# ---- rows, see rows.py -----------------------------------------------------------------------------------------------


@wp.kernel
def row_terms(
    row_start: Ints, law: Ints, friction: Reals, known: Rows, function: int, numbers: Reals, lam: Reals, u: Reals,
    terms: Rows,
):  # fmt: skip
    """One thread a block: ``terms`` of its rows, and 1 / diag S. u comes in without its bias.

    known (5, m): compliance, bound, diag W, bias, 0 for elastic rows and else 1. numbers: r of normals, r and its share
    of friction, regularisation, LARGE, LEAST_SHARE. terms (6, m): C, h, impulses with those that are known, these, 1
    for rows of the system and else 0, 1 / diag S.
    """
    compliance, bound, diagonal, bias, regularised = known[0], known[1], known[2], known[3], known[4]
    r_normal, r_friction, share = numbers[0], numbers[1], numbers[2]
    regularisation, large, least_share = numbers[3], numbers[4], numbers[5]
    C_out, h_out, impulse_out, known_out, on_out, inverse_out = (
        terms[0], terms[1], terms[2], terms[3], terms[4], terms[5]
    )  # fmt: skip
    c = wp.tid()
    i, end = row_start[c], row_start[c + 1]
    zero, one = lam.dtype(0.0), lam.dtype(1.0)
    for k in range(i, end):
        u[k] = u[k] + bias[k]
    if law[c] == _CONTACT:
        r = r_normal
        if r <= zero:
            r = diagonal[i]
        normal_C, normal_h, _ = unilateral(
            function, u[i] + compliance[i] * lam[i], lam[i], r, diagonal[i], compliance[i], large
        )
        C_out[i] = normal_C
        h_out[i] = normal_h
        slip, size, scale = lam.dtype(0.0), lam.dtype(0.0), lam.dtype(-1.0)
        for k in range(i + 1, end):
            mu = friction[3 * c + k - i - 1]
            if mu > zero:
                slip = slip + mu * u[k] * mu * u[k]
                size = size + lam[k] / mu * (lam[k] / mu)
                r_row = r_friction
                if r_row <= zero:
                    r_row = diagonal[k]
                r_row = r_row * mu * mu
                if scale < zero or r_row < scale:
                    scale = r_row
        W = lam.dtype(-1.0)
        if lam[i] > zero and scale > zero:
            W = friction_compliance(function, wp.sqrt(slip), lam[i], wp.sqrt(size), share * scale, least_share)
        for k in range(i + 1, end):
            mu = friction[3 * c + k - i - 1]
            if not (zero > W) and mu > zero:
                C_out[k] = wp.min(W / (mu * mu), large * diagonal[k])
                h_out[k] = u[k] + C_out[k] * lam[k]
            else:  # eq. (106)
                C_out[k] = large * diagonal[k]
                h_out[k] = C_out[k] * lam[k]
    else:
        for k in range(i, end):
            gap = u[k] + compliance[k] * lam[k]
            C_out[k] = compliance[k]
            h_out[k] = gap
            if law[c] == _LIMIT:
                r = r_normal
                if r <= zero:
                    r = diagonal[k]
                limit_C, limit_h, _ = unilateral(function, gap, lam[k], r, diagonal[k], compliance[k], large)
                C_out[k] = limit_C
                h_out[k] = limit_h
            elif law[c] == _BOUNDED:
                pull = lam[k] - gap / (diagonal[k] + compliance[k])
                target = wp.min(wp.max(pull, -bound[k]), bound[k])
                if target != pull:
                    C_out[k] = large * diagonal[k]
                    h_out[k] = C_out[k] * (lam[k] - target)
    for k in range(i, end):
        step = zero
        if C_out[k] >= large * diagonal[k]:
            if C_out[k] > zero:
                step = -h_out[k] / C_out[k]
            h_out[k] = zero
        known_out[k] = step
        impulse_out[k] = lam[k] + step
        C_out[k] = C_out[k] + regularised[k] * regularisation * diagonal[k]
        D = C_out[k]
        on_out[k] = zero
        if diagonal[k] * large > C_out[k]:
            on_out[k] = one
            D = D + diagonal[k]
        inverse_out[k] = zero
        if zero != D:
            inverse_out[k] = one / D


# ---- matrices and momentum -------------------------------------------------------------------------------------------


@wp.kernel
def multiply(start: Ints, column: Ints, data: Reals, x: Reals, y_out: Reals):
    """One thread a row: y = M x."""
    i = wp.tid()
    total = x.dtype(0.0)
    for k in range(start[i], start[i + 1]):
        total = total + data[k] * x[column[k]]
    y_out[i] = total


@wp.kernel
def subtract(a: Reals, b: Reals, out: Reals):
    """One thread an entry: out = a - b."""
    i = wp.tid()
    out[i] = a[i] - b[i]


@wp.kernel
def add_share(share: Any, a: Reals, b: Reals, to: Reals):
    """One thread an entry: to += share (a + b)."""
    i = wp.tid()
    to[i] = to[i] + share * (a[i] + b[i])


@wp.kernel
def copy(a: Reals, out: Reals):
    """One thread an entry: out = a."""
    i = wp.tid()
    out[i] = a[i]


# ---- conjugate residuals, see linalg/krylov.py -----------------------------------------------------------------------


@wp.kernel
def right_side(
    chunk: Ints, on: Reals, answer: Reals, sign: Any, h: Reals, inverse: Reals, x_out: Reals, r_out: Reals,
    z_out: Reals, p_out: Rows, square_out: Reals, weighted_out: Reals,
):  # fmt: skip
    """One thread a chunk of rows: r = b = on (sign answer - h), x = p = S p = 0, and the squares of r."""
    q = wp.tid()
    square, weighted = r_out.dtype(0.0), r_out.dtype(0.0)
    for k in range(chunk[q], chunk[q + 1]):
        b = on[k] * (sign * answer[k] - h[k])
        x_out[k] = r_out.dtype(0.0)
        p_out[0, k] = r_out.dtype(0.0)
        p_out[1, k] = r_out.dtype(0.0)
        r_out[k] = b
        z_out[k] = inverse[k] * b
        square = square + b * b
        weighted = weighted + b * b * inverse[k]
    square_out[q] = square
    weighted_out[q] = weighted


@wp.kernel
def begin(first_chunk: Ints, tolerance: Any, square: Reals, weighted: Reals, state: Reals, done: Ints, undo: Ints):
    """One thread an island: state (5 a row) is target, r . r, r . D^-1 r, the last z . S z, alpha."""
    i = wp.tid()
    a, b = square.dtype(0.0), square.dtype(0.0)
    for q in range(first_chunk[i], first_chunk[i + 1]):
        a = a + square[q]
        b = b + weighted[q]
    state[5 * i] = tolerance * tolerance * a
    state[5 * i + 1] = a
    state[5 * i + 2] = b
    state[5 * i + 3] = square.dtype(0.0)
    state[5 * i + 4] = square.dtype(0.0)
    done[i] = 0
    undo[i] = 0


@wp.kernel
def energies(chunk: Ints, on: Reals, C: Reals, answer: Reals, z: Reals, Sz_out: Reals, energy_out: Reals):
    """One thread a chunk: S z = on (J H^-1 J^T z) + C z, and z . S z."""
    q = wp.tid()
    energy = z.dtype(0.0)
    for k in range(chunk[q], chunk[q + 1]):
        Sz = on[k] * (answer[k] + C[k] * z[k])
        Sz_out[k] = Sz
        energy = energy + z[k] * Sz
    energy_out[q] = energy


@wp.kernel
def choose_direction(
    first_chunk: Ints, energy: Reals, null_space: Any, state: Reals, done: Ints, now_out: Reals, beta_out: Reals
):
    """One thread an island: beta, or the end."""
    i = wp.tid()
    total = energy.dtype(0.0)
    for q in range(first_chunk[i], first_chunk[i + 1]):
        total = total + energy[q]
    beta_out[i] = energy.dtype(0.0)
    now_out[i] = total
    if done[i] == 0:
        if state[5 * i + 1] > state[5 * i] and total > null_space * state[5 * i + 2]:
            if state[5 * i + 3] > energy.dtype(0.0):
                beta_out[i] = total / state[5 * i + 3]
        else:
            done[i] = 1


@wp.kernel
def turn(
    chunk: Ints, island: Ints, done: Ints, beta: Reals, z: Reals, Sz: Reals, inverse: Reals, p: Reals, Sp: Reals,
    size_out: Reals,
):  # fmt: skip
    """One thread a chunk: p = z + beta p, S p, and S p . D^-1 S p."""
    q = wp.tid()
    i = island[q]
    size = p.dtype(0.0)
    if done[i] == 0:
        for k in range(chunk[q], chunk[q + 1]):
            p[k] = z[k] + beta[i] * p[k]
            Sp[k] = Sz[k] + beta[i] * Sp[k]
            size = size + Sp[k] * Sp[k] * inverse[k]
    size_out[q] = size


@wp.kernel
def choose_length(first_chunk: Ints, size: Reals, now: Reals, state: Reals, done: Ints):
    """One thread an island: alpha, or the end."""
    i = wp.tid()
    total = size.dtype(0.0)
    for q in range(first_chunk[i], first_chunk[i + 1]):
        total = total + size[q]
    if done[i] == 0:
        if total > size.dtype(0.0) and wp.isfinite(total):
            state[5 * i + 4] = now[i] / total
        else:
            done[i] = 1


@wp.kernel
def advance(
    chunk: Ints, island: Ints, done: Ints, state: Reals, inverse: Reals, p: Reals, Sp: Reals, x: Reals, r: Reals,
    z_out: Reals, square_out: Reals, weighted_out: Reals,
):  # fmt: skip
    """One thread a chunk: x += alpha p, r -= alpha S p, the next z, and the squares of r."""
    q = wp.tid()
    i = island[q]
    square, weighted = r.dtype(0.0), r.dtype(0.0)
    if done[i] == 0:
        alpha = state[5 * i + 4]
        for k in range(chunk[q], chunk[q + 1]):
            x[k] = x[k] + alpha * p[k]
            r[k] = r[k] - alpha * Sp[k]
            z_out[k] = inverse[k] * r[k]
            square = square + r[k] * r[k]
            weighted = weighted + r[k] * r[k] * inverse[k]
    square_out[q] = square
    weighted_out[q] = weighted


@wp.kernel
def judge(
    first_chunk: Ints, square: Reals, weighted: Reals, now: Reals, state: Reals, done: Ints, undo: Ints, steps: Ints
):
    """One thread an island: a residual that no longer falls is as small as rounding lets it be."""
    i = wp.tid()
    if done[i] == 0:
        a, b = square.dtype(0.0), square.dtype(0.0)
        for q in range(first_chunk[i], first_chunk[i + 1]):
            a = a + square[q]
            b = b + weighted[q]
        if b < state[5 * i + 2]:
            state[5 * i + 1] = a
            state[5 * i + 2] = b
            state[5 * i + 3] = now[i]
            steps[i] = steps[i] + 1
        else:
            done[i] = 1
            undo[i] = 1


@wp.kernel
def take_back(chunk: Ints, island: Ints, undo: Ints, state: Reals, p: Reals, x: Reals):
    """One thread a chunk: x without the last step of islands where that was rounding."""
    q = wp.tid()
    i = island[q]
    if undo[i] == 1:
        for k in range(chunk[q], chunk[q + 1]):
            x[k] = x[k] - state[5 * i + 4] * p[k]


# Both precisions are compiled at once: Warp compiles a module anew for each type that it meets later.
for _kernel in wp.get_module(__name__).kernels.values():
    for _real in (wp.float64, wp.float32):
        _types = {arg.label: arg.type for arg in _kernel.adj.args}
        _generic = {name: _real if type_ is Any else type_ for name, type_ in _types.items()}
        _generic |= {
            name: wp.array(dtype=_real, ndim=type_.ndim)
            for name, type_ in _types.items()
            if getattr(type_, "dtype", None) is Any
        }
        wp.overload(_kernel, _generic)
