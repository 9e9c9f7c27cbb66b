"""Robots in pictures, recordings, reports and the live page: visuals, names of joints, sliders, dragged links."""

import time
from dataclasses import replace

import h5py
import numpy as np
import pytest

from stickslip import Scene, Simulation
from stickslip.errors import FileError, InputError
from stickslip.geometry.shapes import Box, placed
from stickslip.geometry.unit_surfaces import box
from stickslip.io.recording import Recorder, read_recording
from stickslip.model.model import compile_scene
from stickslip.robots.drive_ranges import PUSH, TURN, drive_range
from stickslip.robots.records import Actuator, Keyframe, LinkShape, RobotRecord, TreeJoint, TreeLink, Visual
from stickslip.scenes.own_scene import run_of_scene
from stickslip.view.live.robot_scene import GAP, robot_scene
from stickslip.view.live.run import LiveRun
from stickslip.view.live.simulation import LiveSimulation
from stickslip.view.picture.picture import render_frame
from stickslip.view.picture.shots import Look, Shots
from stickslip.view.player.data import read_block, taken_apart
from stickslip.view.player.html_player import player_data
from stickslip.view.visual_meshes import covered_shapes, merged, visual_meshes, with_creases

GREEN, BLUE, GREY = (0.1, 0.9, 0.1, 1.0), (0.1, 0.2, 0.9, 1.0), (0.5, 0.5, 0.5)


def box_visual(half, centre=(0.0, 0.0, 0.0), colour=GREEN):
    vertices, triangles = box()
    return Visual(vertices * np.array(half) + centre, triangles, colour)


def arm(**changes):
    """A base that is fixed to the world, and two rods that turn about y; visuals are slimmer than collision shapes."""
    inertia = 0.01 * np.eye(3)
    shape = LinkShape(placed(Box((0.12, 0.12, 0.4)), (0.0, 0.0, 0.2)), colour=GREY)
    rods = [
        TreeLink(
            f"rod{k}", k, (TreeJoint(f"hinge{k}", "revolute", (0.0, 1.0, 0.0), limits=(-1.0, 2.0), damping=0.2),), 1.0,
            inertia, (0.0, 0.0, 0.2), (0.0, 0.0, 0.1 if k == 0 else 0.4), shapes=(shape,),
            visuals=(box_visual((0.04, 0.04, 0.2), (0.0, 0.0, 0.2), GREEN if k == 0 else BLUE),),
        )
        for k in (0, 1)
    ]  # fmt: skip
    base = TreeLink(
        "base", -1, (), 1.0, inertia, shapes=(LinkShape(placed(Box((0.3, 0.3, 0.1)), (0.0, 0.0, 0.05))),),
        visuals=(box_visual((0.1, 0.1, 0.05), (0.0, 0.0, 0.05), GREEN),),
    )  # fmt: skip
    drives = tuple(
        Actuator(f"drive{k}", "position", ((f"hinge{k}", 1.0),), 400.0, (0.0, -400.0, -20.0)) for k in (0, 1)
    )
    bent = Keyframe("bent", np.array([0.5, 0.8]), np.zeros(2), np.array([0.5, 0.8]))
    return RobotRecord("arm", (base, *rods), actuators=drives, keyframes=(bent,), **changes)


def scene_with(record, **options):
    scene = Scene()
    return scene, scene.add_tree(record, **options)


def run_of(scene, dt=0.004):
    return run_of_scene(scene, "arm", dt)


def pixels_like(picture, colour):
    """Pixels whose hue is that of a pure green or blue, however they are lit."""
    strongest = int(np.argmax(colour[:3]))
    others = [k for k in range(3) if k != strongest]
    bright = picture[..., strongest].astype(int)
    return int(((bright > 60) & (bright > 1.6 * picture[..., others].max(axis=-1))).sum())


# ---- tables and meshes ---------------------------------------------------------------------------------------------


def test_visuals_are_tables_of_the_model_at_their_bodies():
    scene, _ = scene_with(arm(surrounding_visuals=(box_visual((0.1, 0.2, 0.3)),)), position=(1.0, 2.0, 0.0))
    model = compile_scene(scene)
    names = [model.body_names[body] if body >= 0 else "world" for body in model.visuals.body]
    assert names == ["arm/base", "arm/rod0", "arm/rod1", "world"]
    assert covered_shapes(model).all()
    first, last = model.visuals.vertex_start[3:5]
    assert np.allclose(model.visuals.vertices[first:last].mean(axis=0), (1.0, 2.0, 0.0), atol=1e-6)
    base = model.body_names.index("arm/base")  # whose vertices count from its centre of mass
    own = model.pose_start[base, :3] + model.visuals.vertices[: model.visuals.vertex_start[1]]
    assert np.allclose(own.mean(axis=0), (1.0, 2.0, 0.05), atol=1e-6)


@pytest.mark.parametrize(
    ("visual", "message"),
    [
        (Visual(np.array([[0.0, 0.0, np.nan]]), np.zeros((0, 3), np.int32)), "finite"),
        (Visual(np.zeros((3, 3)), np.array([[0, 1, 3]])), "0 to 2 exist"),
        (Visual(np.zeros((3, 2)), np.zeros((0, 3), np.int32)), r"\(n, 3\)"),
        (Visual(np.zeros((3, 3)), np.array([[0, 1, 2]]), (0.5, 0.5, 2.0, 1.0)), "from 0 to 1"),
    ],
)
def test_visuals_that_cannot_be_are_rejected(visual, message):
    record = arm()
    links = (*record.links[:2], replace(record.links[2], visuals=(visual,)))
    with pytest.raises(InputError, match=f"rod1.*{message}"):
        scene_with(replace(record, links=links))


def test_edges_of_a_box_stay_sharp_and_those_of_a_ball_round():
    from stickslip.geometry.unit_surfaces import sphere

    vertices, _, normals = with_creases(*merged(*box(), 1e-6))
    assert len(vertices) == 24
    assert np.allclose(np.abs(normals).max(axis=1), 1.0)
    vertices, _, normals = with_creases(*merged(*sphere(), 1e-6))
    assert np.allclose(np.einsum("vi,vi->v", vertices, normals), 1.0, atol=0.02)
    assert len(np.unique(np.round(vertices, 9), axis=0)) == len(vertices)


def test_many_triangles_are_merged(monkeypatch):
    monkeypatch.setattr("stickslip.view.visual_meshes.MOST_TRIANGLES", 200)
    u, w = np.meshgrid(np.linspace(0.0, 1.0, 40), np.linspace(0.0, 1.0, 40))
    points = np.column_stack([u.ravel(), w.ravel(), 0.0 * u.ravel()])
    corner = (40 * np.arange(39)[:, None] + np.arange(39)).ravel()
    triangles = np.concatenate(
        [np.stack([corner, corner + 1, corner + 41], 1), np.stack([corner, corner + 41, corner + 40], 1)]
    )
    record = arm()
    links = (*record.links[:2], replace(record.links[2], visuals=(Visual(points, triangles, GREEN),)))
    model = compile_scene(scene_with(replace(record, links=links))[0])
    meshes = visual_meshes(model)
    assert sum(len(mesh.faces) for mesh in meshes) <= 200
    sheet = meshes[-1].vertices
    assert np.ptp(sheet, axis=0)[:2].min() > 0.8  # of 1: cells are drawn at the means of their vertices


# ---- pictures and recordings ---------------------------------------------------------------------------------------


def test_pictures_show_visuals_in_place_of_collision_shapes():
    model = compile_scene(scene_with(arm())[0])
    seen = render_frame(model, model.pose_start, 240, 160, samples=1)
    solid = render_frame(model, model.pose_start, 240, 160, samples=1, collision=True)
    for colour in (GREEN, BLUE):
        assert pixels_like(seen, colour) > 200
    # links have the colour of their first visual, so the width tells: 80 of visuals, 120 mm of shapes
    assert pixels_like(solid, BLUE) > 1.3 * pixels_like(seen, BLUE)


def test_a_visual_that_only_pictures_know_is_absent_without_visuals():
    record = arm(surrounding_visuals=(box_visual((0.02, 0.3, 0.3), (-0.5, 0.0, 0.3), (0.9, 0.1, 0.1, 1.0)),))
    model = compile_scene(scene_with(record)[0])
    red = (1.0, 0.0, 0.0)
    assert pixels_like(render_frame(model, model.pose_start, 240, 160, samples=1), red) > 100
    assert pixels_like(render_frame(model, model.pose_start, 240, 160, samples=1, collision=True), red) == 0


def test_an_open_mesh_is_seen_from_both_sides():
    sheet = Visual(
        np.array([[0.0, -0.3, 0.0], [0.0, 0.3, 0.0], [0.0, 0.3, 0.5], [0.0, -0.3, 0.5]]),
        np.array([[0, 1, 2], [0, 2, 3]]),
        (0.9, 0.1, 0.1, 1.0),
    )
    record = arm()
    links = (replace(record.links[0], visuals=(sheet,)), *record.links[1:])
    model = compile_scene(scene_with(replace(record, links=links))[0])
    for azimuth in (30.0, 210.0):
        seen = render_frame(model, model.pose_start, 240, 160, samples=1, azimuth=azimuth)
        assert pixels_like(seen, (1.0, 0.0, 0.0)) > 500


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "arm.h5"
    scene, robot = scene_with(arm())
    sim = Simulation(scene, dt=0.004)
    sim.set_control(robot, position={"hinge0": 0.4})
    with Recorder(path, sim, every=2) as record:
        sim.run(10, record)
    return path, sim, robot


def test_recordings_keep_visuals_and_joints(recorded):
    path, sim, robot = recorded
    with read_recording(path) as recording:
        for ours, theirs in zip(recording.model.visuals, sim.model.visuals, strict=True):
            assert np.array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
        (found,) = recording.robots
        assert [joint.name for joint in found.joints] == ["hinge0", "hinge1"]
        assert np.array_equal(found.position[-1], sim.joint_positions(robot))
        assert np.array_equal(found.velocity[-1], sim.joint_velocities(robot))
        assert np.array_equal(found.effort[-1], sim.joint_efforts(robot))
        look = Look(width=240, height=160, samples=1)
        seen = Shots(recording, look, [4]).picture(4)
        solid = Shots(recording, replace(look, collision=True), [4]).picture(4)
        assert pixels_like(solid, BLUE) > 1.3 * pixels_like(seen, BLUE)


def test_recordings_without_visuals_and_joints_still_open(recorded, tmp_path):
    old = tmp_path / "old.h5"
    old.write_bytes(recorded[0].read_bytes())
    with h5py.File(old, "r+") as file:
        del file["model/visuals"], file["robots"]
    with read_recording(old) as recording:
        assert len(recording.model.visuals.body) == 0
        assert recording.robots == ()


def test_damaged_visuals_are_found(recorded, tmp_path):
    bad = tmp_path / "bad.h5"
    bad.write_bytes(recorded[0].read_bytes())
    with h5py.File(bad, "r+") as file:
        file["model/visuals/triangles"][0, 0] = 10**6
    with pytest.raises(FileError, match="visuals"):
        read_recording(bad)


def test_pages_hold_visuals(recorded):
    with read_recording(recorded[0]) as recording:
        facts, blocks = taken_apart(player_data(recording))
        solid, _ = taken_apart(player_data(recording, collision=True))
    assert facts["groups"] == []
    assert [recording.model.body_names[each["body"]] for each in facts["visuals"]] == [
        "arm/base",
        "arm/rod0",
        "arm/rod1",
    ]
    assert facts["visuals"][2]["colour"] == list(BLUE[:3])
    assert len(read_block(blocks["visual_faces"])) == 36
    last = facts["visuals"][2]
    points = np.array(last["low"]) + last["step"] * read_block(blocks["visual_vertices"])[-last["vertices"] :]
    assert np.allclose(np.ptp(points, axis=0), (0.08, 0.08, 0.4), atol=2.0 * last["step"])
    assert solid["visuals"] == []
    assert sum(group["instances"] for group in solid["groups"]) == 3


def test_the_report_names_joints(recorded, tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed: pip install 'stickslip[plot]'")
    from stickslip.view.report.page import write_report

    with read_recording(recorded[0]) as recording:
        facts = write_report(recording, tmp_path / "arm.html", pictures=0)
        (robot,) = facts["robots"]
        assert robot["joints"][0]["last"] == recording.robots[0].position[-1][0]
        assert robot["joints"][1]["effort"] == np.abs(np.asarray(recording.robots[0].effort)[:, 1]).max()
    assert "hinge1" in (tmp_path / "arm.html").read_text()


# ---- live: drives and postures -------------------------------------------------------------------------------------


def test_ranges_of_sliders():
    record = arm()
    motor = Actuator("m", "motor", (("hinge0", 2.0),))
    assert drive_range(record, record.actuators[0]) == (-1.0, 2.0, "rad")
    assert drive_range(record, replace(record.actuators[0], control_range=(0.0, 255.0)))[:2] == (0.0, 255.0)
    assert drive_range(record, motor) == (-PUSH, PUSH, "N m")
    assert drive_range(record, replace(motor, gain=2.0, force_range=(-8.0, 6.0)))[:2] == (-4.0, 3.0)
    free = replace(record.links[1], joints=(replace(record.links[1].joints[0], limits=None),))
    loose = replace(record, links=(record.links[0], free, record.links[2]))
    assert drive_range(loose, replace(motor, kind="position"))[:2] == (-2.0 * TURN, 2.0 * TURN)


def test_sliders_drive_joints_and_postures_are_taken():
    with LiveRun(run_of(scene_with(arm())[0])) as run:
        run.watch_robot("arm", "hinge1")
        run.set_actuator("arm", "drive1", 0.3)
        for _ in range(250):
            run.step_once()
        snapshot = run.settled(300.0)
        assert snapshot.robot.control.tolist() == [0.0, 0.3]
        rows = {row.name: row for row in snapshot.robot.joints}
        # held by a spring of 400 N m/rad, it sags by weight times lever over that: 1 kg at 0.2 m and sin 0.3
        assert rows["hinge1"].position[0] == pytest.approx(0.3 + 9.81 * 0.2 * np.sin(0.3) / 400.0, abs=2e-4)
        assert snapshot.robot.course.shape == (250, 3)
        assert snapshot.robot.course[-1, 1] == rows["hinge1"].position[0]
        run.take_posture("arm", "bent")
        bent = run.settled().robot
        assert [float(row.position[0]) for row in bent.joints] == [0.5, 0.8]
        assert bent.control.tolist() == [0.5, 0.8]
        run.take_posture("arm")
        start = run.settled().robot
        assert [float(row.position[0]) for row in start.joints] == [0.0, 0.0]
        assert start.control.tolist() == [0.0, 0.0]
        run.set_actuator("arm", "drive7", 0.3)
        assert "drive7" in run.settled().message


def test_a_robot_of_a_file_stands_on_ground_below_it(tmp_path):
    file = tmp_path / "plate.urdf"
    file.write_text("""<robot name="plate"><link name="plate"><visual><geometry><box size="0.2 0.2 0.1"/></geometry>
        </visual><collision><geometry><box size="0.2 0.2 0.3"/></geometry></collision></link></robot>""")
    model = compile_scene(robot_scene(file))
    ground = model.body_names.index("ground")
    assert model.q_start[ground, 2] == pytest.approx(-0.15 - GAP)


def test_gravity_of_a_live_run_is_that_of_its_robots():
    live = LiveSimulation(run_of(scene_with(replace(arm(), actuators=(), keyframes=()))[0]))
    live.set_gravity((0.0, 0.0, 0.0))
    live.sim.set_joint_positions(live.robots["arm"], {"hinge0": 0.5})
    for _ in range(5):
        live.step()
    assert np.abs(live.sim.joint_velocities(live.robots["arm"])).max() < 1e-12


# ---- live: a link that is pulled -----------------------------------------------------------------------------------


def tip(live):
    return live.sim.link_pose(live.robots["arm"], "rod1")


def test_a_pulled_link_follows_the_mouse_and_is_let_go():
    live = LiveSimulation(run_of(scene_with(replace(arm(), actuators=(), keyframes=()))[0]))
    live.set_gravity((0.0, 0.0, 0.0))
    body = live.sim.model.body_names.index("arm/rod1")
    live.grab(body, (0.0, 0.0, 0.9))
    target = np.array([0.3, 0.0, 0.8])  # within reach
    live.pull(target)
    for _ in range(400):
        live.step()
    assert np.linalg.norm(live.spring.held_point(live.sim.state) - target) < 1e-3
    assert np.abs(live.sim.joint_velocities(live.robots["arm"])).max() < 1e-3
    assert live.sim.control.frame_forces == {}  # what the user applies is as it was
    live.release()
    live.step()
    assert live.spring is None


@pytest.mark.parametrize("dt", [0.001, 0.02])
@pytest.mark.parametrize("mass", [1e-3, 1.0])
def test_springs_of_light_links_are_stable(mass, dt):
    """The explicit spring adds no energy: speeds stay below what its stretch can give."""
    record = replace(arm(), actuators=(), keyframes=())
    light = replace(record.links[2], mass=mass, inertia=0.01 * mass * np.eye(3))
    free = [
        replace(link, joints=(replace(link.joints[0], limits=None, damping=0.0),)) for link in (record.links[1], light)
    ]
    record = replace(record, links=(record.links[0], *free))
    live = LiveSimulation(run_of(scene_with(record)[0], dt))
    live.grab(live.sim.model.body_names.index("arm/rod1"), (0.0, 0.0, 0.9))
    live.pull((0.2, 0.1, 0.8))
    points = []
    for _ in range(200):
        live.step()
        points.append(live.spring.held_point(live.sim.state))
    late = np.array(points[-20:])
    assert np.isfinite(late).all()
    assert np.linalg.norm(np.diff(late, axis=0), axis=1).max() < 0.02


def test_a_drag_against_drives_moves_the_link_and_drives_bring_it_back():
    live = LiveSimulation(run_of(scene_with(arm())[0]))
    start = tip(live)[0]
    live.grab(live.sim.model.body_names.index("arm/rod1"), (0.0, 0.0, 0.5))
    live.pull((0.4, 0.0, 0.5))
    for _ in range(100):
        live.step()
    assert tip(live)[0][0] - start[0] > 0.05
    live.release()
    for _ in range(300):
        live.step()
    assert np.linalg.norm(tip(live)[0] - start) < 0.01


# ---- pages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(monkeypatch):
    pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")
    from stickslip.view.live import page as live_page

    monkeypatch.setattr(live_page, "FRAME_INTERVAL", 0.2)
    monkeypatch.setattr(live_page, "INTERVAL", 0.5)
    with live_page.serve_scene(run_of(scene_with(arm())[0])) as page:
        page.run.step_once()
        page.run.settled(300.0)
        page.run.reset()
        yield page


def until(true, what, patience=240.0):
    deadline = time.perf_counter() + patience
    while not true():
        assert time.perf_counter() < deadline, f"not seen within {patience} s: {what}"
        time.sleep(0.05)


def test_sliders_follow_what_drives_are_told_elsewhere(served):
    panel = served.robots
    assert [slider.actuator for slider in panel._sliders] == ["drive0", "drive1"]
    assert (panel._sliders[0].low, panel._sliders[0].high) == (-1.0, 2.0)
    served.run.set_actuator("arm", "drive1", 0.75)
    served.run.settled()
    until(lambda: abs(panel._sliders[1].node.value - 0.75) < 1e-9, "the slider", 30.0)
    assert panel._sliders[0].node.value == 0.0
    until(lambda: "hinge1" in panel._table.content, "the table", 30.0)


def test_visuals_and_collision_shapes_take_turns(served):
    scene = served.scene
    assert scene._visuals.visible
    assert not scene._hidden.visible
    assert scene._bodies.count == 0
    assert scene._covered.count > 0
    scene.collision = True
    assert not scene._visuals.visible
    assert scene._hidden.visible


@pytest.mark.slow
def test_a_slider_and_a_drag_in_a_browser(page, served):
    run = served.run
    run.play()
    page.set_viewport_size({"width": 1200, "height": 600})
    page.goto(served.url)
    page.get_by_role("button", name="Pause").wait_for()
    until(lambda: run.snapshot().steps > 0, "it runs")
    page.get_by_text("hinge1", exact=True).first.wait_for()
    page.get_by_text("drive0 [rad]", exact=True).wait_for()
    page.get_by_text("drive1 [rad]", exact=True).wait_for()
    fields = page.locator("input.mantine-NumberInput-input")  # those of the two drives are the last ones

    def driven() -> bool:
        # On a busy machine the page fills later than its labels appear, and puts back what it was told before: typed
        # again until the run has it.
        field = fields.nth(fields.count() - 2)
        field.fill("0.5")
        field.press("Enter")
        time.sleep(1.0)
        return run.snapshot().robot.control[0] == pytest.approx(0.5, abs=2e-3)

    until(driven, "the slider drives the joint")
    until(lambda: run.snapshot().robot.joints[0].position[0] > 0.4, "the joint follows")
    page.get_by_role("button", name="bent", exact=True).dispatch_event("click")
    until(lambda: run.snapshot().robot.control.tolist() == [0.5, 0.8], "a posture of the file")
    page.get_by_role("button", name="start", exact=True).dispatch_event("click")
    until(lambda: run.snapshot().robot.control.tolist() == [0.0, 0.0], "the start")

    time.sleep(1.0)
    where = """() => { const boxes = [...document.querySelectorAll("canvas")].map(c => c.getBoundingClientRect());
        const b = boxes.sort((a, b) => b.width * b.height - a.width * a.height)[0];
        return [b.x + b.width / 2, b.y + b.height / 2]; }"""
    x, y = page.evaluate(where)
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 6):
        page.mouse.move(x + 30 * k, y)
        time.sleep(0.1)
    until(lambda: run.snapshot().spring is not None, "a spring at the link")
    until(lambda: max(abs(row.position[0]) for row in run.snapshot().robot.joints) > 0.02, "the link moves")
    page.mouse.up()
    until(lambda: run.snapshot().spring is None, "the spring is gone")
