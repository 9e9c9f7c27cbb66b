"""Tendons and equalities of a compiled MJCF model."""

from __future__ import annotations

import numpy as np

from stickslip.geometry.rotation import conjugate, matrix, multiply
from stickslip.robots.mjcf_model import CompiledModel, quaternion, vector
from stickslip.robots.records import Connect, Coupling, FixedTendon, JointEquality, Quaternion, Vector, Weld

EQUALITIES = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
"""Words for the compiler's codes (mjtEq)."""
FIXED = 0
"""mjTENDON_FIXED"""
SITE = 6
"""mjOBJ_SITE"""


def tendon_terms(model: CompiledModel, t: int) -> tuple[tuple[str, float], ...] | None:
    """Joints and factors of a fixed tendon; None where it is spatial."""
    m = model.m
    if m.tendon_type[t] != FIXED:
        return None
    entries = range(int(m.tendon_adr[t]), int(m.tendon_adr[t] + m.tendon_num[t]))
    return tuple((model.names["jnt"][int(m.wrap_objid[k])], float(m.wrap_prm[k])) for k in entries)


def read_tendons(model: CompiledModel) -> tuple[FixedTendon, ...]:
    """Tendons that are sums of joint coordinates; spatial ones are warnings."""
    m = model.m
    found = []
    for t in range(m.ntendon):
        terms = tendon_terms(model, t)
        if terms is None:
            model.warn("tendon", t, "spatial", "it is not simulated")
            continue
        if np.any(m.tendon_stiffnesspoly[t]) or np.any(m.tendon_dampingpoly[t]):
            model.warn("tendon", t, "", "of its spring and damper the linear parts alone are simulated")
        if m.tendon_plasticadr[t] >= 0:
            model.warn("tendon", t, "", "its spring does not yield (springyield)")
        if m.tendon_armature[t] != 0.0:
            model.warn("tendon", t, "", f"its armature of {m.tendon_armature[t]:g} is not simulated")
        if m.tendon_actfrclimited[t]:
            model.warn("tendon", t, "", "the sum of its actuators' forces is not limited (actuatorfrcrange)")
        limits, rest = ((float(a), float(b)) for a, b in (m.tendon_range[t], m.tendon_lengthspring[t]))
        found.append(
            FixedTendon(
                model.names["tendon"][t], terms, limits if m.tendon_limited[t] else None,
                float(m.tendon_stiffness[t]), rest, float(m.tendon_damping[t]), float(m.tendon_frictionloss[t]),
            )
        )  # fmt: skip
    return tuple(found)


def read_couplings(model: CompiledModel) -> tuple[Coupling, ...]:
    """Equalities that hold at the start; others are notes or warnings."""
    m = model.m
    found: list[Coupling] = []
    for e in range(m.neq):
        word = EQUALITIES[m.eq_type[e]] if 0 <= m.eq_type[e] < len(EQUALITIES) else f"code {int(m.eq_type[e])}"
        if not m.eq_active0[e]:
            model.report.notes.append(f"{model.element('eq', e, word)}: it is not active at the start and left out")
            continue
        coupling: Coupling | None = None
        if word in ("connect", "weld"):
            coupling = _of_links(model, e, word)
        elif word in ("joint", "tendon"):
            coupling = _of_coordinates(model, e, word)
        else:
            model.warn("eq", e, word, "it is not simulated")
        if coupling:
            found.append(coupling)
    return tuple(found)


def _of_links(model: CompiledModel, e: int, word: str) -> Coupling | None:
    """Two points that stay together, or two links; the first is a link, the second may be the world."""
    m, name, data = model.m, model.names["eq"][e], model.m.eq_data[e]
    a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    if m.eq_objtype[e] == SITE:
        at_a, at_b = _site_frame(model, a), _site_frame(model, b)
        a, b = int(m.site_bodyid[a]), int(m.site_bodyid[b])
    elif word == "connect":
        at_a, at_b = (data[:3], np.array([1.0, 0, 0, 0])), (data[3:6], np.array([1.0, 0, 0, 0]))
    else:  # the anchor in the frame of b, then its pose in that of a
        at_a, at_b = (data[3:6], data[6:10]), (data[:3], np.array([1.0, 0, 0, 0]))
    if a == 0:
        a, b, at_a, at_b = b, a, at_b, at_a
    if m.body_weldid[a] == m.body_weldid[b]:
        fixed = "both are fixed to the world" if m.body_weldid[a] == 0 else "no joint is between its links"
        model.report.notes.append(f"{model.element('eq', e, word)}: it is left out: {fixed}")
        return None
    link_a, link_b = model.names["body"][a], model.link(b)
    if word == "connect":
        return Connect(name, link_a, link_b, vector(at_a[0]), vector(at_b[0]))
    position, rotation = _pose_in(at_a, at_b)
    return Weld(name, link_a, link_b, position, rotation)


def _site_frame(model: CompiledModel, site: int) -> tuple[np.ndarray, np.ndarray]:
    return model.m.site_pos[site], model.m.site_quat[site]


def _pose_in(at_a: tuple[np.ndarray, np.ndarray], at_b: tuple[np.ndarray, np.ndarray]) -> tuple[Vector, Quaternion]:
    """Pose of b in the frame of a, where a frame at ``at_a`` of a and one at ``at_b`` of b are the same."""
    turn = multiply(quaternion(at_a[1]), conjugate(quaternion(at_b[1])))
    return vector(at_a[0] - matrix(turn) @ at_b[0]), quaternion(turn)


def _of_coordinates(model: CompiledModel, e: int, word: str) -> JointEquality | None:
    """A polynomial between two joints or two tendons."""
    m = model.m
    sides: list[tuple[tuple[tuple[str, float], ...], float]] = []
    for number in (int(m.eq_obj1id[e]), int(m.eq_obj2id[e])):
        if number < 0:
            sides.append(((), 0.0))
        elif word == "joint":
            sides.append((((model.names["jnt"][number], 1.0),), float(m.qpos0[m.jnt_qposadr[number]])))
        else:
            terms = tendon_terms(model, number)
            if terms is None:
                spatial = model.element("tendon", number)
                model.warn("eq", e, word, f"it is not simulated: it needs the spatial {spatial}")
                return None
            sides.append((terms, float(m.tendon_length0[number])))
    (y, y_zero), (x, x_zero) = sides
    c = [float(value) for value in m.eq_data[e, :5]]
    return JointEquality(model.names["eq"][e], y, x, (c[0], c[1], c[2], c[3], c[4]), y_zero, x_zero)
