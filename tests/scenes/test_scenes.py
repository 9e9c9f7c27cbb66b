"""Every scene builds, steps and measures; the fast ones meet their bars."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.model.stepping import Stepping
from stickslip.scenes.registry import SCENES, find_scene
from stickslip.scenes.running import Summary, execute, prepare

SMALL = {
    "spheres": {"count": 40, "across": 3},
    "jacks": {"scale": 0.02},
    "glasses": {"scale": 0.02},
    "chalices": {"scale": 0.002},
    "funnel": {"scale": 0.005},
    "temple": {"scale": 0.02},
    "colosseum": {"scale": 0.1},
    "table-pile": {"base": 2, "layers": 1},
    "chain": {"links": 5},
    "rope-bridge": {"planks": 3},
    "soft-ball": {"divisions": 1},
    "allegro-ball": {"divisions": 2},
    "dexnet": {"object": "torus"},
    "allegro-iiwa": {"divisions": 2},
    "soft-stack": {"levels": 2, "divisions": 1},
    "soft-chain": {"links": 2},
    "soft-bubble": {"cells": 8, "divisions": 2},
    "ball-grip": {"divisions": 2},
    "soft-arch": {"count": 3},
    "soft-mat": {"divisions": 10},
    "soft-gripper": {"scale": 0.3},
    "panda-cable": {"links": 16},
    "panda-gripper": {"scale": 0.3},
    "panda-mat": {"divisions": 10},
    "twist": {"cells": 4, "across": 1},
    "cable": {"links": 16},
    "cable-winding": {"links": 16},
    "pneunet": {"arches": 1},
    "cantilever": {"divisions": (8.0, 1.0, 1.0)},
    "extension": {"divisions": (4.0, 2.0, 2.0)},
    "cylinder-press": {"mesh": 0},
}
"""Parameters that make a scene quick to step."""
PILE = {"kinetic_energy_J", "rms_speed_m_per_s", "penetration_mean_mm", "penetration_max_mm", "settled"}
HANGING = {"hangs", "overlap_max_mm", "sag_m", "bottom_m", "contacts", "iterations_max", "speed_m_per_s"}
METRICS = {
    "demo": {"bricks_moved", "dominoes_fallen", "kinetic_energy_J"},
    "box-slope": {"creep_um_per_s"},
    "box-slide": {"position_error_mm", "x_error_mm", "y_error_mm", "z_error_mm"},
    "anisotropic-slide": {"mdp_error_mm", "mdp_error_max_mm", "continuous_error_mm", "turn_rad"},
    "heavy-stack": {"stands", "height_error_mm", "overlap_mm"},
    "mass-ratio": {"stands", "height_error_mm", "overlap_mm"},
    "wall": {"stands", "max_drift_mm"},
    "tower": {"stands", "max_drift_mm"},
    "spheres": PILE,
    "jacks": PILE,
    "glasses": PILE,
    "chalices": PILE,
    "funnel": {"passed", "flow_per_s", "jammed", "rms_speed_m_per_s"},
    "temple": {"stands", "max_drift_mm"},
    "colosseum": {"stands", "max_drift_mm"},
    "arch": {"stands", "max_drift_mm"},
    "round-arch": {"stands", "max_drift_mm"},
    "table-pile": {"stands", "rest_time_s", "max_drift_mm", "contacts", "penetration_max_mm"},
    "beam-insertion": {"inserted_m", "bending_max_rad", "contacts_max", "joint_error_max_m"},
    "chain": {"joint_error_max_m", "stretch_max_m"},
    "four-bar": {"joint_error_max_m", "follower_error_max_rad", "crank_turns", "crank_speed_rad_per_s"},
    "gripper-lift": {"lifted_mm", "slip_mm"},
    "dexnet": {"held", "slip_mm", "creep_mm_per_s", "epsilon", "contacts", "links", "force_N", "friction_share"}
    | {"contacts_max", "converged"},
    "allegro-ball": {"squeeze_mm", "grip_force_N", "rolled_rad", "held", "contacts_max", "converged"},
    "allegro-iiwa": {"lifted_mm", "grip_force_N", "sway_mm", "slip_mm", "creep_um_per_s", "hand_error_mm"}
    | {"contacts_mean", "contacts_max", "converged"},
    "humanoid": {"standing", "height_m", "moved_m", "contacts_max", "converged"},
    "yumi-cabinet": {
        "opened_m",
        "grip_force_N",
        "load_share",
        "slip_mm",
        "creep_um_per_s",
        "contacts_max",
        "converged",
    },
    "rope-bridge": {"joint_error_max_m", "sag_m", "loads_on_bridge"},
    "scale": {"weight_read_kg", "weight_error_relative", "needle_rad", "joint_error_max_m"},
    "rolling": {"velocity_error"},
    "ball-drop": {"impact_speed", "shock_steps", "residual_speed_after_impact"},
    "balls-in-cube": {"contacts_mean", "kinetic_energy_J", "rms_speed_m_per_s", "overlap_max_mm", "escaped"},
    "bouncing-ball": {"apex_error", "interval_error", "rest_time_error", "bounces"},
    "cradle": {"balls_out", "speed_error", "energy_error", "momentum_error"},
    "spin-down": {"spin_down_error", "way_error"},
    "tippe-top": {"inverted", "inversion_time", "jellett_change"},
    "soft-ball": {"height_error_mm", "penetration_mm", "squeeze_force_N", "hertz_force_N"}
    | {"load_share", "creep_um_per_s", "slip_um"},
    "soft-stack": {"stands", "max_drift_mm", "height_m", "penetration_mm"},
    "soft-chain": HANGING,
    "soft-torus": HANGING,
    "soft-arch": {"stands", "max_drift_mm", "overlap_max_mm"},
    "soft-bubble": {"lifted_m", "slipped_mm", "sway_mm", "placed", "contacts_mean", "contacts_max"}
    | {"weld_error_max_m", "converged", "creep_um_per_s", "grip_force_N"},
    "soft-mat": {"folded", "edge_x_mm", "edge_height_mm", "internal_force_N", "internal_force_mean_N"}
    | {"below_table_mm", "penetration_mm", "contacts_mean", "contacts_max", "self_contacts_max", "converged"},
    "soft-gripper": {"force_x_N", "force_y_N", "force_z_N", "squeeze_N", "sensor_error_N", "marker_displacement_mm"}
    | {"penetration_mm", "contacts_mean", "contacts_max", "converged"},
    "ball-grip": {"penetration_max_mm", "penetration_mean_mm", "lifted_m", "held", "slip_um", "grip_force_N"}
    | {"grip_difference_N", "load_share", "carried_N", "internal_force_N", "contacts"},
    "twist": {"turns", "self_contacts", "min_volume_ratio", "inverted", "penetration_mm"},
    "cable": {"sag_m", "sag_error_mm"},
    "cable-winding": {"penetration_max_mm", "penetration_mean_mm", "effector_force_N", "effector_force_max_N"}
    | {"windings", "stretch_max", "stretch", "converged"},
    "panda-cable": {"penetration_max_mm", "penetration_mean_mm", "effector_force_N", "effector_force_max_N"}
    | {"windings", "stretch", "tracking_mm", "slip_um_per_s", "contacts_mean", "contacts_max", "converged"},
    "panda-mat": {"folded", "edge_x_mm", "edge_height_mm", "internal_force_N", "internal_force_mean_N"}
    | {"below_table_mm", "penetration_mm", "contacts_mean", "contacts_max", "self_contacts_max", "converged"}
    | {"creep_um_per_s", "slip_mm", "grip_N", "tracking_mm"},
    "panda-gripper": {"lifted_mm", "wrist_weight_N", "weight_error", "wrist_balance_N", "squeeze_N", "creep_um_per_s"}
    | {"swing_um_per_s", "penetration_mm", "contacts_mean", "contacts_max", "converged"},
    "fetch-tomato": {"weight_read_kg", "weight_error_relative", "needle_rad", "joint_error_max_m", "grip_force_N"}
    | {"squeeze_mm", "slip_mm", "creep_um_per_s", "on_pan", "contacts_max", "converged"},
    "fetch-beam": {"joint_error_max_m", "inserted_m", "bodies", "hole_force_max_N", "hole_force_end_N", "push_max_N"}
    | {
        "wrist_force_max_N",
        "creep_um_per_s",
        "converged",
        "bending_max_rad",
        "contacts_max",
        "slip_mm",
        "slip_um_per_s",
    },
    "pneunet": {"lifted_m", "holds", "slip_mm", "elements", "contacts_max", "penetration_mm"},
    "cantilever": {"tip_deflection_m", "beam_theory_m", "deflection_error", "tip_speed_m_per_s"},
    "extension": {"stretch", "volume_ratio", "waist_ratio"},
    "cylinder-press": {"displacement_m", "force_N_per_m", "displacement_error", "overlap_max_mm"}
    | {"out_of_plane_m_per_s"},
}


def run(name: str, duration: float | None = None, dt: float | None = None, **settings) -> Summary:
    """A run of a scene; a double underscore in a name stands for a dot."""
    prepared = prepare(name, settings={key.replace("__", "."): value for key, value in settings.items()}, dt=dt)
    return execute(prepared, prepared.step_count(duration=duration))


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_steps_and_measures(name: str):
    prepared = prepare(name, settings=SMALL.get(name, {}))
    summary = execute(prepared, 3)
    assert set(summary.metrics) == METRICS[name]
    assert summary.steps == 3
    model = prepared.sim.model
    others = sum(int(kind.widths.sum()) for kind in model.others)
    assert summary.dofs == 6 * len(model.dynamic) + others + 3 * len(model.soft.free)
    assert np.isfinite(prepared.sim.state.body_pose).all()
    assert len(summary.state_hash) == 64


def test_heavy_stack_masses_are_those_of_the_paper():
    model = compile_scene(SCENES["heavy-stack"].build())
    assert model.mass[model.dynamic].tolist() == [8.0**k for k in range(1, 6)]


@pytest.mark.parametrize("name", ["wall", "tower", "arch", "round-arch"])
def test_structures_start_without_overlap(name: str):
    prepared = prepare(name)
    assert prepared.sim.step().certificate.penetration < 1e-12


@pytest.mark.parametrize("name", ["arch", "round-arch"])
def test_voussoirs_share_their_joints(name: str):
    scene = SCENES[name].build(voussoirs=9)
    hulls = [body.parts[0].shape.points for body in scene.bodies if body.name.startswith("voussoir")]
    for left, right in zip(hulls[:-1], hulls[1:], strict=True):
        np.testing.assert_allclose(left[4:], right[:4], atol=1e-14)


# ---- physics ------------------------------------------------------------------------------------------------


def test_box_below_the_friction_limit_does_not_creep():
    assert run("box-slope", duration=4.0).metrics["creep_um_per_s"] < 0.001


def test_box_above_the_friction_limit_slides():
    # a = g (sin - mu cos) with tan = 1.2 mu: several metres in two seconds
    summary = run("box-slope", duration=3.0, fraction=1.2)
    angle = math.atan(0.6)
    acceleration = 9.81 * (math.sin(angle) - 0.5 * math.cos(angle))
    mean_speed = acceleration * 2.5  # over the third second
    assert summary.metrics["creep_um_per_s"] == pytest.approx(1e6 * mean_speed, rel=2e-3)


def test_creep_of_a_run_that_is_too_short_is_unknown():
    assert run("box-slope", duration=0.1).to_json()["metrics"]["creep_um_per_s"] is None


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_pushed_box_follows_the_analytic_solution(scheme: str):
    assert run("box-slide", stepping__scheme=scheme).metrics["position_error_mm"] < 0.001


def test_pushed_box_below_the_limit_rests():
    # 0.9 N is below mu m g = 0.981 N; the error is then the motion itself
    assert run("box-slide", force=0.9).metrics["position_error_mm"] < 1e-6


def test_slide_error_sees_a_wrong_motion():
    prepared = prepare("box-slide")
    body = prepared.sim.model.dynamic[0]
    for _ in range(5):
        result = prepared.sim.step()
        result.state.body_pose[body, 1] += 1e-3
        prepared.metrics.observe(prepared.sim, result)
    # every step adds another millimetre: 1, 2, ... 5
    assert prepared.metrics.values()["position_error_mm"] == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("ratio", [1_000.0, 10_000.0])
def test_heavy_box_on_a_light_one_stands(ratio: float):
    metrics = run("mass-ratio", duration=2.0, ratio=ratio).metrics
    assert metrics["stands"]
    assert metrics["overlap_mm"] < 0.01
    assert abs(metrics["height_error_mm"]) < 0.01


def test_heavy_stack_keeps_its_height():
    metrics = run("heavy-stack", duration=2.5).metrics
    assert metrics["stands"]
    assert abs(metrics["height_error_mm"]) < 0.1


@pytest.mark.parametrize("name", ["wall", "tower"])
def test_wall_and_tower_stand(name: str):
    metrics = run(name, duration=1.5).metrics
    assert metrics["stands"]
    assert metrics["max_drift_mm"] < 1e-3


@pytest.mark.parametrize("name", ["arch", "round-arch"])
@pytest.mark.parametrize("friction", [0.6, 1.0])
def test_arches_stand_with_enough_friction(name: str, friction: float):
    metrics = run(name, duration=1.5, friction=friction).metrics
    assert metrics["stands"]
    assert metrics["max_drift_mm"] < 1e-3


@pytest.mark.parametrize("name", ["arch", "round-arch"])
def test_arches_fall_without_enough_friction(name: str):
    assert not run(name, duration=0.8, friction=0.2).metrics["stands"]


def test_round_arch_that_is_too_thin_falls():
    # Heyman: a semicircular arch needs a thickness above 0.1075 of its radius, whatever the friction
    assert not run("round-arch", duration=1.5, friction=1.0, thickness=0.16).metrics["stands"]


@pytest.mark.parametrize("settings", [{}, {"arrangement": "slab-on-balls", "force": 50.0}])
def test_rolling_follows_the_closed_form(settings: dict[str, object]):
    assert run("rolling", duration=0.3, **settings).metrics["velocity_error"] < 5e-9


def test_shock_passes_through_all_balls_in_one_step():
    metrics = run("ball-drop", duration=0.5).metrics
    # the last step of the fall ends within the slop above the floor, so its speed may lack slop / dt
    assert metrics["impact_speed"] == pytest.approx(31 * 9.81 * 0.01, abs=2.0 * Stepping().slop / 0.01)
    assert metrics["shock_steps"] == 1
    assert metrics["residual_speed_after_impact"] < 1e-6


# ---- settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("box-slop", {}, "scene 'box-slop' is unknown; known: demo"),
        ("box-slope", {"fricton": 0.3}, "parameter 'fricton' is unknown; known: friction, fraction"),
        ("box-slope", {"solver.tolerence": 1e-3}, "'tolerence' is unknown; known: tolerance"),
        ("box-slope", {"stepping.schema": "moreau"}, "'schema' is unknown; known: dt, scheme"),
        ("box-slope", {"world.gravity": 1.0}, "begin with solver or stepping"),
        ("box-slope", {"stepping.scheme": "verlet"}, "euler, symplectic, moreau"),
        ("box-slope", {"stepping.dt": -1.0}, "dt"),
        ("box-slope", {"friction": "rough"}, "friction is 'rough'; it must be a number"),
        ("box-slope", {"friction": math.nan}, "friction is nan; it must be a number"),
        ("box-slope", {"mass": 0.0}, "mass"),
        ("box-slope", {"mass": -1.0}, "mass"),
        ("box-slope", {"edge": math.inf}, "edge is inf; it must be a finite number"),
        ("wall", {"courses": 2.5}, "courses is 2.5; it must be a whole number"),
        ("wall", {"courses": 0}, "at least 1"),
        ("wall", {"shift": 0.6}, "at most 0.5"),
        ("arch", {"voussoirs": 2}, "at least 3"),
        ("round-arch", {"voussoirs": 2}, "at least 3"),
        ("round-arch", {"thickness": 5.0}, "below the span"),
        ("tower", {"radius": 0.05}, "no room"),
        ("spheres", {"jitter": 0.2}, "jitter"),
        ("rolling", {"arrangement": "upside-down"}, "balls-on-slab, slab-on-balls"),
        ("heavy-stack", {"masses": (1.0, -2.0)}, "mass"),
    ],
)
def test_bad_settings_are_named(name: str, settings: dict[str, object], message: str):
    with pytest.raises(InputError) as caught:
        prepare(name, settings=settings)
    assert message in str(caught.value)


def test_number_of_steps():
    prepared = prepare("box-slide")
    assert prepared.step_count() == 100
    assert prepared.step_count(steps=7) == 7
    assert prepared.step_count(duration=0.3) == 30
    for wrong in ({"steps": 0}, {"duration": -1.0}, {"duration": math.nan}, {"steps": 1, "duration": 1.0}):
        with pytest.raises(InputError):
            prepared.step_count(**wrong)


def test_scene_defaults_are_what_the_table_says():
    entry = find_scene("box-slope")
    assert entry.parameters({"mass": 2}) == {"friction": 0.5, "fraction": 0.8, "edge": 0.1, "mass": 2.0}
