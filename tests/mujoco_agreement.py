"""MJCF models as the reader understands them against the engine of the format."""

import mujoco
import numpy as np

from stickslip.bodies.tree import momentum
from stickslip.bodies.tree.compiling import compile_robot
from stickslip.bodies.tree.kind import jacobian_at
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.geometry.rotation import matrix
from stickslip.robots.mjcf import read_mjcf
from stickslip.scene.other_bodies import OtherContext

GRAVITY = np.array([0.0, 0.0, -9.81])


def full_mass(tree, work):
    nv = len(tree.dofs)
    flat, A = np.zeros(tree.square[-1]), np.zeros((nv, nv))
    momentum.fill_matrix(tree, work.mass, flat)
    for t, (a, b) in enumerate(zip(tree.start, tree.start[1:], strict=False)):
        A[a:b, a:b] = flat[tree.square[t] : tree.square[t + 1]].reshape(b - a, b - a)
    return A


def turned_to_world(m, q):
    """(nv, nv) that takes the engine's velocities, angular ones of free joints in the body's frame, to ours."""
    T = np.eye(m.nv)
    for kind, at, dof in zip(m.jnt_type, m.jnt_qposadr, m.jnt_dofadr, strict=True):
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            T[dof + 3 : dof + 6, dof + 3 : dof + 6] = matrix(q[at + 3 : at + 7])
    return T


def random_state(m, rng):
    q, v = m.qpos0 + 0.5 * rng.normal(size=m.nq), rng.normal(size=m.nv)
    for kind, at in zip(m.jnt_type, m.jnt_qposadr, strict=True):
        if kind <= int(mujoco.mjtJoint.mjJNT_BALL):
            part = slice(at + 3, at + 7) if kind == mujoco.mjtJoint.mjJNT_FREE else slice(at, at + 4)
            q[part] /= np.linalg.norm(q[part])
    return q, v


def require_agreement(file, seeds=3):
    """Poses, Jacobians, mass matrix and bias forces of a model against the engine of its format, to 1e-9 relative."""
    robot = read_mjcf(file)
    m = mujoco.MjModel.from_xml_path(str(file))
    m.opt.gravity[:] = GRAVITY
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    m.tendon_armature[:] = 0.0  # a warning says that it is not simulated
    data, tree = mujoco.MjData(m), tree_tables(robot.links, GRAVITY)
    assert len(robot.links) == m.nbody - 1
    assert len(tree.dofs) == m.nv
    assert len(robot.start) == m.nq
    np.testing.assert_allclose(sum(link.mass for link in robot.links), m.body_mass[1:].sum(), rtol=1e-12)
    kind = compile_robot("robot", robot, OtherContext(GRAVITY, 0, 0))
    work = tree_work(tree)
    for seed in range(seeds):
        q, v = random_state(m, np.random.default_rng(seed))
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(m, data)
        T = turned_to_world(m, q)
        place_links(tree, q, work)
        momentum.linearise(tree, T @ v, work)
        size = max(1.0, np.abs(data.xpos).max())
        np.testing.assert_allclose(work.pose[:, :3], data.xpos[1:], atol=1e-9 * size)
        np.testing.assert_allclose(work.turn.reshape(-1, 9), data.xmat[1:], atol=1e-9)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, data, M)
        ours = T.T @ full_mass(tree, work) @ T
        np.testing.assert_allclose(ours, M, atol=1e-9 * np.abs(M).max())
        # the same force: a frame that turns with the angular velocity adds w x w = 0 to its rate
        np.testing.assert_allclose(T.T @ work.bias, data.qfrc_bias, atol=1e-9 * np.abs(data.qfrc_bias).max())
        for body in {m.nbody // 2, m.nbody - 1} - {0}:
            linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mujoco.mj_jacBody(m, data, linear, angular, body)
            J = np.concatenate([linear, angular])
            np.testing.assert_allclose(
                jacobian_at(kind, work, body - 1, data.xpos[body]) @ T, J, atol=1e-9 * max(np.abs(J).max(), 1.0)
            )
    return robot
