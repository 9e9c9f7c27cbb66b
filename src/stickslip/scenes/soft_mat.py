"""A gripper folds a soft mat on a table, [lee2023] sec. V-C (Fig. 7, Table II) and V-D (Fig. 11)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import positive
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.geometry import tet_generators
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.scene import Motion, Scene
from stickslip.scene.soft_body import SoftBody, elastic
from stickslip.scenes.courses import smooth_step
from stickslip.scenes.metrics import Values
from stickslip.scenes.parameters import whole_number
from stickslip.simulation import Simulation, StepResult

YOUNG, POISSON, FRICTION = (50e3, 100e3), (0.3, 0.4), (0.1, 0.5)
"""Ranges from which seeds draw, [Pa], 1 and 1, those of the paper."""
CLOSED, FOLDED, OPENED, GONE = 0.2, 1.6, 1.8, 2.0
"""[s] when the jaws have closed, the edge lies on the other half, the jaws are open, and have been drawn out."""
DEPTH, BLADE = 0.022, 0.003
"""[m] by how much the jaws reach over the mat, about, and their thickness."""
CLEARANCE, WIDE = 0.001, 0.003
"""[m] between each open jaw and the mat, before and after."""
SQUEEZE = 0.2
"""Share of the thickness by which the jaws press the mat together."""
TABLE = (0.8, 0.5, 0.04)
"""[m] of the table: along x, at most, along y, and its height."""
MAT, JAW, HAND, WOOD = (0.20, 0.47, 0.55), (0.55, 0.58, 0.62), (0.25, 0.27, 0.30), (0.72, 0.66, 0.56)


@dataclass(frozen=True)
class MatSettings:
    """Parameters of the scene."""

    length: float = 0.4
    width: float = 0.19
    thickness: float = 0.008
    young: float = 75e3
    poisson: float = 0.35
    friction: float = 0.3
    density: float = 1070.0
    damping: float = 0.001
    grip: float = 0.2
    divisions: int = 38
    layers: int = 0
    slow: float = 1.0
    seed: int = 0


@fields_as_arguments(MatSettings)
def soft_mat(given: MatSettings) -> Scene:
    """A mat of ``length`` [m] along x on a table; two jaws take the middle of an edge that juts out, and fold it over.

    young [Pa], poisson and friction of everything with everything: the paper's ranges are 50 to 100 kPa, 0.3 to 0.4,
    0.1 to 0.5. A ``seed`` above zero draws all three from them (:func:`drawn`); the values given then do not count.
    Sizes, density [kg/m^3], damping [s] by stiffness and the course of the jaws are ours; ``grip`` [m]: their width.
    divisions: cells along x; across there are as many as make them square. layers of cells over the thickness; 0: such
    that they are nearly cubes. 38 divisions make 1,482 nodes and 4,104 elements (paper: 1,477 and 4,100), 130 make
    33,012 nodes and 145,080 elements.
    The jaws follow a given motion, as those of a position-controlled arm, in 2 s times ``slow``.
    They and the table end at rows of nodes.
    """
    length, thickness, divisions, grip, slow = given.length, given.thickness, given.divisions, given.grip, given.slow
    young, poisson, friction = given.young, given.poisson, given.friction
    mesh = mat_mesh((length, given.width, thickness), divisions, given.layers)
    if not 0.25 * length > DEPTH:
        raise InputError(f"soft-mat: length is {length} m; it must be above {4.0 * DEPTH} m, four jaw depths")
    positive("soft-mat", "grip", grip)
    positive("soft-mat", "slow", slow)
    if whole_number("soft-mat", "seed", given.seed, 0) > 0:
        young, poisson, friction = drawn(given.seed)
    scene = Scene()
    surface = scene.add_material("rubber", friction)
    scene.add_half_space(position=(0.0, 0.0, -TABLE[2]), material=surface, name="floor")
    end, depth = table_end(length, divisions), jaw_depth(length, divisions)
    scene.add_box(
        TABLE, (end - 0.5 * TABLE[0], 0.0, -0.5 * TABLE[2]), kind="static", material=surface, colour=WOOD, name="table"
    )
    rubber = elastic(young, poisson, density=given.density, beta=given.damping)
    scene.add_soft(
        mesh, rubber, (0.0, 0.0, 0.5 * thickness), material=surface, self_contact=True, colour=MAT, name="mat"
    )
    for side, name in ((1.0, "upper"), (-1.0, "lower")):
        motion = jaw_motion(length, thickness, depth, side, slow)
        scene.add_box(
            (2.0 * depth, grip, BLADE), motion(0.0)[0],
            kind="kinematic", motion=motion, material=surface, colour=JAW, name=f"jaw-{name}",
        )  # fmt: skip
    motion = jaw_motion(length, thickness, depth, 0.0, slow)
    scene.add_box(
        (2.0 * depth, 1.1 * grip, 1.4 * thickness), motion(0.0)[0],
        kind="kinematic", motion=motion, material=surface, colour=HAND, name="hand",
    )  # fmt: skip
    return scene


def mat_mesh(size: tuple[float, float, float], divisions: int, layers: int = 0) -> TetMesh:
    """The mesh of a mat of ``size`` [m], cut into ``divisions`` along x; layers 0: such that cells are nearly cubes."""
    for name, value in zip(("length", "width", "thickness"), size, strict=True):
        positive("soft-mat", name, value)
    along = whole_number("soft-mat", "divisions", divisions, 4)
    across, over = (max(1, round(along * edge / size[0])) for edge in size[1:])
    over = whole_number("soft-mat", "layers", layers, 0) or over
    return tet_generators.box(size, (along, across, over), "mirrored")


def jaw_depth(length: float, divisions: int) -> float:
    """By how much [m] the jaws reach over the mat: to a row of nodes, so that no edge of theirs is between rows."""
    cell = length / divisions
    return cell * max(1, round(DEPTH / cell)) + 0.5 * CLEARANCE


def table_end(length: float, divisions: int) -> float:
    """x [m] where the table ends: below the first row of nodes that leaves room for the jaws."""
    cell = length / divisions
    return 0.5 * length - cell * math.ceil((jaw_depth(length, divisions) + CLEARANCE) / cell) + 1e-6


def drawn(seed: int) -> tuple[float, float, float]:
    """Young's modulus [Pa], Poisson's ratio and friction of a randomised trial, uniform in the ranges of the paper."""
    rng = np.random.default_rng(seed)
    young, poisson, friction = (float(rng.uniform(*span)) for span in (YOUNG, POISSON, FRICTION))
    return young, poisson, friction


def jaw_motion(length: float, thickness: float, depth: float, side: float, slow: float = 1.0) -> Motion:
    """The course of the upper jaw (side 1), of the lower one (-1), or of the hand behind both (0).

    ``slow``: how many times longer it takes than the times above.
    The gripped edge goes along half an ellipse about the middle of the mat, and turns over with it.
    """
    start = np.array([0.5 * (length - depth), 0.0, 0.5 * thickness])
    # a little short of the other edge, and above it by the jaw that is between the layers
    end = np.array([-0.5 * (length - depth) + 0.07 * length, 0.0, 1.5 * thickness + BLADE + 2.0 * WIDE])
    height = 0.45 * length

    def motion(time: float) -> tuple[ArrayLike, ArrayLike]:
        time /= slow
        share = _share(time, CLOSED, FOLDED)
        angle = math.pi * share
        place = 0.5 * (start + end) + 0.5 * (start - end) * math.cos(angle) + [0.0, 0.0, height * math.sin(angle)]
        turn = about_axis((0, 1, 0), -angle)
        pressed = 0.5 * SQUEEZE * thickness
        apart = 0.5 * (thickness + BLADE) + CLEARANCE
        apart += _share(time, FOLDED, OPENED) * (WIDE + pressed) - _share(time, 0.0, CLOSED) * (CLEARANCE + pressed)
        out = 0.5 * depth + 2.5 * depth * _share(time, OPENED, GONE) + (0.0 if side else 1.75 * depth)
        return place + matrix(turn) @ [out, 0.0, side * apart], turn

    return motion


def _share(time: float, start: float, end: float) -> float:
    """From 0 at ``start`` to 1 at ``end`` [s], smoothly."""
    return smooth_step((time - start) / (end - start))


class Folding:
    """How the mat was folded.

    ``folded``: the edge that was gripped lies over the other half, on it, at the end; ``edge_x_mm`` and
    ``edge_height_mm``: mean of its nodes then, from the middle of the table under the mat; ``internal_force_N``: norm
    of the elastic forces of all nodes at the end, and ``internal_force_mean_N`` its mean over steps;
    ``below_table_mm``: deepest that a node was in the table; ``penetration_mm``: deepest overlap of any contact;
    ``contacts_mean``, ``contacts_max``: contacts in a step; ``self_contacts_max``: those of the mat with itself that
    push; ``converged``: share of steps.
    """

    def __init__(self, sim: Simulation, parameters: Mapping[str, Any], opened: float | None = None) -> None:
        """``opened`` [s]: when whatever holds the edge has let go; None: the jaws."""
        self.opened = OPENED * float(parameters.get("slow", 1.0)) if opened is None else opened
        self.mat = SoftBody(sim.model.soft.names.index("mat"), "mat")
        self.thickness = float(parameters["thickness"])
        self.table = table_end(parameters["length"], parameters["divisions"])
        x = sim.nodes(self.mat)
        self.edge = np.flatnonzero(x[:, 0] > x[:, 0].max() - 1e-9)
        self.time, self.end = 0.0, x
        self.forces: list[float] = []
        self.contacts: list[int] = []
        self.converged: list[bool] = []
        self.touching, self.depth, self.penetration = 0, 0.0, 0.0

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """Take note of places, forces and contacts."""
        self.time, self.end = result.state.time, sim.nodes(self.mat)
        self.forces.append(float(np.linalg.norm(sim.internal_forces(self.mat))))
        self.contacts.append(result.certificate.contacts)
        self.converged.append(result.certificate.converged)
        self.depth = max(self.depth, -1e3 * float(self.end[self.end[:, 0] < self.table, 2].min()))
        self.penetration = max(self.penetration, result.certificate.penetration_mm)
        self.touching = max(self.touching, self_contacts(result))

    def values(self) -> Values:
        """The values above."""
        edge: Array = self.end[self.edge].mean(axis=0)
        over = edge[0] < 0.0 and self.thickness < edge[2] < 3.0 * self.thickness
        return {
            "folded": bool(over and self.time > self.opened),
            "edge_x_mm": 1e3 * float(edge[0]),
            "edge_height_mm": 1e3 * float(edge[2]),
            "internal_force_N": self.forces[-1] if self.forces else math.nan,
            "internal_force_mean_N": float(np.mean(self.forces)) if self.forces else math.nan,
            "below_table_mm": self.depth,
            "penetration_mm": self.penetration,
            "contacts_mean": float(np.mean(self.contacts)) if self.contacts else math.nan,
            "contacts_max": float(max(self.contacts, default=0)),
            "self_contacts_max": float(self.touching),
            "converged": float(np.mean(self.converged)) if self.converged else math.nan,
        }


def self_contacts(result: StepResult) -> int:
    """Contacts of soft bodies with themselves that push."""
    found = result.soft_contacts
    if found is None:
        return 0
    pushing = np.linalg.norm(result.state.soft_impulse, axis=1) > 0.0
    return int((pushing & (found.body_a == found.body_b)).sum())
