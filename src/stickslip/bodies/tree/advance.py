"""Where trees go: coordinates that advance with velocities."""

from __future__ import annotations

from stickslip.bodies.tree.kinematics import rotation_vector, unit4
from stickslip.bodies.tree.layout import BALL, FIRST_Q, FIRST_V, FREE, KIND
from stickslip.jit import kernel
from stickslip.linalg.vec3 import mat_vec, quat_integrate, quat_matrix, quat_multiply


@kernel
def advance_tree(tree, q, v, h, q_out):
    """q_out = q (nq,) moved by v (nv,) for a time h, rotations by the exponential map."""
    advance_joints(tree, q, v, h, 0, tree.joint_index.shape[0], q_out)


@kernel
def advance_joints(tree, q, v, h, first, end, q_out):
    """The same of the joints from ``first`` to ``end``; q_out may be q."""
    for j in range(first, end):
        kind, at, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_Q], tree.joint_index[j, FIRST_V]
        if kind == FREE:
            for c in range(3):
                q_out[at + c] = q[at + c] + h * v[k + c]
            r = quat_integrate(unit4(q, at + 3), (v[k + 3], v[k + 4], v[k + 5]), h)
            q_out[at + 3], q_out[at + 4], q_out[at + 5], q_out[at + 6] = r
        elif kind == BALL:
            r = unit4(q, at)
            turning = mat_vec(quat_matrix(r), (v[k], v[k + 1], v[k + 2]))
            r = quat_integrate(r, turning, h)
            q_out[at], q_out[at + 1], q_out[at + 2], q_out[at + 3] = r
        else:
            q_out[at] = q[at] + h * v[k]


@kernel
def tree_difference(tree, q, q_end, h, v_out):
    """v_out (nv,) with which q (nq,) becomes q_end in h, by turns of at most pi: the inverse of ``advance_tree``."""
    for j in range(tree.joint_index.shape[0]):
        kind, at, k = tree.joint_index[j, KIND], tree.joint_index[j, FIRST_Q], tree.joint_index[j, FIRST_V]
        if kind == FREE:
            a, b = unit4(q, at + 3), unit4(q_end, at + 3)
            turn = rotation_vector(quat_multiply(b, (a[0], -a[1], -a[2], -a[3])))
            for c in range(3):
                v_out[k + c] = (q_end[at + c] - q[at + c]) / h
                v_out[k + 3 + c] = turn[c] / h
        elif kind == BALL:
            a, b = unit4(q, at), unit4(q_end, at)
            turn = rotation_vector(quat_multiply((a[0], -a[1], -a[2], -a[3]), b))
            for c in range(3):
                v_out[k + c] = turn[c] / h
        else:
            v_out[k] = (q_end[at] - q[at]) / h
