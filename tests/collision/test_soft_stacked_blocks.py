"""Blocks of one cell whose corners lie on corners: contacts are complete, alike from step to step, and hold still."""

import numpy as np
import pytest

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.collision.contacts import Contacts
from stickslip.collision.surfaces.contacts import find_soft_contacts
from stickslip.collision.surfaces.keys import KIND_SHIFT, NODE_FACE, SOFT_EDGES
from stickslip.geometry.rotation import matrix
from stickslip.model.model import compile_scene
from stickslip.model.stepping import Stepping
from stickslip.scene.soft_body import SoftBody

STONE = elastic(2e10, 0.3, density=2300.0, beta=0.01)
TURNS = {
    "upright": (1.0, 0.0, 0.0, 0.0),
    "leaning": (np.cos(0.35), 0.0, np.sin(0.35), 0.0),
    "askew": (0.8, 0.36, 0.48, 0.0),
}


def two_blocks(pattern: str, turn: tuple[float, ...], noise: float, seed: int = 0) -> tuple[Contacts, np.ndarray]:
    """Contacts of a block and an equal one on its top face, nodes off by ``noise`` [m]; and the top's normal."""
    scene = Scene()
    mesh = tet_generators.box((1.0, 1.2, 1.5), 1, pattern)
    up = matrix(np.array(turn))[:, 2]
    for k in range(2):
        scene.add_soft(mesh, STONE, 1.5 * k * up, turn)
    model = compile_scene(scene)
    x = model.soft.x_start + noise * np.random.default_rng(seed).standard_normal(model.soft.x_start.shape)
    still = np.zeros_like(x)
    return find_soft_contacts(model, model.q_start, x, np.zeros((model.body_count, 6)), still, 0.04, 0.03), up


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("pattern", ["kuhn", "five"])
@pytest.mark.parametrize("turn", TURNS)
def test_one_contact_at_each_corner(turn: str, pattern: str, noise: float):
    for seed in range(5):
        found, up = two_blocks(pattern, TURNS[turn], noise, seed)
        assert len(found) == 4
        assert (found.key >> KIND_SHIFT == NODE_FACE).all()
        # all along the normal of the faces, from one block to the other
        away = np.where(found.body_b > found.body_a, 1.0, -1.0)
        np.testing.assert_allclose(away[:, None] * found.normal, np.tile(up, (4, 1)), atol=1e-7 + 10.0 * noise)
        np.testing.assert_allclose(found.gap, 0.0, atol=1e-14 + 10.0 * noise)
        corners = found.node_a[np.arange(4), found.weight_a.argmax(axis=1)]
        assert len(np.unique(np.concatenate([corners, found.node_b[:, 0]]))) == 8


def test_noise_does_not_change_the_keys():
    first, _ = two_blocks("kuhn", TURNS["leaning"], 0.0)
    for seed in range(10):
        again, _ = two_blocks("kuhn", TURNS["leaning"], 1e-9, seed)
        np.testing.assert_array_equal(again.key, first.key)


def test_blocks_moved_along_their_joint_touch_in_nodes_and_crossing_edges():
    scene = Scene()
    mesh = tet_generators.box((1.0, 1.0, 1.0), 1)
    scene.add_soft(mesh, STONE)
    scene.add_soft(mesh, STONE, (0.3, 0.2, 1.0))
    model = compile_scene(scene)
    x = model.soft.x_start
    found = find_soft_contacts(model, model.q_start, x, np.zeros((model.body_count, 6)), np.zeros_like(x), 0.04, 0.03)
    kind = found.key >> KIND_SHIFT
    # the two faces share a rectangle: of its corners two are nodes, two are crossings
    assert np.sort(kind).tolist() == [NODE_FACE] * 2 + [SOFT_EDGES] * 2
    np.testing.assert_allclose(np.abs(found.normal), np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-12)
    corners = {(round(float(p[0]), 9), round(float(p[1]), 9)) for p in found.point}
    assert corners == {(a, b) for a in (-0.2, 0.5) for b in (-0.3, 0.5)}


@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_two_stiff_blocks_rest_on_the_ground_without_drift(shift: float):
    scene = Scene()
    scene.add_half_space(friction=0.5)
    mesh = tet_generators.box((1.0, 1.0, 1.0), 1)
    blocks: list[SoftBody] = [
        scene.add_soft(mesh, STONE, (shift * k, 0.5 * shift * k, 0.5 + k), friction=0.5) for k in range(2)
    ]
    sim = Simulation(scene, solver="sap", stepping=Stepping(dt=0.04))
    settled = np.zeros((2, 3))
    for k in range(1000):
        result = sim.step()
        assert result.certificate.converged
        assert len(result.soft_contacts) == 8
        centres = np.array([sim.soft_centre(block) for block in blocks])
        if k == 25:
            settled = centres
        if k > 25:
            # nothing pushes sideways, so that regularised friction has nothing to creep by
            assert np.abs(centres - settled).max() < 1e-6
