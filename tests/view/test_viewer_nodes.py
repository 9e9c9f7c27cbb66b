"""Scenes as nodes of the viewer's page: few of them, and only what moves is sent again."""

import json
import time
from collections.abc import Coroutine, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

from stickslip import Scene, Simulation
from stickslip.geometry import tet_generators
from stickslip.model.model import compile_scene
from stickslip.model.shape_meshes import shape_instances, shape_poses_wxyz
from stickslip.scene.soft_body import elastic
from stickslip.view.frame import FrameContacts, live_frame
from stickslip.view.marks import turns_from_z
from stickslip.view.picture.camera import look_at
from stickslip.view.picture.picture import round_length
from stickslip.view.soft_colours import largest_principal
from stickslip.view.web.display_panel import display_panel, with_unit
from stickslip.view.web.ground_nodes import VIEW_DISTANCE
from stickslip.view.web.guarded_server import guarded_server, stop_server
from stickslip.view.web.mark_nodes import ARROW_LENGTH, arrow, ball
from stickslip.view.web.moved_meshes import few_colours, moved_meshes, nearest_triangle, rotation_matrices
from stickslip.view.web.soft_nodes import PaintedMesh
from stickslip.view.web.viewer_scene import Grab, ViewerScene, lowered

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    made = guarded_server()
    yield made
    stop_server(made)


@pytest.fixture(autouse=True)
def _fresh(server: Any) -> None:
    server.scene.reset()
    server.gui.reset()


def shapes_of_all_kinds() -> Scene:
    scene = Scene()
    scene.add_half_space()
    scene.add_half_space((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), name="wall")
    for k in range(9):
        scene.add_sphere(0.05, (0.2 * k, 0.0, 0.5))
        scene.add_box((0.05, 0.06, 0.07), (0.2 * k, 0.3, 0.5))
    scene.add_capsule(0.04, 0.1, (0.0, 0.6, 0.5))
    scene.add_cylinder(0.04, 0.1, (0.2, 0.6, 0.5))
    scene.add_hull(0.05 * CUBE, (0.4, 0.6, 0.5))
    scene.add_box((0.1, 0.1, 0.1), (0.8, 0.6, 0.1), kind="static", name="block")
    return scene


class Sent:
    """Messages that a page would get."""

    def __init__(self, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.updates: list[tuple[str, str]] = []
        original = server.scene._queue_scene_message

        def queue(message: Any) -> None:
            if type(message).__name__ == "SceneNodeUpdateMessage":
                self.updates += [(message.name, key) for key in message.updates]
            original(message)

        monkeypatch.setattr(server.scene, "_queue_scene_message", queue)


def shown(server: Any, scene: Scene) -> tuple[Simulation, ViewerScene]:
    sim = Simulation(scene, dt=0.005)
    return sim, ViewerScene(server, sim.model, sim.state.body_pose, sim.state.node_position)


def test_all_shapes_become_few_nodes(server: Any) -> None:
    _, view = shown(server, shapes_of_all_kinds())
    assert view.node_count <= 7
    names = set(server.scene._handle_from_node_name)
    assert {"/scene/bodies/spheres", "/scene/bodies/boxes", "/scene/ground/plane-0", "/scene/ground/wall-1"} <= names


def test_hewn_stones_are_few_nodes(server: Any) -> None:
    scene = Scene()
    for k in range(200):
        scene.add_hull((0.05 + 1e-4 * k) * CUBE, (0.2 * (k % 20), 0.2 * (k // 20), 1.0))
    _, view = shown(server, scene)
    assert view.node_count <= 24


def test_what_does_not_move_is_sent_once(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sim, view = shown(server, shapes_of_all_kinds())
    sim.step()
    sent = Sent(server, monkeypatch)
    view.show(live_frame(sim))
    touched = {name for name, _ in sent.updates}
    assert "/scene/bodies/spheres" in touched
    assert not any(name.endswith("-fixed") or "/ground/" in name for name in touched)
    sent.updates.clear()
    view.show(live_frame(sim))
    assert sent.updates == []


def test_hidden_marks_cost_no_messages(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.1, 0.1, 0.1), (0.0, 0.0, 0.05), velocity=(0.5, 0.0, 0.0))
    sim, view = shown(server, scene)
    view.contacts = view.forces = view.cones = False
    sim.step()
    sent = Sent(server, monkeypatch)
    view.show(live_frame(sim))
    assert not any("/contacts/" in name for name, _ in sent.updates)


def test_contacts_come_and_go(server: Any) -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.1, 0.1, 0.1), (0.0, 0.0, 0.05))
    sim, view = shown(server, scene)
    view.cones = True
    sim.step()
    frame = live_frame(sim)
    view.show(frame)
    marks = view._contacts
    count = len(frame.contacts.status)
    assert count == 4
    assert marks.points.batched_positions.shape == marks.cones.batched_positions.shape == (count, 3)
    length, force = view.force_scale
    assert force == pytest.approx(np.linalg.norm(frame.contacts.force, axis=1).max(), rel=0.1)
    # the page is drawn so that the camera is at a fixed distance
    assert length * view.unit == pytest.approx(ARROW_LENGTH)
    none = FrameContacts(*(column[:0] for column in frame.contacts))
    view.show(frame._replace(contacts=none))
    assert marks.points.batched_positions.shape == (1, 3)  # pages cannot hold none
    assert not marks.points.batched_scales.any()
    assert view.force_scale[1] == force  # of the largest so far


def test_following_moves_the_scene_and_not_the_camera(server: Any) -> None:
    scene = Scene()
    scene.add_sphere(0.1, (0.0, 0.0, 1.0), velocity=(2.0, 0.0, 0.0), name="ball")
    sim, view = shown(server, scene)
    view.follow = 0
    assert view.follow == 0
    assert view._labels.keys() == {0}
    before = view.unit * view.centre(0) + view._root.position
    sim.run(10)
    view.show(live_frame(sim))
    np.testing.assert_allclose(view.unit * view.centre(0) + view._root.position, before, atol=1e-9)
    view.reset_view()
    assert view.follow is None
    assert not view._root.position.any()


def call(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing; the thread may have a loop already, that of a browser's driver."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def test_a_drag_names_the_body_and_speaks_of_metres(server: Any) -> None:

    scene = shapes_of_all_kinds()
    sim, view = shown(server, scene)
    grabs: list[Grab] = []
    view.on_drag(grabs.append)
    view._offset = np.array([0.3, 0.0, 0.0])
    model = sim.model
    hull = model.body_names.index(next(n for n in model.body_names if n.startswith("hull")))
    top = sim.state.body_pose[hull, :3] + [0.0, 0.0, 0.05]
    handles = server.scene._handle_from_node_name
    balls = handles["/scene/bodies/spheres"]
    event = type("Event", (), {"client_id": 1, "instance_index": 3, "phase": "start"})()
    event.start_position = event.end_position = view.unit * top + view._offset
    call(balls._impl.drag_cb[0].callback(event))
    assert model.body_names[grabs[-1].body].startswith("sphere")
    np.testing.assert_allclose(grabs[-1].point, top, atol=1e-12)
    event.instance_index = None
    nodes = [node for name, node in handles.items() if "gathered" in name and not name.endswith("-fixed")]
    found = []
    for node in nodes:
        call(node._impl.drag_cb[0].callback(event))
        found.append(grabs[-1].body)
    assert hull in found


def test_soft_bodies_plain_and_painted(server: Any) -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_soft(tet_generators.box((0.2, 0.2, 0.2), (2, 2, 2)), elastic(1e5, 0.3, density=1000.0), (0.0, 0.0, 0.5))
    sim, view = shown(server, scene)
    frame = live_frame(sim)
    plain, painted = view._soft._plain[0][0], list(view._soft._painted)
    view.show(frame)
    assert [plain.visible, *(node.visible for node in painted)] == [True, False, False]
    before = bytes(painted[1].glb_data)
    view.show(frame, np.random.default_rng(0).uniform(size=(len(frame.nodes), 3)))
    assert bytes(painted[1].glb_data) != before
    time.sleep(0.3)  # a page shows it only when it has had the time to read it
    assert [plain.visible, *(node.visible for node in painted)] == [False, False, True]
    view.show(frame, np.zeros((len(frame.nodes), 3)))
    view.show(frame, np.ones((len(frame.nodes), 3)))
    assert [plain.visible, *(node.visible for node in painted)] == [False, True, False]
    view.show(frame)
    time.sleep(0.2)
    assert [plain.visible, *(node.visible for node in painted)] == [True, False, False]
    view.on_drag(lambda _: None)  # from now on the plain mesh is what the mouse holds on to
    for _ in range(2):
        view.show(frame._replace(nodes=frame.nodes + 0.1), np.ones((len(frame.nodes), 3)))
    assert (plain.visible, plain.opacity) == (True, 0.0)
    np.testing.assert_allclose(plain.vertices, view.unit * (frame.nodes + 0.1)[view._soft._plain[0][1]], rtol=1e-6)
    view.show(frame)
    assert (plain.visible, plain.opacity) == (True, None)
    view.follow = sim.model.body_count
    np.testing.assert_allclose(view.centre(sim.model.body_count), frame.nodes.mean(axis=0))


def test_the_file_of_painted_bodies_is_sound() -> None:
    vertices, colours = np.arange(12.0).reshape(4, 3), np.eye(4, 3)
    triangles = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    file = PaintedMesh(4, triangles)
    file.paint(vertices, colours)
    data = file.data.tobytes()
    assert int.from_bytes(data[8:12], "little") == len(data)
    length = int.from_bytes(data[12:16], "little")
    content = json.loads(data[20 : 20 + length])
    body = data[28 + length :]
    assert content["buffers"][0]["byteLength"] == len(body)
    view = content["bufferViews"][0]
    stored = np.frombuffer(body, "<f4", 12, view["byteOffset"]).reshape(4, 3)
    np.testing.assert_allclose(stored, vertices)
    trimesh = pytest.importorskip("trimesh")
    import io

    loaded = trimesh.load(io.BytesIO(data), file_type="glb", force="mesh")
    assert len(loaded.faces) == 2


def test_panel_follows_and_explains(server: Any) -> None:
    sim, view = shown(server, shapes_of_all_kinds())
    sim.step()
    view.show(live_frame(sim))
    panel = display_panel(server, view, sim.model, [], (("space", "play"),))
    assert panel.quantity is None
    panel.follow_next()
    assert view.follow is not None
    assert view.model.body_names[view.follow].startswith("sphere")
    panel.see_everything()
    assert view.follow is None
    legend = panel._legend_html()
    assert all(word in legend for word in ("sticks", "slips", "open"))


def test_limits_of_colours_only_widen(server: Any) -> None:
    scene = Scene()
    scene.add_soft(tet_generators.box((0.2, 0.2, 0.2), (1, 1, 1)), elastic(1e5, 0.3, density=1000.0), (0.0, 0.0, 0.5))
    sim, view = shown(server, scene)
    panel = display_panel(server, view, sim.model, ["speed"])
    panel.quantity = "speed"
    panel.colours("speed", np.array([0.0, 2.0]))
    panel.colours("speed", np.array([0.0, 1.0]))
    assert panel.limits == (0.0, 2.0)
    assert "2 m/s" in panel._legend_html()


@pytest.mark.parametrize("size", [(390, 844), (336, 600), (800, 600)])
def test_what_is_high_is_seen_above_the_panel_of_a_phone(server: Any, size: tuple[int, int]) -> None:
    scene = Scene()
    for k in range(8):
        scene.add_sphere(0.1, (0.0, 0.0, 0.1 + 0.2 * k))
    _, view = shown(server, scene)
    camera = SimpleNamespace(image_width=size[0], image_height=size[1])
    view._frame_for(SimpleNamespace(camera=camera, atomic=nullcontext))
    forward = camera.look_at - camera.position
    distance = np.linalg.norm(forward)
    axes = look_at(camera.position, camera.look_at).axes
    points = view.unit * np.array([[0.0, 0.0, z] for z in (0.0, 1.6)]) - camera.position
    up = (points @ axes[1]) / (points @ axes[2]) / np.tan(0.5 * camera.fov)  # -1 at the lower edge, 1 at the upper one
    assert distance > 0.0
    assert up.max() < 1.0
    assert up.min() > -1.0 + 4.0 * lowered(size[1] / size[0])
    assert up.max() - up.min() > 0.7 * (2.0 - 4.0 * lowered(size[1] / size[0]))  # and it is large


def test_small_things() -> None:
    assert (lowered(0.6), lowered(1.5)) == (0.0, 0.0)
    assert 0.0 < lowered(1.6) < lowered(1.8) < lowered(1.9) == lowered(2.2) == 0.225
    assert [round_length(x) for x in (0.34, 2.0, 7.0)] == pytest.approx([0.2, 2.0, 5.0])
    assert with_unit(0.0123, "m") == "12.3 mm"
    assert with_unit(4.2e6, "Pa") == "4.2 MPa"
    assert with_unit(0.05, "1") == "5 %"
    assert VIEW_DISTANCE > 0.0
    for vertices, faces in (ball(), arrow()):
        assert faces.max() == len(vertices) - 1
    directions = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8]])
    np.testing.assert_allclose(rotation_matrices(turns_from_z(directions))[:, :, 2], directions, atol=1e-12)
    kept, nearest = few_colours(np.random.default_rng(0).uniform(size=(100, 3)))
    assert len(kept) <= 24
    assert nearest.shape == (100, 3)


def test_nearest_triangle_is_by_distance_to_its_inside() -> None:
    corners = np.array([[[0, 0, 0], [10, 0, 0], [0, 10, 0]], [[4, 4, 1], [5, 4, 1], [4, 5, 1]]], dtype=np.float64)
    assert nearest_triangle(np.array([3.0, 3.0, 0.1]), corners) == 0
    assert nearest_triangle(np.array([4.2, 4.2, 0.9]), corners) == 1


def test_gathered_meshes_are_where_their_shapes_are() -> None:
    model = compile_scene(shapes_of_all_kinds())
    groups = [group for group in shape_instances(model) if len(group.shapes) == 1]
    position, wxyz = shape_poses_wxyz(model, model.q_start)
    for mesh in moved_meshes(groups, np.tile([0.5, 0.5, 0.5], (len(model.shape_body), 1))):
        placed = mesh.placed(position, wxyz)
        for s in np.unique(mesh.shape):
            own = placed[mesh.shape == s]
            np.testing.assert_allclose(0.5 * (own.min(axis=0) + own.max(axis=0)), position[s], atol=0.01)
            assert mesh.nearest(own[0], position, wxyz) == s


def test_largest_principal_strain() -> None:
    matrices = np.random.default_rng(0).normal(size=(50, 3, 3))
    matrices += matrices.transpose(0, 2, 1)
    matrices[0], matrices[1] = 0.0, np.eye(3)
    expected = np.abs(np.linalg.eigvalsh(matrices)).max(axis=1)
    np.testing.assert_allclose(largest_principal(matrices), expected, rtol=1e-5, atol=1e-6)
