"""Points of soft surfaces: how the velocity of a point follows from those of its nodes."""

from stickslip.jit import kernel


@kernel
def node_rows(data_out, at, weight, frame):
    """Rows of a node: weight d for d = n, t1, t2. Returns where the next entry starts."""
    for k in range(3):
        d = frame[k]
        for j in range(3):
            data_out[at + 3 * k + j] = weight * d[j]
    return at + 9
