"""What of a compiled MJCF model no other part of the reader looks at, in words for the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.names import counted, shown
from stickslip.robots.mjcf_model import CompiledModel
from stickslip.robots.mjcf_shapes import SOFT


def say_what_is_left(model: CompiledModel) -> None:
    """What of a model nothing above looks at."""
    m, report = model.m, model.report
    for i in range(m.nflex):
        model.warn("flex", i, "", "soft bodies of files are not simulated")
    if m.nplugin:
        text = bytes(m.names)
        starts = m.name_pluginadr.tolist()
        names = [text[start : text.index(b"\0", start)].decode("utf-8", "replace") for start in starts]
        known = ", ".join(shown(name) if name else f"number {i}" for i, name in enumerate(names))
        report.warnings.append(f"plugin {known}: plugins are not run")
    for count, one, many, why in (
        (m.nskin, "skin", "skins", "not drawn"),
        (m.ncam, "camera", "cameras", "not used"),
        (m.nlight, "light", "lights", "not used"),
        (m.ntex, "texture", "textures", "not drawn; colours of materials are"),
        (m.nnumeric + m.ntext + m.ntuple, "custom field", "custom fields", "not read"),
        (_user_fields(model), "kind of elements with user data", "kinds of elements with user data", "not read"),
    ):
        if count:
            report.notes.append(f"{counted(int(count), one, many)}: {why}")
    hidden = int(np.sum((m.geom_contype == 0) & (m.geom_conaffinity == 0) & (m.geom_group > 2)))
    if hidden:
        report.notes.append(f"{counted(hidden, 'geom')} without contacts, in groups that are not shown: not drawn")


def _user_fields(model: CompiledModel) -> int:
    """Kinds of elements that have numbers of the user's own."""
    kinds = ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
    return sum(getattr(model.m, f"nuser_{kind}") > 0 for kind in kinds)


def _soft_settings(model: CompiledModel) -> str:
    """Parts of a model for which a file changes how soft its own engine makes what is rigid here."""
    m, found = model.m, []
    for word, count, of in (
        ("joint limits", m.njnt, ("jnt_solref", "jnt_solimp", "jnt_margin")),
        ("dry friction", m.nv, ("dof_solref", "dof_solimp")),
        ("equalities", m.neq, ("eq_solref", "eq_solimp")),
        ("tendons", m.ntendon, ("tendon_solref_lim", "tendon_solimp_lim", "tendon_solref_fri", "tendon_solimp_fri",
                                "tendon_margin")),
        ("contact pairs", m.npair, ("pair_solref", "pair_solimp", "pair_margin", "pair_gap")),
    ):  # fmt: skip
        usual = {2: SOFT[0], 5: SOFT[1], 1: (0.0,)}
        values = [np.reshape(getattr(m, field), (count, -1)) for field in of] if count else []
        if any(np.any(value != usual[value.shape[1]]) for value in values):
            found.append(word)
    return ", ".join(found)


def say_settings(model: CompiledModel, mujoco: Any) -> None:
    """Settings of the file's own engine, and physics that it asks for and is not there."""
    o, report = model.m.opt, model.report
    for word, value in (("density", o.density), ("viscosity", o.viscosity)):
        if value != 0.0:
            report.warnings.append(f"option {word}={value:g}: forces of a medium are not simulated")
    if np.any(o.wind) and (o.density != 0.0 or o.viscosity != 0.0):
        report.warnings.append("option wind: forces of a medium are not simulated")
    if o.disableflags & int(mujoco.mjtDisableBit.mjDSBL_ACTUATION):
        report.warnings.append("option flag actuation=disable: actuators act all the same")
    if o.enableflags & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        report.warnings.append("option flag override=enable: contacts keep the friction of their geoms")
    if o.disableflags & int(mujoco.mjtDisableBit.mjDSBL_SENSOR) and model.m.nsensor:
        report.notes.append("option flag sensor=disable: sensors are read all the same")
    soft = _soft_settings(model)
    if soft:
        report.notes.append(f"solref, solimp and margins of {soft} have no meaning here: these are rigid")
    gravity = np.zeros(3) if o.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY) else o.gravity
    ours = f"timestep {o.timestep:g} s"
    for word, value, usual, names in (
        ("integrator", o.integrator, 0, mujoco.mjtIntegrator),
        ("cone", o.cone, 0, mujoco.mjtCone),
        ("solver", o.solver, 2, mujoco.mjtSolver),
    ):
        if value != usual:
            ours += f", {word} {names(value).name.split('_')[1].lower()}"
    if o.impratio != 1.0:
        ours += f", impratio {o.impratio:g}"
    if o.noslip_iterations:
        ours += f", noslip_iterations {o.noslip_iterations}"
    report.notes.append(f"settings of the file's own engine, not used: {ours}")
    if not np.allclose(gravity, (0.0, 0.0, -9.81), rtol=0.0, atol=1e-12):
        text = ", ".join(f"{value:g}" for value in gravity)
        report.notes.append(f"gravity of the file ({text}) m/s^2 is not used; a scene has its own")
