"""The facts of a recorded run: what its page shows and scripts read, as plain values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.names import visible
from stickslip.view.course import FLOWS, Course
from stickslip.view.report.plots import usual_stages
from stickslip.view.report.warnings import RunWarning, run_warnings, verdict
from stickslip.view.solver_law import solver_law

if TYPE_CHECKING:
    from stickslip.io.recording import Recording
    from stickslip.io.robot_frames import RecordedRobot


STORED = ("kinetic", "potential", "elastic")
"""Entries of the ledger that are energies, not flows of it."""


class Measure(NamedTuple):
    """An entry of the certificate as people read it."""

    title: str
    unit: str
    scale: float
    """From the unit of the certificate to this one."""
    about: str


MEASURES = {
    "natural_residual": Measure("contact law", "1", 1.0, "residual of the exact law, natural map, scaled"),
    "momentum_relative": Measure("momentum", "1", 1.0, "share of it that a step created or lost"),
    "penetration": Measure("overlap", "mm", 1e3, "deepest of two bodies"),
    "cone_violation": Measure("friction", "N", 1.0, "most that a force left its cone"),
    "velocity_violation": Measure("approach", "m/s", 1.0, "fastest that a contact or joint forbids"),
    "direction_error": Measure(
        "direction", "deg", 180.0 / math.pi, "angle of friction to what brakes most; noise where slip is slow"
    ),
    "wrong_dissipation": Measure("wrong work", "W", 1.0, "power with which friction feeds the motion"),
    "gliding_gap": Measure("gliding gap", "mm", 1e3, "widest across which a contact pushes"),
}
"""Errors of the certificate by name."""


def report_facts(recording: Recording, course: Course) -> dict[str, Any]:
    """Facts of a recording and its course, with only JSON types in them; what is not finite is None."""
    warnings = run_warnings(recording)
    model, law = recording.model, solver_law(recording)
    dt = float(recording.stepping["dt"])
    stages = {name: 1e3 * seconds for name, seconds in usual_stages(course).items()}
    seconds = course.step_seconds[course.warm]
    step = 1e3 * float(np.median(seconds)) if len(course) else 0.0
    # a median would hide the slow ones, which real time has to wait for
    mean = float(np.mean(seconds)) if len(course) else 0.0
    facts = {
        "verdict": verdict(recording, warnings),
        "severity": worst_severity(warnings),
        "warnings": [{"severity": w.severity, "time_s": w.time, "text": w.text} for w in warnings],
        "file": visible(recording.path.name),
        "scene": recording.scene,
        "about": scene_about(recording.scene),
        "parameters": recording.parameters,
        "solver": {"name": recording.solver, "law": law, "options": recording.solver_options},
        "stepping": recording.stepping,
        "stickslip_version": recording.stickslip_version,
        "state_digest": recording.state_digest,
        "complete": recording.complete,
        "frames": len(course),
        "every": recording.every,
        "steps": int(course.stands_for.sum()),
        "end_s": float(course.time[-1]) if len(course) else None,
        "bodies": model.body_count,
        "soft_bodies": model.soft.count,
        "nodes": model.soft.node_count,
        "joints": model.joints.count,
        "robots": [_robot(robot) for robot in recording.robots] if len(course) else [],
        "unknowns": model.dof_count,
        "contacts_mean": _mean(course.contacts),
        "contacts_max": int(course.contacts.max(initial=0)),
        "iterations_mean": _mean(course.iterations),
        "iterations_max": int(course.iterations.max(initial=0)),
        "converged_steps": int(course.converged.sum()),
        "ms_per_step_median": step,
        "realtime_rate": dt / mean if mean > 0.0 else None,
        "stages_ms": stages,
        "worst": {name: _worst(course, getattr(course, name), measure) for name, measure in MEASURES.items()},
        "energy_end_J": {name: float(course.energy[name][-1]) for name in STORED if len(course)},
        "energy_flows_J": {name: float(course.cumulated(name)[-1]) for name in FLOWS if len(course)},
    }
    return {name: _plain(value) for name, value in facts.items()}


def scene_about(name: str) -> str:
    """What a scene of ours is, in one sentence; empty for those of others."""
    from stickslip.scenes.registry import SCENES

    return SCENES[name].summary if name in SCENES else ""


def worst_severity(warnings: list[RunWarning]) -> str:
    """The worst of some warnings, "note" where there are none."""
    return warnings[0].severity if warnings else "note"


def _worst(course: Course, values: Array, measure: Measure) -> dict[str, Any]:
    """The largest value, when it was, and the median."""
    known = np.isfinite(values)
    if not known.any():
        return {"value": None, "unit": measure.unit, "time_s": None, "median": None}
    frame = int(np.where(known, values, -np.inf).argmax())
    return {
        "value": measure.scale * float(values[frame]),
        "unit": measure.unit,
        "time_s": round(float(course.time[frame]), 9),
        "median": measure.scale * float(np.median(values[known])),
    }


def _robot(robot: RecordedRobot) -> dict[str, Any]:
    """Range of motion and largest effort of each joint of one degree of freedom."""
    position, effort = np.asarray(robot.position), np.asarray(robot.effort)
    found = []
    for joint in robot.joints:
        if joint.kind in ("free", "ball"):
            continue
        q, force = position[:, joint.position.start], effort[:, joint.velocity.start]
        length, unit = ("m", "N") if joint.kind == "prismatic" else ("rad", "N m")
        found.append({
            "name": joint.name, "unit": length, "effort_unit": unit, "first": float(q[0]), "last": float(q[-1]),
            "least": float(q.min()), "most": float(q.max()), "effort": float(np.abs(force).max()),
        })  # fmt: skip
    return {"name": robot.name, "joints": found}


def _mean(values: LongInts) -> float:
    return float(values.mean()) if len(values) else 0.0


def _plain(value: Any) -> Any:
    """A value with only JSON types in it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
