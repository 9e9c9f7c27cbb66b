"""Kernels of the PROX iterations, [erleben2017] Alg. 1 and 2: one sweep over constraint blocks.

A sweep updates lam in place, and Gauss-Seidel sweeps v = v_free + A^-1 J^T lam beside it, so that no Delassus matrix
is needed (eq. 25-26). It returns the change of lam twice: the squared norm of weight times change, a velocity, in
which heavy and light contacts count alike; and the largest entry, the paper's merit (eq. 27).
"""

from math import sqrt

from stickslip.contact.laws import CONTACT, project_row, project_scaled
from stickslip.jit import kernel


@kernel
def sweep_discs(first, last, J, entries, inverses, bias, laws, weight, factors, factor, lam, v):
    """Alg. 2 lines 4-10 for isotropic contacts between rigid bodies, in place, for the contacts first to last - 1.

    entries (ne, 3, 6): J; inverses (nb, 7): A^-1 (linalg/inertia.py); bias and lam (n, 3); v (nb, 6).
    """
    total, largest = 0.0, 0.0
    for c in range(first, last):
        u0, u1, u2 = bias[c, 0], bias[c, 1], bias[c, 2]
        start, end = J.entry_start[c], J.entry_start[c + 1]
        for e in range(start, end):
            d, x = entries[e], v[J.entry_column[e]]
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            u0 += d[0, 0] * x0 + d[0, 1] * x1 + d[0, 2] * x2 + d[0, 3] * x3 + d[0, 4] * x4 + d[0, 5] * x5
            u1 += d[1, 0] * x0 + d[1, 1] * x1 + d[1, 2] * x2 + d[1, 3] * x3 + d[1, 4] * x4 + d[1, 5] * x5
            u2 += d[2, 0] * x0 + d[2, 1] * x1 + d[2, 2] * x2 + d[2, 3] * x3 + d[2, 4] * x4 + d[2, 5] * x5
        old0, old1, old2 = lam[c, 0], lam[c, 1], lam[c, 2]
        new0 = max(0.0, old0 - factor * factors.row[3 * c] * u0)  # line 7
        r1, r2 = factor * factors.row[3 * c + 1], factor * factors.row[3 * c + 2]
        new1, new2, bound = old1 - r1 * u1, old2 - r2 * u2, laws.friction[c, 0] * new0  # line 8, laws.project_disc
        length = sqrt(new1 * new1 + new2 * new2)
        if not length <= bound:
            s = bound / length
            new1, new2 = s * new1, s * new2
        d0, d1, d2 = new0 - old0, new1 - old1, new2 - old2
        if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
            continue
        lam[c, 0], lam[c, 1], lam[c, 2] = new0, new1, new2
        total += weight[c] ** 2 * (d0 * d0 + d1 * d1 + d2 * d2)
        largest = max(largest, abs(d0), abs(d1), abs(d2))
        for e in range(start, end):  # line 9
            d, b = entries[e], J.entry_column[e]
            f0, f1, f2 = d[0, 0] * d0, d[0, 1] * d0, d[0, 2] * d0
            f3, f4, f5 = d[0, 3] * d0, d[0, 4] * d0, d[0, 5] * d0
            f0, f1, f2 = f0 + d[1, 0] * d1, f1 + d[1, 1] * d1, f2 + d[1, 2] * d1
            f3, f4, f5 = f3 + d[1, 3] * d1, f4 + d[1, 4] * d1, f5 + d[1, 5] * d1
            f0, f1, f2 = f0 + d[2, 0] * d2, f1 + d[2, 1] * d2, f2 + d[2, 2] * d2
            f3, f4, f5 = f3 + d[2, 3] * d2, f4 + d[2, 4] * d2, f5 + d[2, 5] * d2
            push(inverses[b], v[b], f0, f1, f2, f3, f4, f5)
    return total, largest


@kernel
def push(m, x, f0, f1, f2, f3, f4, f5):
    """x += A^-1 f of one rigid body, eq. (26); the numbers of f and m = (1/m, xx, xy, xz, yy, yz, zz) one by one."""
    x[0] += m[0] * f0
    x[1] += m[0] * f1
    x[2] += m[0] * f2
    x[3] += m[1] * f3 + m[2] * f4 + m[3] * f5
    x[4] += m[2] * f3 + m[4] * f4 + m[5] * f5
    x[5] += m[3] * f3 + m[5] * f4 + m[6] * f5


@kernel
def sweep_torsion(first, last, J, entries, inverses, bias, laws, weight, factors, factor, lam, v):
    """As sweep_discs for contacts with a torsional row and any friction set; entries (ne, 4, 6), lam (n, 4)."""
    total, largest = 0.0, 0.0
    for c in range(first, last):
        u0, u1, u2, u3 = bias[c, 0], bias[c, 1], bias[c, 2], bias[c, 3]
        start, end = J.entry_start[c], J.entry_start[c + 1]
        for e in range(start, end):
            d, x = entries[e], v[J.entry_column[e]]
            x0, x1, x2, x3, x4, x5 = x[0], x[1], x[2], x[3], x[4], x[5]
            u0 += d[0, 0] * x0 + d[0, 1] * x1 + d[0, 2] * x2 + d[0, 3] * x3 + d[0, 4] * x4 + d[0, 5] * x5
            u1 += d[1, 0] * x0 + d[1, 1] * x1 + d[1, 2] * x2 + d[1, 3] * x3 + d[1, 4] * x4 + d[1, 5] * x5
            u2 += d[2, 0] * x0 + d[2, 1] * x1 + d[2, 2] * x2 + d[2, 3] * x3 + d[2, 4] * x4 + d[2, 5] * x5
            u3 += d[3, 3] * x3 + d[3, 4] * x4 + d[3, 5] * x5
        old0, old1, old2, old3 = lam[c, 0], lam[c, 1], lam[c, 2], lam[c, 3]
        new0 = max(0.0, old0 - factor * factors.row[4 * c] * u0)
        new1, new2, new3 = 0.0, 0.0, 0.0
        if new0 > 0.0:
            z1, z2, z3 = friction_step(factors.friction[c], factor, old1, old2, old3, u1, u2, u3)
            new1, new2, new3 = project_scaled(
                laws.friction_set[c], z1, z2, z3, factors.length[c], new0,
                laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2],
            )  # fmt: skip
        d0, d1, d2, d3 = new0 - old0, new1 - old1, new2 - old2, new3 - old3
        if d0 == 0.0 and d1 == 0.0 and d2 == 0.0 and d3 == 0.0:
            continue
        lam[c, 0], lam[c, 1], lam[c, 2], lam[c, 3] = new0, new1, new2, new3
        turn = d3 / factors.length[c]
        total += weight[c] ** 2 * (d0 * d0 + d1 * d1 + d2 * d2 + turn * turn)
        largest = max(largest, abs(d0), abs(d1), abs(d2), abs(d3))
        for e in range(start, end):
            d, b = entries[e], J.entry_column[e]
            f0, f1, f2 = d[0, 0] * d0, d[0, 1] * d0, d[0, 2] * d0
            f3, f4, f5 = d[0, 3] * d0, d[0, 4] * d0, d[0, 5] * d0
            f0, f1, f2 = f0 + d[1, 0] * d1, f1 + d[1, 1] * d1, f2 + d[1, 2] * d1
            f3, f4, f5 = f3 + d[1, 3] * d1, f4 + d[1, 4] * d1, f5 + d[1, 5] * d1
            f0, f1, f2 = f0 + d[2, 0] * d2, f1 + d[2, 1] * d2, f2 + d[2, 2] * d2
            f3, f4, f5 = f3 + d[2, 3] * d2, f4 + d[2, 4] * d2, f5 + d[2, 5] * d2
            push(inverses[b], v[b], f0, f1, f2, f3 + d[3, 3] * d3, f4 + d[3, 4] * d3, f5 + d[3, 5] * d3)
    return total, largest


@kernel
def friction_step(R, factor, lam1, lam2, lam3, u1, u2, u3):
    """z = lam - factor R u of the friction rows, eq. (25)."""
    return (
        lam1 - factor * (R[0, 0] * u1 + R[0, 1] * u2 + R[0, 2] * u3),
        lam2 - factor * (R[1, 0] * u1 + R[1, 1] * u2 + R[1, 2] * u3),
        lam3 - factor * (R[2, 0] * u1 + R[2, 1] * u2 + R[2, 2] * u3),
    )


@kernel
def updated_contact(c, i, dim, laws, factors, factor, lam, u0, u1, u2, u3, bound):
    """New impulses of a contact from z = lam - R u; friction within ``bound``, the normal impulse where negative."""
    new0 = max(0.0, lam[i] - factor * factors.row[i] * u0)
    old3 = lam[i + 3] if dim > 3 else 0.0
    z1, z2, z3 = friction_step(factors.friction[c], factor, lam[i + 1], lam[i + 2], old3, u1, u2, u3)
    new1, new2, new3 = project_scaled(
        laws.friction_set[c], z1, z2, z3, factors.length[c], new0 if bound < 0.0 else bound,
        laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2],
    )  # fmt: skip
    return new0, new1, new2, new3


@kernel
def sweep_blocks(first, last, J, response, bias, laws, weight, factors, factor, lam, v, room):
    """Alg. 2 lines 4-10 for blocks of every law, in place, first to last - 1; room (largest block,) is scratch."""
    total, largest = 0.0, 0.0
    for c in range(first, last):
        i = J.row_start[c]
        dim = J.row_start[c + 1] - i
        if laws.law[c] == CONTACT:
            u0, u1, u2, u3 = bias[i], bias[i + 1], bias[i + 2], bias[i + 3] if dim > 3 else 0.0
            for e in range(J.entry_start[c], J.entry_start[c + 1]):
                x = J.column_start[J.entry_column[e]]
                width = J.column_start[J.entry_column[e] + 1] - x
                at = J.data_start[e]
                for j in range(width):
                    s = v[x + j]
                    u0 += J.data[at + j] * s
                    u1 += J.data[at + width + j] * s
                    u2 += J.data[at + 2 * width + j] * s
                    if dim > 3:
                        u3 += J.data[at + 3 * width + j] * s
            new0, new1, new2, new3 = updated_contact(c, i, dim, laws, factors, factor, lam, u0, u1, u2, u3, -1.0)
            d0, d1, d2 = new0 - lam[i], new1 - lam[i + 1], new2 - lam[i + 2]
            lam[i], lam[i + 1], lam[i + 2] = new0, new1, new2
            total += weight[c] ** 2 * (d0 * d0 + d1 * d1 + d2 * d2)
            largest = max(largest, abs(d0), abs(d1), abs(d2))
            respond(response, c, 0, d0, v)
            respond(response, c, 1, d1, v)
            respond(response, c, 2, d2, v)
            if dim > 3:
                d3 = new3 - lam[i + 3]
                lam[i + 3] = new3
                total += (weight[c] * d3 / factors.length[c]) ** 2
                largest = max(largest, abs(d3))
                respond(response, c, 3, d3, v)
        elif factors.joint_start[c + 1] > factors.joint_start[c]:
            change, most = _sweep_joint(c, J, response, bias, laws, factors, factor, lam, v, room)
            total += change
            largest = max(largest, most)
        else:
            # rows one after another: each is a scalar problem
            for k in range(i, i + dim):
                z = lam[k] - factor * factors.row[k] * row_velocity(c, k, J, bias, laws, lam, v)
                new0 = project_row(laws.law[c], z, laws.bound[k])
                step = new0 - lam[k]
                lam[k] = new0
                largest = max(largest, abs(step))
                if factors.row[k] > 0.0:
                    total += (step / factors.row[k]) ** 2
                respond(response, c, k - i, step, v)
    return total, largest


@kernel
def row_velocity(c, k, J, bias, laws, lam, v):
    """u + compliance lam of row k, which is one of block c."""
    total = bias[k] + laws.compliance[k] * lam[k]
    for e in range(J.entry_start[c], J.entry_start[c + 1]):
        x = J.column_start[J.entry_column[e]]
        width = J.column_start[J.entry_column[e] + 1] - x
        at = J.data_start[e] + (k - J.row_start[c]) * width
        for j in range(width):
            total += J.data[at + j] * v[x + j]
    return total


@kernel
def _sweep_joint(c, J, response, bias, laws, factors, factor, lam, v, room):
    """lam -= R u of all rows of a joint at once, in place; room (its rows,) holds their velocities."""
    total, largest = 0.0, 0.0
    i = J.row_start[c]
    dim = J.row_start[c + 1] - i
    for k in range(dim):
        room[k] = row_velocity(c, i + k, J, bias, laws, lam, v)
    for k in range(dim):
        step = -factor * joint_row(c, k, dim, factors, room, 0)
        lam[i + k] += step
        largest = max(largest, abs(step))
        if factors.row[i + k] > 0.0:
            total += (step / factors.row[i + k]) ** 2
        respond(response, c, k, step, v)
    return total, largest


@kernel
def joint_row(c, k, dim, factors, u, first):
    """Row k of R u of the joint c, whose velocities start at u[first]."""
    at = factors.joint_start[c] + k * dim
    total = 0.0
    for j in range(dim):
        total += factors.joint[at + j] * u[first + j]
    return total


@kernel
def respond(response, c, k, step, v):
    """v += response of row k of block c to an impulse, eq. (26), in place."""
    if step == 0.0:
        return
    for e in range(response.entry_start[c], response.entry_start[c + 1]):
        x = response.column_start[response.entry_column[e]]
        width = response.column_start[response.entry_column[e] + 1] - x
        at = response.data_start[e] + k * width
        for j in range(width):
            v[x + j] += response.data[at + j] * step


@kernel
def update_jacobi(row_start, laws, weight, factors, factor, u, lam, lam_out):
    """Alg. 1 lines 4-10: lam_out from lam and u; the friction set is that of the old normal impulse.

    u = J v + bias, and to it compliance lam is added in place in rows of other laws than CONTACT.
    """
    total, largest = 0.0, 0.0
    for c in range(row_start.shape[0] - 1):
        i = row_start[c]
        dim = row_start[c + 1] - i
        contact = laws.law[c] == CONTACT
        if contact:
            u3 = u[i + 3] if dim > 3 else 0.0
            new0, new1, new2, new3 = updated_contact(
                c, i, dim, laws, factors, factor, lam, u[i], u[i + 1], u[i + 2], u3, max(lam[i], 0.0)
            )
            lam_out[i], lam_out[i + 1], lam_out[i + 2] = new0, new1, new2
            if dim > 3:
                lam_out[i + 3] = new3
        else:
            for k in range(i, i + dim):
                u[k] += laws.compliance[k] * lam[k]
            for k in range(i, i + dim):
                if factors.joint_start[c + 1] > factors.joint_start[c]:
                    lam_out[k] = lam[k] - factor * joint_row(c, k - i, dim, factors, u, i)
                else:
                    lam_out[k] = project_row(laws.law[c], lam[k] - factor * factors.row[k] * u[k], laws.bound[k])
        for k in range(i, i + dim):
            step = lam_out[k] - lam[k]
            largest = max(largest, abs(step))
            if contact:
                total += (weight[c] * (step / factors.length[c] if k == i + 3 else step)) ** 2
            elif factors.row[k] > 0.0:
                total += (step / factors.row[k]) ** 2
    return sqrt(total), largest
