"""Links, joints, sites and keyframes of a compiled MJCF model."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array
from stickslip.geometry.rotation import matrix
from stickslip.robots.mjcf_model import CompiledModel, quaternion, vector
from stickslip.robots.records import Keyframe, LinkShape, Site, TreeJoint, TreeJointKind, TreeLink, Visual

JOINT_KINDS: tuple[TreeJointKind, ...] = ("free", "ball", "prismatic", "revolute")
"""In the order of the compiler's codes (mjtJoint)."""
FREE, BALL = 0, 1
JOINT_TRANSMISSIONS = (0, 1)
"""mjTRN_JOINT, mjTRN_JOINTINPARENT"""


def read_links(
    model: CompiledModel, shapes: dict[int, list[LinkShape]], visuals: dict[int, list[Visual]]
) -> tuple[TreeLink, ...]:
    """All bodies but the world, in the compiler's order: a parent before its children, depth first."""
    m = model.m
    rotors = _rotors(model)
    links = []
    for body in range(1, m.nbody):
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        joints = tuple(_joint(model, j, rotors) for j in range(first, first + count))
        turn = matrix(quaternion(m.body_iquat[body]))
        inertia = turn @ np.diag(m.body_inertia[body]) @ turn.T
        links.append(
            TreeLink(
                model.names["body"][body], int(m.body_parentid[body]) - 1, joints, float(m.body_mass[body]),
                0.5 * (inertia + inertia.T), vector(m.body_ipos[body]), vector(m.body_pos[body]),
                quaternion(m.body_quat[body]), tuple(shapes.get(body, ())), tuple(visuals.get(body, ())),
            )
        )  # fmt: skip
        if m.body_mocapid[body] >= 0:
            model.warn("body", body, "mocap", "it is fixed to the world; nothing moves it")
    supported = np.flatnonzero(m.body_gravcomp)
    if len(supported):
        bodies = model.elements("body", supported.tolist())
        model.report.warnings.append(f"{bodies}: gravity compensation (gravcomp) is not simulated")
    return tuple(links)


def _rotors(model: CompiledModel) -> Array:
    """(njnt, 2) armature and damping that actuators add to the joints that they act on."""
    m, added = model.m, np.zeros((model.m.njnt, 2))
    for i in np.flatnonzero((m.actuator_armature != 0.0) | (m.actuator_damping != 0.0)).tolist():
        if m.actuator_trntype[i] in JOINT_TRANSMISSIONS:
            gear = float(m.actuator_gear[m.actuator_outadr[i], 0])
            added[m.actuator_trnid[i, 0]] += gear**2 * np.array([m.actuator_armature[i], m.actuator_damping[i]])
        else:
            model.warn("actuator", i, "", "its armature and damping are not simulated, since it acts on no joint")
    return added


def _joint(model: CompiledModel, j: int, rotors: Array) -> TreeJoint:
    """One joint; what it asks for and is not there is a warning."""
    m = model.m
    code, q, v = int(m.jnt_type[j]), int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    plain = code > BALL
    if np.any(m.jnt_stiffnesspoly[j]) or np.any(m.dof_dampingpoly[v]):
        model.warn("jnt", j, "", "of its spring and damper the linear parts alone are simulated")
    if m.jnt_plasticadr[j] >= 0:
        model.warn("jnt", j, "", "its spring does not yield (springyield)")
    if code == FREE and m.jnt_stiffness[j] != 0.0:
        model.warn("jnt", j, "free", f"its spring of {m.jnt_stiffness[j]:g} N/m is not simulated")
    if m.jnt_actgravcomp[j]:
        model.warn("jnt", j, "", "gravity compensation by its actuators (actuatorgravcomp) is not simulated")
    lower, upper = (float(value) for value in m.jnt_range[j])
    weakest, strongest = (float(value) for value in m.jnt_actfrcrange[j])
    effort = np.inf
    if m.jnt_actfrclimited[j]:
        effort = max(abs(weakest), abs(strongest))
        if weakest != -strongest:
            model.warn(
                "jnt", j, "", f"its actuators' force is held within +-{effort:g}, not [{weakest:g}, {strongest:g}]"
            )
    return TreeJoint(
        model.names["jnt"][j], JOINT_KINDS[code],
        axis=vector(m.jnt_axis[j]) if plain else (0.0, 0.0, 1.0),
        position=(0.0, 0.0, 0.0) if code == FREE else vector(m.jnt_pos[j]),
        zero=float(m.qpos0[q]) if plain else 0.0,
        armature=float(m.dof_armature[v]) + float(rotors[j, 0]),
        damping=float(m.dof_damping[v]) + float(rotors[j, 1]),
        stiffness=0.0 if code == FREE else float(m.jnt_stiffness[j]),
        rest=float(m.qpos_spring[q]) if plain else 0.0,
        limits=(lower, upper) if m.jnt_limited[j] else None,
        friction=float(m.dof_frictionloss[v]),
        effort=effort,
    )  # fmt: skip


def read_excluded(model: CompiledModel) -> frozenset[tuple[str, str]]:
    """Pairs of links that the file lets pass through each other by name."""
    pairs: set[tuple[str, str]] = set()
    names = model.names["body"]
    for signature in model.m.exclude_signature.tolist():
        a, b = sorted((signature >> 16, signature & 0xFFFF))
        if a:
            pairs.add((names[a], names[b]))
        else:
            link = model.element("body", b)
            model.report.warnings.append(f"contact exclude of the world and {link}: they touch all the same")
    return frozenset(pairs)


def pass_through(model: CompiledModel, a: int, b: int, excluded: frozenset[tuple[str, str]]) -> bool:
    """Whether two bodies pass through each other, a < b, whatever geoms they have.

    Bodies without joints between them are one for this purpose. Such a group passes through the group that it hangs on.
    """
    m, names = model.m, model.names["body"]
    first, second = int(m.body_weldid[a]), int(m.body_weldid[b])
    above = int(m.body_weldid[m.body_parentid[second]]), int(m.body_weldid[m.body_parentid[first]])
    related = model.parents_pass and a > 0 and (above[0] == first or above[1] == second)
    return first == second or related or (names[a], names[b]) in excluded


def read_sites(model: CompiledModel) -> list[Site]:
    """All sites as named frames."""
    m = model.m
    return [
        Site(name, model.link(int(m.site_bodyid[i])), vector(m.site_pos[i]), quaternion(m.site_quat[i]))
        for i, name in enumerate(model.names["site"])
    ]


def start_of(model: CompiledModel) -> Array:
    """(nq,) coordinates in which the model is defined; the compiler's order and meaning are those of the records."""
    return unit_rotations(model, model.m.qpos0)


def unit_rotations(model: CompiledModel, q: Array) -> Array:
    """Coordinates (nq,) whose quaternions have unit length."""
    m, q = model.m, np.array(q, dtype=np.float64)
    for kind, first in zip(m.jnt_type.tolist(), m.jnt_qposadr.tolist(), strict=True):
        if kind in (FREE, BALL):
            at = slice(first + 3, first + 7) if kind == FREE else slice(first, first + 4)
            q[at] = quaternion(q[at])
    return q


def read_keyframes(model: CompiledModel, controls: list[int]) -> tuple[Keyframe, ...]:
    """Named postures; ``controls`` are the entries of the file's control vector whose actuators are there."""
    m = model.m
    frames = []
    for k in range(m.nkey):
        q, v = unit_rotations(model, m.key_qpos[k]), np.array(m.key_qvel[k], dtype=np.float64)
        for kind, at, dof in zip(m.jnt_type.tolist(), m.jnt_qposadr.tolist(), m.jnt_dofadr.tolist(), strict=True):
            if (
                kind == FREE
            ):  # the file's angular velocity is in the frame of the body, the record's in that of the world
                v[dof + 3 : dof + 6] = matrix(q[at + 3 : at + 7]) @ v[dof + 3 : dof + 6]
        frames.append(Keyframe(model.names["key"][k], q, v, np.array(m.key_ctrl[k], dtype=np.float64)[controls]))
    if m.nkey and m.na:
        model.report.notes.append("keyframes: activations of actuators have no meaning here")
    if m.nkey and m.nmocap:
        model.report.notes.append("keyframes: poses of mocap bodies are not read")
    return tuple(frames)
