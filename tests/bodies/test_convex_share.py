"""Exact and projected Hessians of nonlinear elements in A: derivatives, definiteness, and rounds of a step."""

from typing import Any

import numpy as np
import pytest

from stickslip import Scene, Simulation, elastic
from stickslip.bodies.soft import kind as soft_kind
from stickslip.bodies.soft import momentum as soft_bodies
from stickslip.geometry.tet_generators import box
from stickslip.linalg import block_matrix
from stickslip.model.stepping import Stepping
from stickslip.scene.soft_body import Elastic

SQUEEZE = np.diag([1.15, 1.15, 0.6])
"""Of the block: to three fifths of its height, and to four fifths of its volume."""
MATERIALS = {
    "neo-hookean": elastic(1e5, 0.45, model="neo-hookean"),
    "mooney-rivlin": elastic(mooney=(1e4, 7e3, 1e6)),
}


def squeezed(material: Elastic) -> tuple[Simulation, soft_bodies.SoftMotion, np.ndarray]:
    """A free block, its motion, and velocities (nn, 3) that squeeze it within a step, unevenly."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_soft(box((0.1, 0.1, 0.1), 2), material, name="block")
    sim = Simulation(scene, stepping=Stepping(dt=0.1))
    motion = soft_bodies.soft_motion(sim.model, sim.state, sim.control, sim.stepping)
    x = motion.x @ SQUEEZE + 0.002 * np.random.default_rng(0).normal(size=motion.x.shape)
    return sim, motion, (x - motion.x) / motion.step


def dense(sim: Simulation, blocks: np.ndarray) -> np.ndarray:
    return block_matrix.to_csr(sim.model.soft.pattern, blocks).toarray()


@pytest.mark.parametrize("name", MATERIALS)
def test_without_projection_A_is_the_derivative_of_momentum(name: str):
    sim, motion, v = squeezed(MATERIALS[name])
    soft = sim.model.soft
    d = np.random.default_rng(1).normal(size=v.shape)
    eps = 1e-6
    ahead, behind = (soft_bodies.momentum(soft, motion, v + s * eps * d).residual for s in (1.0, -1.0))
    change = (ahead - behind) / (2.0 * eps)
    exact, mixed, projected = (
        dense(sim, soft_bodies.momentum(soft, motion, v, share).matrix) for share in (0.0, 0.3, 1.0)
    )
    largest = np.abs(change).max()
    assert np.abs(exact @ d.ravel() - change).max() < 1e-6 * largest
    assert np.abs(projected @ d.ravel() - change).max() > 0.01 * largest
    np.testing.assert_allclose(mixed, 0.7 * exact + 0.3 * projected, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("name", MATERIALS)
def test_projected_A_is_definite_where_the_exact_one_is_not(name: str):
    sim, motion, v = squeezed(MATERIALS[name])
    exact, projected = (
        np.linalg.eigvalsh(dense(sim, soft_bodies.momentum(sim.model.soft, motion, v, share).matrix))
        for share in (0.0, 1.0)
    )
    # nothing but mass stands against buckling, and the least of it is that of a corner
    assert exact[0] < 0.0
    assert projected[0] > 0.999 * sim.model.soft.mass.min()


def pressed(monkeypatch: pytest.MonkeyPatch, shares: tuple[float, ...]) -> tuple[int, float]:
    """Linearisations in eight steps that press a block of rubber by 8 %, and the force [N] on it at the end.

    A bulk modulus of 600 shear moduli, in plane strain on a smooth ground: pressures are high where shear is low.
    """
    count, converged = [], []
    momentum = soft_bodies.momentum

    def counted(*arguments: Any) -> soft_bodies.Momentum:
        count.append(1)
        return momentum(*arguments)

    mesh = box((0.1, 0.1, 0.1), 3)
    scene = Scene(gravity=(0, 0, 0))
    scene.add_half_space(friction=0.0)
    rubber = scene.add_soft(
        mesh, elastic(mooney=(1e4, 7e3, 2e7)), (0, 0, 0.05), (np.sqrt(0.5), np.sqrt(0.5), 0, 0),
        plane_strain=True, friction=0.0,
    )  # fmt: skip
    top = mesh.nodes_on_plane("y", 0.05)
    scene.hold_nodes(rubber, top, motion=lambda t: ((0, 0, -0.001 * t), (1, 0, 0, 0)))
    sim = Simulation(scene, dt=1.0, solver="sap")
    with monkeypatch.context() as patch:
        patch.setattr(soft_kind, "CONVEX", shares)
        patch.setattr(soft_bodies, "momentum", counted)
        sim.run(8, lambda result: converged.append(result.certificate.converged))
    assert all(converged)
    return len(count), float(sim.contacts(rubber).total_force[2])


def test_exact_hessians_take_fewer_rounds(monkeypatch: pytest.MonkeyPatch):
    exact, force = pressed(monkeypatch, soft_kind.CONVEX)
    projected, same = pressed(monkeypatch, (1.0,))
    assert exact < 0.5 * projected  # measured: 38 and 163, attempts that were not definite included
    assert force == pytest.approx(same, rel=2e-3)  # near-rigid contacts go by diag W, and so by A
