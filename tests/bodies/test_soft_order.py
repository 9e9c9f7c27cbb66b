"""Soft bodies converge as they promise: in the size of elements against beam theory, in dt against a single mode."""

import numpy as np
import pytest
import scipy.linalg

from stickslip import Scene, Simulation, SoftBody, elastic
from stickslip.bodies.soft import momentum as soft_bodies
from stickslip.geometry.tet_generators import box
from stickslip.linalg import block_matrix
from stickslip.model.schemes import SCHEMES
from stickslip.model.stepping import Stepping

ORDERS = {"euler": 1, "symplectic": 1, "moreau": 2, "passive": 2}
"""What each scheme promises ([han2023] sec. IV-A)."""


def beam_tip(cells: int, poisson: float = 0.0) -> tuple[float, float]:
    """Tip deflections [m] of a cantilever under its weight: by linear elements, and by Timoshenko's beam theory.

    Length 1, height 1/8, width 1/32 m. Poisson's ratio is zero, so that the clamp, which holds all three components,
    holds nothing that the beam would do: with another the section cannot contract there, stresses grow without bound at
    the edges of the clamp, and deflections tend to another value than that of beam theory, which leaves that out.
    """
    length, height, young, density, gravity = 1.0, 0.125, 1e6, 1000.0, 0.5
    mesh = box((length, height / 4, height), (8 * cells, cells // 4, cells), "mirrored")
    scene = Scene(gravity=(0, 0, -gravity))
    beam = scene.add_soft(mesh, elastic(young, poisson, model="linear", density=density))
    scene.hold_nodes(beam, mesh.nodes[:, 0] < -length / 2 + 1e-9)
    sim = Simulation(scene, dt=1e3)  # a step so long that inertia is 1e-8 of the stiffness: the static solution
    sim.step()
    tip = mesh.nodes[:, 0] > length / 2 - 1e-9
    found = float(np.mean((mesh.nodes - sim.nodes(beam))[tip, 2]))
    load, shear = density * gravity * height, 5 / 6 * young / (2 * (1 + poisson)) * height  # per width
    return found, load * length**4 / (8 * young * height**3 / 12) + load * length**2 / (2 * shear)


def test_deflection_of_a_cantilever_converges_to_beam_theory_with_order_two():
    cells = np.array([4, 8, 12])
    error = [abs(found - exact) / exact for found, exact in map(beam_tip, cells.tolist())]
    orders = -np.diff(np.log(error)) / np.diff(np.log(cells))
    assert orders[0] > 1.7  # linear elements lock in bending while they are few
    assert orders[1] >= 1.8
    assert error[-1] < 0.025


def bar(model: str, young: float = 1e4) -> tuple[Scene, SoftBody, np.ndarray]:
    """A small bar clamped at one end; with its free nodes' mask."""
    mesh = box((0.4, 0.1, 0.1), (2, 1, 1))
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_soft(mesh, elastic(young, 0.3, model=model))
    held = mesh.nodes[:, 0] < -0.19
    scene.hold_nodes(body, held)
    return scene, body, ~held


def first_mode(scene: Scene) -> tuple[float, np.ndarray]:
    """Frequency [rad/s] and shape (3 nf,) of the lowest mode of a scene's only soft body, from K and M."""
    sim = Simulation(scene, dt=1.0)
    soft = sim.model.soft
    motion = soft_bodies.soft_motion(sim.model, sim.state, sim.control, sim.stepping)
    A = soft_bodies.momentum(soft, motion, motion.v).matrix  # M + K at h = 1
    dense = block_matrix.to_csr(soft.pattern, A).toarray()
    mass = np.repeat(soft.mass[soft.free], 3)
    square, shape = scipy.linalg.eigh(dense - np.diag(mass), np.diag(mass))
    return float(np.sqrt(square[0])), shape[:, 0] / np.abs(shape[:, 0]).max()


def swing(scene, body, free, shape, speed: float, duration: float, steps: int, scheme: str) -> np.ndarray:
    """Displacements (n, 3) [m], and velocities times the duration, after a swing that begins with a speed [m/s].

    Both, since symplectic steps from rest give positions with order two.
    """
    sim = Simulation(scene, stepping=Stepping(dt=duration / steps, scheme=scheme))
    velocity = np.zeros_like(sim.nodes(body))
    velocity[free] = speed * shape.reshape(-1, 3)
    sim.set_node_velocity(body, velocity)
    sim.run(steps)
    way = sim.nodes(body) - sim.model.soft.x_start
    return np.stack([way[free].ravel(), duration * sim.node_velocities(body)[free].ravel()])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_in_time_of_one_mode_is_what_the_scheme_promises(scheme: str):
    scene, body, free = bar("linear")
    omega, shape = first_mode(scene)
    duration = 2.0 / omega  # a third of a period
    exact = np.outer([np.sin(omega * duration) / omega, duration * np.cos(omega * duration)], shape)
    # steps so short that the fastest mode is stable with explicit forces
    error = [np.abs(swing(scene, body, free, shape, 1.0, duration, n, scheme) - exact).max() for n in (60, 120)]
    assert np.log2(error[0] / error[1]) == pytest.approx(ORDERS[scheme], abs=0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_in_time_of_a_large_swing(scheme: str):
    """By Richardson's extrapolation, since no exact solution is known: x(h) - x(h/2) over x(h/2) - x(h/4).

    The midpoint rule by positions: velocities ring in the fastest modes, which it does not damp.
    """
    scene, body, free = bar("neo-hookean")
    omega, shape = first_mode(scene)
    counts, part = ((50, 100, 200), 0) if ORDERS[scheme] == 2 else ((25, 50, 100), slice(None))
    a, b, c = (swing(scene, body, free, shape, 0.1 * omega, 1.0 / omega, n, scheme) for n in counts)
    assert np.abs(c[0]).max() > 0.05  # an eighth of the bar's length
    order = np.log2(np.linalg.norm((a - b)[part]) / np.linalg.norm((b - c)[part]))
    assert order == pytest.approx(ORDERS[scheme], abs=0.2)
