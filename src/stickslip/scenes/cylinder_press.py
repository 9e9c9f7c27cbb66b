"""A rubber cylinder is pressed flat between two rigid plates without friction, [han2023] sec. VII-A (Fig. 3 and 4).

Plane strain, Mooney and Rivlin's rubber with a bulk modulus of 1500 shear moduli, no gravity; the force on the upper
plate grows linearly to 1.4 MN/m in 500 s. Differs from the paper: the step is 1 s instead of 0.01 s; one layer of
elements along the axis instead of two, which changes nothing but the work; meshes are crossed quadrilaterals, since the
paper's are not given; two nodes on the vertical axis slide in guides, since a cylinder between smooth plates rolls
without resistance, and a polygon may even gain by it. By symmetry the guides carry nothing. Rubber is the form with
J^(-2/3), stress-free at rest; at J = 1 within 1e-3 all forms of the model are the same incompressible one.

The paper's reference is a figure: the curve here is that of an independent static solution with mixed elements,
``benchmarks/press_reference.py --divisions 6``, and passes through the published points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.geometry.plane_meshes import crossed_disc
from stickslip.model.stepping import Stepping
from stickslip.scene.scene import Body, Scene
from stickslip.scene.soft_body import elastic
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.registry import make_solver

DIVISIONS = (5, 9, 13, 17)
"""Of the four meshes (geometry/plane_meshes.py). Odd ones stand on an edge."""
RADIUS, THICKNESS = 0.2, 0.02
"""[m] of the slice of the cylinder that is simulated."""
PLATE = (1.0, 0.03, 0.04)
"""[m] full edges of the upper plate: wider than the cylinder gets."""
PLATE_MASS = 1e5
"""[kg] so that in steps of a second the plate is no lighter to push than the rubber: regularisation of contacts and
joints goes by what is lightest. What its inertia takes of the load is of the order of 1e-6."""
MOONEY = (0.293e6, 0.177e6, 1410e6)
"""[Pa] C1, C2 and bulk modulus."""
NEAR_RIGID = 3e-4
"""Of the solver sap. A cylinder that nothing but plates holds moves as freely as its mass lets it, 2.5 kg in steps of
seconds, and near-rigid contacts go by that: they would give way by centimetres at the usual 0.03."""
STEPPING: Mapping[str, Any] = MappingProxyType({"margin": 0.015, "recovery": 1.0, "recovery_speed": 10.0})
"""[m] gap up to which contacts are looked for: flanks of the cylinder roll onto the plates from rest. Whole overlaps
are removed in a step, which contacts with a stiffness can bear: they are a fifth then of what they are by default."""
UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""Rotation that lays the axis of the cylinder along y."""
RUBBER, STEEL = (0.20, 0.45, 0.62), (0.62, 0.64, 0.66)


class ReferencePoint(NamedTuple):
    """A point of the force-displacement curve from elsewhere."""

    force: float
    """[N/m]"""
    displacement: float
    """[m] of the plates towards each other."""
    source: str


FEM = "finite elements in [bijelonja2005], as digitised for the solids4foam tutorial cylinderCrush"
ANSYS = "target of VM201 [ansysvm201], read there from a graph of [sussman1987]"
OWN = "own static solution: 108 elements with 9 nodes and 3 pressures [sussman1987], benchmarks/press_reference.py"
REFERENCE = (
    ReferencePoint(0.056e6, 0.038, FEM),
    ReferencePoint(0.136e6, 0.072, FEM),
    ReferencePoint(0.343e6, 0.114, FEM),
    ReferencePoint(0.690e6, 0.156, FEM),
    ReferencePoint(1.045e6, 0.182, FEM),
    ReferencePoint(1.418e6, 0.200, FEM),
    ReferencePoint(0.250e6, 0.100, ANSYS),
    ReferencePoint(1.400e6, 0.200, ANSYS),
    ReferencePoint(0.02415e6, 0.020, OWN),
    ReferencePoint(0.08267e6, 0.050, OWN),
    ReferencePoint(0.25302e6, 0.100, OWN),
    ReferencePoint(0.60459e6, 0.150, OWN),
    ReferencePoint(1.00147e6, 0.180, OWN),
    ReferencePoint(1.41519e6, 0.200, OWN),
)
FULL_LOAD = ReferencePoint(1.4e6, 0.1994, OWN)
"""Between the published points, which have three digits at most: 0.199 m by FEM, 0.2 m by ANSYS. With half as many
elements along each side the own solution is 0.1992 m."""


def cylinder_press(
    mesh: int = 1, force: float = 1.4e6, ramp: float = 500.0, beta: float = 0.5, layers: int = 1
) -> Scene:
    """A cylinder 0.4 m in diameter, its axis along y, on the ground and under a plate that slides up and down.

    mesh: 0 to 3, coarse to fine. beta [s]: damping by stiffness. layers: of elements along the axis. ``force`` [N/m]
    and the time ``ramp`` [s] in which it grows are for :class:`Press`, which pushes the plate.
    """
    number = whole_number("cylinder-press", "mesh", mesh, 0)
    if number >= len(DIVISIONS):
        raise InputError(f"cylinder-press: mesh is {mesh}; it must be from 0 to {len(DIVISIONS) - 1}")
    positive("cylinder-press", "force", force)
    positive("cylinder-press", "ramp", ramp)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    smooth = scene.add_material("smooth", 0.0)
    scene.add_half_space(material=smooth, name="ground")
    disc = crossed_disc(RADIUS, THICKNESS, DIVISIONS[number], whole_number("cylinder-press", "layers", layers, 1))
    height = RADIUS * math.cos(0.25 * math.pi / DIVISIONS[number])  # of the centre: it stands on an edge of the rim
    rubber = scene.add_soft(
        disc, elastic(mooney=MOONEY, density=1000.0, beta=beta), (0.0, 0.0, height), UPRIGHT,
        plane_strain=True, material=smooth, colour=RUBBER, name="cylinder",
    )  # fmt: skip
    plate = scene.add_box(
        PLATE, (0.0, 0.0, 2.0 * height + 0.5 * PLATE[2]), mass=PLATE_MASS, material=smooth, colour=STEEL, name="plate"
    )
    scene.add_prismatic(None, plate, (0.0, 0.0, -1.0), name="plate guide")
    on_axis = np.abs(disc.nodes[:, 0]) < 1e-9 * RADIUS
    for name, level in (("middle", 0.0), ("upper", float(disc.nodes[on_axis, 1].max()))):
        held = on_axis & (np.abs(disc.nodes[:, 1] - level) < 1e-9 * RADIUS)
        slider = scene.add_sphere(0.002, (0.0, 0.0, height + level), mass=1.0, name=f"{name} slider")
        scene.add_prismatic(None, slider, (0.0, 0.0, 1.0), name=f"{name} guide")
        scene.weld_nodes(rubber, held, slider)
        scene.ignore_collision(slider, plate)
    return scene


class Press:
    """Pushes the plate before every step, and measures how far it goes.

    ``displacement_m`` of the plate and ``force_N_per_m`` on it at the end; ``displacement_error``: relative to the
    reference at full load, NaN before; ``overlap_max_mm``: deepest overlap of any contact; ``out_of_plane_m_per_s``:
    largest speed of a node along the axis.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any]) -> None:
        self.force, self.ramp = float(parameters["force"]), float(parameters["ramp"])
        self.plate = Body(sim.model.body_names.index("plate"), "plate")
        self.start = float(sim.position(self.plate)[2])
        self.curve: list[tuple[float, float]] = []
        self.overlap = self.out_of_plane = 0.0
        self._push(sim)

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of the plate, and push it as much as the next step asks for."""
        self.curve.append((self.start - float(sim.position(self.plate)[2]), self.load))
        self.overlap = max(self.overlap, result.certificate.penetration_mm)
        self.out_of_plane = max(self.out_of_plane, float(np.abs(result.state.node_velocity[:, 1]).max()))
        self._push(sim)

    def _push(self, sim: Simulation) -> None:
        """The load [N/m] at the end of the coming step."""
        self.load = self.force * min(1.0, (sim.state.time + sim.stepping.dt) / self.ramp)
        sim.set_force(self.plate, (0.0, 0.0, -self.load * THICKNESS))

    def values(self) -> Values:
        """The five values above."""
        way, load = self.curve[-1] if self.curve else (math.nan, math.nan)
        full = math.isclose(load, FULL_LOAD.force, rel_tol=1e-6)
        return {
            "displacement_m": way,
            "force_N_per_m": load,
            "displacement_error": way / FULL_LOAD.displacement - 1.0 if full else math.nan,
            "overlap_max_mm": self.overlap,
            "out_of_plane_m_per_s": self.out_of_plane,
        }


def curve_of(press: Press) -> tuple[Array, Array]:
    """Displacements (n,) [m] and forces (n,) [N/m] of the steps that a press has seen."""
    curve = np.array(press.curve).reshape(-1, 2)
    return curve[:, 0], curve[:, 1]


def press_curve(
    mesh: int, steps: int, solver: str = "sap", tolerance: float = 1e-6, share: float = 1.0, **parameters: float
) -> tuple[Array, Array, dict[str, float]]:
    """Displacements (n,) [m] and forces (n,) [N/m] of ``steps`` equal steps to full load, and a summary.

    Only the first ``share`` of the steps is taken; ``parameters`` are those of :func:`cylinder_press`. Summary:
    unknowns, contacts_max, overlap_max_mm, converged (share of steps, by the solver), momentum_worst (relative), cpu_ms
    (median, all threads), and displacement_m and displacement_error at the end as in :class:`Press`.
    """
    settings: dict[str, Any] = {"force": FULL_LOAD.force, "ramp": 500.0, **parameters}
    count = whole_number("cylinder-press", "steps", steps, 1)
    scene = cylinder_press(mesh, **settings)
    options = {"tolerance": tolerance, **({"near_rigid": NEAR_RIGID} if solver == "sap" else {})}
    stepping = Stepping(dt=settings["ramp"] / count, **STEPPING)
    sim = Simulation(scene, solver=make_solver(solver, **options), stepping=stepping)
    press = Press(sim, settings)
    contacts, momentum, converged, cpu = [], [], [], []
    for _ in range(max(1, round(share * count))):
        start = time.process_time()
        result = sim.step()
        cpu.append(time.process_time() - start)
        press.observe(sim, result)
        contacts.append(result.certificate.contacts)
        momentum.append(result.certificate.momentum_relative)
        converged.append(result.solution.converged)
    values = press.values()
    summary = {
        "unknowns": float(sim.model.dof_count),
        "contacts_max": float(max(contacts)),
        "overlap_max_mm": float(values["overlap_max_mm"]),
        "converged": float(np.mean(converged)),
        "momentum_worst": float(max(momentum)),
        "cpu_ms": 1e3 * float(np.median(cpu)),
        "displacement_m": float(values["displacement_m"]),
        "displacement_error": float(values["displacement_error"]),
    }
    return *curve_of(press), summary
