"""Compliant contacts, [castro2022]: what their springs and dampers bring to the rows of a step, and hold.

A contact point of stiffness k [N/m] and dissipation time tau [s] that is pressed in by d = -g, g the gap, pushes with

    f = k max(0, d + tau d')

at the end of the step. With u = g' + g_0 / (T + tau), g_0 the gap where the contact was found, T the time from there to
the end of the step and h the time over which the impulse lam = h f acts, that is

    0 <= u + C lam,   0 <= lam,   (u + C lam) lam = 0,      C = 1 / (h k (T + tau))

Where the gap is still open, g_0 > 0, u = g' + g_0 / T: the damper resists the part of the displacement that is left
after bodies touch. With T + tau it would push bodies that have yet to meet, from as far away as contacts are sought.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.jit import kernel
from stickslip.model.stepping import Stepping


def normal_compliance(compliance: Array, stepping: Stepping, rows: int = 3) -> Array:
    """C (rows nc,) [1/kg] of all rows of contacts of (nc, 2) 1 / k [m/N] and tau [s]; zero where k is infinite."""
    found = np.zeros(rows * len(compliance))
    normal_compliances(compliance, stepping.dt, stepping.horizon, rows, found)
    return found


@kernel
def closing_speed(gap, dissipation, horizon):
    """Part of the bias [m/s] that the gap [m] of a compliant contact of this dissipation time [s] makes."""
    return gap / (horizon if gap > 0.0 else horizon + dissipation)


def spring_energies(
    gap: Array,
    compliance: Array,
    u_before: Array,
    u: Array,
    lam: Array,
    h: float,
    horizon: float,
) -> tuple[Array, Array, Array]:
    """Energies (nc,) [J] of the springs of a step's contacts before and after it, and what their dampers took.

    gap (nc,) [m] where contacts were found, u_before and u (nc,) [m/s] normal rows before and after a step of h [s],
    lam (nc,) [N s] normal impulses. Gaps at both ends follow from these velocities. A spring that is let go so fast
    that its damper holds it back gives all it loses to the damper.
    """
    found = np.zeros((3, len(gap)))
    _spring_energies(gap, compliance, u_before, u, lam, h, horizon, found)
    return found[0], found[1], found[2]


@kernel
def normal_compliances(compliance, h, horizon, rows, out):
    """C of the normal row of each contact."""
    for c in range(compliance.shape[0]):
        out[rows * c] = compliance[c, 0] / (h * (horizon + compliance[c, 1]))


@kernel
def _spring_energies(gap, compliance, u_before, u, lam, h, horizon, found_out):
    """See ``spring_energies``; found_out (3, nc) comes in zeroed."""
    for c in range(gap.shape[0]):
        if not compliance[c, 0] > 0.0:
            continue
        k, tau = 1.0 / compliance[c, 0], compliance[c, 1]
        closing = closing_speed(gap[c], tau, horizon)
        start = min(gap[c] - (h - horizon) * (u_before[c] - closing), 0.0)
        end = min(gap[c] + horizon * (u[c] - closing), 0.0)
        before, after = 0.5 * k * (start * start), 0.5 * k * (end * end)
        if lam[c] > 0.0:
            pressing = (end - min(gap[c], 0.0)) / horizon
            damped = h * k * tau * (pressing * pressing)
        else:
            damped = max(before - after, 0.0) if tau > 0.0 else 0.0
        found_out[0, c], found_out[1, c], found_out[2, c] = before, after, damped
