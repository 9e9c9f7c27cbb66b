"""URDF: every feature in a small text of its own, every kind of bad input, and real files where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from stickslip.bodies.tree import momentum
from stickslip.bodies.tree.kinematics import place_links
from stickslip.bodies.tree.tables import tree_tables, tree_work
from stickslip.errors import FileError, MissingDependencyError
from stickslip.geometry.rotation import about_axis, matrix
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Hull, Mesh, Sphere
from stickslip.robots import disk_cache, hull_cache, xml_file
from stickslip.robots.hull_cache import hull_points
from stickslip.robots.link_inertia import physical, principal_moments
from stickslip.robots.reading import read_robot
from stickslip.robots.urdf import read_urdf

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "robots" / "urdf"
FILES = {
    "allegro_hand_description/urdf/allegro_left_hand.urdf": (21, 16, 16, 0, 0.955),
    "allegro_hand_description/urdf/allegro_right_hand.urdf": (21, 16, 16, 0, 0.955),
    "panda_description/urdf/panda.urdf": (13, 9, 8, 1, 17.452),
    "panda_description/urdf/panda_collision.urdf": (13, 9, 8, 1, 17.452),
    "yumi_description/urdf/yumi.urdf": (23, 18, 16, 2, 43.440),
    "fetch/fetch_formatted.urdf": (25, 14, 14, 0, 121.114),
}
"""Links, joints, actuators, mimic joints and mass [kg]."""
real = pytest.mark.skipif(not DATA.is_dir(), reason=f"robot files are not at {DATA}")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Meshes that another test has read are not there."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(disk_cache, "cache_root", lambda: folder)
    return folder


INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="5" velocity="3"/>'


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>\n'


X = '<axis xyz="1 0 0"/>'


def joint(name="j", kind="revolute", parent="a", child="b", inside='<axis xyz="0 0 1"/>' + LIMIT):
    if "<axis" not in inside and kind in ("revolute", "continuous", "prismatic", "screw"):
        inside += X
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'


TWO = link("a") + link("b")


def written(folder, inside, name="robot.urdf", head='<robot name="r">'):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'<?xml version="1.0"?>\n{head}\n{inside}</robot>\n')
    return file


def robot(folder, inside, head='<robot name="r">', **options):
    return read_urdf(written(folder, inside, head=head), **options)


def corners(size=1.0):
    return np.array([[x, y, z] for x in (0.0, size) for y in (0.0, size) for z in (0.0, size)])


def write_stl(file):
    """A unit cube as binary STL, outside counter-clockwise."""
    from stickslip.geometry.mesh_shapes import BOX_TRIANGLES

    cube = np.array([[float(i >> k & 1) for k in range(3)] for i in range(8)])
    record = np.zeros(12, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")]))
    record["corners"] = cube[BOX_TRIANGLES]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"binary".ljust(80) + (12).to_bytes(4, "little") + record.tobytes())
    return file


def mesh_link(name="m.stl", more="", kind="collision"):
    return link("a", f'{INERTIAL}<{kind}><geometry><mesh filename="{name}" {more}/></geometry></{kind}>')


# ---- links -----------------------------------------------------------------------------------------------------


def test_the_inertia_is_turned_into_the_frame_of_the_link(tmp_path):
    inside = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0.02"/></inertial>'
    )
    found = robot(tmp_path, link("a", inside)).links[0]
    assert found.centre == (1.0, 2.0, 3.0)
    # x goes to y and y to -x: I_xy changes its sign, I_yz becomes -I_xz
    np.testing.assert_allclose(found.inertia, [[0.2, -0.01, -0.02], [-0.01, 0.1, 0.0], [-0.02, 0.0, 0.25]], atol=1e-15)


def test_roll_pitch_and_yaw_are_about_fixed_axes(tmp_path):
    inside = f'<origin xyz="0 0 1" rpy="0.3 -0.4 0.5"/><axis xyz="0 0 1"/>{LIMIT}'
    found = robot(tmp_path, TWO + joint(inside=inside)).links[1]
    x, y, z = (matrix(about_axis(axis, angle)) for axis, angle in zip(np.eye(3), (0.3, -0.4, 0.5)))
    np.testing.assert_allclose(matrix(found.rotation), z @ y @ x, atol=1e-15)


def test_shapes_of_all_kinds_in_one_link(tmp_path):
    shapes = (
        '<box size="1 2 3"/>', '<sphere radius="0.5"/>', '<cylinder radius="0.1" length="2"/>',
        '<capsule radius="0.1" length="3"/>',
    )  # fmt: skip
    inside = "".join(
        f'<{tag}><origin xyz="{k} 0 0"/><geometry>{shape}</geometry></{tag}>'
        for tag in ("collision", "visual")
        for k, shape in enumerate(shapes)
    )
    found = robot(tmp_path, link("a", INERTIAL + inside)).links[0]
    assert [type(shape.placed.shape) for shape in found.shapes] == [Box, Sphere, Cylinder, Capsule]
    assert [shape.placed.position[0] for shape in found.shapes] == [0.0, 1.0, 2.0, 3.0]
    for visual, half in zip(found.visuals, ([0.5, 1.0, 1.5], [0.5] * 3, [0.1, 0.1, 1.0], [0.1, 0.1, 1.6])):
        np.testing.assert_allclose(0.5 * np.ptp(visual.vertices, axis=0), half, atol=1e-12)
        corner = visual.vertices[visual.triangles]
        assert np.einsum("ij,ij->i", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])).sum() > 0.0


def test_colours_come_from_named_materials_wherever_they_are(tmp_path):
    visual = '<visual><geometry><sphere radius="1"/></geometry><material name="{}">{}</material></visual>'
    first = link("a", INERTIAL + visual.format("later", ""))
    second = link("b", INERTIAL + visual.format("later", '<color rgba="1 0 0 0.5"/>') + visual.format("top", ""))
    top = '<material name="top"><color rgba="0 1 0 1"/></material>'
    found = robot(tmp_path, first + second + joint() + top)
    assert found.links[0].visuals[0].colour == (1.0, 0.0, 0.0, 0.5)
    assert [visual.colour for visual in found.links[1].visuals] == [(1.0, 0.0, 0.0, 0.5), (0.0, 1.0, 0.0, 1.0)]
    nowhere = robot(tmp_path, link("a", INERTIAL + visual.format("unknown", "")))
    assert any("line 3, <material 'unknown'>" in warning for warning in nowhere.report.warnings)


def test_meshes_are_hulls_scaled_and_flipped(tmp_path):
    write_stl(tmp_path / "m.STL")
    found = robot(tmp_path, mesh_link("m.STL", 'scale="2 1 -1"')).links[0].shapes[0].placed.shape
    assert isinstance(found, Hull)
    assert len(found.points) == 8
    np.testing.assert_array_equal(found.points.min(axis=0), [0.0, 0.0, -1.0])
    exact = robot(tmp_path, mesh_link("m.STL", 'scale="2 1 -1"'), exact_meshes=True).links[0].shapes[0].placed.shape
    assert isinstance(exact, Mesh)
    assert exact.solid.volume == pytest.approx(2.0)  # positive: the triangles were turned round
    seen = robot(tmp_path, mesh_link("m.STL", 'scale="1 1 -1"', "visual")).links[0].visuals[0]
    corner = seen.vertices[seen.triangles]
    assert np.einsum("ij,ij->i", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])).sum() > 0.0
    assert len(seen.vertices) == 8


def test_an_open_mesh_is_a_hull_with_a_warning_where_it_should_be_exact(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")
    found = robot(tmp_path, mesh_link("m.obj"), exact_meshes=True)
    assert isinstance(found.links[0].shapes[0].placed.shape, Hull)
    assert any("line 3, <mesh>" in warning and "hull" in warning for warning in found.report.warnings)


def test_collada_has_its_unit_poses_and_colours(tmp_path):
    pytest.importorskip("collada", reason="needs pycollada")
    text = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="common"><lambert><diffuse><color>1 0.5 0 1</color>
</diffuse></lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1
</float_array><technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4" material="s">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node><translate>0 0 2</translate>
<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="s" target="#m"/>
</technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
    (tmp_path / "m.dae").write_text(text)
    for _ in range(2):  # from the file, then from the cache
        (seen,) = robot(tmp_path, mesh_link("m.dae", kind="visual")).links[0].visuals
        np.testing.assert_allclose(seen.vertices, [[0, 0, 0.02], [0.01, 0, 0.02], [0, 0.01, 0.02], [0, 0, 0.03]])
        assert seen.colour == (1.0, 0.5, 0.0, 1.0)
    assert len(robot(tmp_path, mesh_link("m.dae")).links[0].shapes[0].placed.shape.points) == 4
    picture = '<newparam sid="f"><surface type="2D"><init_from>gone</init_from></surface></newparam>'
    lost = text.replace("<technique sid", f"{picture}<technique sid", 1)
    (tmp_path / "m.dae").write_text(lost)  # its material is broken, which takes no triangle with it
    (seen,) = robot(tmp_path, mesh_link("m.dae", kind="visual")).links[0].visuals
    assert len(seen.triangles) == 4
    (tmp_path / "m.dae").write_text('<!DOCTYPE c [<!ENTITY a "b">]>' + text)
    with pytest.raises(FileError, match="entities"):
        robot(tmp_path, mesh_link("m.dae"))


def test_convex_pieces_need_their_package_or_give_hulls(tmp_path):
    write_stl(tmp_path / "m.stl")
    try:
        import coacd  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependencyError, match=r"stickslip\[decomposition\]"):
            robot(tmp_path, mesh_link(), convex_pieces=True)
    else:
        found = robot(tmp_path, mesh_link(), convex_pieces=True).links[0].shapes
        assert all(isinstance(shape.placed.shape, Hull) for shape in found)


def test_hulls_are_kept_on_disk_and_damaged_files_are_ignored(own_cache, monkeypatch):
    points = np.concatenate([corners(), [[0.5, 0.5, 0.5]]])
    np.testing.assert_array_equal(hull_points(points), corners())
    (kept,) = (own_cache / "meshes").iterdir()
    kept.write_bytes(b"damaged")
    np.testing.assert_array_equal(hull_points(points), corners())
    monkeypatch.setattr(hull_cache, "_hull", lambda points: pytest.fail("computed again"))
    np.testing.assert_array_equal(hull_points(points), corners())


def test_friction_of_gazebo_and_bullet_is_taken(tmp_path):
    shape = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    bullet = '<contact><lateral_friction value="0.7"/></contact>'
    inside = link("a", INERTIAL + shape) + link("b", INERTIAL + bullet + shape) + joint()
    found = robot(tmp_path, inside + '<gazebo reference="a"><mu1>0.3</mu1><mu2 value="0.3"/><kp>1e6</kp></gazebo>')
    assert [part.shapes[0].friction for part in found.links] == [0.3, 0.7]
    assert [warning for warning in found.report.warnings if "<kp>" in warning]


# ---- joints ----------------------------------------------------------------------------------------------------


def test_a_revolute_joint_has_its_numbers_and_a_position_actuator(tmp_path):
    inside = f'<axis xyz="0 3 4"/><dynamics damping="0.5" friction="0.25"/>{LIMIT}'
    found = robot(tmp_path, TWO + joint(inside=inside))
    (own,) = found.links[1].joints
    assert (own.kind, own.axis, own.limits) == ("revolute", (0.0, 0.6, 0.8), (-1.0, 2.0))
    assert (own.damping, own.friction, own.effort, own.speed) == (0.5, 0.25, 5.0, 3.0)
    (drive,) = found.actuators
    assert (drive.name, drive.kind, drive.gain, drive.force_range) == ("j", "position", 0.0, (-5.0, 5.0))
    assert any("unit vector" in note for note in found.report.notes)


@pytest.mark.parametrize(
    ("kind", "inside", "kinds"),
    [
        ("continuous", "", ["revolute"]),
        ("prismatic", LIMIT, ["prismatic"]),
        ("fixed", "", []),
        ("planar", '<axis xyz="0 0 1"/>', ["prismatic", "prismatic", "revolute"]),
        ("ball", "", ["ball"]),
        ("universal", "", ["revolute", "revolute"]),
        ("screw", '<screw_thread_pitch value="0.02"/>', ["screw"]),
    ],
)
def test_kinds_of_joints(tmp_path, kind, inside, kinds):
    found = robot(tmp_path, TWO + joint(kind=kind, inside=inside)).links[1].joints
    assert [own.kind for own in found] == kinds
    if kind == "continuous":
        assert (found[0].axis, found[0].limits) == ((1.0, 0.0, 0.0), None)
    if kind == "screw":
        assert found[0].pitch == pytest.approx(0.02 / (2.0 * np.pi))
    if kind == "planar":
        np.testing.assert_allclose([own.axis for own in found], np.eye(3), atol=1e-15)


def test_joints_of_drake_have_a_prefix(tmp_path):
    text = joint(kind="ball", inside="").replace("<joint", "<drake:joint").replace("</joint", "</drake:joint")
    head = '<robot name="r" xmlns:drake="http://drake.mit.edu">'
    assert robot(tmp_path, TWO + text, head=head).links[1].joints[0].kind == "ball"


def test_the_base_is_fixed_or_floats_as_asked_for(tmp_path):
    assert robot(tmp_path, TWO + joint()).links[0].joints == ()
    (free,) = robot(tmp_path, TWO + joint(), fixed_base=False).links[0].joints
    assert (free.name, free.kind) == ("a_free", "free")
    inside = link("world", "") + TWO + joint() + joint("up", "floating", "world", "a", '<origin xyz="0 0 2"/>')
    found = robot(tmp_path, inside)
    assert [(part.name, part.parent) for part in found.links] == [("world", -1), ("a", -1), ("b", 1)]
    assert (found.links[1].joints[0].kind, found.links[1].position) == ("free", (0.0, 0.0, 2.0))
    held = robot(tmp_path, inside, fixed_base=True)
    assert [len(part.joints) for part in held.links] == [0, 0, 1]


def test_mimics_of_mimics_in_any_order(tmp_path):
    def mimic(of, more=""):
        return f'<axis xyz="0 0 1"/>{LIMIT}<mimic joint="{of}" {more}/>'

    joints = (
        joint("third", inside=mimic("second", 'multiplier="-2" offset="0.1"'))
        + joint("second", parent="b", child="c", inside=mimic("first"))
        + joint("first", parent="c", child="d")
    )
    found = robot(tmp_path, TWO + link("c") + link("d") + joints)
    assert [(c.y, c.x, c.polynomial[:2]) for c in found.couplings] == [
        ((("third", 1.0),), (("second", 1.0),), (0.1, -2.0)),
        ((("second", 1.0),), (("first", 1.0),), (0.0, 1.0)),
    ]
    assert [drive.name for drive in found.actuators] == ["first"]


def test_transmissions_are_actuators_of_what_is_commanded(tmp_path):
    def transmission(of, interface):
        return (
            f'<transmission name="t_{of}"><type>transmission_interface/SimpleTransmission</type><joint name="{of}">'
            f"<hardwareInterface>hardware_interface/{interface}</hardwareInterface></joint>"
            f'<actuator name="motor_{of}"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>'
        )

    inside = TWO + link("c") + link("d") + joint() + joint("k", child="c") + joint("idle", child="d")
    inside += transmission("j", "EffortJointInterface") + transmission("k", "PositionJointInterface")
    found = robot(tmp_path, inside)
    assert [(drive.name, drive.kind, drive.terms) for drive in found.actuators] == [
        ("motor_j", "motor", (("j", 1.0),)),
        ("motor_k", "position", (("k", 1.0),)),
    ]
    assert any("'idle'" in note for note in found.report.notes)


def test_links_that_are_fixed_to_each_other_count_as_one_for_collisions(tmp_path):
    shape = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    links = "".join(link(name, INERTIAL + shape) for name in "abcd")
    inside = (
        joint("f", "fixed", inside="") + joint("g", "fixed", child="c", inside="") + joint("j", parent="b", child="d")
    )
    assert robot(tmp_path, links + inside).excluded == {("b", "c"), ("a", "d"), ("c", "d")}


def test_what_is_not_known_is_one_warning_of_its_kind_with_its_line(tmp_path):
    found = robot(tmp_path, link("a", INERTIAL + "<smell/>") + "<colour/>\n<colour/>\n<ros2_control/>")
    lines = found.report.warnings
    assert len(lines) == 2
    assert "line 3, <smell>" in lines[0]
    assert "line 4, <colour>" in lines[1]
    assert "1 more" in lines[1]
    assert any("ros2_control" in note for note in found.report.notes)


# ---- meshes and their paths ------------------------------------------------------------------------------------


def test_packages_are_found_by_folders_given_above_the_file_and_by_shortened_names(tmp_path, monkeypatch):
    text = mesh_link("package://pack/meshes/m.stl")
    write_stl(tmp_path / "elsewhere" / "pack" / "meshes" / "m.stl")
    far = written(tmp_path / "x" / "y", text)
    with pytest.raises(FileError, match=r"robot\.urdf, line 3, <mesh>: the mesh .* is not there; tried .*m\.stl"):
        read_urdf(far)
    assert read_urdf(far, package_dirs=[tmp_path / "elsewhere"]).report.paths
    assert read_urdf(far, package_dirs=[tmp_path / "elsewhere" / "pack"]).links[0].shapes
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    assert read_urdf(far).links[0].shapes
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    assert read_urdf(written(tmp_path / "elsewhere" / "pack" / "urdf", text)).links[0].shapes
    short = mesh_link("package://unknown/deep/meshes/m.stl")
    assert read_urdf(written(tmp_path / "elsewhere" / "pack" / "urdf", short)).links[0].shapes


def test_names_that_leave_the_folder_are_rejected_unless_allowed(tmp_path):
    mesh = write_stl(tmp_path / "m.stl")
    for name in ("../m.stl", str(mesh), f"file://{mesh}", "package://sub/../m.stl"):
        file = written(tmp_path / "sub", mesh_link(name))
        with pytest.raises(FileError, match="outside the folder"):
            read_urdf(file)
        assert read_urdf(file, allow_outside=True).links[0].shapes
    assert read_urdf(written(tmp_path / "urdf", mesh_link("../m.stl"))).links[0].shapes
    (tmp_path / "package.xml").write_text("<package/>")
    assert read_urdf(written(tmp_path / "sub", mesh_link("../m.stl"))).links[0].shapes
    with pytest.raises(FileError, match="nothing is loaded"):
        robot(tmp_path, mesh_link("http://localhost/m.stl"))


def test_a_broken_mesh_is_an_error_to_touch_and_a_warning_to_see(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "m.obj").write_text("v 1 2\n")
    with pytest.raises(FileError, match="line 3, <mesh>"):
        robot(tmp_path, mesh_link("m.obj"))
    found = robot(tmp_path, mesh_link("m.obj", kind="visual"))
    assert "line 3, <mesh>" in found.report.warnings[0]


def test_flat_meshes_are_no_shapes(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    with pytest.raises(FileError, match="no volume"):
        robot(tmp_path, mesh_link("m.obj"))


# ---- masses ----------------------------------------------------------------------------------------------------


def moving(inertial):
    return link("a") + link("b", inertial) + joint()


def inertial(mass, xx, yy, zz):
    return f'<inertial><mass value="{mass}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}"/></inertial>'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (inertial(-1, 1, 1, 1), "mass of link 'b' is -1"),
        (inertial(0, 0, 0, 0), "neither it nor what hangs on it has mass"),
        ("", "neither it nor what hangs on it has mass"),
        (inertial(1, -1, 1, 1), r"link 'b' has principal moments \(-1, 1, 1\)"),
        (inertial(1, 0, 0, 0), r"link 'b' has principal moments \(0, 0, 0\).*such as \(4e-05"),
        (inertial(1, 0, 0, 1), "one larger|all must be positive"),
    ],
)
def test_impossible_masses_are_errors_or_are_repaired(tmp_path, text, match):
    with pytest.raises(FileError, match=f"line 4, <(inertial|link 'b')>: .*({match})"):
        robot(tmp_path, moving(text))
    found = robot(tmp_path, moving(text), repair=True)
    assert found.report.repaired
    assert found.links[1].mass > 0.0
    moments = principal_moments(found.links[1].inertia)
    assert moments[0] > 0.0
    assert moments[2] < moments[0] + moments[1]


def test_a_broken_triangle_is_a_warning_and_is_repaired_on_request(tmp_path):
    text = moving(inertial(1, 1, 1, 3))
    found = robot(tmp_path, text)
    np.testing.assert_array_equal(found.links[1].inertia, np.diag([1.0, 1.0, 3.0]))
    assert "(1, 1, 3)" in found.report.warnings[0]
    mended = robot(tmp_path, text, repair=True)
    assert "(1, 1, 3) kg m^2 -> (1.5, 1.5, 3)" in mended.report.repaired[0]


def test_links_without_mass_are_fine_where_others_have_it(tmp_path):
    inside = link("a", "") + link("b", "") + link("c") + link("tip", "")
    inside += joint() + joint("k", parent="b", child="c") + joint("f", "fixed", "c", "tip", "")
    assert sum(part.mass for part in robot(tmp_path, inside).links) == 2.0


def test_a_repaired_inertia_keeps_its_axes_and_is_that_of_a_body():
    rng = np.random.default_rng(7)
    for _ in range(50):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        better = physical(1.0, turn @ np.diag(rng.normal(size=3)) @ turn.T)
        moments = principal_moments(better)
        assert moments[0] > 0.0
        assert moments[2] < moments[0] + moments[1]
        inside = turn.T @ better @ turn
        np.testing.assert_allclose(inside, np.diag(np.diag(inside)), atol=1e-12)


# ---- bad input -------------------------------------------------------------------------------------------------

BAD = {
    "two links of a name": (TWO + link("a"), "line 5, <link 'a'>: there is a link 'a' in line 3"),
    "two joints of a name": (TWO + link("c") + joint() + joint(child="c"), "there is a joint 'j' in line 6"),
    "no parent": (TWO + '<joint name="j" type="fixed"><child link="b"/></joint>', "it has 0 <parent"),
    "unknown child, none like it": (TWO + joint(child="xyz"), "there is no link 'xyz'; there are 'a', 'b'"),
    "unknown child": (TWO + joint(child="bb"), "there is no link 'bb'; did you mean 'b'"),
    "no name": (TWO + joint().replace('name="j"', ""), "'name' is missing"),
    "no axis": (TWO + joint(inside=LIMIT).replace(X, ""), "<joint 'j'>: <axis xyz=...> is missing; write it"),
    "zero axis": (TWO + joint(inside='<axis xyz="0 0 0"/>' + LIMIT), "axis of joint 'j' is zero"),
    "short axis": (TWO + joint(inside='<axis xyz="0 1"/>' + LIMIT), "3 numbers, not 2"),
    "words": (TWO + joint(inside='<axis xyz="0 one 0"/>' + LIMIT), "3 numbers"),
    "NaN": (TWO + joint(inside='<origin xyz="0 nan 0"/>' + LIMIT), "must be finite"),
    "infinite": (link("a", INERTIAL.replace('"2"', '"inf"')), "must be finite"),
    "unknown type": (TWO + joint(kind="elastic"), "type is 'elastic'; it must be one of revolute"),
    "order of limits": (TWO + joint(inside='<limit lower="1" upper="-1"/>'), "wrong order"),
    "negative damping": (TWO + joint(inside='<dynamics damping="-1"/>' + LIMIT), "damping is -1"),
    "cycle": (TWO + link("c") + joint(parent="b", child="c") + joint("k", parent="c", child="b"), "cycle of links"),
    "all in a cycle": (TWO + joint() + joint("k", parent="b", child="a"), "cycle of links"),
    "two parents": (TWO + link("c") + joint(child="c") + joint("k", parent="b", child="c"), "one parent"),
    "two roots": (TWO, "'a', 'b' hang on no other"),
    "itself": (TWO + joint(child="a"), "both 'a'"),
    "no links": ("", "no links"),
    "no geometry": (link("a", INERTIAL + "<collision/>"), "no <geometry>"),
    "unknown shape": (link("a", "<collision><geometry><cone/></geometry></collision>"), "<cone> is no shape"),
    "negative box": (link("a", '<collision><geometry><box size="1 1 -1"/></geometry></collision>'), "size.z is -1"),
    "no mass": (link("a", "<inertial/>"), "<mass value=...> is missing"),
    "two inertials": (link("a", INERTIAL * 2), "second <inertial>"),
    "mimic of nobody": (TWO + joint(inside=LIMIT + '<mimic joint="jj"/>'), "no joint 'jj'; did you mean 'j'"),
    "mimic of itself": (TWO + joint(inside=LIMIT + '<mimic joint="j"/>'), "mimics itself"),
    "floating on what moves": (
        TWO + link("c") + joint() + joint("k", "floating", "b", "c", ""), "it floats on link 'b', which moves",
    ),
    "control characters": (link("a&#x9;b"), "no control characters"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_error_with_file_line_and_element(tmp_path, case):
    inside, match = BAD[case]
    with pytest.raises(FileError) as caught:
        robot(tmp_path, inside)
    message = str(caught.value)
    assert match in message
    assert "robot.urdf, line" in message


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<robot><link></robot>", "line 1: malformed XML, mismatched tag"),
        ("<robot>\n<a:b/></robot>", "line 2: malformed XML, unbound prefix"),
        ("no XML", "malformed XML"),
        ("<html/>", "'html'"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', "document type"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "document type"),
        ("<robot>" + "<a>" * 200 + "</a>" * 200 + "</robot>", "deep"),
        ('<?xml version="1.0" encoding="martian"?><robot/>', "malformed XML"),
    ],
)
def test_texts_that_are_no_robots_or_bombs_are_rejected(tmp_path, text, match):
    file = tmp_path / "bad.urdf"
    file.write_text(text)
    with pytest.raises(FileError, match=match) as caught:
        read_robot(file)
    assert "bad.urdf" in str(caught.value)


def test_a_million_elements_are_rejected_soon(tmp_path):
    file = tmp_path / "huge.urdf"
    file.write_text("<robot>\n" + '<link name="a"/>\n' * 1_000_000 + "</robot>")
    with pytest.raises(FileError, match=f"more than {xml_file.MOST_ELEMENTS} elements"):
        read_urdf(file)


def test_a_revolute_joint_without_limit_is_a_warning(tmp_path):
    found = robot(tmp_path, TWO + joint(inside=""))
    assert found.links[1].joints[0].limits is None
    assert "line 5, <joint 'j'>: <limit> is missing" in found.report.warnings[0]


def test_a_joint_without_axis_gets_that_of_x_on_request(tmp_path):
    found = robot(tmp_path, TWO + joint(inside=LIMIT).replace(X, ""), repair=True)
    assert found.links[1].joints[0].axis == (1.0, 0.0, 0.0)
    assert found.report.repaired == ["line 5, <joint 'j'>: without <axis>, which is x now, 1 0 0"]


def test_macros_need_their_package_or_are_expanded(tmp_path):
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="2"/>'
        '<link name="a"><inertial><mass value="${2*m}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>'
    )
    file = tmp_path / "r.urdf.xacro"
    file.write_text(text)
    try:
        import xacro  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependencyError, match=r"stickslip\[xacro\]"):
            read_robot(file)
    else:
        assert read_robot(file).links[0].mass == 4.0


# ---- real files ------------------------------------------------------------------------------------------------


@real
@pytest.mark.parametrize("name", FILES)
def test_real_files_have_their_links_joints_and_masses(name):
    found = read_robot(DATA / name)
    counts = len(found.links), sum(len(part.joints) for part in found.links), len(found.actuators), len(found.couplings)
    assert (*counts, round(sum(part.mass for part in found.links), 3)) == FILES[name]
    assert all(part.parent < number for number, part in enumerate(found.links))
    for part in found.links:
        assert all(isinstance(shape.placed.shape, Box | Sphere | Cylinder | Capsule | Hull) for shape in part.shapes)


@real
def test_the_malformed_file_names_its_line():
    with pytest.raises(FileError, match=r"fetch\.urdf, line 655: malformed XML"):
        read_robot(DATA / "fetch" / "fetch.urdf")


@real
def test_four_links_of_the_allegro_hand_are_impossible_and_can_be_repaired():
    file = DATA / "allegro_hand_description/urdf/allegro_right_hand.urdf"
    assert sum("one larger than the sum" in warning for warning in read_robot(file).report.warnings) == 4
    assert len(read_robot(file, repair=True).report.repaired) == 4


def textbook_poses(file, q):
    """Poses (4, 4) of links by name: the formula of the format, read by the standard library's own parser."""
    from xml.etree import ElementTree

    root = ElementTree.parse(file).getroot()
    joints = {item.find("child").get("link"): item for item in root.findall("joint") if item.find("child") is not None}

    def vector(element, tag, key, default):
        found = element.find(tag)
        return np.array([float(x) for x in ((found.get(key) if found is not None else None) or default).split()])

    def turned(axis, angle):
        K = np.cross(np.eye(3), axis)
        return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K

    def placed(name):
        if name not in joints:
            return np.eye(4)
        item = joints[name]
        T, M = np.eye(4), np.eye(4)
        T[:3, 3] = vector(item, "origin", "xyz", "0 0 0")
        roll, pitch, yaw = vector(item, "origin", "rpy", "0 0 0")
        T[:3, :3] = turned(np.eye(3)[2], yaw) @ turned(np.eye(3)[1], pitch) @ turned(np.eye(3)[0], roll)
        axis = vector(item, "axis", "xyz", "1 0 0")
        if item.get("type") in ("revolute", "continuous"):
            M[:3, :3] = turned(axis / np.linalg.norm(axis), q[item.get("name")])
        elif item.get("type") == "prismatic":
            M[:3, 3] = q[item.get("name")] * axis / np.linalg.norm(axis)
        return placed(item.find("parent").get("link")) @ T @ M

    return {item.get("name"): placed(item.get("name")) for item in root.findall("link")}


@real
@pytest.mark.parametrize("name", FILES)
def test_links_of_real_files_are_where_the_format_says(name):
    found = read_robot(DATA / name)
    tree = tree_tables(found.links, np.array([0.0, 0.0, -9.81]))
    rng = np.random.default_rng(3)
    names = [own.name for part in found.links for own in part.joints]
    for _ in range(3):
        q = rng.normal(size=len(names))
        work = tree_work(tree)
        place_links(tree, q, work)
        poses = textbook_poses(DATA / name, dict(zip(names, q)))
        for number, part in enumerate(found.links):
            np.testing.assert_allclose(work.pose[number, :3], poses[part.name][:3, 3], atol=1e-12)
            np.testing.assert_allclose(work.turn[number].reshape(3, 3), poses[part.name][:3, :3], atol=1e-12)


@real
@pytest.mark.parametrize("name", FILES)
def test_mass_matrix_and_bias_of_real_files_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio", reason="needs Pinocchio (pip install pin)")
    model = pin.buildModelFromUrdf(str(DATA / name))
    data = model.createData()
    found = read_robot(DATA / name)
    tree = tree_tables(found.links, np.array([0.0, 0.0, -9.81]))
    names = [own.name for part in found.links for own in part.joints]
    assert model.nv == len(names)
    ids = [model.getJointId(one) for one in names]
    columns = [model.joints[k].idx_v for k in ids]
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, v = rng.normal(size=len(names)), rng.normal(size=len(names))
        q_pin, v_pin = np.zeros(model.nq), np.zeros(model.nv)
        v_pin[columns] = v
        for k, angle in zip(ids, q):
            own = model.joints[k]
            q_pin[own.idx_q : own.idx_q + own.nq] = angle if own.nq == 1 else (np.cos(angle), np.sin(angle))
        M = pin.crba(model, data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(model, data, q_pin, v_pin)
        work = tree_work(tree)
        place_links(tree, q, work)
        momentum.linearise(tree, v, work)
        flat, A = np.zeros(tree.square[-1]), np.zeros((len(tree.dofs),) * 2)
        momentum.fill_matrix(tree, work.mass, flat)
        for t, (a, b) in enumerate(zip(tree.start, tree.start[1:], strict=False)):
            A[a:b, a:b] = flat[tree.square[t] : tree.square[t + 1]].reshape(b - a, b - a)
        np.testing.assert_allclose(A, M[np.ix_(columns, columns)], rtol=0.0, atol=1e-12 * np.abs(M).max())
        np.testing.assert_allclose(work.bias, bias[columns], rtol=0.0, atol=1e-11 * np.abs(bias).max())
