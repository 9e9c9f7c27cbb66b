"""Robots from MJCF files, as the format's own compiler understands them.

Defaults, classes, includes, attached models, inertias of geoms, frames and units are the compiler's work (package
mujoco-core); what is read here is the compiled model. What a model asks for and is not there is a warning.
"""

from __future__ import annotations

import os
import warnings
from importlib import metadata
from typing import Any

import numpy as np

from stickslip.errors import FileError, MissingDependencyError
from stickslip.names import shown, visible
from stickslip.reading import reason
from stickslip.robots.mjcf_actuators import read_actuators, read_sensors
from stickslip.robots.mjcf_couplings import read_couplings, read_tendons
from stickslip.robots.mjcf_errors import compiler_error, given_inertia
from stickslip.robots.mjcf_files import WHAT, ModelFiles, model_files
from stickslip.robots.mjcf_left_out import say_settings, say_what_is_left
from stickslip.robots.mjcf_links import read_excluded, read_keyframes, read_links, read_sites, start_of
from stickslip.robots.mjcf_model import CompiledModel, compiled, line_of
from stickslip.robots.mjcf_shapes import read_shapes
from stickslip.robots.record_cache import keep_record, kept_record, record_key
from stickslip.robots.records import ImportReport, RobotRecord

MUST_BE_FINITE = (
    "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia", "jnt_pos", "jnt_axis",
    "jnt_stiffness", "dof_armature", "dof_damping", "dof_frictionloss", "geom_pos", "geom_quat", "geom_size",
    "geom_friction", "site_pos", "site_quat", "mesh_vert", "qpos0", "key_qpos", "key_qvel", "eq_data",
    "actuator_gear", "actuator_gainprm", "actuator_biasprm", "tendon_stiffness", "tendon_damping", "wrap_prm",
)  # fmt: skip
"""Fields of a compiled model that a simulation needs; the others may be infinite, none may be NaN."""
SMALLEST_MASS, SMALLEST_INERTIA = 1e-6, 1e-9
"""[kg], [kg m^2] that repaired links have at least."""
DEFAULT_NAME = "MuJoCo Model"
TURNED_OFF: dict[str, tuple[str, ...]] = {
    "CONSTRAINT": (
        "eq_active0", "dof_frictionloss", "tendon_frictionloss", "jnt_limited", "tendon_limited", "geom_contype",
        "geom_conaffinity",
    ),
    "EQUALITY": ("eq_active0",),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "CONTACT": ("geom_contype", "geom_conaffinity"),
    "SPRING": ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    "DAMPER": (
        "dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly", "actuator_damping",
        "actuator_dampingpoly",
    ),
    "CLAMPCTRL": ("actuator_ctrllimited",),
}  # fmt: skip
"""Fields that are zero where a flag of the option element turns something off (mjtDisableBit)."""


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    exact_meshes: bool = False,
    convex_pieces: bool = False,
    allow_outside: bool = False,
    repair: bool = False,
) -> RobotRecord:
    """The robot of an MJCF file.

    A mesh touches as its convex hull; with ``exact_meshes`` as it is, if it bounds a solid; with ``convex_pieces`` as
    convex parts that fill it. ``allow_outside``: files may be outside of the folder of the model. ``repair``: links
    with impossible mass or inertia get possible ones, which the report lists. Bad files raise a FileError.
    """
    mujoco_version = _compiler_version()
    files = model_files(path, allow_outside)
    options = "mjcf", mujoco_version, exact_meshes, convex_pieces, repair
    key = record_key(__name__, options, _contents(files))
    record = kept_record(key)
    if record is None:
        model = _compile(files, repair)
        record = _record(model, exact_meshes, convex_pieces)
        keep_record(key, record)
    record.report.file = str(files.top)
    record.report.paths[:] = [f"{asset}: found" for asset in dict.fromkeys(str(asset) for asset, *_ in files.assets)]
    return record


def _compiler_version() -> str:
    """Version of the installed compiler; none raises an error that says how to get one."""
    for package in ("mujoco-core", "mujoco"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    raise MissingDependencyError(
        "MJCF files need their own compiler, the package mujoco-core; install it with: pip install 'stickslip[robots]'"
    )


def _contents(files: ModelFiles) -> list[tuple[str, bytes]]:
    """Names, relative to the model's folder, and bytes of all files of a model."""
    found = [(os.path.relpath(file, files.top.parent), files.contents[file]) for file in files.xml]
    for asset in dict.fromkeys(asset for asset, *_ in files.assets):
        try:
            found.append((os.path.relpath(asset, files.top.parent), asset.read_bytes()))
        except OSError as error:
            raise FileError(f"{WHAT} {files.top}: its file {visible(asset)} cannot be read: {reason(error)}") from None
    return found


# ---- the compiler --------------------------------------------------------------------------------------------


def _compile(files: ModelFiles, repair: bool) -> CompiledModel:
    """Compile a model; what the compiler complains of becomes one error with file, element and line."""
    import mujoco

    said: list[str] = []
    listener = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)  # it would write a file into the current folder
    report = ImportReport(str(files.top), "mjcf")
    mujoco.mj_clearCache(mujoco.mj_getCache())  # it takes a mesh for unchanged where only its contents are new
    spec = None
    try:
        spec = mujoco.MjSpec.from_file(str(files.top))
        spec.compiler.passthrough = mujoco.mjtPassthrough.mjPASSTHROUGH_TEXTURES  # their pixels are not looked at
        _require_ranges(spec, files)
        if repair:
            _repair(spec, report)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            m = spec.compile()
        said += [str(warning.message) for warning in told]
    except FileError:
        raise
    except Exception as error:  # of one type for each of its parts
        raise compiler_error(files, str(error), spec) from None
    finally:
        mujoco.set_mju_user_warning(listener)
    model = compiled(m, spec, files, report)
    _require_numbers(model)
    report.notes += [f"the compiler says: {visible(' '.join(text.split()), 300)}" for text in dict.fromkeys(said)]
    if repair:
        _note_repairs(spec, model)
    return model


def _require_ranges(spec: Any, files: ModelFiles) -> None:
    """Reject ranges whose ends are in the wrong order, which the compiler takes for none at all."""
    for kind, elements, field, switch in (
        ("joint", spec.joints, "range", "limited"),
        ("joint", spec.joints, "actfrcrange", "actfrclimited"),
        ("tendon", spec.tendons, "range", "limited"),
        ("actuator", spec.actuators, "ctrlrange", "ctrllimited"),
        ("actuator", spec.actuators, "forcerange", "forcelimited"),
    ):
        for number, element in enumerate(elements):
            ends = np.ravel(getattr(element, field))[:2]
            if len(ends) == 2 and ends[0] > ends[1] and np.any(np.ravel(getattr(element, switch)) != 0):
                line = files.where(kind, element.name, line_of(element))
                name = shown(element.name) if element.name else f"number {number}"
                where = f"{WHAT} {files.top}, {line}" if line else f"{WHAT} {files.top}"
                found = f"[{ends[0]:g}, {ends[1]:g}]"
                raise FileError(f"{where}: {field} of {kind} {name} is {found}; the lower end comes first")


def _repair(spec: Any, report: ImportReport) -> None:
    """Let the compiler make masses and inertias possible."""
    spec.compiler.balanceinertia = True
    spec.compiler.boundmass = max(spec.compiler.boundmass, SMALLEST_MASS)
    spec.compiler.boundinertia = max(spec.compiler.boundinertia, SMALLEST_INERTIA)
    for body in spec.bodies:
        if body.explicitinertial and body.mass < 0.0:
            report.repaired.append(f"body {shown(body.name)}: mass {body.mass:g} kg, now {SMALLEST_MASS:g} kg")
            body.mass = SMALLEST_MASS


def _note_repairs(spec: Any, model: CompiledModel) -> None:
    """List inertias that the compiler has changed."""
    m = model.m
    for body in spec.bodies:
        if body.id == 0:
            continue
        name = model.element("body", body.id)
        if not body.explicitinertial:
            if m.body_mass[body.id] <= SMALLEST_MASS or m.body_inertia[body.id].min() <= SMALLEST_INERTIA:
                now = f"{SMALLEST_MASS:g} kg, {SMALLEST_INERTIA:g} kg m^2"
                model.report.repaired.append(f"{name}: its geoms have next to no mass; now it has at least {now}")
            continue
        old = np.linalg.eigvalsh(given_inertia(body))
        new = m.body_inertia[body.id]
        if not np.allclose(np.sort(old), np.sort(new), rtol=1e-6, atol=0.0):
            before, after = (", ".join(f"{value:.4g}" for value in np.sort(values)) for values in (old, new))
            model.report.repaired.append(f"{name}: moments of inertia {before} kg m^2, now {after} kg m^2")


def _require_numbers(model: CompiledModel) -> None:
    """Reject models with a NaN, or with infinite numbers where these have no meaning."""
    m = model.m
    others = [field for field in dir(m) if not field.startswith("_") and field not in MUST_BE_FINITE]
    for field in (*MUST_BE_FINITE, *others):
        values = getattr(m, field, None)
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not values.size or "user" in field:
            continue
        bad = ~np.isfinite(values) if field in MUST_BE_FINITE else np.isnan(values)
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            kind = field.split("_")[0]
            known = kind in model.names and len(values) == len(model.names[kind])
            element = model.element(kind, row) if known else f"entry {row}"
            worst = float(values[bad][0])
            raise FileError(f"{WHAT} {model.files.top}: {field} of {element} is {worst}; it must be a finite number")


# ---- the record ----------------------------------------------------------------------------------------------


def _record(model: CompiledModel, exact_meshes: bool, convex_pieces: bool) -> RobotRecord:
    """Everything that a compiled model holds."""
    import mujoco

    m, report = model.m, model.report
    _turn_off(model, mujoco)
    model.parents_pass = not m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    excluded = read_excluded(model)
    found = read_shapes(model, excluded, exact_meshes, convex_pieces)
    links = read_links(model, found.shapes, found.visuals)
    tendons, couplings = read_tendons(model), read_couplings(model)
    actuators, controls = read_actuators(model)
    sites = read_sites(model)
    codes = _codes(mujoco.mjtSensor, "mjSENS_"), _codes(mujoco.mjtObj, "mjOBJ_")
    sensors = read_sensors(model, actuators, sites, codes)
    say_what_is_left(model)
    say_settings(model, mujoco)
    text = bytes(m.names)
    name = text[: text.index(b"\0")].decode("utf-8", "replace")
    return RobotRecord(
        model.files.top.stem if name in ("", DEFAULT_NAME) else visible(name), links, couplings, tendons, actuators,
        sensors, tuple(sites), read_keyframes(model, controls), excluded, parents_collide=not model.parents_pass,
        start=start_of(model), surroundings=tuple(found.shapes.get(0, ())),
        surrounding_visuals=tuple(found.visuals.get(0, ())), report=report,
    )  # fmt: skip


def _turn_off(model: CompiledModel, mujoco: Any) -> None:
    """Take out of a model what flags of the file turn off, so that nothing else needs to know of these."""
    m = model.m
    for word, fields in TURNED_OFF.items():
        if m.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{word}")):
            for field in fields:
                getattr(m, field)[:] = 0
            model.contacts &= "geom_contype" not in fields
            model.report.notes.append(f"option flag {word.lower()}=disable: what it turns off is left out")


def _codes(names: Any, beginning: str) -> dict[int, str]:
    """Names of the compiler's codes without their beginning."""
    return {int(code): name.removeprefix(beginning) for name, code in names.__members__.items()}
