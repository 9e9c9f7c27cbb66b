"""Joints of scenes: what is refused and why, and the tables that are made of the rest."""

from dataclasses import fields
from math import inf, nan

import numpy as np
import pytest

from stickslip import Drive, InputError, Scene, compile_scene
from stickslip.law_codes import BILATERAL, BOUNDED, LIMIT
from stickslip.model.joint_tables import ANGLE, DISTANCE, DOT, FREE, LOCKED, OTHER_ANGLE, POINT, TURN, no_joints
from stickslip.scene.joint import JOINT_KINDS

P, Q = (0, 0, 0), (0, 0, 1)


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.add_box((0.1, 0.1, 0.1), (0, 0, 0), name="a")
    scene.add_box((0.1, 0.1, 0.1), (0, 0, 1), name="b")
    scene.add_half_space(name="floor", position=(0, 0, -5))
    scene.add_box((0.1, 0.1, 0.1), (0, 0, 9), name="lift", kind="kinematic")
    return scene


BAD = {
    "same body": (lambda s, a, b: s.add_ball(a, a, P), r"joint 'ball-0': a and b are both body 'a'"),
    "twice the world": (lambda s, a, b: s.add_ball(None, None, P), "both the world"),
    "nothing moves": (lambda s, a, b: s.add_ball(None, s.body("floor"), P), r"'floor' \(static\); at least one"),
    "nothing is free": (lambda s, a, b: s.add_ball(s.body("lift"), s.body("floor"), P), "must be dynamic"),
    "other scene": (lambda s, a, b: s.add_ball(a, Scene().add_sphere(1.0), P), "'sphere-0', is not of this scene"),
    "no handle": (lambda s, a, b: s.add_ball(a, "b", P), "body b is 'b'; give what scene.add"),
    "no axis": (lambda s, a, b: s.add_revolute(a, b), "joint 'revolute-0': axis is not given"),
    "no second axis": (lambda s, a, b: s.add_universal(a, b, axis_a=Q), "axis_b is not given"),
    "no point": (lambda s, a, b: s.add_ball(a, b, (0, 0)), r"point has shape \(2,\)"),
    "point nan": (lambda s, a, b: s.add_ball(a, b, (0, 0, nan)), "every entry must be a finite number"),
    "zero axis": (lambda s, a, b: s.add_revolute(a, b, P, (0, 0, 0)), "axis is .* a vector other than zero"),
    "axis nan": (lambda s, a, b: s.add_prismatic(a, b, (nan, 0, 0)), "axis is .*finite"),
    "limits reversed": (
        lambda s, a, b: s.add_revolute(a, b, P, Q, limits=(1, -1)),
        r"limits are \(1.0, -1.0\); the lower must be below the upper",
    ),
    "limits equal": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=(0, 0)), "the lower must be below"),
    "limits nan": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=(nan, 1)), "limit is nan"),
    "one limit": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=1.0), "a lower and an upper number"),
    "three limits": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=(1, 2, 3)), "a lower and an upper number"),
    "limit text": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=("x", 1)), "limit is 'x'"),
    "start outside": (lambda s, a, b: s.add_revolute(a, b, P, Q, limits=(0.5, 1)), "leave out 0, where it starts"),
    "rope too short": (lambda s, a, b: s.add_distance(a, b, P, Q, limits=(0, 0.5)), "leave out 1, where it starts"),
    "rope and rod": (lambda s, a, b: s.add_distance(a, b, P, Q, limits=(0, 2), length=1), "both length and limits"),
    "stiffness": (lambda s, a, b: s.add_ball(a, b, P, stiffness=-1.0), "stiffness is -1.0"),
    "stiffness inf": (lambda s, a, b: s.add_ball(a, b, P, stiffness=inf), "stiffness is inf"),
    "no stiffness": (lambda s, a, b: s.add_spring(a, b, P, Q, 0.0), "both 0, so it does nothing"),
    "damping": (lambda s, a, b: s.add_ball(a, b, P, stiffness=1.0, damping=-1.0), "damping is -1.0"),
    "rigid damping": (lambda s, a, b: s.add_ball(a, b, P, damping=1.0), "stiffness is not given: it is rigid"),
    "bending": (lambda s, a, b: s.add_fixed(a, b, bending_stiffness=-2.0), "bending_stiffness is -2.0"),
    "rigid bending": (lambda s, a, b: s.add_fixed(a, b, bending_damping=1.0), "bending_stiffness is not given"),
    "bending hinge": (
        lambda s, a, b: s.add_revolute(a, b, P, Q, bending_damping=1.0),
        "a revolute joint has no option 'bending_damping'",
    ),
    "bending spring": (
        lambda s, a, b: s.add_spring(a, b, P, Q, 1.0, bending_damping=1.0),
        "a spring joint has no option 'bending_damping'",
    ),
    "limp ball": (
        lambda s, a, b: s.add_ball(a, b, P, bending_stiffness=0),
        "joint 'ball-0': bending_stiffness and bending_damping are both 0",
    ),
    "bending text": (lambda s, a, b: s.add_ball(a, b, P, bending_damping="x"), "bending_damping is 'x'"),
    "rigid spring": (lambda s, a, b: s.add_spring(a, b, P, Q, None), "joint 'spring-0': stiffness is None; a number"),
    "damping text": (lambda s, a, b: s.add_spring(a, b, P, Q, 1.0, "x"), "damping is 'x'; it must be a number"),
    "break force": (lambda s, a, b: s.add_ball(a, b, P, break_force=0.0), "break_force is 0.0; it must be positive"),
    "break torque": (lambda s, a, b: s.add_ball(a, b, P, break_torque=nan), "break_torque is nan"),
    "collide": (lambda s, a, b: s.add_ball(a, b, P, collide=1), "collide is 1; it must be True or False"),
    "not across": (
        lambda s, a, b: s.add_universal(a, b, P, (1, 0, 0), (1, 1, 0)),
        "45 degrees apart; they must be perpendicular",
    ),
    "zero second axis": (lambda s, a, b: s.add_universal(a, b, P, (1, 0, 0), P), "axis_b is"),
    "no direction": (lambda s, a, b: s.add_distance(a, b, P, P), "no direction; give two points that are apart"),
    "spring without direction": (lambda s, a, b: s.add_spring(a, b, P, P, 1.0, length=1.0), "no direction"),
    "zero length": (lambda s, a, b: s.add_distance(a, b, P, Q, length=0.0), "length is 0.0; it must be positive"),
    "driven ball": (lambda s, a, b: s.add_ball(a, b, P, drive=Drive(1)), "a ball joint has no option 'drive'"),
    "limited weld": (lambda s, a, b: s.add_fixed(a, b, limits=(0, 1)), "fixed joint has"),
    "no drive": (lambda s, a, b: s.add_revolute(a, b, P, Q, drive=5.0), "drive is 5.0; a stickslip.Drive is needed"),
    "name": (lambda s, a, b: s.add_ball(a, b, P, name=3), "name is 3; it must be a text"),
    "idle drive": (lambda s, a, b: Drive(), "stiffness and damping are both 0"),
    "drive stiffness": (lambda s, a, b: Drive(stiffness=-1), "drive: stiffness is -1.0"),
    "drive limit": (lambda s, a, b: Drive(1, limit=-1), "drive: limit is -1; it must be positive"),
    "drive limit nan": (lambda s, a, b: Drive(1, limit=nan), "drive: limit is nan"),
    "drive position": (lambda s, a, b: Drive(1, position=inf), "drive: position is inf"),
    "unknown": (lambda s, a, b: s.joint("hinge"), "joint 'hinge' is unknown; the scene has 0 joints"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(scene: Scene, case: str) -> None:
    add, message = BAD[case]
    with pytest.raises(InputError, match=message):
        add(scene, scene.body("a"), scene.body("b"))
    assert not scene.joints
    assert not scene.joint_names
    assert not scene.ignored


def test_names_are_unique_and_lead_back(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    hinge = scene.add_revolute(a, b, P, Q, name="hinge")
    assert scene.joint("hinge") == hinge
    assert scene.add_ball(a, b, P).name == "ball-1"
    with pytest.raises(InputError, match="joint 'hinge' exists already"):
        scene.add_ball(a, b, P, name="hinge")
    assert compile_scene(scene).joint_names == ("hinge", "ball-1")


def test_joined_bodies_pass_through_each_other_unless_told(scene: Scene) -> None:
    a, b, lift = scene.body("a"), scene.body("b"), scene.body("lift")
    scene.add_ball(a, None, P)
    scene.add_ball(b, a, P, collide=True)
    assert compile_scene(scene).ignored_at_start.tolist() == []
    scene.add_ball(b, a, P)
    scene.add_ball(a, b, Q)
    scene.add_ball(a, lift, Q)
    scene.ignore_collision(lift, a)
    model = compile_scene(scene)
    ab, al = 1, 3
    assert model.joints.ignored_key.tolist() == [-1, -1, ab, ab, al]
    assert model.ignored.tolist() == [al]
    assert model.ignored_at_start.tolist() == [ab, al]
    for broken, ignored in (([], [ab, al]), ([2], [ab, al]), ([2, 3], [al]), ([4], [ab, al]), ([0, 1], [ab, al])):
        keys = model.ignored_pairs(np.isin(np.arange(5), broken))
        assert keys.dtype == np.int64
        assert keys.tolist() == ignored


def test_a_point_that_is_not_given_is_the_centre_of_mass_of_b(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_revolute(a, b, axis=(0, 1, 0), limits=(-1, 1))
    scene.add_ball(a, b)
    scene.add_cylindrical(a, b, axis=Q)
    scene.add_universal(a, b, axis_a=(1, 0, 0), axis_b=(0, 1, 0))
    scene.add_revolute(b, None, axis=Q)
    for joint in scene.joints:
        np.testing.assert_array_equal(joint.point_a, Q)


def test_numbers_are_stored_as_checked(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_spring(a, b, P, Q, np.float32(3), np.array(5), break_force=inf)
    joint = scene.joints[0]
    assert (joint.stiffness, joint.damping, joint.break_force) == (3.0, 5.0, inf)
    drive = Drive(1, np.int8(2), np.float32(3), np.array(4.0), 5)
    assert drive == Drive(1.0, 2.0, 3.0, 4.0, 5.0)
    assert {type(getattr(drive, each.name)) for each in fields(drive)} == {float}
    with pytest.raises(InputError, match="stiffness is '3'; it must be a number"):
        scene.add_spring(a, b, P, Q, "3")
    assert scene.add_ball(a, b, bending_damping=1.0).name == "ball-1"


def test_every_kind_has_its_rows(scene: Scene) -> None:
    """Locked rows and coordinates: what is neither is free, six in all, for joints that fix a point or an axis."""
    assert set(LOCKED) == set(FREE) == set(JOINT_KINDS)
    for kind in ("fixed", "revolute", "prismatic", "cylindrical", "universal"):
        assert len(LOCKED[kind]) + len(FREE[kind]) == 6


def test_tables_of_a_hinge_with_limits_and_a_drive(scene: Scene) -> None:
    scene.add_revolute(scene.body("a"), scene.body("b"), P, Q, limits=(-1, 2), drive=Drive(3, 4, 0.5, 0.6, 7))
    t = compile_scene(scene).joints
    assert t.block_law.tolist() == [BILATERAL, LIMIT, BOUNDED]
    assert t.block_start.tolist() == [0, 5, 7, 8]
    assert t.row_measure[:, 0].tolist() == [POINT] * 3 + [DOT] * 2 + [ANGLE] * 3
    assert t.row_sign.tolist() == [1, 1, 1, 1, 1, 1, -1, 1]
    assert t.row_offset.tolist() == [0, 0, 0, 0, 0, -1, 2, 0]
    assert t.row_coordinate.tolist() == [-1] * 5 + [0] * 3
    assert t.row_driven.tolist() == [0] * 7 + [1]
    assert t.row_stiffness.tolist() == [inf] * 7 + [3]
    assert t.row_damping.tolist() == [0] * 7 + [4]
    assert t.row_bound.tolist() == [0] * 7 + [7]
    assert t.target[0].tolist() == [[0.5, 0.6], [0, 0]]


def test_sides_without_limit_and_drives_without_bound_have_no_such_rows(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_prismatic(a, b, Q, limits=(-inf, 1.0), drive=Drive(1))
    scene.add_prismatic(a, b, Q, limits=(-inf, inf))
    scene.add_distance(a, b, P, Q, limits=(0, 2.0), stiffness=5.0, damping=0.1)
    t = compile_scene(scene).joints
    assert t.block_law.tolist() == [BILATERAL, LIMIT, BILATERAL, BILATERAL, LIMIT]
    assert np.diff(t.block_start).tolist() == [5, 1, 1, 5, 1]
    assert (t.row_measure[-1, 0], t.row_sign[-1], t.row_stiffness[-1], t.row_damping[-1]) == (DISTANCE, -1, 5.0, 0.1)


def test_compliance_goes_to_the_rows_it_is_meant_for(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_fixed(a, b, stiffness=10.0, damping=1.0, bending_stiffness=20.0, bending_damping=2.0)
    scene.add_ball(a, b, P, bending_damping=3.0)
    t = compile_scene(scene).joints
    assert t.row_measure[:, 0].tolist() == ([POINT] * 3 + [TURN] * 3) * 2
    assert t.row_stiffness.tolist() == [10] * 3 + [20] * 3 + [inf] * 3 + [0] * 3
    assert t.row_damping.tolist() == [1] * 3 + [2] * 3 + [0] * 3 + [3] * 3


def test_lengths_and_coordinates(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_distance(a, b, P, (0, 0, 3))
    scene.add_spring(a, b, P, (0, 0, 3), 5.0, length=2.0)
    scene.add_universal(a, b, P, (0, 0, 1), (0, 1, 0))
    t = compile_scene(scene).joints
    assert t.row_offset[:2].tolist() == [3.0, 2.0]
    assert t.coordinate[2, :, 0].tolist() == [ANGLE, OTHER_ANGLE]


def test_anchors_are_relative_to_centres_of_mass(scene: Scene) -> None:
    a, b = scene.body("a"), scene.body("b")
    scene.add_fixed(a, b)
    scene.add_fixed(b, None)
    t = compile_scene(scene).joints
    np.testing.assert_allclose(t.anchor_a[0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(t.anchor_b[0], 0, atol=1e-15)
    assert t.body_b.tolist() == [1, -1]
    np.testing.assert_allclose(t.anchor_b[1], [0, 0, 1], atol=1e-15)


def test_a_scene_without_joints_has_empty_tables(scene: Scene) -> None:
    for found, none in zip(compile_scene(scene).joints, no_joints(), strict=True):
        assert found.shape == none.shape
        assert found.dtype == none.dtype
