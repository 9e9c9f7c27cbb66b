"""Robots from MJCF files: each feature from small texts, bad files, and real models against the format's own engine."""

import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stickslip
from mujoco_agreement import require_agreement
from stickslip.bodies.registry import frame_poses
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Mesh
from stickslip.robots import mjcf, record_cache
from stickslip.robots.mjcf import read_mjcf
from stickslip.robots.reading import read_robot
from stickslip.scene import robot_filters

mujoco = pytest.importorskip("mujoco", reason="MJCF files need mujoco-core (pip install 'stickslip[robots]')")

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "robots" / "mjcf"
FRAGMENTS = {"keyframes.xml"}
"""Files that others include and that are no models by themselves."""
MODELS = sorted(file for file in DATA.glob("*/*.xml") if file.name not in FRAGMENTS)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Records of other tests are not seen; kernels are."""
    monkeypatch.setattr(record_cache, "_file", lambda key: tmp_path / "kept" / f"{key}.robot")


def written(folder, text, name="robot.xml"):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def read(folder, text, **options):
    return read_mjcf(written(folder, f"<mujoco>{text}</mujoco>"), **options)


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
ARM = """
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" pos="0 0 -0.5" friction="0.7 0.02 0.003" condim="4"/>
  <body name="base" pos="0 0 1">
    <geom type="box" size="0.1 0.2 0.3" rgba="1 0 0 1"/>
    <body name="upper" pos="0.5 0 0" quat="1 1 0 0">
      <joint name="shoulder" axis="0 1 0" pos="-0.1 0 0" range="-30 60" ref="10" springref="20" stiffness="3"
             damping="0.4" armature="0.05" frictionloss="0.6" actuatorfrcrange="-7 7"/>
      <joint name="rail" type="slide" axis="0 0 2"/>
      <inertial mass="2" pos="0.1 0.2 0.3" quat="1 0 0 1" diaginertia="0.01 0.02 0.025"/>
      <geom name="bone" type="capsule" size="0.04 0.2"/>
      <site name="tip" pos="0.3 0 0" euler="0 90 0"/>
      <body name="lower" pos="0.4 0 0"><joint name="elbow"/><geom name="tool" type="cylinder" size="0.03 0.1"/></body>
    </body>
  </body>
</worldbody>
"""


# ---- links and joints ----------------------------------------------------------------------------------------


def test_links_and_joints_are_those_of_the_file(tmp_path):
    robot = read(tmp_path, ARM)
    base, upper, lower = robot.links
    assert [link.name for link in robot.links] == ["base", "upper", "lower"]
    assert [link.parent for link in robot.links] == [-1, 0, 1]
    assert base.joints == ()
    shoulder, rail = upper.joints
    assert (shoulder.kind, rail.kind, lower.joints[0].kind) == ("revolute", "prismatic", "revolute")
    np.testing.assert_allclose(shoulder.limits, np.radians([-30, 60]))
    np.testing.assert_allclose([shoulder.zero, shoulder.rest], np.radians([10, 20]))
    assert (shoulder.stiffness, shoulder.damping, shoulder.armature) == (3.0, 0.4, 0.05)
    assert (shoulder.friction, shoulder.effort, rail.effort, rail.limits) == (0.6, 7.0, np.inf, None)
    assert shoulder.position == (-0.1, 0.0, 0.0)
    assert rail.axis == (0.0, 0.0, 1.0)
    np.testing.assert_allclose(upper.rotation, about_axis([1, 0, 0], np.pi / 2), atol=1e-15)
    assert upper.mass == 2.0
    np.testing.assert_allclose(upper.inertia, np.diag([0.02, 0.01, 0.025]), atol=1e-15)  # a quarter turn about z
    np.testing.assert_allclose(robot.start, [np.radians(10), 0, 0])
    assert robot.report.warnings == []


def test_shapes_have_sizes_friction_groups_and_colours(tmp_path):
    robot = read(tmp_path, ARM)
    floor = robot.surroundings[0]
    assert isinstance(floor.placed.shape, HalfSpace)
    np.testing.assert_allclose(floor.placed.position, [0, 0, -0.5])
    assert (floor.friction, floor.torsion, floor.group, floor.mask) == (0.7, 0.02, 1, 1)
    box, bone, tool = (link.shapes[0] for link in robot.links)
    assert box.placed.shape == Box((0.2, 0.4, 0.6))
    assert box.colour == (1.0, 0.0, 0.0)
    assert bone.placed.shape == Capsule(0.04, 0.4)
    assert tool.placed.shape == Cylinder(0.03, 0.2)
    assert (tool.name, tool.friction, tool.torsion) == ("tool", 1.0, 0.0)
    assert all(link.visuals == () for link in robot.links)  # the shapes themselves are the picture


def test_sites_are_named_frames(tmp_path):
    (tip,) = read(tmp_path, ARM).sites
    assert (tip.name, tip.link) == ("tip", "upper")
    np.testing.assert_allclose(matrix(tip.rotation) @ [0, 0, 1], [1, 0, 0], atol=1e-15)


def test_elements_without_names_get_them_from_their_numbers(tmp_path):
    robot = read(
        tmp_path,
        """<worldbody><body name="body2"><freejoint/><geom size="1"/><body><joint/><geom size="1"/></body></body>
        </worldbody>""",
    )
    assert [link.name for link in robot.links] == ["body2", "body2_"]
    assert [link.joints[0].name for link in robot.links] == ["joint0", "joint1"]


def test_angular_velocities_of_keyframes_are_in_the_world(tmp_path):
    turn = about_axis([1, 2, 3], 0.7)
    numbers = " ".join(map(str, (1.0, 2.0, 3.0, *(2 * turn))))
    robot = read(
        tmp_path,
        f"""<worldbody><body><freejoint/><geom size="1"/></body></worldbody>
        <keyframe><key name="spin" qpos="{numbers}" qvel="1 2 3 4 5 6"/></keyframe>""",
    )
    (key,) = robot.keyframes
    np.testing.assert_allclose(key.q, [1, 2, 3, *turn])
    np.testing.assert_allclose(key.v, [1, 2, 3, *(matrix(turn) @ [4, 5, 6])])
    assert (key.name, key.control.shape) == ("spin", (0,))


def test_links_pass_through_those_that_they_hang_on_as_in_the_file(tmp_path):
    text = """<worldbody><body name="base"><geom size="1"/><geom size="1"/>
      <body name="a"><joint/><geom size="1"/>
        <body name="plate"><geom size="1"/>
          <body name="b"><joint/><geom size="1"/><body name="c"><joint/><geom size="1"/></body></body>
        </body></body></body></worldbody>"""
    robot = read(tmp_path, f"{text}<contact><exclude body1='c' body2='a'/></contact>")
    assert (robot.excluded, robot.parents_collide) == ({("a", "c")}, False)
    every = read(tmp_path, f"<option><flag filterparent='disable'/></option>{text}")
    assert (every.excluded, every.parents_collide) == (frozenset(), True)

    def passing(record):
        scene = stickslip.Scene()
        links = {body.index: name for name, body in scene.add_tree(record).links.items()}
        return {tuple(sorted(links[i] for i in pair)) for pair in scene.ignored}

    # "a" and "plate" are one; what hangs on "base", which is fixed to the world, passes through it
    welded, base = ("a", "plate"), {("a", "base"), ("base", "plate")}
    assert passing(robot) == {welded, *base, ("a", "b"), ("b", "plate"), ("b", "c"), ("a", "c")}
    assert passing(every) == {welded, *base}


def test_shapes_touch_those_that_their_groups_meet(tmp_path):
    robot = read(
        tmp_path,
        """<worldbody><geom name="rail" type="box" size="1 1 1" contype="0"/>
        <body name="a"><freejoint/><geom size="1" contype="2" conaffinity="2"/><geom size="1" contype="0"/></body>
        <body name="b" pos="0.5 0 0"><freejoint/><geom size="1" contype="0" conaffinity="2"/><geom size="1"/></body>
        <body name="c" pos="0 0.5 0"><freejoint/><geom size="1" contype="0" conaffinity="0"/>
          <geom size="1" contype="0"/></body></worldbody>""",
    )
    scene = stickslip.Scene()
    links = scene.add_tree(robot).links
    a, b, c, rail = links["a"].index, links["b"].index, links["c"].index, 0
    assert scene.ignored == {(rail, a), (rail, c), (a, c)}
    # of "c" the second geom alone is there: the first touches nothing
    assert scene.ignored_parts == {(a, 0, b, 1), (a, 1, b, 0), (b, 0, c, 0), (b, 0, rail, 0)}
    sim = stickslip.Simulation(scene, dt=0.01)
    found = find_contacts(sim.model, frame_poses(sim.model, sim.state), np.zeros(len(sim.model.body_names)))
    pairs = {tuple(sorted(pair)) for pair in zip(found.shape_a.tolist(), found.shape_b.tolist(), strict=True)}
    assert pairs == {(0, 4), (1, 3), (2, 4), (4, 5)}  # rail, two of a, two of b, one of c


def test_a_cart_slides_on_rails_within_it_and_says_that_nothing_parts_them(tmp_path):
    robot = read(
        tmp_path,
        """<worldbody><geom type="capsule" fromto="-1 0 0 1 0 0" size="0.02"/>
        <body name="cart"><joint type="slide" axis="1 0 0"/><geom type="box" size="0.2 0.1 0.1"/></body>
        <body name="block" pos="0 3 0"><joint type="slide" axis="0 0 1"/><geom type="box" size="0.2 0.1 0.1"/></body>
        <body name="stone" pos="0 3 0.19"><freejoint/><geom size="0.1"/></body></worldbody>""",
    )
    scene = stickslip.Scene(gravity=(0.0, 0.0, 0.0))
    handle = scene.add_tree(robot)
    sim = stickslip.Simulation(scene, dt=0.01)
    (note,) = (text for text in handle.report.notes if "overlap" in text)
    assert "world' and" in note
    assert "cart'" in note
    assert "no joint parts them" in note
    sim.set_joint_velocities(handle, {"joint0": 2.0})
    for _ in range(10):
        assert sim.step().certificate.status == "converged"
    np.testing.assert_allclose(sim.joint_positions(handle)[0], 0.2, rtol=1e-9)
    assert sim.joint_positions(handle)[4] > 0.19  # what a joint can part is pushed apart


# ---- shapes of meshes and other surfaces ---------------------------------------------------------------------


def mesh_model(folder, geom="", obj=TETRAHEDRON):
    """Text of a model whose one link has a mesh; its file is written."""
    written(folder, obj, "assets/part.obj")
    return f"""<compiler meshdir="assets"/><asset><mesh name="part" file="part.obj" scale="2 1 1"/></asset>
      <worldbody><body><freejoint/><geom type="mesh" mesh="part" pos="1 2 3" euler="0 0 90" {geom}/></body>
      </worldbody>"""


def world_points(shape):
    placed = shape.placed
    points = placed.shape.points if isinstance(placed.shape, Hull) else placed.shape.vertices
    return np.asarray(points) @ matrix(placed.rotation).T + placed.position


def sorted_rows(points):
    return np.array(sorted(np.round(points, 6).tolist()))


EXPECTED_CORNERS = sorted_rows(np.array([[1, 2, 3], [1, 4, 3], [0, 2, 3], [1, 2, 4]], dtype=float))


def test_meshes_touch_as_hulls_or_as_they_are(tmp_path):
    text = mesh_model(tmp_path)
    hull = read(tmp_path, text).links[0]
    assert isinstance(hull.shapes[0].placed.shape, Hull)
    np.testing.assert_allclose(sorted_rows(world_points(hull.shapes[0])), EXPECTED_CORNERS, atol=1e-5)
    np.testing.assert_allclose(sorted_rows(hull.visuals[0].vertices), EXPECTED_CORNERS, atol=1e-5)
    exact = read(tmp_path, text, exact_meshes=True).links[0].shapes[0]
    assert isinstance(exact.placed.shape, Mesh)
    np.testing.assert_allclose(sorted_rows(world_points(exact)), EXPECTED_CORNERS, atol=1e-5)


def test_a_mesh_with_a_hole_touches_as_its_hull_and_says_so(tmp_path):
    open_surface = TETRAHEDRON.replace("f 1 4 3\n", "v 0.1 0.1 0.1\nf 1 4 5\nf 4 3 5\n")
    text = mesh_model(tmp_path, 'mass="1"', open_surface).replace('file="part.obj"', 'file="part.obj" inertia="shell"')
    robot = read(tmp_path, text, exact_meshes=True)
    assert isinstance(robot.links[0].shapes[0].placed.shape, Hull)
    assert "it has a hole" in robot.report.warnings[0]


def test_geoms_without_contacts_are_to_look_at(tmp_path):
    text = mesh_model(tmp_path, 'contype="0" conaffinity="0" group="2" material="blue"').replace(
        "<asset>", '<asset><material name="blue" rgba="0 0 1 0.5"/>'
    )
    link = read(tmp_path, text).links[0]
    assert link.shapes == ()
    assert link.visuals[0].colour == (0.0, 0.0, 1.0, 0.5)
    assert link.visuals[0].triangles.shape == (4, 3)


def test_convex_pieces_without_their_package_are_one_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(MissingDependencyError, match=r"stickslip\[decomposition\]"):
        read(tmp_path, mesh_model(tmp_path), convex_pieces=True)


def test_convex_pieces_fill_a_mesh(tmp_path):
    pytest.importorskip("coacd", reason="convex pieces need coacd (pip install 'stickslip[decomposition]')")
    shapes = read(tmp_path, mesh_model(tmp_path), convex_pieces=True).links[0].shapes
    assert shapes
    assert all(isinstance(shape.placed.shape, Hull) for shape in shapes)


def test_ellipsoids_are_hulls_and_said_so(tmp_path):
    robot = read(tmp_path, '<worldbody><body><joint/><geom type="ellipsoid" size="1 2 3"/></body></worldbody>')
    points = robot.links[0].shapes[0].placed.shape.points
    np.testing.assert_allclose(np.linalg.norm(points / (1, 2, 3), axis=1), 1.0)
    assert any(f"hull of {len(points)} of its points" in note for note in robot.report.notes)


def test_a_height_field_is_a_solid(tmp_path):
    robot = read(
        tmp_path,
        """<asset><hfield name="hill" nrow="3" ncol="4" size="3 2 0.5 0.25"
             elevation="0 0 0 0 0 1 1 0 0 0 0 0"/></asset>
           <worldbody><geom type="hfield" hfield="hill" pos="0 0 1"/></worldbody>""",
    )
    (shape,) = robot.surroundings
    assert isinstance(shape.placed.shape, Mesh)
    solid = shape.placed.shape.solid
    # a base of 6 x 4 x 0.25 and what two raised points add: a third of the area around each, times the height
    areas = [np.linalg.norm(np.cross(b - a, c - a)[2:]) / 2 for a, b, c in solid.vertices[solid.triangles]]
    raised = sum(
        area * (solid.vertices[t, 2] > 0.4).sum() * 0.5 / 3 for area, t in zip(areas, solid.triangles, strict=True)
    )
    np.testing.assert_allclose(solid.volume, 6 * 4 * 0.25 + raised)


def test_planes_of_fixed_links_are_in_the_world(tmp_path):
    robot = read(
        tmp_path,
        '<worldbody><body pos="0 0 2" euler="90 0 0"><geom type="plane" size="1 1 1" pos="0 0 1"/></body></worldbody>',
    )
    (plane,) = robot.surroundings
    np.testing.assert_allclose(plane.placed.position, [0, -1, 2], atol=1e-12)
    np.testing.assert_allclose(matrix(plane.placed.rotation) @ [0, 0, 1], [0, -1, 0], atol=1e-12)


def touch(a, b):
    return bool(a.group & b.mask or b.group & a.mask)


def test_contact_pairs_touch_and_nothing_else_does(tmp_path):
    robot = read(
        tmp_path,
        """<worldbody><geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>
        <body name="x"><freejoint/><geom name="a" size="1" contype="0" conaffinity="0"/></body>
        <body name="y"><freejoint/><geom name="b" size="1" contype="0" conaffinity="0"/></body>
        <body name="z"><freejoint/><geom name="c" size="1"/></body></worldbody>
        <contact><pair geom1="a" geom2="floor"/><pair name="slippery" geom1="floor" geom2="b" friction="0.1"/></contact>
        """,
    )
    floor, a, b, c = robot.surroundings[0], *(link.shapes[0] for link in robot.links)
    assert touch(floor, a)
    assert touch(floor, b)
    assert not any(touch(*pair) for pair in ((a, b), (a, c), (b, c), (floor, c)))
    assert robot.report.warnings == [
        "pair 'slippery' (contact, line 5): its friction of 0.1 does not count; that of its geoms does"
    ]


# ---- couplings, tendons, actuators, sensors ------------------------------------------------------------------

TWO = """<worldbody>
  <body name="a" pos="1 0 0"><joint name="p" type="slide" ref="0.5"/><geom size="0.1"/><site name="s" pos="0 0 1"/>
  </body>
  <body name="b" pos="0 2 0" euler="0 0 90"><joint name="q" type="slide"/><geom size="0.1"/><site name="t"/></body>
  <body name="ball" pos="0 0 5"><joint name="r" type="ball"/><geom size="0.1"/></body>
  <body name="free" pos="0 0 9"><freejoint name="f"/><geom size="0.1"/></body>
</worldbody>
<tendon><fixed name="sum" range="-1 2" limited="true" stiffness="3" springlength="0.1 0.2" damping="4" frictionloss="5">
  <joint joint="p" coef="2"/><joint joint="q" coef="-1"/></fixed>
  <spatial name="rope"><site site="s"/><site site="t"/></spatial></tendon>"""


def test_equalities_become_couplings(tmp_path):
    robot = read(
        tmp_path,
        f"""{TWO}<equality>
        <connect name="c" body1="a" body2="b" anchor="0 0 1"/>
        <connect name="to-world" body1="a" anchor="0 0 1"/>
        <connect name="sites" site1="s" site2="t"/>
        <weld name="w" body1="a" body2="b"/>
        <joint name="j" joint1="p" joint2="q" polycoef="1 2 3 4 5"/>
        <joint name="lock" joint1="q" polycoef="0.25 0 0 0 0"/>
        <tendon name="t" tendon1="sum"/>
        <weld name="off" body1="a" body2="b" active="false"/>
        <tendon name="pull" tendon1="rope"/>
        </equality>""",
    )
    found = {coupling.name: coupling for coupling in robot.couplings}
    assert set(found) == {"c", "to-world", "sites", "w", "j", "lock", "t"}
    np.testing.assert_allclose(found["c"].point_a, [0, 0, 1])
    np.testing.assert_allclose(found["c"].point_b, [-2, -1, 1], atol=1e-12)  # (1, 0, 1) seen from b
    assert found["to-world"].b is None
    np.testing.assert_allclose(found["to-world"].point_b, [1, 0, 1])
    np.testing.assert_allclose((found["sites"].point_a, found["sites"].point_b), [(0, 0, 1), (0, 0, 0)])
    np.testing.assert_allclose(found["w"].position, [-1, 2, 0], atol=1e-12)
    np.testing.assert_allclose(found["w"].rotation, about_axis([0, 0, 1], np.pi / 2), atol=1e-12)
    joint = found["j"]
    assert (joint.y, joint.x, joint.polynomial) == ((("p", 1.0),), (("q", 1.0),), (1.0, 2.0, 3.0, 4.0, 5.0))
    assert (joint.y_zero, joint.x_zero) == (0.5, 0.0)
    assert (found["lock"].x, found["lock"].polynomial[0]) == ((), 0.25)
    assert (found["t"].y, found["t"].y_zero) == ((("p", 2.0), ("q", -1.0)), 1.0)
    assert any("equality 'off'" in note for note in robot.report.notes)
    assert [text for text in robot.report.warnings if "pull" in text] == [
        "equality 'pull' (tendon, line 19): it is not simulated: it needs the spatial tendon 'rope' (line 10)"
    ]


def test_welds_to_the_world_and_with_anchors(tmp_path):
    robot = read(
        tmp_path,
        f"""{TWO}<equality><weld name="w" body1="a" body2="b" anchor="0 1 0" relpose="1 2 3 0 0 0 1"/>
        <weld name="fixed" body1="free"/></equality>""",
    )
    weld, fixed = robot.couplings
    np.testing.assert_allclose(weld.position, [1, 3, 3], atol=1e-12)  # the anchor, minus its arm turned half about z
    assert fixed.b is None
    np.testing.assert_allclose(fixed.position, [0, 0, -9])


def test_fixed_tendons_are_kept_and_spatial_ones_named(tmp_path):
    robot = read(tmp_path, TWO)
    (tendon,) = robot.tendons
    assert (tendon.name, tendon.terms, tendon.limits) == ("sum", (("p", 2.0), ("q", -1.0)), (-1.0, 2.0))
    assert (tendon.stiffness, tendon.rest, tendon.damping, tendon.friction) == (3.0, (0.1, 0.2), 4.0, 5.0)
    assert robot.report.warnings == ["tendon 'rope' (spatial, line 10): it is not simulated"]


def test_actuators_and_what_is_left_of_controls(tmp_path):
    robot = read(
        tmp_path,
        f"""{TWO}<actuator>
        <motor name="m" joint="p" gear="3" ctrlrange="-1 2" ctrllimited="true" forcerange="-4 5" forcelimited="true"/>
        <muscle name="flesh" joint="p" lengthrange="0 1"/>
        <position name="servo" joint="q" kp="10" kv="2"/>
        <velocity name="speed" joint="q" kv="7"/>
        <general name="any" joint="q" gainprm="2" biastype="affine" biasprm="1 -3 -4"/>
        <motor name="pull" tendon="sum" gear="0.5"/>
        <motor name="rope-pull" tendon="rope"/>
        <motor name="twist" joint="r" gear="1 2 3"/>
        <motor name="lift" joint="f" gear="0 0 1 0 0 0"/>
        <motor name="turn" joint="f" gear="0 0 0 1 0 0"/>
        <motor name="turn-world" jointinparent="f" gear="0 0 0 1 0 0"/>
        <general name="slow" joint="p" dyntype="filter" dynprm="0.1"/>
        <intvelocity name="sum-up" joint="p" kp="1" actrange="-1 1"/>
        <motor name="thrust" site="s" gear="0 0 1 0 0 0"/>
        </actuator>
        <keyframe><key ctrl="1 2 3 4 5 6 7 8 9 10 11 12 13 14"/></keyframe>""",
    )
    found = {actuator.name: actuator for actuator in robot.actuators}
    assert list(found) == ["m", "servo", "speed", "any", "pull", "twist", "lift", "turn-world", "slow"]
    assert [found[name].kind for name in ("m", "servo", "speed", "any")] == ["motor", "position", "velocity", "general"]
    assert (found["m"].terms, found["m"].control_range, found["m"].force_range) == ((("p", 3.0),), (-1, 2), (-4, 5))
    assert (found["servo"].gain, found["servo"].bias) == (10.0, (0.0, -10.0, -2.0))
    assert found["any"].bias == (1.0, -3.0, -4.0)
    assert found["pull"].terms == (("p", 1.0), ("q", -0.5))
    assert (found["twist"].along, found["lift"].along) == ((1, 2, 3), (0, 0, 1, 0, 0, 0))
    assert found["turn-world"].along == (0, 0, 0, 1, 0, 0)
    assert robot.keyframes[0].control.tolist() == [1, 3, 4, 5, 6, 8, 9, 11, 12]
    about = [text for text in robot.report.warnings if text.startswith("actuator")]
    lost = ("flesh", "rope-pull", "turn", "slow", "sum-up", "thrust")
    assert len(about) == len(lost)
    assert all(f"'{name}' (" in text and "line" in text for name, text in zip(lost, about, strict=True))


def test_rotors_of_actuators_add_to_their_joints(tmp_path):
    text = f'{TWO}<actuator><motor joint="p" gear="3" armature="0.1" damping="0.2"/></actuator>'
    joint = read(tmp_path, text).links[0].joints[0]
    np.testing.assert_allclose((joint.armature, joint.damping), (0.9, 1.8))


def test_sensors_and_those_that_are_not_read(tmp_path):
    robot = read(
        tmp_path,
        f"""{TWO}<actuator><motor name="m" joint="p"/></actuator><sensor>
        <jointpos joint="p"/><jointvel joint="p"/><jointactuatorfrc joint="p"/><actuatorfrc actuator="m"/>
        <framepos objtype="xbody" objname="a"/><framequat objtype="site" objname="s"/>
        <framelinvel objtype="geom" objname="g"/><accelerometer site="s"/><gyro site="s"/><velocimeter site="s"/>
        <force site="s"/><torque site="s"/><touch site="s"/><subtreecom body="a"/><tendonpos tendon="sum"/>
        <tendonvel tendon="sum"/><clock/><framexaxis objtype="body" objname="a"/>
        <frameangvel objtype="body" objname="b"/>
        <magnetometer name="compass" site="s"/><tendonpos name="length" tendon="rope"/>
        <framepos name="seen" objtype="site" objname="s" reftype="body" refname="b"/></sensor>""".replace(
            '<geom size="0.1"/><site name="s"', '<geom name="g" size="0.1" pos="0 0 0.1"/><site name="s"'
        ),
    )
    assert [sensor.kind for sensor in robot.sensors] == [
        "joint position", "joint velocity", "joint effort", "actuator force", "position", "rotation", "velocity",
        "accelerometer", "gyro", "velocimeter", "force", "torque", "touch", "centre of mass", "tendon position",
        "tendon velocity", "clock", "axis x", "angular velocity",
    ]  # fmt: skip
    of = [(sensor.of_what, sensor.of) for sensor in robot.sensors]
    assert of[0] == ("joint", "p")
    assert of[3:7] == [("actuator", "m"), ("link", "a"), ("site", "s"), ("site", "geom frame of g")]
    assert of[16:] == [("nothing", ""), ("site", "body frame of a"), ("link", "b")]
    frames = {site.name: site for site in robot.sites}
    np.testing.assert_allclose(frames["body frame of a"].position, [0, 0, 0.1])
    left = [text for text in robot.report.warnings if text.startswith("sensor")]
    assert [name in text for name, text in zip(("compass", "length", "seen"), left, strict=True)] == [True] * 3


def test_what_a_file_asks_for_beyond_is_named(tmp_path):
    robot = read(
        tmp_path,
        """<option density="1.2" gravity="0 0 -1.6" timestep="0.004" cone="elliptic" integrator="RK4"/>
        <worldbody><light/><camera/><body name="hand" mocap="true"><geom size="0.1"/></body>
        <body name="balloon" gravcomp="1"><joint stiffness="1 2"/><geom name="belt" size="1" condim="6" margin="0.1"
        surfacevel="1 0 0 0 0 0"/></body></worldbody>
        <contact><exclude body1="world" body2="balloon"/></contact>""",
    )
    text = "\n".join(robot.report.warnings)
    for part in (
        "option density=1.2", "body 'hand' (mocap, line 2)", "body 'balloon': gravity compensation", "geom 'belt'",
        "joint 'joint0' (line 3): of its spring", "contact exclude of the world and body 'balloon'",
    ):  # fmt: skip
        assert part in text
    notes = "\n".join(robot.report.notes)
    for part in ("gravity of the file (0, 0, -1.6)", "timestep 0.004 s, integrator rk4, cone elliptic", "1 light",
                 "1 camera", "rolling friction", "margin and gap"):  # fmt: skip
        assert part in notes


def test_what_flags_turn_off_is_left_out(tmp_path):
    robot = read(
        tmp_path,
        f"<option><flag contact='disable' limit='disable' frictionloss='disable' equality='disable'/></option>{ARM}",
    )
    assert all(link.shapes == () for link in robot.links)
    assert robot.surroundings == ()
    joint = robot.links[1].joints[0]
    assert (joint.limits, joint.friction, joint.stiffness) == (None, 0.0, 3.0)
    assert sum("option flag" in note for note in robot.report.notes) == 4
    assert not robot.report.warnings


def test_includes_and_attached_models(tmp_path):
    written(
        tmp_path, "<mujoco><worldbody><body name='in'><joint/><geom size='1'/></body></worldbody></mujoco>", "i.xml"
    )
    written(
        tmp_path,
        """<mujoco><worldbody><body name="arm"><joint name="j"/><geom size="1"/><site name="a"/><site name="b"/></body>
        </worldbody>\n<tendon>\n<spatial name="rope"><site site="a"/><site site="b"/></spatial></tendon></mujoco>""",
        "parts/arm.xml",
    )
    robot = read(
        tmp_path,
        """<include file="i.xml"/><asset><model name="m" file="parts/arm.xml"/></asset>
        <worldbody><frame pos="1 0 0"><attach model="m" body="arm" prefix="left_"/></frame></worldbody>""",
    )
    assert {link.name for link in robot.links} == {"in", "left_arm"}
    assert robot.report.warnings == ["tendon 'left_rope' (spatial, line 4 of arm.xml): it is not simulated"]


# ---- bad files -----------------------------------------------------------------------------------------------

BAD = {
    "malformed": ("<mujoco>\n<worldbody>\n</mujoco>", "line 3: it is not well-formed XML: mismatched tag"),
    "urdf": ("<robot name='x'/>", "line 1: its first element is 'robot'.*URDF"),
    "doctype": ("<!DOCTYPE a [<!ENTITY b 'c'>]>\n<mujoco/>", "line 1: it has a document type"),
    "unknown element": ("<mujoco>\n<wheels/></mujoco>", "line 2, element 'wheels'"),
    "unknown attribute": (
        "<mujoco><worldbody>\n<body>\n<geom siez='1'/></body></worldbody></mujoco>", "line 3, element 'geom'.*siez",
    ),
    "duplicate": (
        "<mujoco><worldbody><body name='x'/>\n<body name='x'/></worldbody></mujoco>", "robot.xml, line 2.*'x'",
    ),
    "no mass": (
        "<mujoco><worldbody>\n<body name='x'><joint/></body></worldbody></mujoco>",
        "line 2, element 'x': mass and inertia.*positive mass.*repair=True",
    ),
    "negative inertia": (
        "<mujoco><worldbody><body name='x'><joint/>\n<inertial pos='0 0 0' mass='1' diaginertia='1 -1 1'/></body>"
        "</worldbody></mujoco>", "inertia.*repair=True",
    ),
    "triangle inequality": (
        "<mujoco><worldbody>\n<body name='x'><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 5'/></body>"
        "</worldbody></mujoco>", "line 2, element 'x': inertia.*none is larger than the sum",
    ),
    "what would be physical": (
        "<mujoco><worldbody>\n<body name='x'><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 5'/></body>"
        "</worldbody></mujoco>", r"it has 1 kg and principal moments \(1, 1, 5\).*\(2.5, 2.5, 5\) kg m\^2 would be",
    ),
    "zero axis": (
        "<mujoco><worldbody>\n<body><joint name='j' axis='0 0 0'/><geom size='1'/></body></worldbody></mujoco>",
        "line 2, element 'j': axis too small",
    ),
    "unknown joint": (
        "<mujoco><worldbody><body><joint name='elbow'/><geom size='1'/></body></worldbody>\n"
        "<actuator><motor joint='elbo'/></actuator></mujoco>", "line 2: unknown .* 'elbo'.*did you mean 'elbow'",
    ),
    "unknown body": (
        "<mujoco><worldbody><body name='arm'><joint/><geom size='1'/></body></worldbody>\n"
        "<equality><weld body1='arn'/></equality></mujoco>", "line 2: unknown .* 'arn'.*did you mean 'arm'",
    ),
    "no mesh": ("<mujoco><asset>\n<mesh file='gone.obj'/></asset></mujoco>", r"line 2: mesh names the file 'gone.obj'"),
    "no include": ("<mujoco>\n<include file='gone.xml'/></mujoco>", "line 2: include names the file 'gone.xml'"),
    "mesh outside": ("<mujoco><asset><mesh file='../part.obj'/></asset></mujoco>", "outside of the folder"),
    "folder outside": (
        "<mujoco><compiler meshdir='../..'/><asset><mesh file='part.obj'/></asset></mujoco>", "outside of the folder",
    ),
    "absolute": ("<mujoco><asset><texture type='2d' file='/etc/passwd'/></asset></mujoco>", "outside of the folder"),
    "include outside": ("<mujoco><include file='../i.xml'/></mujoco>", "outside of the folder.*allow_outside=True"),
    "nan": (
        "<mujoco><worldbody><body name='x' pos='nan 0 0'><joint/><geom size='1'/></body></worldbody></mujoco>",
        "[Nn]a[Nn]",
    ),
    "infinite": (
        "<mujoco><worldbody><body name='x' pos='inf 0 0'><joint/><geom size='1'/></body></worldbody></mujoco>",
        "'x' .*is inf",
    ),
    "limits": (
        "<mujoco><worldbody><body><joint name='j' range='2 1'/><geom size='1'/></body></worldbody></mujoco>",
        "line 1: range of joint 'j' is",
    ),
    "copies": (
        "<mujoco><worldbody><replicate count='100000'><replicate count='100000'><geom size='1'/></replicate>"
        "</replicate></worldbody></mujoco>", "more than 200,000 elements",
    ),
    "bodies": (
        "<mujoco><worldbody><replicate count='5001'><body><geom size='1'/></body></replicate></worldbody></mujoco>",
        "line 1: more than 5,000 bodies",
    ),
    "grid": (
        "<mujoco><worldbody><flexcomp name='f' count='9999 9999 9999'/></worldbody></mujoco>", "200,000 elements",
    ),
    "field": ("<mujoco><asset><hfield name='f' nrow='99999' ncol='99999' size='1 1 1 1'/></asset></mujoco>", "hfield"),
    "depth": (f"<mujoco><worldbody>{'<body>' * 1000}{'</body>' * 1000}</worldbody></mujoco>", "within each other"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_error_with_its_line(name, tmp_path):
    text, message = BAD[name]
    written(tmp_path, TETRAHEDRON, "part.obj")
    written(tmp_path, "<mujoco/>", "i.xml")
    file = written(tmp_path, text, "model/robot.xml")
    with pytest.raises(FileError, match=message) as caught:
        read_mjcf(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_links_that_are_fixed_to_each_other_are_few(tmp_path):
    fixed = "<body><geom size='1'/></body>" * (robot_filters.MOST_FIXED + 1)
    robot = read(tmp_path, f"<worldbody><body name='x'><freejoint/>{fixed}</body></worldbody>")
    with pytest.raises(InputError, match=r"1001 links with shapes are fixed to link 'x'"):
        stickslip.Scene().add_tree(robot)


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read_mjcf(tmp_path / "none.xml")
    with pytest.raises(FileError, match="is empty"):
        read_mjcf(written(tmp_path, ""))


def test_a_damaged_mesh_is_an_error(tmp_path):
    with pytest.raises(FileError, match="line 1, element 'part'"):
        read(tmp_path, mesh_model(tmp_path, obj="v 0 0 zero\nf 1 2 9\n"))


def test_entities_of_included_files_are_rejected(tmp_path):
    written(tmp_path, "<!DOCTYPE x><mujoco><worldbody/></mujoco>", "i.xml")
    with pytest.raises(FileError, match=r"i.xml, line 1: it has a document type"):
        read(tmp_path, "<include file='i.xml'/>")


def test_a_million_elements_take_bounded_time(tmp_path):
    start = time.perf_counter()
    with pytest.raises(FileError, match="more than 200,000 elements"):
        read(tmp_path, f"<worldbody>{'<geom/>' * 1_000_000}</worldbody>")
    assert time.perf_counter() - start < 10.0


def test_comments_and_declarations_that_parsers_disagree_about(tmp_path):
    text = "\n<?xml version='1.0'?>\n<mujoco><!-- <!DOCTYPE x> --- --><worldbody/></mujoco>"
    assert read_mjcf(written(tmp_path, text)).links == ()


def test_meshes_are_beside_the_file_that_includes_them_or_in_the_folder_of_meshes(tmp_path):
    size = """<mujoco><worldbody><body><joint/><geom type="mesh" mesh="part"/></body></worldbody>
      <asset><mesh name="part" file="part.obj"/></asset></mujoco>"""
    written(tmp_path, size, "parts/i.xml")
    written(tmp_path, TETRAHEDRON, "parts/part.obj")
    robot = read(tmp_path, '<compiler meshdir="meshes"/><include file="parts/i.xml"/>')
    beside = robot.links[0].shapes[0].placed.shape.points
    written(tmp_path, TETRAHEDRON.replace("1", "2", 1), "meshes/part.obj")
    robot = read(tmp_path, '<compiler meshdir="meshes"/><include file="parts/i.xml"/>')
    assert np.abs(robot.links[0].shapes[0].placed.shape.points).max() > np.abs(beside).max()


def test_elements_without_names_have_the_lines_and_files_of_their_own(tmp_path):
    written(
        tmp_path, "<mujoco>\n<tendon>\n<spatial><site site='s'/><site site='t'/></spatial></tendon></mujoco>", "i.xml"
    )
    robot = read(tmp_path, f"{TWO}<include file='i.xml'/>")
    assert "tendon 'tendon2' (spatial, line 3 of i.xml): it is not simulated" in robot.report.warnings


def test_files_outside_are_read_when_asked_for(tmp_path):
    written(tmp_path, TETRAHEDRON, "part.obj")
    file = written(
        tmp_path,
        """<mujoco><asset><mesh file="../part.obj"/></asset><worldbody><body><joint/><geom type="mesh" mesh="part"/>
        </body></worldbody></mujoco>""",
        "model/robot.xml",
    )
    robot = read_mjcf(file, allow_outside=True)
    assert len(robot.links[0].shapes) == 1
    assert robot.report.paths == [f"{tmp_path}/model/../part.obj: found"]


def test_impossible_inertias_are_repaired_when_asked_for(tmp_path):
    text = "<body name='x'><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 5'/></body>"
    file = written(tmp_path, f"<mujoco><worldbody>{text}</worldbody></mujoco>", "five.xml")
    assert len(read_robot(file, repair=True).report.repaired) == 1
    robot = read(
        tmp_path,
        """<worldbody><body name="x"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/>
        <body name="y"><joint/></body></body></worldbody>""",
        repair=True,
    )
    a, b, c = np.linalg.eigvalsh(robot.links[0].inertia)
    assert a + b >= c
    assert robot.links[1].mass > 0.0
    assert len(robot.report.repaired) == 2
    assert "body 'x' (line 1): moments of inertia 1, 1, 5 kg m^2" in robot.report.repaired[0]
    assert "body 'y'" in robot.report.repaired[1]


def test_what_the_compiler_says_is_a_note_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = read(tmp_path, f"<compiler settotalmass='14'/>{ARM}")
    assert any("settotalmass" in note for note in robot.report.notes)
    assert not list(tmp_path.glob("MUJOCO_LOG*"))


def test_without_its_compiler_the_extra_is_named(tmp_path, monkeypatch):
    def missing(package):
        raise mjcf.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(mjcf.metadata, "version", missing)
    with pytest.raises(MissingDependencyError, match=r"pip install 'stickslip\[robots\]'"):
        read(tmp_path, ARM)


# ---- the cache -----------------------------------------------------------------------------------------------


def test_a_robot_is_compiled_once(tmp_path, monkeypatch):
    text = mesh_model(tmp_path)
    first = read(tmp_path, text)
    compiled = []
    compile_model = mjcf._compile
    monkeypatch.setattr(mjcf, "_compile", lambda *given: compiled.append(1) or compile_model(*given))
    again = read(tmp_path, text)
    assert not compiled
    np.testing.assert_array_equal(world_points(again.links[0].shapes[0]), world_points(first.links[0].shapes[0]))
    written(tmp_path, TETRAHEDRON.replace("v 0 0 1", "v 0 0 2"), "assets/part.obj")  # its size and time are the same
    assert world_points(read(tmp_path, text).links[0].shapes[0])[:, 2].max() == pytest.approx(5.0, abs=1e-5)


def test_damaged_records_are_made_again(tmp_path):
    read(tmp_path, ARM)
    (kept,) = (tmp_path / "kept").glob("*.robot")
    for damage in (b"", b"no record", kept.read_bytes()[:100], pickle.dumps({})):
        kept.write_bytes(damage)
        assert len(read(tmp_path, ARM).links) == 3
    assert isinstance(pickle.loads(kept.read_bytes()), type(read(tmp_path, ARM)))


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path, monkeypatch):
    written(tmp_path, "a file", "kept")
    assert len(read(tmp_path, ARM).links) == 3


# ---- real models against their own engine --------------------------------------------------------------------


@pytest.mark.skipif(not MODELS, reason=f"no models in {DATA}")
@pytest.mark.parametrize("file", MODELS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_real_models_agree_with_their_own_engine(file):
    robot = require_agreement(file)
    assert all(np.isfinite(link.inertia).all() for link in robot.links)
    names = [joint.name for link in robot.links for joint in link.joints]
    assert len(set(names)) == len(names)
    for text in robot.report.warnings:
        assert text.split()[0] in ("tendon", "actuator", "sensor", "option", "body", "pair", "geom", "joint", "contact")
    assert all(path.endswith(": found") for path in robot.report.paths)


def test_a_model_of_all_kinds_of_joints_agrees_with_its_own_engine(tmp_path):
    text = """<mujoco><worldbody><body name="base" pos="0 0 3"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
      <body pos="0.3 0 0" euler="10 20 30"><joint type="ball" pos="0 0.1 0" armature="0.01"/>
        <geom type="capsule" size="0.05 0.2"/>
        <body pos="0 0.2 0.1"><joint axis="1 1 0" pos="0.1 0 0" ref="30"/><joint type="slide" axis="0 1 1" ref="0.2"/>
          <geom type="ellipsoid" size="0.1 0.2 0.1"/></body></body></body>
      <body name="fixed" pos="1 0 0"><geom size="0.1"/><body pos="0 1 0"><joint/><geom size="0.2" pos="1 0 0"/></body>
      </body></worldbody><actuator><motor joint="j" gear="3" armature="0.2"/></actuator></mujoco>""".replace(
        '<joint/><geom size="0.2"', '<joint name="j"/><geom size="0.2"'
    )
    require_agreement(written(tmp_path, text))
