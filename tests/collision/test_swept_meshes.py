"""Bounds in the direction of motion: meshes that look only for what closes find all of it."""

import numpy as np
import pytest

from stickslip import Scene
from stickslip.collision.lookahead import approach as closing_speeds
from stickslip.collision.reach import APPROACH_SAFETY, Approach
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.geometry.generators import surface_of_revolution
from stickslip.model.model import Model, compile_scene
from stickslip.scenes.jacks import jack_mesh

FAR, MARGIN = APPROACH_SAFETY * 0.01, 1e-4
BOWL = surface_of_revolution([(0, 0), (0.1, 0), (0.12, 0.2), (0.11, 0.2), (0.09, 0.01), (0, 0.01)], 9)


def pair(second: str) -> Model:
    scene = Scene()
    vertices, triangles = jack_mesh(0.1)
    scene.add_mesh(vertices, triangles)
    if second == "jack":
        scene.add_mesh(vertices, triangles)
    else:
        scene.add_mesh(BOWL[0] - [0, 0, 0.1], BOWL[1])
    return compile_scene(scene)


@pytest.mark.parametrize("second", ["jack", "bowl"])
def test_nothing_that_closes_is_left_out(second: str) -> None:
    """Of every contact that the velocities close in time, the quick search has one at that place, or thinned it out."""
    model, rng = pair(second), np.random.default_rng(4)
    seen, fewer = 0, 0
    for _ in range(120):
        q = np.concatenate([np.zeros((2, 3)), rng.normal(size=(2, 4))], axis=1)
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
        direction = rng.normal(size=3)
        q[1, :3] = rng.uniform(0.05, 0.2) * direction / np.linalg.norm(direction)
        v = np.concatenate([rng.normal(size=(2, 3)) * 1.5, rng.normal(size=(2, 3)) * 6.0], axis=1)
        found = []
        for alone in (False, True):
            look = Approach(v, v, np.zeros(2), FAR, MARGIN, alone)
            found.append(find_contacts(model, q, np.full(2, 1.0), approach=look))
        plain, quick = found
        speed = closing_speeds(plain.body_a, plain.body_b, plain.point, plain.normal, q, v)
        near = plain.gap <= MARGIN + FAR * np.maximum(-speed, 0.0)
        fewer += len(plain) - len(quick)
        if len(plain) == 16 or len(quick) == 16:
            continue  # thinned out, to different ones
        for c in np.flatnonzero(near):
            seen += 1
            place = np.linalg.norm(quick.point - plain.point[c], axis=1) if len(quick) else np.zeros(0)
            same = (place < 1e-4) & (quick.normal @ plain.normal[c] > 0.999)
            assert same.any(), (plain.gap[c], speed[c])
    assert seen > 50
    assert fewer > seen  # and it leaves out much of what does not close


def test_a_search_that_hands_on_looks_all_around() -> None:
    """Bodies that part keep what is near: another one may hit them in the step."""
    model = pair("jack")
    q = np.zeros((2, 7))
    q[:, 3], q[1, 0] = 1.0, 0.203
    v = np.zeros((2, 6))
    v[1, 0] = 1.0
    counts = []
    for alone in (False, True):
        look = Approach(v, v, np.zeros(2), FAR, MARGIN, alone)
        counts.append(len(find_contacts(model, q, np.full(2, 1.0), approach=look)))
    assert counts[0] > 0
    assert counts[1] == 0
