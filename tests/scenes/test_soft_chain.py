"""Soft rings: the mesh of the paper, rings that interlock without overlap, and a chain that carries its weight."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.running import execute, prepare
from stickslip.scenes.soft_chain import COMPACT, DIVISIONS, pitch, ring_mesh, soft_chain, soft_torus
from stickslip.simulation import Simulation


def test_a_link_has_the_nodes_and_elements_of_the_paper():
    mesh = ring_mesh()
    assert (len(mesh.nodes), len(mesh.tets), len(mesh.surface)) == (300, 720, 480)


@pytest.mark.parametrize("unknowns", [*DIVISIONS, *COMPACT])
def test_the_single_ring_has_the_unknowns_that_it_says(unknowns: int):
    assert compile_scene(soft_torus(unknowns)).dof_count == unknowns


def test_neighbours_touch_at_the_pitch():
    # the pitch takes edges at their middles, nearest to the axis: elsewhere there is up to 2 R (1 - cos 3 deg) more
    for gap in (1e-5, -5e-4):
        sim = Simulation(soft_chain(2, gap=gap), dt=0.02)
        found = sim.step().soft_contacts
        assert found is not None
        assert gap <= found.gap.min() <= gap + 2.0 * 0.1 * (1.0 - np.cos(np.pi / 60))


def test_pitch_of_round_rings():
    # the inner radius of one ring meets that of the other where cross-sections are circles
    mesh = ring_mesh(0.1, 0.02, rings=6, sectors=240)
    assert pitch(mesh, mesh) == pytest.approx(2.0 * (0.1 - 0.02), rel=2e-3)


def test_chain_carries_its_weight():
    run = prepare("soft-chain", settings={"links": 2})
    summary = execute(run, 60)
    metrics = summary.metrics
    assert metrics["hangs"]
    assert metrics["overlap_max_mm"] < 0.1
    assert metrics["speed_m_per_s"] < 2e-3
    assert 0.0 < metrics["sag_m"] < 5e-3
    assert summary.converged_fraction == 1.0
    # the fixed ring carries both links, the upper link the lower one
    soft = run.sim.model.soft
    weight = soft.mass.sum() * 9.81
    upper, lower = (run.sim.contacts(SoftBody(k, f"link-{k + 1}")) for k in range(2))
    assert lower.total_force[2] == pytest.approx(0.5 * weight, rel=5e-3)
    assert upper.total_force[2] == pytest.approx(0.5 * weight, rel=5e-3)


def test_a_chain_that_came_apart_does_not_hang():
    run = prepare("soft-chain", settings={"links": 2})
    result = run.sim.step()
    soft = run.sim.model.soft
    result.state.node_position[soft.node_start[1] :, 2] -= 0.2
    run.metrics.observe(run.sim, result)
    assert not run.metrics.values()["hangs"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: soft_chain(0), "links is 0; it must be a whole number, at least 1"),
        (lambda: soft_chain(101), "links is 101; it must be at most 100"),
        (lambda: soft_chain(1, minor=0.04), "three times the minor one"),
        (lambda: soft_torus(1000), "unknowns is 1000; it must be one of 900, 3003, 12000, 28800"),
    ],
)
def test_bad_parameters_are_named(make, message: str):
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)


def test_rings_fill_their_polygons():
    # Pappus: area of the cross-section, a square at first, times the way of its middle; sectors are chords
    for rings, sectors in DIVISIONS.values():
        corners = 4 * rings
        area = 0.5 * corners * 0.025**2 * np.sin(2.0 * np.pi / corners)
        volume = ring_mesh(rings=rings, sectors=sectors).volumes.sum()
        assert volume == pytest.approx(2.0 * np.pi * 0.1 * area, rel=4e-3)
