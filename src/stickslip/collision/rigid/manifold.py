"""How a narrow-phase kernel writes one contact point."""

from stickslip.collision.arrays import FULL as FULL  # noqa: PLC0414  (kernels need both)
from stickslip.jit import kernel


@kernel
def record(row, k, on_a, normal, gap, feature, rows_out):
    """Write contact k of a pair whose rows start at ``row``, midway between the surfaces, and return k + 1.

    ``on_a`` is the point (m) on the surface of a, ``normal`` the unit vector from a to b, ``gap`` in m.
    """
    for c in range(3):
        rows_out.point[row + k, c] = on_a[c] + 0.5 * gap * normal[c]
        rows_out.normal[row + k, c] = normal[c]
    rows_out.gap[row + k] = gap
    rows_out.feature[row + k] = feature
    return k + 1
