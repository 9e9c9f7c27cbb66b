"""Scenes of soft bodies: numbers of the papers, and short runs with a known answer."""

import math

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scene.soft_body import SoftBody
from stickslip.scenes.closed_forms import hertz_force
from stickslip.scenes.pneunet import LENGTH, LEVELS, WIDTH, finger
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import Summary, execute, prepare


def run(name: str, duration: float, **settings) -> Summary:
    prepared = prepare(name, settings=settings)
    summary = execute(prepared, prepared.step_count(duration=duration))
    assert summary.converged
    return summary


# ---- soft-ball -------------------------------------------------------------------------------------------------------


def test_dropped_ball_comes_to_rest_on_the_ground():
    metrics = run("soft-ball", 0.6, divisions=2, height=0.02).metrics
    # the ground holds it to the slop of contacts
    assert metrics["height_error_mm"] == pytest.approx(0.0, abs=1e-4)
    assert metrics["penetration_mm"] < 1e-4
    assert math.isnan(metrics["squeeze_force_N"])


def test_squeezed_ball_pushes_as_hertz_says():
    metrics = run("soft-ball", 0.6, mode="squeeze", squeeze=0.01).metrics
    # a coarse mesh, and strains of ten per cent: the convergence to Hertz is tested elsewhere
    assert metrics["squeeze_force_N"] == pytest.approx(metrics["hertz_force_N"], rel=0.1)
    assert metrics["penetration_mm"] < 1e-4


def test_hertz_force_of_a_known_ball():
    # E* = 1e5 Pa, R = 1 cm, d = 1 mm: 4/3 1e5 0.1 3.162e-5
    assert hertz_force(1e5, 0.01, 1e-3) == pytest.approx(0.4216370, rel=1e-6)


def test_grasped_ball_is_held_above_the_ground():
    prepared = prepare("soft-ball", settings={"mode": "grasp", "divisions": 2, "friction": 0.8, "shake": 0.0})
    execute(prepared, prepared.step_count(duration=0.9))
    ball = prepared.sim.soft_centre(SoftBody(0, "ball"))
    # it sags between the plates by some millimetres; its table is 40 mm lower by now
    assert ball[2] == pytest.approx(0.05, abs=0.004)


@pytest.mark.slow
def test_shaken_ball_does_not_creep_at_80_per_cent_of_the_limit():
    metrics = run("soft-ball", 6.0, mode="grasp").metrics
    assert metrics["load_share"] == pytest.approx(0.8, abs=0.02)
    assert metrics["creep_um_per_s"] < 0.01


@pytest.mark.parametrize("settings", [{"mode": "roll"}, {"squeeze": 0.06}, {"shake": -1.0}, {"divisions": 0}])
def test_wrong_balls_are_refused(settings: dict):
    with pytest.raises(InputError, match="soft-ball"):
        SCENES["soft-ball"].build(**settings)


# ---- soft-stack ------------------------------------------------------------------------------------------------------


def test_soft_stack_stands_and_gives_way_as_a_bar_does():
    levels, edge, young, density = 4, 0.1, 5e5, 1000.0
    metrics = run("soft-stack", 1.2, levels=levels, divisions=2).metrics
    assert metrics["stands"]
    assert metrics["max_drift_mm"] < 1.0
    # stress of a bar: the weight above the middle of each soft box over its section, rigid ones being wider
    weight = 9.81 * density * edge**3
    above = (0.5 + 1.0 + 2.0 * 1.44, 0.5 + 1.44)
    sinks = sum(w * weight / (young * edge) for w in above)
    # friction keeps the faces from spreading, which makes cubes stiffer, by less than a third
    assert 0.7 * sinks < levels * edge - metrics["height_m"] < 1.02 * sinks


def test_soft_stack_alternates():
    scene = SCENES["soft-stack"].build(levels=5)
    assert [body.name for body in scene.soft_bodies] == ["soft-0", "soft-2", "soft-4"]
    assert [body.name for body in scene.bodies] == ["floor", "rigid-1", "rigid-3"]


# ---- twist -----------------------------------------------------------------------------------------------------------


def test_twisted_bar_turns_its_ends():
    prepared = prepare("twist", settings={"turns": 0.5, "time": 0.1, "shorter": 0.0, "cells": 6, "across": 1})
    summary = execute(prepared, 20)
    assert summary.converged
    assert summary.metrics["turns"] == pytest.approx(0.5)
    assert summary.metrics["inverted"] == 0.0
    start, end = prepared.sim.model.soft.x_start, prepared.sim.state.node_position
    right = np.flatnonzero(start[:, 0] > 0.199)
    # a quarter turn of the right end about x: y becomes z
    assert end[right, 2] == pytest.approx(start[right, 1], abs=1e-12)


@pytest.mark.slow
def test_twisted_bar_touches_itself():
    prepared = prepare("twist")
    summary = execute(prepared, prepared.step_count())
    # one step of 500 stalls at a momentum of 1e-6, where impulses of the rounds are only as good as the tolerance
    assert summary.converged_fraction >= 0.99
    metrics = summary.metrics
    assert metrics["self_contacts"] > 0
    assert metrics["inverted"] == 0.0


# ---- pneunet ---------------------------------------------------------------------------------------------------------


def test_fingers_have_as_many_elements_as_the_paper():
    model = compile_scene(SCENES["pneunet"].build())
    assert len(model.soft.element_body) == pytest.approx(2241, rel=0.01)
    assert model.mass[model.dynamic] == pytest.approx([0.32])


def test_finger_is_a_beam_with_arches():
    mesh, layer = finger(6)
    assert mesh.piece_count == 1
    thickness = np.diff(LEVELS)
    columns = 19
    cell = LENGTH / columns * WIDTH
    assert mesh.volumes[layer < 2].sum() == pytest.approx(columns * cell * thickness[:2].sum())
    assert mesh.volumes[layer >= 2].sum() == pytest.approx(12 * cell * thickness[2:].sum())
    assert np.bincount(layer).tolist() == [228, 228, 144, 144]


def test_swelling_arches_curl_the_fingers_inwards():
    prepared = prepare("pneunet", settings={"arches": 2})
    sim = prepared.sim
    execute(prepared, prepared.step_count(duration=0.5))
    for finger_body in range(3):
        own = slice(*sim.model.soft.node_start[finger_body : finger_body + 2])
        start, end = sim.model.soft.x_start[own], sim.state.node_position[own]
        tip = np.argmax(np.hypot(start[:, 0], start[:, 1]))
        assert np.hypot(*end[tip, :2]) < np.hypot(*start[tip, :2]) - 0.01
        assert end[tip, 2] < start[tip, 2] - 0.005


@pytest.mark.slow
def test_pneunet_lifts_the_ball():
    metrics = run("pneunet", 2.8).metrics
    assert metrics["holds"]
    assert metrics["lifted_m"] > 0.08
    assert metrics["slip_mm"] < 0.1
