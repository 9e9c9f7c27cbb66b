"""What a compiled step of a world wrote into the rooms of its thread, kept in the arrays of all worlds."""

from __future__ import annotations

from stickslip.jit import inner_kernel


@inner_kernel
def keep_state(out, q, v):
    """Coordinates (nq,) and velocities (nv,) at the end, which follow each other in ``out``."""
    for i in range(q.shape[0]):
        q[i] = out[i]
    for i in range(v.shape[0]):
        v[i] = out[q.shape[0] + i]


@inner_kernel
def keep_contacts(rooms, count, key, impulse):
    """Keys and impulses (count, 4) of contacts."""
    for c in range(count):
        key[c] = rooms.key[c]
        for j in range(4):
            impulse[c, j] = rooms.impulse[4 * c + j]


@inner_kernel
def keep_rows(rooms, count, number, impulse):
    """Numbers and impulses (count, 4) of rows over coordinates."""
    for r in range(count):
        number[r], impulse[r, 0] = rooms.number[r], rooms.row_impulse[r]


@inner_kernel
def keep_joints(found, angle, pushed):
    """Angles (nj, 2) and impulses of all rows of joints (k,)."""
    for j in range(angle.shape[0]):
        for x in range(2):
            angle[j, x] = found[0][j, x]
    for r in range(pushed.shape[0]):
        pushed[r] = found[1][r]
