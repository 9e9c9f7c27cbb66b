"""Scenes of [macklin2019] and of joints: numbers of the paper, closed forms, and short runs with a known answer."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.joint import Joint
from stickslip.scenes.arch import funicular_stones
from stickslip.scenes.closed_forms import four_bar_follower
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import Run, Summary, execute, prepare
from stickslip.scenes.scale import scale_linkage

TABLE_2_STEP = 0.0083
"""[s] h of every scene of Table 2."""


def run(name: str, duration: float, **settings) -> Summary:
    prepared = prepare(name, settings=settings)
    return execute(prepared, prepared.step_count(duration=duration))


def masses(name: str, start: str, **settings) -> np.ndarray:
    return np.array([b.mass_properties.mass for b in SCENES[name].build(**settings).bodies if b.name.startswith(start)])


def joint(prepared: Run, name: str) -> Joint:
    return Joint(prepared.sim.model.joint_names.index(name), name)


# ---- numbers of the paper --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arch", "heavy-stack", "table-pile", "beam-insertion"])
def test_step_of_table_2(name: str):
    assert SCENES[name].dt == TABLE_2_STEP


def test_arch_has_twenty_stones_of_15_to_110_kg():
    stones = masses("arch", "voussoir")
    assert len(stones) == 20
    assert stones[:10] == pytest.approx(np.linspace(110.0, 15.0, 10), rel=1e-9)
    assert stones[10:] == pytest.approx(stones[9::-1], rel=1e-9)


def test_table_pile_has_54_tables_of_4_7_kg():
    tables = masses("table-pile", "table")
    assert len(tables) == 54
    assert tables == pytest.approx(4.7)


def test_beam_has_16_bodies_of_3_g_and_joints_of_250_N_m():
    scene = SCENES["beam-insertion"].build()
    assert masses("beam-insertion", "segment") == pytest.approx(np.full(16, 0.003))
    bends = [joint.bending_stiffness for joint in scene.joints if joint.name.startswith("joint-")]
    assert bends == [250.0] * 15


def test_chain_has_50_links_and_a_ball_of_10000_times_their_mass():
    links = masses("chain", "link")
    assert len(links) == 50
    assert masses("chain", "ball")[0] / links[0] == pytest.approx(10000.0)


@pytest.mark.parametrize(("name", "friction"), [("arch", 0.6), ("heavy-stack", 0.5), ("table-pile", 0.7)])
def test_friction_of_the_paper(name: str, friction: float):
    assert {material.friction for material in SCENES[name].build().materials} == {(friction, friction)}


# ---- arch ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voussoirs", [3, 8, 20, 21])
def test_thrust_line_runs_through_the_middle_of_the_joints(voussoirs: int):
    # from the middle of the right springing, with half of the weight and the thrust that its slope says, upwards
    slope, area_density = 2.5, 600.0
    stones = funicular_stones(voussoirs, (15.0, 110.0), (0.15, 0.4), slope, area_density)
    areas, centres = zip(*map(_area_and_centre, stones), strict=True)
    carried = 0.5 * sum(areas)
    thrust = carried / slope
    x, z = stones[-1][2:].mean(axis=0)
    for k in range(voussoirs - 1, voussoirs - 1 - voussoirs // 2, -1):
        z += carried / thrust * (x - centres[k])
        carried -= areas[k]
        middle, side = stones[k][:2].mean(axis=0), stones[k][1] - stones[k][0]
        z += carried / thrust * (centres[k] - middle[0])
        x = middle[0]
        assert z == pytest.approx(middle[1], abs=1e-9)
        # square to the joint: it needs no friction
        assert side @ (1.0, -carried / thrust) == pytest.approx(0.0, abs=1e-9)


def _area_and_centre(outline: np.ndarray) -> tuple[float, float]:
    """Area and x of the centroid of a polygon, by the shoelace formulas."""
    x, z = outline[[0, 1, 3, 2]].T
    x_next, z_next = np.roll(x, -1), np.roll(z, -1)
    cross = x * z_next - x_next * z
    return 0.5 * abs(float(cross.sum())), float(((x + x_next) * cross).sum() / (3.0 * cross.sum()))


def test_arch_needs_the_friction_of_its_springings():
    settings = {"solver.tolerance": 1e-6}
    assert run("arch", 0.8, friction=0.35, **settings).metrics["stands"]
    assert not run("arch", 0.8, friction=0.24, **settings).metrics["stands"]


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_tables_start_without_contact_whatever_their_angles():
    for turn, tilt in ((0.0, 0.0), (25.0, 6.0), (180.0, 10.0), (180.0, 180.0)):
        prepared = prepare("table-pile", settings={"turn": turn, "tilt": tilt, "base": 3, "layers": 3})
        result = prepared.sim.step()
        assert result.certificate.penetration == 0.0
        assert (result.contacts.gap > 0.0).all()


def test_tables_come_to_rest_on_their_legs():
    metrics = run("table-pile", 1.3, base=2, layers=2, **{"solver.tolerance": 1e-6}).metrics
    assert metrics["stands"]
    assert metrics["rest_time_s"] < 1.2
    assert metrics["max_drift_mm"] < 0.05
    # four corners of each of four legs, on five tables
    assert metrics["contacts"] == 80


# ---- joints ----------------------------------------------------------------------------------------------------------


def test_chain_swings_and_holds():
    summary = run("chain", 0.5, links=20, **{"solver.tolerance": 1e-6})
    assert summary.metrics["joint_error_max_m"] < 1e-6
    assert abs(summary.metrics["stretch_max_m"]) < 1e-6


def test_hanging_chain_carries_the_ball():
    prepared = prepare("chain", settings={"links": 10, "angle": 0.0, "mass_ratio": 1000.0})
    execute(prepared, 5)
    force, _ = prepared.sim.joint_force(joint(prepared, "joint-0"))
    # 10 links and the ball of 1000
    assert force == pytest.approx([0.0, 0.0, 1010 * 0.1 * 9.81], rel=1e-5, abs=1e-2)


def test_follower_angle_closes_the_loop():
    a, b, c, d = lengths = (0.2, 0.5, 0.4, 0.5)
    crank = np.linspace(-4.0, 4.0, 41)
    follower = four_bar_follower(crank, lengths)
    reach = np.hypot(d + c * np.cos(follower) - a * np.cos(crank), c * np.sin(follower) - a * np.sin(crank))
    assert reach == pytest.approx(np.full(41, b), rel=1e-12)


def test_four_bar_follows_freudenstein():
    metrics = run("four-bar", 0.15, **{"solver.tolerance": 1e-7}).metrics
    assert metrics["crank_turns"] == pytest.approx(0.15, rel=0.05)
    assert metrics["follower_error_max_rad"] < 1e-5
    assert metrics["joint_error_max_m"] < 1e-6


def test_empty_bridge_is_at_rest_and_its_ropes_pull_as_a_parabola_does():
    planks, pitch, sag, weight = 7, 0.25, 0.6, 9.81 * (2.5 + 0.2)
    prepared = prepare("rope-bridge", settings={"planks": planks, "pitch": pitch, "sag": sag, "loads": 0})
    metrics = execute(prepared, 20).metrics
    assert abs(metrics["sag_m"]) < 1e-6
    force, _ = prepared.sim.joint_force(joint(prepared, f"knot-front-{(planks + 1) // 2}"))
    # slope changes by 8 f / L^2 times the pitch at every knot, each with half a plank and a piece of rope
    assert abs(force[0]) == pytest.approx(weight * (planks + 1) ** 2 * pitch / (8.0 * sag), rel=1e-3)


def test_bridge_sags_under_its_loads():
    metrics = run("rope-bridge", 0.12, planks=3).metrics
    assert 0.001 < metrics["sag_m"] < 0.3
    assert metrics["joint_error_max_m"] < 1e-6


@pytest.mark.parametrize("weight", [0.1, 0.25, 0.9])
def test_scale_reads_the_weight_within_a_thousandth(weight: float):
    metrics = run("scale", 1.0, weight=weight, **{"solver.tolerance": 1e-7}).metrics
    assert metrics["weight_error_relative"] < 1e-3
    assert metrics["weight_read_kg"] == pytest.approx(weight, rel=1e-3)
    assert metrics["joint_error_max_m"] < 1e-6


def test_dial_is_the_inverse_of_the_linkage():
    linkage = scale_linkage(200.0)
    assert linkage.weight(linkage.empty) == 0.0
    for weight in np.linspace(0.0, 1.0, 11):
        assert linkage.weight(linkage.angle(weight)) == pytest.approx(weight, abs=1e-12)
    # the lever is the slope of the crank's pin against the pan's
    step = 1e-6
    for phi in (-0.9, -0.2, 0.5, 1.0):
        rise = linkage.crank * (math.sin(phi + step) - math.sin(phi - step))
        slope = rise / (linkage.pin_height(phi + step) - linkage.pin_height(phi - step))
        assert linkage.lever(phi) == pytest.approx(slope, rel=1e-7)


def test_needle_is_balanced_about_its_axis():
    model = compile_scene(SCENES["scale"].build())
    needle = model.body_names.index("needle")
    assert model.centre[needle, [0, 2]] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_beam_goes_in_and_bends():
    metrics = run("beam-insertion", 0.25, **{"solver.tolerance": 1e-6}).metrics
    # 30 steps at 0.2 m/s from 22 mm before the hole
    assert metrics["inserted_m"] == pytest.approx(0.25 * 0.2 - 0.022, abs=0.002)
    assert metrics["bending_max_rad"] > 1e-4
    assert metrics["joint_error_max_m"] < 1e-6


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("arch", {"voussoirs": 2}, "voussoirs is 2"),
        ("arch", {"crown_mass": 0.0}, "crown_mass is 0.0"),
        ("arch", {"foot_slope": -1.0}, "foot_slope is -1.0"),
        ("arch", {"foot_thickness": 3.0}, "would cross"),
        ("table-pile", {"layers": 6}, "layers is 6"),
        ("table-pile", {"tilt": 200.0}, "tilt is 200.0"),
        ("table-pile", {"leg": 0.3}, "no room for legs"),
        ("chain", {"radius": 0.06}, "radius is 0.06"),
        ("chain", {"links": 0}, "links is 0"),
        ("four-bar", {"crank": 0.6}, "the crank must be the shortest"),
        ("four-bar", {"ground": 0.8}, "the crank must be the shortest"),
        ("rope-bridge", {"planks": 1}, "planks is 1"),
        ("scale", {"weight": 2.0}, "reads up to"),
        ("beam-insertion", {"offset": 0.02}, "offset is 0.02"),
        ("beam-insertion", {"segments": 1}, "segments is 1"),
    ],
)
def test_bad_settings_are_named(name: str, settings: dict[str, float], message: str):
    with pytest.raises(InputError) as caught:
        prepare(name, settings=settings)
    assert message in str(caught.value)
