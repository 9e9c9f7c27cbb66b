"""Points of rigid bodies: how the velocity of a point follows from that of its body."""

from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross


@kernel
def body_rows(data_out, at, sign, frame, arm, rows):
    """Rows of a rigid side: sign [d, arm x d] for d = n, t1, t2, and sign [0, n] for torsion, [erleben2017] eq. (56).

    Returns where the next entry starts.
    """
    for k in range(3):
        d = frame[k]
        turn = cross(arm, d)
        for j in range(3):
            data_out[at + 6 * k + j] = sign * d[j]
            data_out[at + 6 * k + 3 + j] = sign * turn[j]
    if rows > 3:
        n = frame[0]
        for j in range(3):
            data_out[at + 18 + j] = 0.0
            data_out[at + 21 + j] = sign * n[j]
    return at + 6 * rows
