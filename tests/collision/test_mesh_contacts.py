"""Contacts of meshes: against closed forms, against boxes, in concave places, and how few of them there are."""

from collections.abc import Callable

import numpy as np
import pytest

from stickslip import Body, Scene, Simulation
from stickslip.collision.contacts import Contacts
from stickslip.collision.rigid_contacts import find_contacts
from stickslip.geometry.generators import surface_of_revolution
from stickslip.geometry.mesh_shapes import BOX_TRIANGLES
from stickslip.model.model import compile_scene

CUBE = 0.1 * np.array([[1.0 if i >> k & 1 else -1.0 for k in range(3)] for i in range(8)])
GLASS = surface_of_revolution([(0, 0), (0.5, 0), (0.5, 1), (0.47, 1), (0.47, 0.03), (0, 0.03)], 24)


def contacts_of(scene: Scene, reach: float = 1e-3) -> Contacts:
    """Contacts at the start, with half of ``reach`` [m] for each body."""
    model = compile_scene(scene)
    return find_contacts(model, model.q_start, np.full(model.body_count, 0.5 * reach))


def tray(
    half: float = 0.2, inner: float = 0.15, height: float = 0.2, floor: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """A square box without lid: outer half width, inner half width, height and thickness of its floor [m]."""
    corner = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    levels = ((half, 0.0), (half, height), (inner, height), (inner, floor))
    vertices = np.array([(*(w * c), z) for w, z in levels for c in corner])
    triangles = [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]
    for ring in (0, 4, 8):
        for i in range(4):
            j = (i + 1) % 4
            triangles += [(ring + i, ring + j, ring + 4 + j), (ring + i, ring + 4 + j, ring + 4 + i)]
    return vertices, np.array(triangles)


def turned(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def test_cube_on_half_space_is_exact() -> None:
    scene = Scene()
    scene.add_half_space()
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0.3, 0.2, 0.1 - 1e-4), (np.cos(0.3), 0, 0, np.sin(0.3)))
    found = contacts_of(scene)
    assert len(found) == 4
    np.testing.assert_allclose(found.gap, -1e-4, atol=1e-15)
    np.testing.assert_array_equal(found.normal, np.tile((0.0, 0.0, 1.0), (4, 1)))


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.1, 0.0), (0.05, 0.02), (1e-9, -1e-8), (-0.04, 1e-12)])
@pytest.mark.parametrize("upper", ["mesh", "box", "hull"])
def test_cube_on_cube_is_the_overlap_polygon(upper: str, shift: tuple[float, float]) -> None:
    scene = Scene()
    scene.add_mesh(CUBE, BOX_TRIANGLES)
    at = (*shift, 0.2 - 1e-5)
    if upper == "mesh":
        scene.add_mesh(CUBE, BOX_TRIANGLES, at)
    elif upper == "box":
        scene.add_box((0.2, 0.2, 0.2), at)
    else:
        scene.add_hull(CUBE, at)
    found = contacts_of(scene)
    assert 4 <= len(found) <= 8
    np.testing.assert_allclose(found.gap, -1e-5, atol=1e-15)
    np.testing.assert_allclose(np.abs(found.normal), np.tile((0.0, 0.0, 1.0), (len(found), 1)), atol=1e-14)
    assert (np.sign(found.normal[:, 2]) == (1 if found.body_a[0] == 0 else -1)).all()
    for low, high, move in zip(found.point.min(axis=0), found.point.max(axis=0), shift, strict=False):
        assert low == pytest.approx(max(-0.1, move - 0.1), abs=1e-6)
        assert high == pytest.approx(min(0.1, move + 0.1), abs=1e-6)


@pytest.mark.parametrize("target", [1e-3, -1e-4])
def test_cubes_agree_with_boxes(target: float) -> None:
    """Deepest gap and its direction, placed so that box against box has the wanted gap."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        qa, qb, way = turned(rng), turned(rng), rng.normal(size=3)
        place = 0.27 * way / np.linalg.norm(way)
        for _ in range(4):  # a few moves along the normal make the gap the wanted one
            boxes = Scene()
            boxes.add_box((0.2, 0.2, 0.2), rotation=qa)
            boxes.add_box((0.2, 0.2, 0.2), place, qb)
            exact = contacts_of(boxes, 1.0)
            k = int(np.argmin(exact.gap))
            place = place + (target - exact.gap[k]) * exact.normal[k]
        exact_gap = contacts_of(boxes, 1.0).gap.min()
        if abs(exact_gap - target) > 1e-9:
            continue  # the feature changed on the way
        scene = Scene()
        scene.add_mesh(CUBE, BOX_TRIANGLES, rotation=qa)
        scene.add_mesh(CUBE, BOX_TRIANGLES, place, qb)
        found = contacts_of(scene, 0.02)
        # of several ways out of equal depth either may come first, so the depth is compared and the best direction
        assert found.gap.min() == pytest.approx(exact_gap, abs=2e-8)
        deepest = found.gap <= found.gap.min() + 1e-8
        assert (found.normal[deepest] @ exact.normal[k]).max() == pytest.approx(1.0, abs=1e-6)


SHAPES: dict[str, Callable[[Scene, np.ndarray, np.ndarray], Body]] = {
    "sphere": lambda scene, x, q: scene.add_sphere(0.06, x, q),
    "capsule": lambda scene, x, q: scene.add_capsule(0.03, 0.1, x, q),
    "cylinder": lambda scene, x, q: scene.add_cylinder(0.04, 0.1, x, q),
    "box": lambda scene, x, q: scene.add_box((0.1, 0.08, 0.06), x, q),
    "hull": lambda scene, x, q: scene.add_hull(0.6 * CUBE * (1.0, 0.8, 0.6), x, q),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_on_a_cube_agree_with_those_on_a_box(name: str) -> None:
    rng = np.random.default_rng(11)
    compared = 0
    for _ in range(60):
        q, way = turned(rng), rng.normal(size=3)
        place = 0.3 * way / np.linalg.norm(way)
        for target in (5e-4, 5e-4, 5e-4, 5e-4):
            scene = Scene()
            scene.add_box((0.2, 0.2, 0.2))
            SHAPES[name](scene, place, q)
            exact = contacts_of(scene, 1.0)
            k = int(np.argmin(exact.gap))
            away = exact.normal[k] if exact.body_a[k] == 0 else -exact.normal[k]
            place = place + (target - exact.gap[k]) * away
        gap = contacts_of(scene, 1.0).gap.min()
        if abs(gap - 5e-4) > 1e-8:
            continue
        scene = Scene()
        scene.add_mesh(CUBE, BOX_TRIANGLES)
        SHAPES[name](scene, place, q)
        found = contacts_of(scene, 0.01)
        tolerance = 1e-7
        assert len(found)
        assert gap - 1e-7 <= found.gap.min() <= gap + tolerance
        compared += 1
    assert compared > 20


def test_ball_in_a_corner_touches_three_faces() -> None:
    scene = Scene()
    scene.add_mesh(*tray(), kind="static")
    scene.add_sphere(0.05, (0.1, 0.1, 0.1))
    found = contacts_of(scene)
    assert len(found) == 3
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-12)
    inward = found.normal[np.lexsort(np.round(found.normal.T, 6))]
    np.testing.assert_allclose(inward, [(0, 0, -1), (1, 0, 0), (0, 1, 0)], atol=1e-12)


def test_ball_inside_a_bowl_rests_at_the_bottom() -> None:
    angle = np.linspace(0.0, 0.5 * np.pi, 13)
    bowl = [(np.sin(a), -np.cos(a)) for a in angle] + [(1.1 * np.sin(a), -1.1 * np.cos(a)) for a in angle[::-1]]
    scene = Scene()
    scene.add_mesh(*surface_of_revolution(bowl, 32), kind="static", friction=0.0)
    ball = scene.add_sphere(0.2, (0.5, 0.1, -0.4), friction=0.0)
    sim = Simulation(scene, dt=0.005)
    for _ in range(500):
        sim.set_velocity(ball, 0.97 * sim.velocity(ball))
        result = sim.step()
    x = sim.position(ball)
    assert np.hypot(x[0], x[1]) < 0.02
    assert x[2] == pytest.approx(-0.8, abs=0.01)
    assert 1 <= len(result.contacts) <= 8
    assert result.certificate.penetration_mm < 1.0


def test_peg_in_a_hole() -> None:
    scene = Scene()
    scene.add_mesh(*tray(), kind="static")
    scene.add_mesh(1.4 * CUBE * (1.0, 1.0, 2.0), BOX_TRIANGLES, (0.005, 0.0, 0.05 + 0.28 + 1e-4))
    found = contacts_of(scene, 0.02)
    assert len(found) <= 16
    normals = np.unique(np.round(found.normal, 9) + 0.0, axis=0)
    expected = [(-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    np.testing.assert_allclose(normals, expected, atol=1e-12)
    for normal, gap in (
        ((-1, 0, 0), 0.005),
        ((1, 0, 0), 0.015),
        ((0, 1, 0), 0.01),
        ((0, -1, 0), 0.01),
        ((0, 0, 1), 1e-4),
    ):
        same = found.normal @ np.array(normal) > 0.9
        np.testing.assert_allclose(found.gap[same], gap, atol=1e-12)


@pytest.mark.parametrize("depth", [0.001, 0.012, 0.018])
@pytest.mark.parametrize("inside", [False, True])
def test_thin_wall_pushes_to_the_side_it_came_from(inside: bool, depth: float) -> None:
    """The wall is 0.03 thick; a corner beyond its middle is nearer to the other side."""
    apothem = np.cos(np.pi / 24)
    scene = Scene()
    half = np.pi / 24  # a flat of the 24 sides faces +x
    scene.add_mesh(*GLASS, rotation=(np.cos(half / 2), 0, 0, np.sin(half / 2)), kind="static")
    surface = (0.47 if inside else 0.5) * apothem
    x = surface - 0.1 + depth if inside else surface + 0.1 - depth
    # small enough to touch one flat only
    scene.add_mesh(CUBE * (1.0, 0.1, 0.1), BOX_TRIANGLES, (x, 0.0, 0.5))
    found = contacts_of(scene)
    assert len(found) >= 4
    outward = -1.0 if inside else 1.0
    np.testing.assert_allclose(found.normal, np.tile((outward, 0.0, 0.0), (len(found), 1)), atol=1e-9)
    np.testing.assert_allclose(found.gap, -depth, atol=1e-9)


def test_crossed_edges_meet_in_one_point() -> None:
    quarter = np.pi / 8
    scene = Scene()
    scene.add_mesh(CUBE, BOX_TRIANGLES, rotation=(np.cos(quarter), np.sin(quarter), 0, 0))
    top = 0.2 * np.sqrt(2.0) - 1e-3
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0.03, 0.02, top), (np.cos(quarter), 0, np.sin(quarter), 0))
    found = contacts_of(scene)
    assert len(found) == 1
    assert found.gap[0] == pytest.approx(-1e-3, abs=1e-14)
    np.testing.assert_allclose(found.normal[0], (0, 0, 1), atol=1e-14)
    np.testing.assert_allclose(found.point[0, :2], (0.03, 0.0), atol=1e-14)


def test_swapped_bodies_have_the_same_contacts() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        qa, qb, x = turned(rng), turned(rng), rng.uniform(-0.5, 0.5, 3) + (0.5, 0.0, 0.5)
        results = []
        for order in (0, 1):
            scene = Scene()
            for which in (order, 1 - order):
                if which == 0:
                    scene.add_mesh(*GLASS, rotation=qa)
                else:
                    scene.add_mesh(3.0 * CUBE, BOX_TRIANGLES, x, qb)
            found = contacts_of(scene, 0.02)
            flip = 1.0 - 2.0 * order
            rows = np.column_stack([found.point, flip * found.normal, found.gap])
            results.append(rows[np.lexsort(np.round(rows, 9).T)])
        if len(results[0]) < 16:  # a full set is thinned out in the order of the bodies
            np.testing.assert_allclose(results[0], results[1], atol=1e-9)


def test_ids_stay_with_their_contacts() -> None:
    def keys(lift: float) -> tuple[np.ndarray, np.ndarray]:
        scene = Scene()
        scene.add_mesh(*tray(), kind="static")
        scene.add_mesh(CUBE, BOX_TRIANGLES, (0.01 + lift, 0.02, 0.15 + lift), (1.0, 1e-3 * lift, 0, 0.1))
        found = contacts_of(scene)
        return found.key, found.point

    before, after = keys(0.0), keys(1e-6)
    assert len(np.unique(before[0])) == len(before[0]) > 3
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_allclose(before[1], after[1], atol=1e-5)


def test_many_vertices_are_thinned_out_and_the_corners_stay() -> None:
    n = 15
    line = np.linspace(-0.5, 0.5, n)
    x, y = np.meshgrid(line, line, indexing="ij")
    flat = np.column_stack([x.ravel(), y.ravel()])
    vertices = np.concatenate([np.column_stack([flat, np.zeros(n * n)]), np.column_stack([flat, np.full(n * n, 0.1)])])
    quads = [
        (i * n + j, i * n + j + 1, (i + 1) * n + j + 1, (i + 1) * n + j) for i in range(n - 1) for j in range(n - 1)
    ]
    rim = [i * n for i in range(n)] + [(n - 1) * n + j for j in range(1, n)]
    rim += [i * n + n - 1 for i in range(n - 2, -1, -1)] + list(range(n - 2, 0, -1))
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    triangles += [(i + n * n, k + n * n, j + n * n) for i, j, k in triangles]
    for i, j in zip(rim, rim[1:] + rim[:1], strict=True):
        triangles += [(i, j, j + n * n), (i, j + n * n, i + n * n)]
    scene = Scene()
    scene.add_half_space()
    scene.add_mesh(vertices, triangles)
    found = contacts_of(scene)
    assert len(found) == 16
    corners = np.abs(found.point[:, :2]).min(axis=1) > 0.499
    assert corners.sum() == 4


def test_stack_of_cubes_stands_without_drift() -> None:
    scene = Scene()
    scene.add_half_space(friction=0.5)
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0.0, 0.0, 0.1), friction=0.5)
    scene.add_mesh(CUBE, BOX_TRIANGLES, (0.03, 0.01, 0.3), friction=0.5)
    scene.add_box((0.2, 0.2, 0.2), (0.03, 0.01, 0.5), friction=0.5)
    sim = Simulation(scene, dt=0.004)
    start = sim.state.body_pose.copy()
    sim.run(200)
    assert sim.last is not None
    np.testing.assert_allclose(sim.state.body_pose, start, atol=1e-12)
    assert len(sim.last.contacts) == 12


def test_runs_are_the_same_bits() -> None:
    def run() -> np.ndarray:
        scene = Scene()
        scene.add_half_space()
        scene.add_mesh(*tray(), position=(0.0, 0.0, 0.05), kind="static")
        for i in range(3):
            scene.add_mesh(0.5 * CUBE, BOX_TRIANGLES, (0.02 * i, 0.01, 0.2 + 0.12 * i), (1.0, 0.2, 0.1 * i, 0.0))
        sim = Simulation(scene, dt=0.004)
        sim.run(60)
        return sim.state.body_pose

    np.testing.assert_array_equal(run(), run())
