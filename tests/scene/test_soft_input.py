"""What is wrong about soft bodies and their materials is refused, by name and value."""

import numpy as np
import pytest

from stickslip import Scene, Simulation, elastic
from stickslip.errors import InputError
from stickslip.geometry.tet_generators import box


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "young and poisson, or mu and lam"),
        ((1e5,), {}, "poisson is None"),
        ((-1.0, 0.3), {}, "young is -1.0"),
        ((1e5, 0.5), {}, "poisson is 0.5"),
        ((1e5, 0.3), {"mu": 1.0}, "one of the three"),
        ((1e5, 0.3), {"model": "jelly"}, "'jelly'"),
        ((1e5, 0.3), {"model": "mooney-rivlin"}, "mooney"),
        ((1e5, 0.3), {"density": 0.0}, "density is 0.0"),
        ((1e5, 0.3), {"alpha": -1.0}, "alpha is -1.0"),
        ((1e5, 0.3), {"beta": float("nan")}, "beta is nan"),
        ((), {"mu": 3.0, "lam": -2.0}, "lam is -2.0"),
        ((), {"mooney": (0.0, 0.0, 1.0)}, "c1, c2 are 0.0, 0.0"),
        ((), {"mooney": (1.0, 0.0, 0.0)}, "bulk is 0.0"),
    ],
)
def test_wrong_materials_are_refused(arguments, options, message: str):
    with pytest.raises(InputError, match="elastic material.*" + message):
        elastic(*arguments, **options)


MESH = box((1, 1, 1), 1)


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("hold_nodes", ([8],), "nodes go from 8 to 8; there are 8"),
        ("hold_nodes", ([],), "an empty one"),
        ("hold_nodes", ([0, 0],), "twice"),
        ("hold_nodes", ([0.5],), "whole numbers"),
        ("hold_nodes", ([7],), r"nodes \[7\] are held or welded already"),
        ("push_nodes", ([0], (1, 2)), "force has shape"),
        ("push_nodes", ([0], (1, 2, np.inf)), r"force is \[ 1.  2. inf\]; every entry must be a finite number"),
        ("activate", ([99], 1.0), "elements go from 99"),
        ("activate", ([0], np.nan), "stress is nan"),
        ("add_cavity", ([[0, 1, 2]],), "not closed"),
        ("add_cavity", ([0, 1],), r"shape \(2,\)"),
        ("add_cavity", (MESH.surface,), "either pressure or volume"),
    ],
)
def test_wrong_uses_of_a_soft_body_are_refused(method: str, arguments, message: str):
    scene = Scene()
    body = scene.add_soft(MESH, elastic(1e5, 0.3), name="cube")
    scene.hold_nodes(body, [7])
    with pytest.raises(InputError, match="soft body 'cube'.*" + message):
        getattr(scene, method)(body, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "cube"}, "'cube' exists already"),
        ({"name": 3}, "name is 3"),
        ({"region": [0]}, r"region has shape \(1,\)"),
        ({"region": np.full(6, 1)}, "region goes from 1 to 1"),
        ({"velocity": (0, 0, np.nan)}, "velocity"),
        ({"rotation": (0, 0, 0, 0)}, "rotation"),
        ({"self_contact": 1}, "self_contact is 1"),
    ],
)
def test_wrong_soft_bodies_are_refused(options, message: str):
    scene = Scene()
    scene.add_soft(MESH, elastic(1e5, 0.3), name="cube")
    with pytest.raises(InputError, match=message):
        scene.add_soft(MESH, elastic(1e5, 0.3), **options)
    with pytest.raises(InputError, match="mesh is 5"):
        scene.add_soft(5, elastic(1e5, 0.3))
    with pytest.raises(InputError, match="elastic is 'rubber'"):
        scene.add_soft(MESH, "rubber")


def test_bodies_of_other_scenes_and_bad_courses_are_refused():
    scene, other = Scene(), Scene()
    body = scene.add_soft(MESH, elastic(1e5, 0.3), name="cube")
    with pytest.raises(InputError, match="'cube' is not of this scene"):
        other.hold_nodes(body, [0])
    scene.activate(body, [0], lambda time: np.inf)
    with pytest.raises(InputError, match=r"activation at t = .* inf"):
        Simulation(scene, dt=0.01).step()
    scene = Scene()
    body = scene.add_soft(MESH, elastic(1e5, 0.3))
    scene.hold_nodes(body, [0], lambda time: 3)
    with pytest.raises(InputError, match=r"held nodes, motion at t = 0\.01 s: it gave 3"):
        Simulation(scene, dt=0.01).step()


def test_a_rigid_body_does_not_take_the_name_of_a_soft_one():
    scene = Scene()
    scene.add_soft(MESH, elastic(1e5, 0.3), name="cube")
    with pytest.raises(InputError, match="body 'cube' exists already"):
        scene.add_sphere(0.1, name="cube")
