"""The nine scenes of [erleben2017] Table 1: counts, masses, coefficients, and small versions that run."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import execute, prepare

COUNTS = {
    "tower": 49,
    "wall": 81,
    "glasses": 362,
    "jacks": 362,
    "temple": 639,
    "colosseum": 649,
    "spheres": 1730,
    "funnel": 2002,
    "chalices": 4004,
}
"""Objects of Table 1."""
MASSES = {"jacks": 35.0, "spheres": 68.0, "glasses": 91.0, "temple": 4000.0, "colosseum": 4000.0}
"""[kg] as the caption of Table 1 says, "roughly", "about", "approx."."""
SMALL = {
    "tower": 0.4,
    "wall": 0.3,
    "glasses": 0.02,
    "jacks": 0.02,
    "temple": 0.02,
    "colosseum": 0.1,
    "spheres": 0.02,
    "funnel": 0.006,
    "chalices": 0.003,
}
"""Scales that are quick to step."""


@pytest.mark.parametrize("name", COUNTS)
def test_counts_masses_and_coefficients_of_the_paper(name: str):
    scene = SCENES[name].build()
    assert len(scene.bodies) == COUNTS[name]
    mass = np.array([body.mass_properties.mass for body in scene.bodies if body.kind == "dynamic"])
    assert mass.mean() == pytest.approx(MASSES.get(name, mass.mean()), rel=0.03)
    if name in ("temple", "colosseum"):
        assert mass.min() > 1900.0
        assert mass.max() < 5200.0
    for material in scene.materials:
        assert np.all(np.asarray(material.friction) == 0.75)
        assert material.torsion == 0.01


@pytest.mark.parametrize("name", COUNTS)
def test_small_versions_have_fewer_of_the_same_objects(name: str):
    build = SCENES[name].build
    whole, small = build(), build(scale=SMALL[name])
    assert len(small.bodies) < 0.5 * len(whole.bodies)
    last, first = small.bodies[-1].mass_properties.mass, whole.bodies[-1].mass_properties.mass
    if name not in ("temple", "colosseum"):  # the lengths of their stones depend on how many fit a side
        assert last == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("name", ["jacks", "spheres", "funnel", "chalices"])
def test_heaps_grow(name: str):
    assert len(SCENES[name].build(scale=2.0).bodies) == pytest.approx(2.0 * COUNTS[name], rel=0.01)


@pytest.mark.parametrize("name", COUNTS)
def test_small_versions_run(name: str):
    prepared = prepare(name, settings={"scale": SMALL[name]})
    first = prepared.sim.step().certificate
    assert first.penetration < 1e-9, "nothing overlaps at the start"
    summary = execute(prepared, 30)
    assert np.isfinite(prepared.sim.state.body_pose).all()
    assert summary.certificate["penetration_max_mm"] < 0.5
    if "stands" in summary.metrics:
        assert summary.metrics["stands"]
        assert summary.certificate["penetration_max_mm"] < 0.05


def test_a_heap_that_moves_does_not_overlap_and_has_few_contacts():
    """24 jacks hit on each other: 5 mm and twice the contacts, most of which never close, without looking again."""
    contacts, deepest = {}, {}
    for tries, searches in ((5, 0), (0, 3)):
        settings = {"scale": 24 / 360, "stepping.redetect": tries, "stepping.searches": searches}
        summary = execute(prepare("jacks", settings=settings), 60)
        contacts[tries], deepest[tries] = summary.contacts_mean, summary.certificate["penetration_max_mm"]
    print(contacts, deepest)
    assert deepest[5] < 0.5 < 2.0 < deepest[0]
    assert contacts[5] < 0.7 * contacts[0]


def test_arches_of_a_colosseum_of_poor_design_fall():
    settings = {"bays": 8, "storeys": 2, "thickness": 0.1, "solver.max_iterations": 100}
    assert not execute(prepare("colosseum", settings=settings), 60).metrics["stands"]


@pytest.mark.parametrize("name", ["glasses", "jacks", "funnel", "chalices", "spheres"])
def test_heaps_depend_on_the_seed_alone(name: str):
    first, again, other = (
        compile_scene(SCENES[name].build(scale=SMALL[name], seed=seed)).q_start for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_flow_counts_what_passes_the_outlet():
    prepared = prepare("funnel", settings={"scale": SMALL["funnel"]})
    flow = prepared.metrics
    result = prepared.sim.step()
    flow.observe(prepared.sim, result)
    assert flow.values()["passed"] == 0.0
    assert not flow.values()["jammed"], "too early to tell"
    for _ in range(flow.window):
        flow.observe(prepared.sim, result)
    assert flow.values()["jammed"]
    result.state.body_pose[prepared.sim.model.dynamic[:3], 2] = 0.0
    flow.observe(prepared.sim, result)
    assert flow.values()["passed"] == 3.0
    assert flow.values()["flow_per_s"] == pytest.approx(6.0)
    assert not flow.values()["jammed"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("jacks", {"scale": 0.0}, "scale is 0.0; it must be positive"),
        ("glasses", {"seed": -1}, "seed is -1"),
        ("colosseum", {"bays": 3}, "bays is 3; it must be a whole number, at least 6"),
        ("colosseum", {"thickness": 2.0}, "thickness is 2.0"),
        ("colosseum", {"depth": 100.0}, "depth is 100.0"),
        ("temple", {"rows": 1}, "rows is 1"),
        ("funnel", {"outlet": 0.0}, "outlet is 0.0"),
        ("funnel", {"slope": 90.0}, "slope is 90.0"),
    ],
)
def test_bad_settings_are_named(name: str, settings: dict[str, float], message: str):
    with pytest.raises(InputError) as caught:
        SCENES[name].build(**settings)
    assert message in str(caught.value)
