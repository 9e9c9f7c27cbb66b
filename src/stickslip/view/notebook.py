"""What a notebook shows of a scene, a simulation and the parts of a step: a small table, and a picture where it can.

Classes below this layer ask for these functions by name when a notebook asks them (``_repr_html_``). Nothing here needs
a display. Whatever goes wrong while a picture is drawn costs the picture alone: its place says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.certify.certificate import Certificate
from stickslip.certify.step_result import StepResult
from stickslip.contact.problem import ContactProblem
from stickslip.errors import StickslipError
from stickslip.law_codes import CONTACT, LAW_NAMES
from stickslip.model.model import Model, compile_scene
from stickslip.model.state import State
from stickslip.names import visible
from stickslip.scene.scene import Scene
from stickslip.solvers.protocol import Solution
from stickslip.view.html_page import image, png_bytes, table

if TYPE_CHECKING:
    from stickslip.io.recording import Recording
    from stickslip.simulation import Simulation

WIDTH, HEIGHT = 320, 180
"""[pixels] of a picture."""
MOST_BODIES = 8
"""Bodies of a scene that are listed by name."""

Rows = Sequence[Sequence[str]]


def scene_html(scene: Scene) -> str:
    """A picture of a scene at time zero, what it holds, and its first bodies by name."""

    def drawn() -> NDArray[np.uint8]:
        from stickslip.model.state import initial_state

        model = compile_scene(scene)
        return _drawn(model, model.pose_start, initial_state(model).node_position)

    listed: list[tuple[str, ...]] = [
        (visible(body.name), body.kind, f"{body.mass_properties.mass:.4g} kg" if body.kind == "dynamic" else "")
        for body in scene.bodies[:MOST_BODIES]
    ]
    room = MOST_BODIES - len(listed)
    listed += [(visible(body.name), "soft", f"{len(body.start)} nodes") for body in scene.soft_bodies[:room]]
    listed += [(visible(other.name), type(other).__name__, "") for other in scene.others[: MOST_BODIES - len(listed)]]
    left = len(scene.bodies) + len(scene.soft_bodies) + len(scene.others) - len(listed)
    if left:
        listed.append((f"and {left:,} more", "", ""))
    gravity = ", ".join(f"{x:g}" for x in np.asarray(scene.gravity))
    rows = [*_counts(_scene_counts(scene)), ("gravity", f"({gravity}) m/s²")]
    tables = _table("Scene", rows) + (table(("body", "kind", ""), listed, words=(0, 1)) if listed else "")
    return _beside(_picture(drawn, "the scene at time zero") if listed else "", tables)


def simulation_html(sim: Simulation) -> str:
    """A picture of a simulation now, and how its last step ended."""

    def drawn() -> NDArray[np.uint8]:
        from stickslip.view.frame import live_frame

        frame = live_frame(sim)
        return _drawn(sim.model, frame.q, frame.nodes)

    rows = [
        ("time", f"{sim.state.time:.6g} s"), ("steps", f"{sim.state.steps:,}"), ("dt", f"{sim.stepping.dt:g} s"),
        ("solver", visible(sim.solver.name)), *_counts(_model_counts(sim.model)),
    ]  # fmt: skip
    if sim.last is not None:
        rows += _step_rows(sim.last.certificate)
    return _beside(_picture(drawn, f"the scene at {sim.state.time:.6g} s"), _table("Simulation", rows))


def recording_html(recording: Recording) -> str:
    """What a recording holds."""
    length = f"{float(recording.time[-1]):.6g} s" if len(recording) else "0 s"
    rows = [
        ("scene", visible(recording.scene)), ("frames", f"{len(recording):,}"), ("until", length),
        ("solver", visible(recording.solver)), *_counts(_model_counts(recording.model)),
    ]  # fmt: skip
    if len(recording):
        converged = int(np.count_nonzero(recording.certificate["converged"]))
        rows.append(("converged", f"{converged:,} of {len(recording):,} frames"))
    return _table("Recording", rows)


def model_html(model: Model) -> str:
    """What a model holds."""
    rows = [
        *_counts(_model_counts(model)), ("shapes", f"{len(model.shape_body):,}"),
        ("materials", f"{len(model.friction_axis):,}"), ("unknown velocities", f"{model.dof_count:,}"),
        ("mass", f"{model.mass.sum() + model.soft.mass.sum():.4g} kg"),
    ]  # fmt: skip
    return _table("Model", rows)


def state_html(state: State) -> str:
    """Time, digest, and the sizes of the arrays of a state that are not empty."""
    arrays = {item.name: getattr(state, item.name) for item in fields(state)}
    sizes = [(name, str(x.shape)) for name, x in arrays.items() if isinstance(x, np.ndarray) and x.size]
    rows = [("time", f"{state.time:.6g} s"), ("steps", f"{state.steps:,}"), ("digest", state.digest()[:16])]
    return _table("State", rows + sizes)


def problem_html(problem: ContactProblem) -> str:
    """Sizes of a contact problem, and its blocks by their laws."""
    laws = problem.laws.law
    found = [(LAW_NAMES[law], int((laws == law).sum())) for law in sorted(LAW_NAMES)]
    rows = [(f"{name} blocks", f"{count:,}") for name, count in found if count]
    friction = problem.laws.friction[laws == CONTACT, 0]
    if len(friction):
        rows.append(("friction", f"{friction.min():.3g} to {friction.max():.3g}"))
    rows += [
        ("rows", f"{problem.row_count:,}"), ("unknown velocities", f"{problem.unknown_count:,}"),
        ("step", f"{problem.step:g} s"),
    ]  # fmt: skip
    return _table("ContactProblem", rows)


def solution_html(solution: Solution) -> str:
    """How a solve ended."""
    rows = [("status", solution.status), ("iterations", f"{solution.iterations:,}")]
    for name, value in (("residual", solution.residual), ("residual, exact law", solution.exact_residual)):
        if not np.isnan(value):
            rows.append((name, f"{value:.2e}"))
    if solution.method:
        rows.append(("method", visible(solution.method)))
    rows += [(visible(name), f"{count:,}") for name, count in solution.counts.items()]
    if len(solution.lam):
        rows.append(("largest impulse", f"{np.abs(solution.lam).max():.3g} N s"))
    return _table("Solution", rows)


def certificate_html(certificate: Certificate) -> str:
    """How wrong a step is, and its energies."""
    from stickslip.view.report.facts import MEASURES

    rows = [
        (measure.title, f"{measure.scale * getattr(certificate, name):.2e} {measure.unit}".removesuffix(" 1"))
        for name, measure in MEASURES.items()
    ]
    if certificate.joint_error:
        rows.append(("joints apart", f"{1e3 * certificate.joint_error:.2e} mm"))
    energy = certificate.energy
    rows += [(f"energy, {name}", f"{getattr(energy, name):.4g} J") for name in ("kinetic", "potential", "elastic")]
    rows += [(name, f"{getattr(energy, name):.3g} J") for name in ("friction", "impact", "numerical")]
    return _table("Certificate", [*_step_rows(certificate)[:3], *rows])


def result_html(result: StepResult) -> str:
    """What a step led to, its errors and its times."""
    rows = [("time", f"{result.state.time:.6g} s"), ("steps", f"{result.state.steps:,}")]
    rows += _step_rows(result.certificate)
    rows += [("blocks", f"{result.problem.block_count:,}"), ("rows", f"{result.problem.row_count:,}")]
    rows += [(name, f"{1e3 * seconds:.3g} ms") for name, seconds in result.timings.items()]
    return _table("StepResult", rows)


def _step_rows(certificate: Certificate) -> list[tuple[str, str]]:
    """The last step in a few lines."""
    return [
        ("status", certificate.status), ("contacts", f"{certificate.contacts:,}"),
        ("iterations", f"{certificate.iterations:,}"), ("contact law", f"{certificate.natural_residual:.2e}"),
        ("overlap", f"{certificate.penetration_mm:.3g} mm"), ("energy", f"{certificate.energy.total:.6g} J"),
    ]  # fmt: skip


def _scene_counts(scene: Scene) -> list[tuple[str, int]]:
    moving = sum(body.kind == "dynamic" for body in scene.bodies)
    return [
        ("rigid bodies", len(scene.bodies)), ("of these dynamic", moving), ("soft bodies", len(scene.soft_bodies)),
        ("other bodies", len(scene.others)), ("rods", len(scene.rods)), ("joints", len(scene.joints)),
        ("materials", len(scene.materials)),
    ]  # fmt: skip


def _model_counts(model: Model) -> list[tuple[str, int]]:
    return [
        ("rigid bodies", model.body_count), ("of these dynamic", int((model.body_dynamic).sum())),
        ("soft bodies", model.soft.count), ("nodes", model.soft.node_count), ("joints", model.joints.count),
    ]  # fmt: skip


def _counts(counts: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """Rows of what there is any of."""
    return [(name, f"{count:,}") for name, count in counts if count]


def _table(name: str, rows: Rows) -> str:
    return table((), rows, name=name)


def _beside(picture: str, tables: str) -> str:
    """A picture and tables side by side; both are HTML."""
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">{picture}<div>{tables}</div></div>'


def _drawn(model: Model, q: NDArray[np.float64], nodes: NDArray[np.float64]) -> NDArray[np.uint8]:
    """A small picture; the modules that draw hold kernels, which only who looks pays for."""
    from stickslip.view.picture.picture import render_frame

    return render_frame(model, q, WIDTH, HEIGHT, nodes=nodes)


def _picture(drawn: Callable[[], NDArray[np.uint8]], text: str) -> str:
    """An embedded picture, or why there is none."""
    try:
        return image(png_bytes(drawn()), "png", text)
    except StickslipError as error:
        return f"<small>no picture: {escape(visible(error))}</small>"
    except Exception as error:  # a table without its picture is better than none
        return f"<small>no picture: {escape(type(error).__name__)}</small>"
