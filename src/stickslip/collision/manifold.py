"""How a narrow-phase kernel writes one contact point."""

from stickslip.jit import kernel


@kernel
def record(i, k, on_a, normal, gap, feature, point_out, normal_out, gap_out, feature_out):
    """Write contact k of pair i, midway between the surfaces, and return k + 1.

    ``on_a`` is the point (m) on the surface of a, ``normal`` the unit vector from a to b, ``gap`` in m.
    """
    for c in range(3):
        point_out[i, k, c] = on_a[c] + 0.5 * gap * normal[c]
        normal_out[i, k, c] = normal[c]
    gap_out[i, k] = gap
    feature_out[i, k] = feature
    return k + 1
