"""Contacts and joints of the scheme "passive", whose unknown is the mean velocity of a step ([lee2023] eq. 4-9).

Positions advance with v = (v_0 + v_end) / 2, and velocities end at v_end = 2 v - v_0. The work of an impulse lam is
lam . J v exactly, so a contact gives no energy to the bodies if its normal velocity u is not above zero and its
friction opposes slip: the law is u + phi >= 0 with phi >= 0. But with phi = gap / h alone, u = -gap / h returns what
comes with u_0 at u_end = -2 gap / h - u_0: a body that touches bounces with restitution one, and one at rest keeps the
smallest velocity for ever, with the other sign after every step. So the law is about where a contact would be half a
step after the end, gap_end + h u_end / 2 >= 0, which in u is

    phi = gap / (2 h) - u_0 / 4.

While it pushes, (gap, h u) become (gap / 2 + h u_0 / 4, -gap - h u_0 / 2): both are zero after two such steps, and no
gap is negative in between. A body lands without a bounce, and rests without a tremor. A contact that keeps to it never
comes nearer than h |u_0| / 2; one that does all the same, because it was found late, is stopped by phi = -u_0 / 2,
which makes u_end = 0, and overlaps by less than h |u_0| / 2. Both together, never below zero:

    phi = max(0, gap / (2 h) - u_0 / 4, -u_0 / 2).

With restitution e > 0 contacts that come faster than ``restitution_speed`` leave with -e u_0, phi = -(1 - e) u_0 / 2,
in the last step in which that leaves no overlap, gap < (3 - e) h |u_0| / 2. Overlaps end the step with the speed r of
their recovery, phi = -(min(u_0, r) + r) / 2; this alone gives energy, as in all schemes. Friction opposes the mean
slip, in impacts that at the end of the step: tangential restitution e_t there is the bias -(1 - e_t) u_0 / 2.
"""

from __future__ import annotations

from stickslip.jit import kernel


@kernel
def allowed_approach(gap, speed, h, recovery, fastest):
    """phi [m/s] of a contact with this gap [m] that opens at ``speed`` [m/s] before a step of h; no restitution."""
    if gap >= 0.0:
        return max(0.0, 0.5 * gap / h - 0.25 * speed, -0.5 * speed)
    back = min(-recovery * gap / h, fastest)
    return -0.5 * (min(speed, back) + back)


@kernel
def mean_gap_bias(gap, restitution, before, h, slop, recovery, fastest, least, bias_out):
    """Part of the bias (nc, rows) [m/s] that gaps (nc,) [m] and impacts make; before (nc, rows) [m/s] at the start.

    See the top of this file; gaps within ``slop`` count as zero.
    """
    for c in range(gap.shape[0]):
        speed, e = before[c, 0], restitution[c, 0]
        distance = max(gap[c] - slop, 0.0) + min(gap[c] + slop, 0.0)
        bias_out[c, 0] = allowed_approach(distance, speed, h, recovery, fastest)
        hits = speed < -least
        if hits and e > 0.0 and distance < -0.5 * (3.0 - e) * h * speed:
            bias_out[c, 0] = min(bias_out[c, 0], -0.5 * (1.0 - e) * speed)
        hits = hits and distance < -1.5 * h * speed
        for k in range(1, before.shape[1]):
            bias_out[c, k] = -0.5 * (1.0 - restitution[c, 1]) * before[c, k] if hits else 0.0
