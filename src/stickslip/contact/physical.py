"""What a solution does wrong in physical units, besides the natural map: the same function for every solver.

Per contact, with impulses lam, velocities u of these impulses, and w = mean(diag W_cc), which turns an impulse into
a velocity (where a contact has compliance C, u_n stands for u_n + C lam_n, and C adds to W):

    Signorini        |min(u_n, w lam_n)| [m/s], and apart: -u_n [m/s], -lam_n [N s], |u_n lam_n| [J]
    cone             g(lam_f) - mu lam_n [N s] where positive
    dissipation      lam_n h(u_f) + lam_f . u_f [J]: zero where friction dissipates as much as it can

h(u) = max {-f . u : f in F} is the support function of the friction set F at unit normal impulse, mu |u_t| for a disc.
g is its gauge times mu, the largest coefficient: |lam_t| for a disc. Spins and impulses about the normal that no
friction resists count at ContactProblem.torsion_length. Self-consistency compares the velocities that a solver
returned with those of its impulses. For discs all this is what the reference implementation of the collection of
problems computes (tests/contact/test_physical.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from math import sqrt

import numpy as np

from stickslip.arrays import Array
from stickslip.contact.laws import BOUNDED, BOX_SET, CONTACT, LIMIT, project_row
from stickslip.contact.problem import ContactProblem
from stickslip.jit import kernel
from stickslip.linalg import block_rows
from stickslip.linalg.vectors import length

SIGNORINI, PENETRATION, TENSION, COMPLEMENTARITY, CONE, DISSIPATION, FEEDING, LIMITS, BILATERALS = range(9)
MEASURES = 9
OPEN, STICK, SLIP, NO_CONTACT = range(4)

NO_IMPULSE = 1e-9
"""A normal impulse below this share of the largest impulse is none, and its contact open; as in the reference."""
RIM = 1e-6
"""Friction within this share of its bound is at the bound, and its contact slips; as in the reference."""
LEAST = 1e-300
"""In the place of sizes that are zero, so that ratios are numbers."""


@dataclass(frozen=True)
class PhysicalResidual:
    """Errors of one solution, the largest over its blocks unless said otherwise; all zero for an exact solution."""

    signorini: float
    """[m/s] |min(u_n, w lam_n)|."""
    penetration: float
    """[m/s] approach that the law forbids, -u_n."""
    tension: float
    """[N s] impulse that pulls, -lam_n."""
    complementarity: float
    """[J] |u_n lam_n|."""
    cone: float
    """[N s] friction beyond its bound."""
    cone_relative: float
    """The same over the largest impulse of any row."""
    dissipation: float
    """[J] |lam_n h(u_f) + lam_f . u_f|, how far friction is from dissipating as much as it can."""
    dissipation_relative: float
    """The same summed over contacts, over |q| |lam|."""
    wrong_dissipation: float
    """[J] energy that friction feeds in, max(0, lam_f . u_f), summed over contacts."""
    bilateral: float
    """[m/s] |u + compliance lam| of bilateral and elastic rows."""
    limit: float
    """[m/s] |min(u + compliance lam, w lam)| of limits."""
    consistency: float
    """[m/s] |J (v - v_free - A^-1 J^T lam)|, the largest of any row: the returned v against the returned lam."""
    open: int
    """Contacts without an impulse."""
    stick: int
    """Contacts whose friction is inside its bound."""
    slip: int
    """Contacts whose friction is at its bound, or that have none."""

    def to_json(self) -> dict[str, float | int | None]:
        """Plain values, the unit at the end of each name; numbers that are not finite become None."""
        found: dict[str, float | int | None] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            found[item.name + UNITS.get(item.name, "")] = value if math.isfinite(value) else None
        return found


UNITS = {
    **dict.fromkeys(("signorini", "penetration", "bilateral", "limit", "consistency"), "_m_per_s"),
    **dict.fromkeys(("tension", "cone"), "_N_s"),
    **dict.fromkeys(("complementarity", "dissipation", "wrong_dissipation"), "_J"),
}
"""What JSON names end with."""


def physical_residual(problem: ContactProblem, lam: Array, v: Array | None = None) -> PhysicalResidual:
    """Errors of the impulses lam (m,); v (nv,) are the velocities a solver returned with them, where there is one."""
    v_of_lam = problem.velocity(lam)
    u = problem.law_velocity(lam, problem.constraint_velocity(v_of_lam))
    row_start, laws = problem.J.row_start, problem.laws
    contacts = laws.law == CONTACT
    largest = float(np.abs(lam).max(initial=LEAST))
    table, state = np.zeros((problem.block_count, MEASURES)), np.full(problem.block_count, NO_CONTACT, dtype=np.int32)
    _measure(row_start, laws, lam, u, problem.law_weight, problem.torsion_length, NO_IMPULSE * largest, table, state)
    peak = np.maximum(table.max(axis=0, initial=0.0), 0.0)
    size = max(problem.free_speed * float(length(lam)), LEAST)
    count = np.bincount(state, minlength=NO_CONTACT + 1)
    return PhysicalResidual(
        signorini=float(peak[SIGNORINI]),
        penetration=float(peak[PENETRATION]),
        tension=float(peak[TENSION]),
        complementarity=float(peak[COMPLEMENTARITY]),
        cone=float(peak[CONE]),
        cone_relative=float(peak[CONE]) / largest,
        dissipation=float(peak[DISSIPATION]),
        dissipation_relative=float(table[contacts, DISSIPATION].sum()) / size,
        wrong_dissipation=float(table[contacts, FEEDING].sum()),
        bilateral=float(peak[BILATERALS]),
        limit=float(peak[LIMITS]),
        consistency=0.0 if v is None else _inconsistency(problem, v - v_of_lam),
        open=int(count[OPEN]),
        stick=int(count[STICK]),
        slip=int(count[SLIP]),
    )


def _inconsistency(problem: ContactProblem, error: Array) -> float:
    """Largest |J error| [m/s] of velocities (nv,); spins about a normal count at the torsion length."""
    moved = np.abs(block_rows.apply(problem.J, error))
    turning = np.flatnonzero((problem.laws.law == CONTACT) & (np.diff(problem.J.row_start) > 3))
    moved[problem.J.row_start[turning] + 3] *= problem.torsion_length[turning]
    return float(moved.max(initial=0.0))


@kernel
def _measure(row_start, laws, lam, u, weight, torsion_length, no_impulse, table_out, state_out):
    """The measures of every block (n, MEASURES) and the state of every contact (n,)."""
    for c in range(row_start.shape[0] - 1):
        i, end = row_start[c], row_start[c + 1]
        out = table_out[c]
        if laws.law[c] == CONTACT:
            n, un = lam[i], u[i]
            z, uz = (lam[i + 3], u[i + 3]) if end - i > 3 else (0.0, 0.0)
            mu1, mu2, mu3 = laws.friction[c, 0], laws.friction[c, 1], laws.friction[c, 2]
            radius = torsion_length[c]
            top = max(mu1, mu2) if mu1 > 0.0 or mu2 > 0.0 else mu3 / radius
            bounded, free, most = _friction(
                laws.friction_set[c], lam[i + 1], lam[i + 2], z, u[i + 1], u[i + 2], uz, mu1, mu2, mu3, top, radius
            )
            rate = lam[i + 1] * u[i + 1] + lam[i + 2] * u[i + 2] + z * uz
            out[SIGNORINI] = abs(min(un, weight[c] * n))
            out[PENETRATION] = -un
            out[TENSION] = -n
            out[COMPLEMENTARITY] = abs(un * n)
            out[CONE] = max(bounded - top * n, free, 0.0)
            out[DISSIPATION] = abs(n * most + rate)
            out[FEEDING] = max(0.0, rate)
            if n <= no_impulse:
                state_out[c] = OPEN
            else:
                state_out[c] = STICK if bounded < top * n * (1.0 - RIM) else SLIP
        else:
            for k in range(i, end):
                gap = u[k] + laws.compliance[k] * lam[k]
                if laws.law[c] == LIMIT or laws.law[c] == BOUNDED:
                    s = weight[c] * lam[k]
                    left = s - project_row(laws.law[c], s - gap, weight[c] * laws.bound[k])
                    out[LIMITS] = max(out[LIMITS], abs(left))
                else:
                    out[BILATERALS] = max(out[BILATERALS], abs(gap))


@kernel
def _friction(friction_set, x, y, z, ux, uy, uz, mu1, mu2, mu3, top, radius):
    """Gauge of (x, y, z) times ``top``, impulse where there is no friction, support of -(ux, uy, uz).

    The first two are impulses [N s], torsion measured at the ``radius`` [m]; the third is a velocity [m/s].
    """
    bounded, free, most = 0.0, 0.0, 0.0
    for share, idle, slide in (
        _along(x, ux, mu1, top, 1.0), _along(y, uy, mu2, top, 1.0), _along(z, uz, mu3, top, radius)
    ):  # fmt: skip
        if friction_set == BOX_SET:
            bounded, free, most = max(bounded, share), max(free, idle), most + slide
        else:
            bounded, free, most = bounded + share * share, free + idle * idle, most + slide * slide
    if friction_set == BOX_SET:
        return bounded, free, most
    return sqrt(bounded), sqrt(free), sqrt(most)


@kernel
def _along(impulse, velocity, mu, top, radius):
    """One direction: the impulse over mu / top where mu > 0, itself at the ``radius`` where not, and mu |velocity|."""
    if mu > 0.0:
        return abs(impulse) * (top / mu), 0.0, mu * abs(velocity)
    return 0.0, abs(impulse) / radius, 0.0
