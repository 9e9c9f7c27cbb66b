"""The mat: its mesh and parameters, the course of the jaws, and a coarse mat that is folded."""

import math

import numpy as np
import pytest

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.scene import Body
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.running import execute, prepare
from stickslip.scenes.soft_mat import FOLDED, FRICTION, OPENED, POISSON, YOUNG, drawn, jaw_motion, mat_mesh, soft_mat

COARSE = {"divisions": 20}
MAT = SoftBody(0, "mat")


def test_size_is_about_that_of_the_paper():
    model = compile_scene(soft_mat())
    assert model.soft.node_count == 1482  # [lee2023]: 1477
    assert len(model.soft.elements.volume) == 4104  # 4100
    assert model.soft.mass.sum() == pytest.approx(1070 * 0.4 * 0.19 * 0.008, rel=1e-12)


@pytest.mark.parametrize(("divisions", "nodes"), [(38, 1482), (76, 3 * 77 * 37), (130, 33012)])
def test_meshes_of_all_sizes_have_good_elements(divisions: int, nodes: int):
    mesh = mat_mesh((0.4, 0.19, 0.008), divisions)
    assert len(mesh.nodes) == nodes
    if divisions < 100:
        assert mesh.quality().mean_ratio.min() > 0.5


def test_seeds_draw_from_the_ranges_of_the_paper():
    trials = np.array([drawn(seed) for seed in range(1, 41)])
    for values, (low, high) in zip(trials.T, (YOUNG, POISSON, FRICTION), strict=True):
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high >= values.max() > high - 0.2 * (high - low)
    assert drawn(7) == drawn(7)
    young, poisson, _ = drawn(3)
    model = compile_scene(soft_mat(divisions=8, seed=3))
    assert model.soft.elements.parameter[0, 0] == pytest.approx(young / (2.0 * (1.0 + poisson)), rel=1e-12)


def test_jaws_turn_over_and_land_above_the_other_half():
    upper, lower = (jaw_motion(0.4, 0.008, 0.02, side) for side in (1.0, -1.0))
    assert upper(0.0)[0][2] > 0.008
    assert lower(0.0)[0][2] < 0.0  # beside the table
    middle = np.asarray(upper(0.5 * (0.2 + FOLDED))[0])
    assert middle[2] > 0.15
    for time in (FOLDED, OPENED):
        # what was below is above now, and the other between the layers
        assert lower(time)[0][2] > upper(time)[0][2] > 0.008 + 0.0015
        assert upper(time)[0][0] < 0.0


def test_elastic_forces_are_the_gradient_of_the_energy():
    scene = Scene(gravity=(0, 0, 0))
    mesh = tet_generators.box((0.1, 0.1, 0.1), 2)
    cube = scene.add_soft(mesh, elastic(5e4, 0.3, model="corotational"))
    sim = Simulation(scene)
    rng = np.random.default_rng(5)
    x = mesh.nodes + 0.005 * rng.standard_normal(mesh.nodes.shape)
    way = rng.standard_normal(x.shape)

    def energy(share: float) -> float:
        sim.set_node_position(cube, x + share * way, np.arange(len(x)))
        return float(sim.elements(cube).energy.sum())

    slope = (energy(1e-6) - energy(-1e-6)) / 2e-6
    sim.set_node_position(cube, x, np.arange(len(x)))
    force = sim.internal_forces(cube)
    assert -np.vdot(force, way) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12)
    # a turned body is not strained
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    sim.set_node_position(cube, mesh.nodes @ turn.T, np.arange(len(x)))
    assert np.abs(sim.internal_forces(cube)).max() < 1e-10


def test_table_and_jaws_carry_the_weight():
    prepared = prepare("soft-mat", settings=COARSE)
    execute(prepared, 21)  # the jaws have closed and do not move yet
    sim = prepared.sim
    up = sim.node_contact_forces(MAT).sum(axis=0)
    assert up[2] == pytest.approx(9.81 * sim.model.soft.mass.sum(), rel=0.02)
    assert prepared.metrics.values()["below_table_mm"] < 0.1


def test_jaws_grip_and_lift_the_edge():
    prepared = prepare("soft-mat", settings=COARSE)
    execute(prepared, prepared.step_count(duration=0.9))
    sim = prepared.sim
    x = sim.nodes(MAT)
    # half way: the edge is up, the other half is where it was
    assert x[prepared.metrics.edge, 2].max() > 0.17
    near = x[:, 0] < -0.15
    assert np.abs(x[near] - mat_mesh((0.4, 0.19, 0.008), 20).nodes[near] - [0, 0, 0.004]).max() < 0.005
    assert prepared.metrics.values()["below_table_mm"] < 0.1


@pytest.mark.slow
def test_mat_is_folded():
    prepared = prepare("soft-mat", settings=COARSE)
    summary = execute(prepared, prepared.step_count())
    metrics = summary.metrics
    assert metrics["folded"] is True
    assert metrics["below_table_mm"] < 0.1
    assert metrics["self_contacts_max"] >= 4
    assert -200.0 < metrics["edge_x_mm"] < -100.0
    assert metrics["edge_height_mm"] == pytest.approx(12.0, abs=2.0)  # middle of the second layer
    assert prepared.sim.model.soft.elements.volume.sum() == pytest.approx(prepared.sim.soft_volume(MAT), rel=0.05)
    # the jaws are gone: the table carries all, and the loop, which wants to open, is at rest
    sim = prepared.sim
    table = Body(sim.model.body_names.index("table"), "table")
    weight = 9.81 * sim.model.soft.mass.sum()
    assert sim.contacts(MAT, table).total_force[2] == pytest.approx(weight, rel=0.05)


def test_values_of_a_short_run():
    prepared = prepare("soft-mat", settings={"divisions": 8})
    assert math.isnan(prepared.metrics.values()["internal_force_N"])
    metrics = execute(prepared, 1).metrics
    assert metrics["folded"] is False
    assert metrics["edge_x_mm"] == pytest.approx(200.0, abs=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0.05}, "length"),
        ({"width": 0.0}, "width"),
        ({"thickness": -0.01}, "thickness"),
        ({"grip": 0.0}, "grip"),
        ({"divisions": 2}, "divisions"),
        ({"layers": -1}, "layers"),
        ({"seed": -1}, "seed"),
        ({"poisson": 0.5}, "poisson"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, float], message: str):
    with pytest.raises(InputError, match=message):
        soft_mat(**settings)
