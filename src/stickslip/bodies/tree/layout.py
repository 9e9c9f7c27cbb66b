"""Coordinates and unknowns of trees, as tables that kernels read: links, joints and degrees of freedom.

Links are sorted so that each comes after its parent. Between a link and its parent are any number of joints, each with
its own coordinates, which move the link one after the other: first those that are nearest to the parent. A link without
joints is fixed to its parent.

| joint | coordinates | velocities |
|---|---|---|
| free | position [m] and rotation (w, x, y, z) of the link in the world | linear and angular velocity, world frame |
| ball | rotation (w, x, y, z) | angular velocity relative to the parent, in the frame of the link |
| revolute | angle [rad] about an axis | its rate |
| prismatic | displacement [m] along an axis | its rate |
| screw | angle [rad] about an axis, along which it moves by pitch [m/rad] | its rate |

Tables have one row for a link, joint or degree of freedom: to hand an array to a kernel costs more than what a kernel
does with one link, so there are few of them.
"""

from __future__ import annotations

from typing import NamedTuple

from stickslip.arrays import Array, Ints

FREE, BALL, REVOLUTE, PRISMATIC, SCREW = range(5)
"""Kinds of joints."""
COORDINATES = (7, 4, 1, 1, 1)
VELOCITIES = (6, 3, 1, 1, 1)
"""By kind."""

# columns of TreeTables.links
POSITION, ROTATION, MASS, CENTRE, INERTIA, LINK_REALS = 0, 3, 7, 8, 11, 17
# of link_index
PARENT, FIRST_JOINT, JOINT_END, LAST_DOF, TREE, LINK_INTS = range(6)
# of joints
ANCHOR, AXIS, PITCH, ZERO, JOINT_REALS = 0, 3, 6, 7, 8
# of joint_index
KIND, FIRST_Q, FIRST_V, JOINT_INTS = range(4)
# of dofs
ARMATURE, DAMPING, STIFFNESS, REST, DOF_REALS = range(5)
# of dof_index
DOF_LINK, ROW, ROW_END, DOF_INTS = range(4)


class TreeTables(NamedTuple):
    """nl links, nj joints, nv degrees of freedom of nt trees; those of a tree are together."""

    links: Array
    """(nl, LINK_REALS) position [m] and rotation (w, x, y, z) in the parent, mass [kg], centre of mass [m], inertia
    about it [kg m^2] (xx, yy, zz, xy, xz, yz), both in the link's frame."""
    link_index: Ints
    """(nl, LINK_INTS) parent or -1 for the world, first joint, the one after the last, the last degree of freedom that
    moves the link or -1, and the tree that it is of."""
    joints: Array
    """(nj, JOINT_REALS) anchor [m] and unit axis in the link's frame, pitch [m/rad], coordinate at which the link is
    where ``links`` says."""
    joint_index: Ints
    """(nj, JOINT_INTS) kind, first coordinate, first velocity."""
    dofs: Array
    """(nv, DOF_REALS) armature [kg or kg m^2], damping [N s/m or N m s/rad], stiffness [N/m or N m/rad], coordinate at
    which the spring is at rest."""
    dof_index: Ints
    """(nv, DOF_INTS) its link, and where its row of ``path`` starts and ends."""
    path: Ints
    """(np,) rows of degrees of freedom, from the root of its tree to each: all that move what it moves, itself last."""
    start: Ints
    """(nt + 1,) first degree of freedom of each tree."""
    square: Ints
    """(nt + 1,) where its full matrices start."""
    gravity: Array
    """(3,) [m/s^2]"""


# columns of DriveTables.drives
GAIN, BIAS, CONTROL_LOW, CONTROL_HIGH, FORCE_LOW, FORCE_HIGH, DRIVE_REALS = 0, 1, 4, 5, 6, 7, 8
# how a drive enters a step (DriveTables.how)
PUSHES, IN_MOMENTUM, AS_ROW = range(3)


class DriveTables(NamedTuple):
    """nu drives of trees: a force along a length, which is a sum of coordinates times factors."""

    drives: Array
    """(nu, DRIVE_REALS) gain, bias (3), range of its control and of its force; see robots/records.Actuator."""
    how: Ints
    """(nu,) PUSHES: a force that does not depend on the motion; IN_MOMENTUM: implicit, in A; AS_ROW: implicit and
    limited, or along several coordinates, a row of constraints/coordinates.py."""
    start: Ints
    """(nu + 1,) where the terms of each are."""
    coordinate: Ints
    """Coordinate (of q) of each term; -1: it has none, as those of free and ball joints."""
    dof: Ints
    factor: Array


class TreeWork(NamedTuple):
    """What kernels write: nl links, nv degrees of freedom.

    Motions and forces are six numbers in world axes, angular part first, about a point that all links of a tree share:
    sums over links are sums of numbers.
    """

    pose: Array
    """(nl, 7) position [m] and rotation (w, x, y, z) of links in the world."""
    turn: Array
    """(nl, 9) the same rotations as matrices, row by row."""
    centre: Array
    """(nt, 3) [m] that point: the origin of the first link of each tree."""
    motion: Array
    """(nv, 6) motion subspace: velocity that a degree of freedom of rate one gives to all links that it moves."""
    inertia: Array
    """(nl, 10) mass, first moment (3), and moments about that point (xx, yy, zz, xy, xz, yz), of links, then of all
    that hangs on them."""
    velocity: Array
    """(nl, 6)"""
    acceleration: Array
    """(nl, 6) that velocities and gravity alone give."""
    force: Array
    """(nl, 6)"""
    mass: Array
    """(np,) lower half of the mass matrices, row by row along ``path``; all other entries are zero."""
    factor: Array
    """(np,) the same of L^T D L: L below the diagonal, D on it."""
    bias: Array
    """(nv,) generalised forces that hold the tree against gravity, Coriolis and centrifugal forces."""
    pull: Array
    """(nl, 12) of all that hangs on a link: momentum that it lacks (3), and that times arms (3, 3); stiffening.py."""
    stiffening: Array
    """(np,) how forces turn with links, along ``path``."""
    body: Array
    """(nl, 36) inertia of all that hangs on a link, with the turning of forces, six by six; articulated.py."""
    response: Array
    """(nv, 12) force along the motions above that a degree of freedom has in common with them, and its own motion."""
    vectors: Array
    """(4, nv) 1 / d of each, and room of Newton steps."""
