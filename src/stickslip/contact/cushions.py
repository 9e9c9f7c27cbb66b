"""Compliant contacts as rigid ones between bodies and cushions, for solvers that know only rigid contacts.

The law of a compliant contact is about u_n + C lam_n (constraints/contact/springs.py). With one more unknown velocity w
for each, a cushion of the mass 1 / C that nothing else touches, w = C lam_n is its momentum, and

    u_n + C lam_n = J_n v + w + bias

is the normal velocity of a rigid contact. Nothing is approximated: both problems have the same impulses. Where only W
is given, C is added to its diagonal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg.block_rows import BlockRows, summed
from stickslip.linalg.dense_blocks import NOTHING, equal_blocks
from stickslip.linalg.inertia import Inertia


def cushioned(problem: ContactProblem) -> ContactProblem:
    """The same problem with rigid contacts: (nv + k,) unknowns for k compliant contacts, or W with its diagonal raised.

    Without compliant contacts, the problem itself. Over impulses alone where bodies are soft.
    """
    given = problem.condensed
    C = given.contact_compliance
    if C is None:
        return problem
    chosen = np.flatnonzero(C)
    normal = given.J.row_start[chosen]
    compliance = given.laws.compliance.copy()
    compliance[normal] = 0.0
    laws = given.laws._replace(compliance=compliance)
    W = given.A.given
    if W is not None:
        momentum, J = replace(given.momentum, A=Inertia(NOTHING, given=W.raised(normal, C[chosen]))), given.J
    else:
        v_free = np.concatenate([given.v_free, np.zeros(len(chosen))])
        momentum = Momentum(_with_masses(given.A, 1.0 / C[chosen]), v_free)
        J = _with_columns(given.J, chosen)
    # the same measures of errors
    mobility = given.diagonal.copy()
    mobility[normal] += C[chosen]
    scale = problem.with_speed()._replace(mobility=mobility, momentum=None, masses=None, rounding=None)
    if W is None:
        size = np.concatenate([problem.momentum_size, np.zeros(len(chosen))])
        masses = given.scale.masses
        masses = None if masses is None else _with_masses(masses, 1.0 / C[chosen])
        scale = scale._replace(momentum=size, masses=masses)
    # no velocities of cushions before the step are known
    return replace(given, momentum=momentum, J=J, laws=laws, v_before=None, scale=scale).trusted()


def velocities(problem: ContactProblem, v: Array, lam: Array) -> Array:
    """Velocities (nv,) of the bodies of ``problem`` from those v of its cushioned form and its impulses lam (m,)."""
    return v[: problem.unknown_count].copy() if problem.A.is_dense else problem.velocity(lam)


def _with_masses(A: Inertia, mass: Array) -> Inertia:
    """A followed by blocks of one unknown, of masses (k,)."""
    return Inertia(A.dense.followed_by(equal_blocks(mass[:, None, None], 1.0 / mass[:, None, None])))


def _with_columns(J: BlockRows, chosen: NDArray[np.intp]) -> BlockRows:
    """J with a column for each of the chosen blocks (k,), which is one in the first row of the block."""
    columns = len(J.column_start) - 1
    height, width = np.diff(J.row_start), np.diff(J.column_start)
    more = np.zeros(J.block_count, dtype=np.int32)
    more[chosen] = 1
    entry_start = summed(np.diff(J.entry_start) + more)
    new = entry_start[chosen + 1] - 1  # the last entry of its block
    old = np.ones(int(entry_start[-1]), dtype=np.bool_)
    old[new] = False
    column = np.empty(len(old), dtype=np.int32)
    column[old], column[new] = J.entry_column, columns + np.arange(len(chosen), dtype=np.int32)
    owner = np.repeat(np.arange(J.block_count), np.diff(entry_start))
    size = height[owner] * np.concatenate([width, np.ones(len(chosen), dtype=width.dtype)])[column]
    data_start = summed(size)
    data = np.zeros(int(data_start[-1]))
    data[np.repeat(old, size)] = J.data
    data[data_start[new]] = 1.0
    ends = J.column_start[-1] + np.arange(1, len(chosen) + 1, dtype=np.int32)
    return BlockRows(J.row_start, entry_start, column, data_start, data, np.concatenate([J.column_start, ends]))
