"""Nodes on faces and crossing edges of soft surfaces: where, how far, which way, and what is left alone."""

import numpy as np
import pytest

from stickslip.collision.surfaces.feature_pairs import FeaturePairs
from stickslip.collision.surfaces.moving_surfaces import MovingSurfaces, fit_boxes, moving_surfaces, near_items, placed
from stickslip.collision.surfaces.soft_surfaces import CORNER, crossing_edges, nodes_on_faces
from stickslip.geometry.tet_generators import box, sphere
from stickslip.geometry.tet_mesh import TetMesh

Z = np.array([0.0, 0.0, 1.0])


def joined(*meshes: TetMesh) -> tuple[MovingSurfaces, np.ndarray]:
    """Surfaces of several meshes as bodies, and their nodes as they are in the meshes."""
    start = np.cumsum([0, *(len(mesh.nodes) for mesh in meshes)])
    triangles = [mesh.surface + np.int32(first) for mesh, first in zip(meshes, start, strict=False)]
    nodes = np.concatenate([mesh.nodes for mesh in meshes])
    body = np.repeat(np.arange(len(meshes)), [len(each) for each in triangles])
    node_body = np.repeat(np.arange(len(meshes)), np.diff(start))
    return moving_surfaces(np.concatenate(triangles), body, node_body, len(meshes), nodes), nodes


def found(
    surfaces: MovingSurfaces, x: np.ndarray, margin: float, motion: np.ndarray | None = None, own: bool = False
) -> tuple[FeaturePairs, FeaturePairs]:
    """Contacts of nodes and of edges between bodies, or within each with ``own``."""
    motion = np.zeros_like(x) if motion is None else motion
    count = len(surfaces.points.start) - 1
    wanted = np.eye(count, dtype=bool) if own else ~np.eye(count, dtype=bool)
    at = placed(surfaces.triangles, x)
    boxes = fit_boxes(surfaces, at, motion, margin)
    points, lines = near_items(surfaces, boxes, wanted)
    return (
        nodes_on_faces(surfaces, at, motion, margin, points),
        crossing_edges(surfaces, at, motion, margin, lines),
    )


def places(pairs: FeaturePairs, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on a and on b."""
    on_a = np.einsum("ck,ckj->cj", pairs.values[:, :3], x[pairs.ids[:, 2:5]])
    return on_a, np.einsum("ck,ckj->cj", pairs.values[:, 3:6], x[pairs.ids[:, 5:8]])


def turned(angle: float, axis: int = 2) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


@pytest.mark.parametrize("gap", [2e-4, 0.0, -2e-4])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.013, 0.007), (1e-9, 0.0), (0.05, 0.05)])
def test_boxes_on_top_of_each_other(gap: float, shift: tuple[float, float]) -> None:
    surfaces, x = joined(box((0.2, 0.2, 0.2), 2), box((0.2, 0.2, 0.2), 3))
    lower = len(box((0.2, 0.2, 0.2), 2).nodes)
    x[lower:] += (*shift, 0.2 + gap)
    nodes, _ = found(surfaces, x, 5e-4)
    ids, values = nodes
    np.testing.assert_allclose(values[:, 9], gap, atol=1e-12)
    side = np.where(surfaces.triangle_body[ids[:, 0]] == 0, 1.0, -1.0)
    np.testing.assert_allclose(values[:, 6:9], side[:, None] * Z, atol=1e-5)
    np.testing.assert_allclose(values[:, :3].sum(axis=1), 1.0, atol=1e-14)
    on_a, on_b = places(nodes, x)
    np.testing.assert_allclose(on_b - on_a, values[:, 9:] * values[:, 6:9], atol=2e-9)
    # every node above or below the other box has exactly one contact, but coincident nodes share one
    inside = [
        i
        for i in range(len(x))
        if abs(x[i, 2] - 0.1 - (gap if i >= lower else 0.0)) < 1e-9
        and (np.abs(x[i, :2] - (0.0 if i >= lower else np.array(shift))) < 0.1 + 1e-6).all()
    ]
    touched = set(ids[:, 5].tolist())
    single = values[:, :3].max(axis=1) > 1.0 - CORNER
    touched |= {int(row[2 + k]) for row, k in zip(ids[single], values[single, :3].argmax(axis=1), strict=True)}
    assert touched == set(inside)
    assert len(np.unique(ids[:, 5])) == len(ids)


def test_boxes_crosswise_touch_in_edges() -> None:
    """One cell each, turned by 45 degrees: the corners stand over, so that only edges hold them apart, and faces."""
    surfaces, x = joined(box((0.2, 0.2, 0.2), 1), box((0.2, 0.2, 0.2), 1))
    for gap in (1e-4, -1e-3):
        y = x.copy()
        y[8:] = y[8:] @ turned(np.pi / 4).T + (0.0, 0.0, 0.2 + gap)
        nodes, edges = found(surfaces, y, 5e-4)
        assert len(nodes.ids) == 0
        assert len(edges.ids) == 8
        np.testing.assert_allclose(edges.values[:, 6:9], np.tile(Z, (8, 1)), atol=1e-12)
        np.testing.assert_allclose(edges.values[:, 9], gap, atol=1e-12)
        on_a, on_b = places(edges, y)
        np.testing.assert_allclose(on_b - on_a, gap * edges.values[:, 6:9], atol=1e-12)
        inward, outward = 0.1, 0.1 * (np.sqrt(2.0) - 1.0)
        np.testing.assert_allclose(np.sort(np.abs(on_a[:, :2]), axis=1), np.tile([outward, inward], (8, 1)), atol=1e-9)


def test_edges_that_lie_across() -> None:
    """Two bars crosswise, one on the ridge of the other."""
    surfaces, x = joined(box((1.0, 0.1, 0.1), 1), box((0.1, 1.0, 0.1), 1))
    x[:8] = x[:8] @ turned(np.pi / 4, 0).T
    x[8:] = x[8:] @ turned(np.pi / 4, 1).T
    x[8:, 2] += 0.1 * np.sqrt(2.0) + 1e-3
    nodes, edges = found(surfaces, x, 2e-3)
    assert len(nodes.ids) == 0
    assert len(edges.ids) == 1
    np.testing.assert_allclose(edges.values[0, 6:], [0.0, 0.0, 1.0, 1e-3], atol=1e-12)
    np.testing.assert_allclose(edges.values[0, :6], [0.5, 0.5, 0.0, 0.5, 0.5, 0.0], atol=1e-12)


def test_nodes_on_corners_and_edges_of_faces() -> None:
    """A small box beside the edge of a large one: the normal points from the edge to the node."""
    surfaces, x = joined(box((0.2, 0.2, 0.2), 1), box((0.02, 0.02, 0.02), 1))
    down = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    y = x.copy()
    y[8:] = y[8:] @ turned(-np.pi / 4, 1).T + (0.1, 0.0, 0.1) + (0.01 + 1e-3) * down
    nodes, _ = found(surfaces, y, 2e-3)
    # the face of the small box lies over the edge, no node is near: nodes of the large one are far away, too
    assert len(nodes.ids) == 0
    # a corner of the small box against the edge
    R = turned(np.arccos(1.0 / np.sqrt(3.0)), 0) @ turned(np.pi / 4)
    y = x.copy()
    tip = R @ np.array([0.01, 0.01, 0.01])
    assert np.linalg.norm(tip) == pytest.approx(0.01 * np.sqrt(3.0))
    corner = np.argmin(x[8:] @ R.T @ down)
    y[8:] = x[8:] @ R.T
    y[8:] += (0.1, 0.0, 0.1) + 1e-3 * down - y[8 + corner]
    nodes, _ = found(surfaces, y, 1.2e-3)
    assert 8 + corner in nodes.ids[:, 5]
    row = nodes.values[nodes.ids[:, 5] == 8 + corner][0]
    np.testing.assert_allclose(row[6:9], down, atol=1e-9)
    assert row[9] == pytest.approx(1e-3, rel=1e-9)


def test_far_side_of_a_thin_sheet_is_left_alone() -> None:
    """Two sheets of one layer: only the sides that face each other touch, however far the search looks."""
    sheet = box((1.0, 1.0, 0.01), (6, 6, 1))
    surfaces, x = joined(sheet, sheet)
    n = len(sheet.nodes)
    x[n:] += (0.03, 0.05, 0.03)
    motion = np.zeros_like(x)
    motion[n:, 2] = -0.1
    nodes, _ = found(surfaces, x, 1e-3, motion)
    for node in nodes.ids[:, 5]:
        assert x[node, 2] == pytest.approx(0.005 if node < n else 0.025)
    above = nodes.values[(nodes.values[:, :3] > 0.0).all(axis=1)]
    assert len(above) == 72
    np.testing.assert_allclose(above[:, 9], 0.02, atol=1e-12)
    # the same after the sheets passed into each other: pushed back to where they came from
    x[n:, 2] -= 0.024
    nodes, _ = found(surfaces, x, 1e-3)
    np.testing.assert_allclose(nodes.values[:, 9], -0.004, atol=1e-12)


def test_balls_touch_where_they_are_closest() -> None:
    ball = sphere(0.5, 6)
    surfaces, x = joined(ball, ball)
    n = len(ball.nodes)
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        y = x.copy()
        y[n:] = y[n:] @ turned(rng.uniform(0, 3)).T + 0.985 * way
        nodes, edges = found(surfaces, y, 2e-3)
        assert len(nodes.ids) > 0
        for pairs in (nodes, edges):
            a_first = surfaces.node_body[pairs.ids[:, 2]] == 0
            side = np.where(a_first, 1.0, -1.0)
            assert (side * (pairs.values[:, 6:9] @ way) > 0.9).all()
            on_a, on_b = places(pairs, y)
            gap = np.einsum("ci,ci->c", on_b - on_a, pairs.values[:, 6:9])
            np.testing.assert_allclose(gap, pairs.values[:, 9], atol=1e-10)


@pytest.mark.parametrize("divisions", [2, 5, 9])
def test_nothing_touches_itself_at_rest(divisions: int) -> None:
    for mesh in (sphere(0.5, divisions), box((1.0, 0.5, 0.1), (4 * divisions, 2 * divisions, 1))):
        surfaces, x = joined(mesh)
        rng = np.random.default_rng(1)
        for motion in (np.zeros_like(x), rng.normal(scale=0.05, size=x.shape)):
            nodes, edges = found(surfaces, x, 0.02, motion, own=True)
            assert len(nodes.ids) == 0
            assert len(edges.ids) == 0


def folded(x: np.ndarray, radius: float, length: float) -> np.ndarray:
    """A strip along x bent by half a turn about the y axis in its middle, its upper side inwards."""
    s, z = x[:, 0], x[:, 2]
    bend = np.pi * radius
    angle = np.clip((s + 0.5 * bend) / bend, 0.0, 1.0) * np.pi
    before, after = np.minimum(s + 0.5 * bend, 0.0), np.maximum(s - 0.5 * bend, 0.0)
    r = radius - z
    return np.column_stack([np.sin(angle) * r + before - after, x[:, 1], radius - np.cos(angle) * r])


def test_folded_strip_touches_itself() -> None:
    strip = box((1.0, 0.1, 0.01), (60, 4, 1))
    surfaces, x = joined(strip)
    radius = 0.02
    for shut in (2e-4, -2e-4):
        y = folded(x, radius, 1.0)
        # shut the straight parts: from a distance of 2 (radius - half the thickness) to the wanted gap
        flat = (np.abs(x[:, 0]) > 0.25) & (y[:, 2] > radius)
        y[flat, 2] -= 2.0 * (radius - 0.005) - shut
        nodes, _ = found(surfaces, y, 5e-4, own=True)
        good = np.abs(nodes.values[:, 8]) > 0.99
        assert good.sum() > 50
        assert (x[nodes.ids[:, 5], 2][good] > 0.0).all()
        assert np.median(nodes.values[good, 9]) == pytest.approx(shut, abs=1e-9)


def test_slit_closes() -> None:
    """Walls across a narrow slit touch although they are nearer to each other than their elements are large."""
    u = box((0.51, 0.1, 0.2), (51, 1, 4))
    middle = u.nodes[u.tets].mean(axis=1)
    kept = ~((np.abs(middle[:, 0]) < 0.005) & (middle[:, 2] > -0.05))
    used = np.unique(u.tets[kept])
    number = np.zeros(len(u.nodes), np.int32)
    number[used] = np.arange(len(used))
    surfaces, x = joined(TetMesh(u.nodes[used], number[u.tets[kept]]))
    motion = np.zeros_like(x)
    motion[:, 0] = -0.02 * np.sign(x[:, 0])
    nodes, _ = found(surfaces, x, 1e-3, motion, own=True)
    across = np.abs(nodes.values[:, 6]) > 0.99
    assert across.sum() == 6  # nodes across the slit have one contact together
    np.testing.assert_allclose(nodes.values[across, 9], 0.01, atol=1e-12)


def test_keys_stay_under_small_motion() -> None:
    surfaces, x = joined(box((0.2, 0.2, 0.2), 3), sphere(0.1, 4))
    n = len(box((0.2, 0.2, 0.2), 3).nodes)
    x[n:] += (0.01, 0.017, 0.2 - 2e-3)
    first, _ = found(surfaces, x, 1e-3)
    rng = np.random.default_rng(2)
    again, _ = found(surfaces, x + rng.normal(scale=1e-9, size=x.shape), 1e-3)
    assert len(first.ids) > 0
    np.testing.assert_array_equal(first.ids, again.ids)
    np.testing.assert_allclose(first.values, again.values, atol=1e-6)
