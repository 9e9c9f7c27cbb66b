"""Pictures: what they show is where the bodies are; the same scene gives the same bytes."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import stickslip
from stickslip.certify.contact_report import SLIP, STICK
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.geometry.rotation import about_axis
from stickslip.view.marks import CROWD
from stickslip.view.picture.camera import FIELD_OF_VIEW, frame_camera, landed, look_at, projected
from stickslip.view.picture.picture import render_frame, save_picture
from stickslip.view.picture.ray_tracer import CONE, KIND, POSITION, ROTATION, SHAPE_COLUMNS, SIZE, enter, local_normal
from stickslip.view.picture.traced_scene import scene_tables, traced_scene
from stickslip.view.picture.wall_panes import wall_panes, wall_room

CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def model_of(build, ground=False):
    scene = stickslip.Scene()
    if ground:
        scene.add_half_space()
    build(scene)
    return stickslip.compile_scene(scene)


def silhouette(model, camera, width, height, samples=1):
    """Pixels that change when every body is moved out of sight; there is no ground that could show shadows."""
    gone = model.q_start.copy()
    gone[:, :3] = camera.eye - 1e3 * camera.axes[2]
    full = render_frame(model, model.q_start, width, height, camera=camera, samples=samples)
    empty = render_frame(model, gone, width, height, camera=camera, samples=samples)
    return (full != empty).any(axis=2)


def test_a_sphere_covers_as_many_pixels_as_its_projection():
    model = model_of(lambda scene: scene.add_sphere(0.5, (0, 0, 1)))
    camera = look_at((4, 0, 1), (0, 0, 1))
    mask = silhouette(model, camera, 96, 72)
    slope = 0.5 / np.sqrt(4.0**2 - 0.5**2)  # tangent of the angle under which the sphere's radius is seen
    radius = 48 * slope / np.tan(0.5 * FIELD_OF_VIEW)
    assert mask.sum() == pytest.approx(np.pi * radius**2, rel=0.03)
    rows, columns = np.nonzero(mask)
    assert rows.mean() == pytest.approx(35.5, abs=0.5)
    assert columns.mean() == pytest.approx(47.5, abs=0.5)


def test_a_box_and_its_hull_look_alike():
    turn = about_axis((1, 2, 3), 0.7)
    box = model_of(lambda scene: scene.add_box((1, 1, 1), (0, 0, 0), turn))
    hull = model_of(lambda scene: scene.add_hull(CUBE, (0, 0, 0), turn))
    camera = look_at((5, 2, 2), (0, 0, 0))
    masks = [silhouette(model, camera, 48, 36) for model in (box, hull)]
    assert masks[0].sum() > 100
    assert (masks[0] != masks[1]).sum() <= 2


def test_a_standing_cylinder_and_capsule_have_the_right_height_and_width():
    camera = look_at((100, 0, 0), (0, 0, 0))
    scale = 60 / np.tan(0.5 * FIELD_OF_VIEW) / 100  # pixels a metre, nearly parallel rays
    for build, height in (
        (lambda scene: scene.add_cylinder(8.0, 30.0), 30.0),
        (lambda scene: scene.add_capsule(8.0, 14.0), 30.0),
    ):
        mask = silhouette(model_of(build), camera, 120, 100)
        rows, columns = np.nonzero(mask)
        # the nearest points are 8 m closer to the eye and look that much larger
        assert np.ptp(columns) + 1 == pytest.approx(16.0 * scale, abs=2)
        assert np.ptp(rows) + 1 == pytest.approx(height * scale, rel=0.1)


def test_colours_of_the_user_and_of_fixed_bodies_are_seen():
    def build(scene):
        scene.add_sphere(0.4, (0, -1, 0.4), colour=(0.9, 0.1, 0.1))
        scene.add_sphere(0.4, (0, 0, 0.4), colour=(0.1, 0.2, 0.9))
        scene.add_box((0.7, 0.7, 0.7), (0, 1, 0.35), kind="static")

    model = model_of(build, ground=True)
    picture = render_frame(model, model.q_start, 64, 36, azimuth=0, zoom=0.6, samples=1).astype(int)
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    assert picture.shape == (36, 64, 3)
    assert ((red > 100) & (red > 3 * blue)).sum() > 20
    assert ((blue > 100) & (blue > 2 * red)).sum() > 20
    box = picture[20, 48]
    assert np.ptp(box) < 40
    assert np.ptp(green) > 60


def test_shadows_fall_on_the_ground():
    model = model_of(lambda scene: scene.add_sphere(0.4, (0, 0, 0.4)), ground=True)
    camera = look_at((6, 0, 4), (0, 0, 0.2))
    picture = render_frame(model, model.q_start, 64, 48, camera=camera, samples=1).astype(float).sum(axis=2)
    gone = model.q_start.copy()
    gone[1, 2] = -50.0
    empty = render_frame(model, gone, 64, 48, camera=camera, samples=1).astype(float).sum(axis=2)
    darker = picture < 0.9 * empty
    width = int(darker.any(axis=0).sum())
    left, right = int(darker[:, :32].sum()), int(darker[:, 32:].sum())
    assert width > 16  # the sphere alone is 13 pixels wide
    assert right > 1.5 * left  # the sun stands to the left of the camera


def box_of_walls(scene):
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add_half_space(normal, -np.array(normal))
    scene.add_sphere(0.9, (0, 0, 0.9), colour=(0.9, 0.1, 0.1))


def test_walls_are_panes_that_do_not_hide_the_scene():
    walled = model_of(box_of_walls, ground=True)
    free = model_of(lambda scene: scene.add_sphere(0.9, (0, 0, 0.9), colour=(0.9, 0.1, 0.1)), ground=True)
    camera = look_at((9, -5, 3.5), (0, 0, 0.9))
    pictures = [render_frame(model, model.q_start, 320, 240, camera=camera).astype(int) for model in (walled, free)]
    changed = np.abs(pictures[0] - pictures[1]).max(axis=2)
    ball = (pictures[1][..., 0] > 2 * pictures[1][..., 2]) & (pictures[1][..., 0] > 60)
    assert ball.sum() > 2000
    assert (pictures[0][ball][:, 0] > 1.3 * pictures[0][ball][:, 2]).mean() > 0.9  # it stays red behind faint panes
    assert 0 < np.median(changed[~ball & (changed > 0)]) < 25
    # the four upper edges, and beyond those at the back all is as it was
    top = float(wall_room(walled, [(walled.q_start, np.zeros((0, 3)))])[1, 2])
    corners = np.array([(1, -1, top), (1, 1, top), (-1, 1, top), (-1, -1, top)])
    for here, after in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        ((x, y),) = projected(camera, 0.5 * (here + after)[None], 320, 240).round().astype(int)
        assert changed[y - 2 : y + 3, x].max() > 15
    outside = projected(camera, 1.2 * corners[1:], 320, 240).round().astype(int)
    assert (changed[outside[:, 1], outside[:, 0]] == 0).all()


def test_panes_end_at_each_other_and_at_the_ground():
    model = model_of(box_of_walls, ground=True)
    room = wall_room(model, [(model.q_start, np.zeros((0, 3)))])
    panes = wall_panes(model, model.q_start, room)
    assert [pane.shape for pane in panes] == [1, 2, 3, 4]
    for (_, corners), normal in zip(panes, ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)), strict=True):
        assert len(corners) == 4
        np.testing.assert_allclose(corners @ normal, -1.0)
        np.testing.assert_allclose(np.abs(corners[:, :2]), 1.0)
        np.testing.assert_allclose(sorted(corners[:, 2]), [0.0, 0.0, room[1, 2], room[1, 2]], atol=1e-9)
        turn = np.cross(corners[1] - corners[0], corners[2] - corners[1])
        assert turn @ normal > 0.0  # counter-clockwise from the free side
    ground = model_of(lambda scene: scene.add_sphere(0.4, (0, 0, 0.4)), ground=True)
    assert wall_room(ground, [(ground.q_start, np.zeros((0, 3)))]) is None
    far = model_of(lambda s: (s.add_half_space((1, 0, 0), (-50, 0, 0)), s.add_sphere(0.4, (0, 0, 0.4))), ground=True)
    assert wall_panes(far, far.q_start, wall_room(far, [(far.q_start, np.zeros((0, 3)))])) == []


def test_the_same_scene_gives_the_same_bytes():
    model = model_of(lambda scene: scene.add_capsule(0.2, 0.5, (0, 0, 0.3), about_axis((1, 0, 0), 1.0)), ground=True)
    first, second = (render_frame(model, model.q_start, 32, 24) for _ in range(2))
    assert np.array_equal(first, second)


def test_the_camera_frames_the_dynamic_bodies():
    def build(scene):
        for x in range(3):
            scene.add_sphere(0.3, (2.0 * x, 0.5 * x, 0.3 + x))

    model = model_of(build)
    for azimuth, elevation in ((-60, 18), (30, 60), (100, -5)):
        camera = frame_camera(model, model.q_start, 48, 27, azimuth, elevation)
        rows, columns = np.nonzero(silhouette(model, camera, 48, 27))
        assert rows.min() >= 1
        assert rows.max() <= 25
        assert columns.min() >= 1
        assert columns.max() <= 46
        assert np.ptp(rows) > 16 or np.ptp(columns) > 30


def test_contacts_are_drawn_over_the_bodies():
    class Marks:
        point = np.array([[0.0, -0.3, 0.5], [0.0, 0.3, 0.5]])
        force = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 5.0]])
        status = np.array([STICK, SLIP], dtype=np.int32)

    model = model_of(lambda scene: scene.add_box((1, 1, 1), (0, 0, 0.5), colour=(0.8, 0.8, 0.8)), ground=True)
    picture = render_frame(model, model.q_start, 160, 120, azimuth=0, contacts=Marks).astype(int)
    red, blue = picture[..., 0], picture[..., 2]
    assert (blue - red > 35).sum() >= 5
    assert (red - blue > 35).sum() >= 5
    assert np.nonzero(blue - red > 35)[1].mean() < np.nonzero(red - blue > 35)[1].mean()


def test_what_falls_is_framed_where_it_lands():
    def ball_above(height, ground=True):
        def build(scene):
            if ground:
                scene.add_half_space()
            scene.add_sphere(0.5, (1.0, 2.0, height))

        model = model_of(build)
        return model, landed(model, (model.q_start, np.zeros((0, 3))))

    _, ((q, _),) = ball_above(1.5)
    np.testing.assert_allclose(q[1, :3], (1.0, 2.0, 0.5), atol=1e-9)
    assert ball_above(0.5)[1] == []  # it lies there
    assert ball_above(50.0)[1] == []  # too far away to be seen with it
    assert ball_above(1.5, ground=False)[1] == []


def test_bars_start_at_their_points_and_have_a_head():
    class Marks:
        point = np.array([[0.0, 0.0, 0.5]])
        force = np.array([[0.0, 0.0, 5.0]])
        status = np.array([SLIP], dtype=np.int32)

    model = model_of(lambda scene: scene.add_box((1, 1, 1), (0, 0, 0.5), colour=(0.8, 0.8, 0.8)))
    camera = frame_camera(model, model.q_start, 320, 240, azimuth=0)
    picture = render_frame(model, model.q_start, 320, 240, camera=camera, contacts=Marks).astype(int)
    rows, columns = np.nonzero(picture[..., 0] - picture[..., 2] > 60)
    ((x, y),) = projected(camera, Marks.point, 320, 240)
    assert abs(rows.max() - y) <= 3  # nothing below the point
    assert np.abs(columns - x).max() <= 8
    wide = np.bincount(rows - rows.min())
    assert wide[: len(wide) // 2].max() >= wide[len(wide) // 2 :].max() + 2


def test_heads_of_arrows_are_cones():
    class Marks:
        point = np.array([[0.0, 0.0, 0.5]])
        force = np.array([[0.0, 0.0, 5.0]])
        status = np.array([SLIP], dtype=np.int32)

    model = model_of(lambda scene: scene.add_box((1, 1, 1), (0, 0, 0.5), colour=(0.8, 0.8, 0.8)))
    camera = look_at((6, 0, 0.5), (0, 0, 0.5))
    picture = render_frame(model, model.q_start, 960, 720, camera=camera, contacts=Marks).astype(int)
    rows, _ = np.nonzero(picture[..., 0] - picture[..., 2] > 60)
    wide = np.bincount(rows - rows.min())
    base = int(wide.argmax())
    assert base > 15
    assert wide[base] > 12
    # from the tip on as wide as a straight flank, and at its base a clean step to the shaft
    np.testing.assert_allclose(wide[:base], wide[base] * (np.arange(base) + 0.5) / (base + 0.5), atol=2.0)
    assert wide[base + 3] < 0.5 * wide[base]


def test_rays_enter_a_cone_where_its_points_begin():
    """A cone with its tip at z = 1 and a base of radius 1 at z = -1, against points along rays."""
    shapes, none = np.zeros((1, SHAPE_COLUMNS)), np.zeros((0, 9))
    shapes[0, KIND], shapes[0, SIZE : SIZE + 2] = CONE, (1.0, 1.0)
    shapes[0, ROTATION : ROTATION + 9] = np.eye(3).ravel()
    rng = np.random.default_rng(3)
    # from all around towards the inside, and along its axis, both ways
    ends = [(3.0 * rng.normal(size=3), 0.6 * rng.normal(size=3)) for _ in range(200)]
    ends += [(np.array((0.2, 0.1, z)), np.array((0.2, 0.1, 0.0))) for z in (-3.0, 3.0)]
    hits, step = 0, 1e-4
    for origin, target in ends:
        d = (target - origin) / np.linalg.norm(target - origin)
        t, _ = enter(shapes, none, 0, tuple(origin), tuple(d), np.inf)
        x, y, z = (origin + np.arange(0.0, 12.0, step)[:, None] * d).T
        inside = np.minimum(0.5 * (1.0 - z) - np.hypot(x, y), np.minimum(1.0 - z, 1.0 + z))
        if inside[0] >= 0.0 or abs(inside.max()) < 1e-3:  # starts in it, or touches it between two points
            continue
        if inside.max() < 0.0:
            assert not 0.0 < t < 12.0
            continue
        hits += 1
        assert t == pytest.approx(step * (inside > 0.0).argmax(), abs=1.01 * step)
        n = local_normal(shapes, none, 0, -1, tuple(origin + t * d))
        assert np.linalg.norm(n) == pytest.approx(1.0)
        assert np.dot(n, d) < 1e-9
    assert hits > 50


def test_arrows_of_a_crowd_are_smaller():
    """800 contacts, all but one without a force: the same arrow at half the size."""
    model = model_of(lambda scene: scene.add_box((1, 1, 1), (0, 0, 0.5), colour=(0.8, 0.8, 0.8)))
    camera = frame_camera(model, model.q_start, 480, 360, azimuth=0)
    heights = []
    for count in (1, 8 * CROWD):
        marks = SimpleNamespace(
            point=np.tile([0.0, 0.0, 0.5], (count, 1)),
            force=np.eye(count, 1) * (0.0, 0.0, 5.0),
            status=np.full(count, SLIP, dtype=np.int32),
        )
        picture = render_frame(model, model.q_start, 480, 360, camera=camera, contacts=marks).astype(int)
        heights.append(np.ptp(np.nonzero(picture[..., 0] - picture[..., 2] > 60)[0]))
    assert heights[0] > 30
    assert heights[1] == pytest.approx(0.5 * heights[0], abs=3)


def test_every_shape_is_in_one_leaf_inside_its_box():
    def build(scene):
        rng = np.random.default_rng(5)
        for x in rng.normal(size=(60, 3)):
            scene.add_sphere(0.1, x)
        for x in rng.normal(size=(40, 3)):
            scene.add_box((0.2, 0.3, 0.4), x, about_axis((1, 2, 3), float(x[0])))

    model = model_of(build, ground=True)
    glass = np.arange(101) % 3 == 0
    found = traced_scene(scene_tables(model), model.q_start, np.zeros((0, 3)), None, glass)
    assert found.planes == 1
    rows = []
    for root, end in ((found.tree, found.glass), (found.glass, len(found.parts))):
        for node in found.parts[root:end]:
            first, count = int(node[7]), int(node[8])
            rows += range(first, first + count)
            for shape in found.shapes[first : first + count]:
                assert (node[:3] <= shape[POSITION : POSITION + 3] - 0.099).all()
                assert (node[3:6] >= shape[POSITION : POSITION + 3] + 0.099).all()
    assert sorted(rows) == list(range(1, 101))
    clear = model.shape_type[np.flatnonzero(glass)[1:]]
    assert sorted(found.shapes[-len(clear) :, 0]) == sorted(clear)


def test_a_picture_is_saved_whole_as_png(tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)
    save_picture(picture, tmp_path / "out.png")
    assert np.array_equal(np.asarray(image.open(tmp_path / "out.png")), picture)
    assert [file.name for file in tmp_path.iterdir()] == ["out.png"]


def test_bad_requests_are_refused(tmp_path, monkeypatch):
    model = model_of(lambda scene: scene.add_sphere(0.4))
    with pytest.raises(InputError, match="size is 4 x 0"):
        render_frame(model, model.q_start, 4, 0)
    with pytest.raises(InputError, match="samples is 0"):
        render_frame(model, model.q_start, 32, 18, samples=0)
    with pytest.raises(InputError, match="elevation is 90"):
        render_frame(model, model.q_start, 32, 18, elevation=90)
    with pytest.raises(InputError, match="zoom is 0"):
        render_frame(model, model.q_start, 32, 18, zoom=0)
    with pytest.raises(InputError, match="q has shape"):
        render_frame(model, model.q_start[:0], 32, 18)
    picture = np.zeros((8, 8, 3), dtype=np.uint8)
    with pytest.raises(FileError, match="cannot write"):
        save_picture(picture, tmp_path / "missing" / "out.png")
    with pytest.raises(FileError, match=r"ends in \.png"):
        save_picture(picture, tmp_path / "out.gif")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingDependencyError, match=r"stickslip\[view\]"):
        save_picture(picture, tmp_path / "out.png")
    assert list(tmp_path.iterdir()) == []


def test_importing_the_function_loads_no_ray_tracer():
    code = "import sys, stickslip.view.picture.picture; assert 'stickslip.view.picture.ray_tracer' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
