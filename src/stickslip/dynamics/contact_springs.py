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
from stickslip.stepping import Stepping


def normal_compliance(compliance: Array, stepping: Stepping, rows: int = 3) -> Array:
    """C (rows nc,) [1/kg] of all rows of contacts of (nc, 2) 1 / k [m/N] and tau [s]; zero where k is infinite."""
    found = np.zeros((len(compliance), rows))
    found[:, 0] = compliance[:, 0] / (stepping.dt * (stepping.horizon + compliance[:, 1]))
    return found.ravel()


def closing_speed(gap: Array, dissipation: Array, horizon: float) -> Array:
    """Part of the bias (nc,) [m/s] that the gaps (nc,) [m] of compliant contacts make."""
    return gap / np.where(gap > 0.0, horizon, horizon + dissipation)


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
    soft = np.flatnonzero(compliance[:, 0] > 0.0)
    found = np.zeros((3, len(gap)))
    k, tau = 1.0 / compliance[soft, 0], compliance[soft, 1]
    closing = closing_speed(gap[soft], tau, horizon)
    rate_before, rate = u_before[soft] - closing, u[soft] - closing
    start = np.minimum(gap[soft] - (h - horizon) * rate_before, 0.0)
    end = np.minimum(gap[soft] + horizon * rate, 0.0)
    before, after = 0.5 * k * start**2, 0.5 * k * end**2
    held_back = np.where(tau > 0.0, np.maximum(before - after, 0.0), 0.0)
    pressing = (end - np.minimum(gap[soft], 0.0)) / horizon
    damped = np.where(lam[soft] > 0.0, h * k * tau * pressing**2, held_back)
    found[0, soft], found[1, soft], found[2, soft] = before, after, damped
    return found[0], found[1], found[2]
