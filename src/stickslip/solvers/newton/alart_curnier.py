"""The semismooth derivative of friction, in the place of the fixed point of [macklin2019] eq. (35).

With forces f = lam_f / mu and slips s = mu u_f, in which friction sets are balls of radius lam_n, [alart1991] has

    F = f - P(f - s / r),      P: the projection onto the ball of radius max(lam_n, 0),      r = mu^2 diag W

Where f - s / r is inside the ball the contact sticks, s = 0. Where it is outside, along the unit vector e, and with
beta = lam_n / |f - s / r| <= 1 and t across e,

    df_e - dlam_n = -F_e,           (1 - beta) df_t + (beta / r) ds_t = -F_t.

So the impulse of friction along e follows that of the normal row, which acts along J_n + e^T J_s instead of J_n: that
makes the matrix over velocities unsymmetric, and convergence superlinear. The first friction row becomes e^T J_s, which
leaves the system, its own step known; the others are turned into t, with compliance (1 - beta) r / beta.
"""

from __future__ import annotations

from math import sqrt

from stickslip.contact.laws import CONTACT
from stickslip.jit import inner_kernel, kernel
from stickslip.solvers.newton.rows import LARGE


@inner_kernel
def _direction(e):
    """A reflection I - 2 w w^T / |w|^2 that takes the first axis to the unit vector e (d,): w, |w|^2."""
    a, b, c = e[0] - 1.0, e[1], e[2]
    return a, b, c, a * a + b * b + c * c


@kernel
def semismooth_rows(J, laws, lam, u, diagonal, terms_out, data_out, acting_out, e_out):
    """Turn the friction rows of contacts; the largest error of friction.

    terms (5, m): C, h, known and error of rows.row_terms, which become those of turned friction rows, in their
    coordinates, and the diagonal, which is scaled with them; data, acting: those of J, which are turned as well; e_out
    (n, 3): unit vectors of sliding contacts.
    """
    C_out, h_out, known_out, error_out, weight_out = (
        terms_out[0],
        terms_out[1],
        terms_out[2],
        terms_out[3],
        terms_out[4],
    )
    worst = 0.0
    mu, s, f = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for c in range(J.row_start.shape[0] - 1):
        e_out[c, 0], e_out[c, 1], e_out[c, 2] = 0.0, 0.0, 0.0
        if laws.law[c] != CONTACT:
            continue
        i, end = J.row_start[c], J.row_start[c + 1]
        limit = lam[i]
        if not limit > 0.0:
            continue  # friction leaves with the normal impulse, as row_terms has it
        size, smallest = 0.0, 0.0
        rubs = True
        for k in range(i + 1, end):
            m = laws.friction[c, k - i - 1]
            rubs = rubs and m > 0.0
            if not m > 0.0:
                break
            r = m * m * diagonal[k]
            smallest = r if k == i + 1 else min(smallest, r)
        if not rubs or not smallest > 0.0:
            continue
        r, d = smallest, end - i - 1
        for j in range(d):
            k = i + 1 + j
            mu[j] = laws.friction[c, j]
            s[j], f[j] = mu[j] * u[k], lam[k] / mu[j]
            e_out[c, j] = f[j] - s[j] / r
            size += e_out[c, j] ** 2
        size = sqrt(size)
        if size <= limit:
            for j in range(d):  # sticks
                k = i + 1 + j
                e_out[c, j] = 0.0
                C_out[k], h_out[k], known_out[k], error_out[k] = 0.0, u[k], 0.0, abs(u[k])
                worst = max(worst, abs(u[k]))
            continue
        beta = limit / size
        along = 0.0
        for j in range(d):
            e_out[c, j] /= size
            along += f[j] * e_out[c, j]
        a, b, g, square = _direction(e_out[c])
        compliance = (1.0 - beta) * r / beta
        # F in turned coordinates: reflect f - limit e, whose first entry is F_e
        F0, F1, F2 = f[0] - limit * e_out[c, 0], 0.0, 0.0
        if d > 1:
            F1 = f[1] - limit * e_out[c, 1]
        if d > 2:
            F2 = f[2] - limit * e_out[c, 2]
        F0, F1, F2 = _reflect(F0, F1, F2, a, b, g, square)
        for j in range(d):
            k = i + 1 + j
            F = F0 if j == 0 else F1 if j == 1 else F2
            error_out[k] = abs(F) * r
            weight_out[k] = smallest
            worst = max(worst, abs(F) * r)
            if j == 0:
                C_out[k], h_out[k], known_out[k] = 2.0 * LARGE * max(diagonal[k], r), 0.0, -F
            else:
                C_out[k], h_out[k], known_out[k] = compliance, F * r / beta, 0.0
        for p in range(J.entry_start[c], J.entry_start[c + 1]):
            column = J.entry_column[p]
            width, at = J.column_start[column + 1] - J.column_start[column], J.data_start[p]
            for x in range(width):
                y0 = mu[0] * J.data[at + width + x]
                y1 = mu[1] * J.data[at + 2 * width + x] if d > 1 else 0.0
                y2 = mu[2] * J.data[at + 3 * width + x] if d > 2 else 0.0
                y0, y1, y2 = _reflect(y0, y1, y2, a, b, g, square)
                for j in range(d):
                    y = y0 if j == 0 else y1 if j == 1 else y2
                    data_out[at + (1 + j) * width + x] = y
                    acting_out[at + (1 + j) * width + x] = y
                acting_out[at + x] += y0
    return worst


@inner_kernel
def _reflect(x, y, z, a, b, c, square):
    """(I - 2 w w^T / |w|^2) (x, y, z) for w = (a, b, c)."""
    if not square > 0.0:
        return x, y, z
    along = 2.0 * (a * x + b * y + c * z) / square
    return x - along * a, y - along * b, z - along * c


@kernel
def turn_back(J, laws, e, dlam, dlam_out):
    """Steps of impulses in turned coordinates (m,) as those of the rows themselves; sliding follows the normal."""
    for k in range(dlam.shape[0]):
        dlam_out[k] = dlam[k]
    for c in range(e.shape[0]):
        if e[c, 0] == 0.0 and e[c, 1] == 0.0 and e[c, 2] == 0.0:
            continue
        i, d = J.row_start[c], J.row_start[c + 1] - J.row_start[c] - 1
        a, b, g, square = _direction(e[c])
        x = dlam[i + 1] + dlam[i]
        y = dlam[i + 2] if d > 1 else 0.0
        z = dlam[i + 3] if d > 2 else 0.0
        x, y, z = _reflect(x, y, z, a, b, g, square)
        for j in range(d):
            dlam_out[i + 1 + j] = laws.friction[c, j] * (x if j == 0 else y if j == 1 else z)
