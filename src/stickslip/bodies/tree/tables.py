"""Links and joints of trees as the tables that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.tree.layout import (
    ANCHOR,
    ARMATURE,
    AXIS,
    CENTRE,
    COORDINATES,
    DAMPING,
    DOF_INTS,
    DOF_REALS,
    INERTIA,
    JOINT_INTS,
    JOINT_REALS,
    LINK_INTS,
    LINK_REALS,
    MASS,
    PITCH,
    POSITION,
    REST,
    ROTATION,
    STIFFNESS,
    VELOCITIES,
    ZERO,
    TreeTables,
    TreeWork,
)
from stickslip.linalg.block_rows import summed
from stickslip.robots.records import TREE_JOINT_KINDS, TreeLink


def tree_tables(links: Sequence[TreeLink], gravity: Array) -> TreeTables:
    """Tables of links that are sorted: a parent before its children, all links of a tree together."""
    reals, index = np.zeros((len(links), LINK_REALS)), np.zeros((len(links), LINK_INTS), np.int32)
    joints, dofs = list[Array](), list[Array]()
    joint_index, dof_index = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
    path, widths = list[int](), list[int]()
    last: list[int] = []  # degree of freedom next to each link
    q_count = 0
    for i, link in enumerate(links):
        above = -1 if link.parent < 0 else last[link.parent]
        if link.parent < 0:
            widths.append(0)
        reals[i, POSITION : POSITION + 3], reals[i, ROTATION : ROTATION + 4] = link.position, link.rotation
        reals[i, MASS], reals[i, CENTRE : CENTRE + 3] = link.mass, link.centre
        inertia = link.inertia
        reals[i, INERTIA : INERTIA + 6] = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
        first = len(joints)
        for joint in link.joints:
            kind = TREE_JOINT_KINDS.index(joint.kind)
            row = np.zeros(JOINT_REALS)
            row[ANCHOR : ANCHOR + 3], row[AXIS : AXIS + 3] = joint.position, joint.axis
            row[PITCH], row[ZERO] = joint.pitch, joint.zero
            joints.append(row)
            joint_index.append((kind, q_count, len(dofs)))
            q_count += COORDINATES[kind]
            for _ in range(VELOCITIES[kind]):
                own = np.zeros(DOF_REALS)
                own[ARMATURE], own[DAMPING] = joint.armature, joint.damping
                own[STIFFNESS], own[REST] = joint.stiffness, joint.rest
                before = [] if above < 0 else path[dof_index[above][1] : dof_index[above][2]]
                above = len(dofs)
                dof_index.append((i, len(path), len(path) + len(before) + 1))
                path += [*before, above]
                dofs.append(own)
                widths[-1] += 1
        last.append(above)
        index[i] = link.parent, first, len(joints), above, len(widths) - 1
    width = np.array(widths, dtype=np.int64)
    return TreeTables(
        reals, index, np.array(joints).reshape(-1, JOINT_REALS),
        np.array(joint_index, np.int32).reshape(-1, JOINT_INTS), np.array(dofs).reshape(-1, DOF_REALS),
        np.array(dof_index, np.int32).reshape(-1, DOF_INTS), np.array(path, np.int32), summed(width),
        summed(width**2), np.array(gravity, dtype=np.float64),
    )  # fmt: skip


def tree_work(tree: TreeTables) -> TreeWork:
    """Room for what kernels write."""
    nl, nv, nt, np_ = len(tree.links), len(tree.dofs), len(tree.start) - 1, len(tree.path)
    shapes = (
        (nl, 7), (nl, 9), (nt, 3), (nv, 6), (nl, 10), (nl, 6), (nl, 6), (nl, 6), (np_,), (np_,), (nv,), (nl, 12),
        (np_,), (nl, 36), (nv, 12), (4, nv),
    )  # fmt: skip
    return TreeWork(*(np.zeros(shape) for shape in shapes))
