"""Thresholds that several files share, or that mean different things though each is about rounding: one home, one name
for each purpose.

Options of solvers have their own defaults (``tolerance``), and a bound that belongs to one algorithm alone (a pivot, a
sine between edges) stands beside it.
"""

from __future__ import annotations

# ---- what rounding of positions and velocities makes, when residuals are scaled -----------------------------------

POSITION_ROUNDING = 1e-6
"""Share of the distance from the origin, over a step, below which constraint speeds are the rounding of positions; with
a tolerance of 1e-8 that is 1e-14 of the distance."""
SUBSTEP_ROUNDING = 1e-7
"""The same where velocities are differences of positions over a substep."""
SPEED_NOISE = 1e-6
"""Constraint velocities of joints below this share of the free velocities are rounding, and so is momentum below this
share of what a body has; with a tolerance of 1e-8 that is 1e-14 of them."""
STILL_SPEED = 1e-13
"""[m/s] change of velocities in an iteration that is nothing but rounding."""

# ---- how soft a rigid joint is where a method needs a finite stiffness --------------------------------------------

POTENTIAL_COMPLIANCE = 1e-6
"""Compliance of rows that become potentials in A over their mobility, at least: a rigid joint opens by this share of
the velocity that it takes away. Smaller ones cost as many digits of A."""
CONVEX_COMPLIANCE = 1e-8
"""Regularisation of rows of joints over their mobility, at least, in the convex method."""
NODAL_COMPLIANCE = 1e-2
"""Compliance of rows of joints over their mobility, at least, in the nodal method, whose multipliers give the rest."""
JOINED_COMPLIANCE = 1e-4
"""The same where bodies and their joints are solved for together, so that stiff joints cost no iterations."""

# ---- what counts as equal in linear algebra -----------------------------------------------------------------------

ASYMMETRY = 1e-13
"""Difference of two entries of a matrix across its diagonal over its largest entry that is rounding."""
FILE_ASYMMETRY = 1e-12
"""The same of a mass matrix from a file, relative to its diagonal: it is averaged away."""
NULL_SPACE = 1e-15
"""A residual with a smaller Rayleigh quotient z . S z / z . D z is in the null space of S."""
NEGATIVE_EIGENVALUE = 1e-12
"""A smaller negative share of the largest eigenvalue is zero."""
ORTHOGONAL_SQUARED = 1e-31
"""Square of the largest cosine between columns that count as orthogonal."""
CONE_EXCESS = 1e-9
"""Share of the largest impulse by which impulses may be outside of their cones and are left as they are."""
