"""Sums over the rows of joints at one configuration: energies, works, and by how much joints are apart.

A row has the value c = sign (measure - offset); drives, whose offset is in the state, store nothing here.
"""

from __future__ import annotations

import numpy as np

from stickslip.constraints.joint.rows import measured_at, row_rates
from stickslip.jit import bare_kernel, kernel
from stickslip.law_codes import LIMIT
from stickslip.model.joint_tables import DISTANCE, POINT


@bare_kernel
def _holds(stiffness, coordinate, broken):
    """Whether a row holds something fast: no spring, limit or drive, and no row of a joint that is ``broken``."""
    return np.isinf(stiffness) and coordinate < 0 and not broken


@bare_kernel
def _gives(law, stiffness, driven, value, broken):
    """Whether a row of a block of this law, with this value, stores or dissipates energy."""
    if np.isinf(stiffness) or driven == 1 or broken:
        return False
    return law != LIMIT or value < 0.0


@kernel
def elastic_energy(tables, q, broken):
    """Sum of s c^2 / 2 over compliant rows."""
    measure, _ = measured_at(tables, q)
    total = 0.0
    for c in range(tables.block_law.shape[0]):
        law = tables.block_law[c]
        for k in range(tables.block_start[c], tables.block_start[c + 1]):
            value = tables.row_sign[k] * (measure[k] - tables.row_offset[k])
            if _gives(law, tables.row_stiffness[k], tables.row_driven[k], value, broken[tables.row_joint[k]]):
                total += tables.row_stiffness[k] * value * value
    return 0.5 * total


@kernel
def step_energies(tables, q_before, q, broken_before, broken, impulse, mean, h, energy_out, square_out):
    """Add the rows of every joint to its energies, in the order of ``joint_energies``; returns those of all joints.

    These are sums over rows, in their order, not over joints. square_out (nj,): as ``add_errors`` at q.
    """
    measure_before, _ = measured_at(tables, q_before)
    measure, J = measured_at(tables, q)
    speed = row_rates(tables, J, mean)
    measures = measure_before, measure, speed
    return _book_rows(tables, measures, broken_before, broken, impulse, h, energy_out, square_out)


@bare_kernel
def _book_rows(tables, measures, broken_before, broken, impulse, h, energy_out, square_out):
    """The same with what rows measure (k,) before and after the step, and their speeds (k,)."""
    measure_before, measure, speed = measures
    elastic_before, stored, elastic, damping, given = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(tables.block_law.shape[0]):
        law = tables.block_law[c]
        for k in range(tables.block_start[c], tables.block_start[c + 1]):
            m = tables.row_joint[k]
            sign, offset = tables.row_sign[k], tables.row_offset[k]
            value_before, value = sign * (measure_before[k] - offset), sign * (measure[k] - offset)
            stiffness, driven, was_broken = tables.row_stiffness[k], tables.row_driven[k], broken_before[m]
            if _gives(law, stiffness, driven, value_before, was_broken):
                energy_out[0, m] += 0.5 * tables.row_stiffness[k] * value_before * value_before
                elastic_before += tables.row_stiffness[k] * value_before * value_before
            if _gives(law, stiffness, driven, value, was_broken):
                energy = 0.5 * tables.row_stiffness[k] * value * value
                energy_out[4 if broken[m] else 1, m] += energy
                energy_out[2, m] += h * tables.row_damping[k] * speed[k] * speed[k]
                stored += tables.row_stiffness[k] * value * value
                damping += tables.row_damping[k] * speed[k] * speed[k]
            if _gives(law, stiffness, driven, value, broken[m]):
                elastic += tables.row_stiffness[k] * value * value
            if tables.row_driven[k] == 1:
                energy_out[3, m] += impulse[k] * speed[k]
                given += impulse[k] * speed[k]
            if _holds(stiffness, tables.row_coordinate[k], was_broken):
                energy_out[5, m] += abs(impulse[k] * value_before) / h
    _add_squares(tables, measure, broken, square_out)
    return 0.5 * elastic_before, 0.5 * elastic, h * damping, given, 0.5 * stored - 0.5 * elastic


@kernel
def add_errors(tables, q, broken, square_out):
    """Add the squares of the distances that rigid rows leave to their joints."""
    measure, _ = measured_at(tables, q)
    _add_squares(tables, measure, broken, square_out)


@bare_kernel
def _add_squares(tables, measure, broken, square_out):
    """The same of what rows measure (k,)."""
    for k in range(measure.shape[0]):
        m, code = tables.row_joint[k], tables.row_measure[k, 0]
        if code in (POINT, DISTANCE) and _holds(tables.row_stiffness[k], tables.row_coordinate[k], broken[m]):
            square_out[m] += (tables.row_sign[k] * (measure[k] - tables.row_offset[k])) ** 2
