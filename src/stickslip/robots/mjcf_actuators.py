"""Actuators and sensors of a compiled MJCF model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stickslip.robots.mjcf_couplings import tendon_terms
from stickslip.robots.mjcf_links import BALL, FREE
from stickslip.robots.mjcf_model import CompiledModel, quaternion, vector
from stickslip.robots.records import Actuator, ActuatorKind, Sensor, SensorKind, Site

DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user")
GAINS = ("fixed", "affine", "muscle", "dcmotor", "so3", "pid", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
TRANSMISSIONS = ("joint", "jointinparent", "slidercrank", "tendon", "site", "body", "so3")
"""Words for the compiler's codes (mjtDyn, mjtGain, mjtBias, mjtTrn)."""
LOST = "it is left out, with its control"


def read_actuators(model: CompiledModel) -> tuple[tuple[Actuator, ...], list[int]]:
    """Actuators that are there, and the entries of the file's control vector that are theirs."""
    m = model.m
    found, controls = [], []
    for i in range(m.nactuator):
        actuator = _actuator(model, i)
        if actuator:
            found.append(actuator)
            controls.append(int(m.actuator_ctrladr[i]))
    return tuple(found), controls


def _actuator(model: CompiledModel, i: int) -> Actuator | None:
    """One actuator, or None and a warning."""
    m = model.m
    if m.actuator_plugin[i] >= 0:
        model.warn("actuator", i, "plugin", LOST)
        return None
    dynamics = _word(DYNAMICS, m.actuator_dyntype[i])
    gain_type, bias_type = _word(GAINS, m.actuator_gaintype[i]), _word(BIASES, m.actuator_biastype[i])
    for what, word, good in (
        ("dynamics", dynamics, ("none", "filter", "filterexact")),
        ("gain", gain_type, ("fixed", "affine")),
        ("bias", bias_type, ("none", "affine")),
    ):
        if word not in good:
            model.warn("actuator", i, f"{what} {word}", LOST)
            return None
    gain, slopes = float(m.actuator_gainprm[i, 0]), m.actuator_gainprm[i, 1:3]
    if gain_type == "affine" and np.any(slopes):
        model.warn("actuator", i, "gain affine", f"{LOST}: its gain changes with length and speed")
        return None
    geared = _transmission(model, i)
    if geared is None:
        return None
    if dynamics != "none":
        model.warn("actuator", i, f"dynamics {dynamics}", "it acts at once, without its filter")
    if m.actuator_delay[i] > 0.0:
        model.warn("actuator", i, "", f"it acts at once, without its delay of {m.actuator_delay[i]:g} s")
    group = int(m.actuator_group[i])
    if 0 <= group <= 30 and m.opt.disableactuator >> group & 1:
        model.warn(
            "actuator", i, f"group {group}", "it acts, though the file turns its group off (actuatorgroupdisable)"
        )
    bias = vector(m.actuator_biasprm[i, :3]) if bias_type == "affine" else (0.0, 0.0, 0.0)
    control = int(m.actuator_ctrladr[i])
    terms, along = geared
    return Actuator(
        model.names["actuator"][i], _kind(gain, bias), terms, gain, bias,
        _range(m.actuator_ctrlrange[control]) if m.actuator_ctrllimited[control] else None,
        _range(m.actuator_forcerange[i]) if m.actuator_forcelimited[i] else None, along,
    )  # fmt: skip


def _kind(gain: float, bias: tuple[float, float, float]) -> ActuatorKind:
    """What users call an actuator with this gain and bias."""
    if bias == (0.0, 0.0, 0.0):
        return "motor"
    if bias[0] == 0.0 and bias[1] == -gain:
        return "position"
    if bias[:2] == (0.0, 0.0) and bias[2] == -gain:
        return "velocity"
    return "general"


def _transmission(
    model: CompiledModel, i: int
) -> tuple[tuple[tuple[str, float], ...], tuple[float, ...] | None] | None:
    """Joints and factors, and factors of all degrees of freedom of a joint that has several; None and a warning."""
    m = model.m
    word = _word(TRANSMISSIONS, m.actuator_trntype[i])
    gear = m.actuator_gear[m.actuator_outadr[i]]
    target = int(m.actuator_trnid[i, 0])
    if word == "tendon":
        terms = tendon_terms(model, target)
        if terms is None:
            model.warn("actuator", i, "", f"{LOST}: it pulls the spatial {model.element('tendon', target)}")
            return None
        return tuple((joint, float(gear[0]) * factor) for joint, factor in terms), None
    if word not in ("joint", "jointinparent"):
        model.warn("actuator", i, f"transmission {word}", LOST)
        return None
    joint, kind = model.names["jnt"][target], int(m.jnt_type[target])
    if kind not in (FREE, BALL):
        return ((joint, float(gear[0])),), None
    along = tuple(float(factor) for factor in gear[: 6 if kind == FREE else 3])
    # torques of a free joint are taken in the frame of the world, those of a ball joint in the frame of its link
    if (kind == FREE and word == "joint" and np.any(gear[3:])) or (kind == BALL and word == "jointinparent"):
        frame = "body" if kind == FREE else "parent"
        model.warn("actuator", i, f"transmission {word}", f"{LOST}: its torque turns with the {frame}")
        return None
    return ((joint, 1.0),), along


def _word(words: tuple[str, ...], code: int) -> str:
    return words[code] if 0 <= code < len(words) else f"code {int(code)}"


def _range(ends: np.ndarray) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


# ---- sensors -------------------------------------------------------------------------------------------------

SENSORS: dict[str, SensorKind] = {
    "JOINTPOS": "joint position", "JOINTVEL": "joint velocity", "JOINTACTFRC": "joint effort",
    "ACTUATORFRC": "actuator force", "FRAMEPOS": "position", "FRAMEQUAT": "rotation", "FRAMELINVEL": "velocity",
    "FRAMEANGVEL": "angular velocity", "ACCELEROMETER": "accelerometer", "GYRO": "gyro", "VELOCIMETER": "velocimeter",
    "FORCE": "force", "TORQUE": "torque", "TOUCH": "touch", "FRAMEXAXIS": "axis x", "FRAMEYAXIS": "axis y",
    "FRAMEZAXIS": "axis z", "SUBTREECOM": "centre of mass", "TENDONPOS": "tendon position",
    "TENDONVEL": "tendon velocity", "CLOCK": "clock",
}  # fmt: skip
"""Kinds by the compiler's names (mjtSensor) without their beginning."""


Measured = Literal["joint", "actuator", "tendon", "link", "site", "nothing"]
MEASURED: dict[str, Measured] = {"JOINT": "joint", "ACTUATOR": "actuator", "TENDON": "tendon", "SITE": "site"}
"""What sensors measure, by the compiler's names (mjtObj) without their beginning."""


@dataclass(frozen=True)
class _Codes:
    """Names of the compiler's codes."""

    sensors: dict[int, str]
    objects: dict[int, str]


def read_sensors(
    model: CompiledModel,
    actuators: tuple[Actuator, ...],
    sites: list[Site],
    codes: tuple[dict[int, str], dict[int, str]],
) -> tuple[Sensor, ...]:
    """Sensors that are there; frames of geoms, cameras and centres of mass that some measure become sites.

    ``codes`` are the names of the compiler's codes of sensors and of objects.
    """
    m, known = model.m, _Codes(*codes)
    driven = {actuator.name for actuator in actuators}
    found = []
    for i in range(m.nsensor):
        word = known.sensors[int(m.sensor_type[i])]
        kind = SENSORS.get(word)
        if kind is None:
            model.warn("sensor", i, word.lower(), "it is not read")
            continue
        if m.sensor_refid[i] >= 0 or known.objects[int(m.sensor_reftype[i])] != "UNKNOWN":
            model.warn("sensor", i, word.lower(), "it is not read: it measures in a frame of its own")
            continue
        of = _object(model, i, known, sites)
        if of is None or (of[1] == "actuator" and of[0] not in driven):
            problem = "what it measures is not there" if of else "it measures the world"
            model.warn("sensor", i, word.lower(), f"it is not read: {problem}")
            continue
        if of[1] == "tendon" and tendon_terms(model, int(m.sensor_objid[i])) is None:
            model.warn("sensor", i, word.lower(), "it is not read: its tendon is spatial and not simulated")
            continue
        if m.sensor_delay[i] > 0.0 or m.sensor_interval[i, 0] > 0.0:
            model.warn("sensor", i, word.lower(), "it is read at once, without its delay and interval")
        found.append(Sensor(model.names["sensor"][i], kind, of[0], of[1]))
    if np.any(m.sensor_cutoff > 0.0):
        cut = model.elements("sensor", np.flatnonzero(m.sensor_cutoff > 0.0).tolist())
        model.report.notes.append(f"{cut}: values are not cut at a cutoff")
    if any(sensor.kind == "touch" for sensor in found):
        model.report.notes.append("sensors of touch: all contacts of the link count, also those outside of the site")
    return tuple(found)


def _object(model: CompiledModel, i: int, codes: _Codes, sites: list[Site]) -> tuple[str, Measured] | None:
    """Name and kind of what a sensor measures; None is the world."""
    m = model.m
    kind, number = codes.objects[int(m.sensor_objtype[i])], int(m.sensor_objid[i])
    if kind == "UNKNOWN":
        return "", "nothing"
    if kind in MEASURED:
        field = {"JOINT": "jnt"}.get(kind, kind.lower())
        return model.names[field][number], MEASURED[kind]
    if kind in ("BODY", "XBODY"):
        if number == 0:
            return None
        frame_is_link = not np.any(m.body_ipos[number]) and m.body_iquat[number, 0] == 1.0
        whole = codes.sensors[int(m.sensor_type[i])] == "SUBTREECOM"
        if kind == "XBODY" or whole or frame_is_link:
            return model.names["body"][number], "link"
        frame = "body", number, m.body_ipos[number], m.body_iquat[number]
    elif kind == "GEOM":
        frame = "geom", int(m.geom_bodyid[number]), m.geom_pos[number], m.geom_quat[number]
    else:
        frame = "cam", int(m.cam_bodyid[number]), m.cam_pos[number], m.cam_quat[number]
    beginning, body, position, rotation = frame
    name = f"{beginning} frame of {model.names[beginning][number]}"
    if all(site.name != name for site in sites):
        sites.append(Site(name, model.link(body), vector(position), quaternion(rotation)))
    return name, "site"
