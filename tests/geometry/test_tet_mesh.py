"""Tetrahedral meshes: what is refused and with which indices; surface, pieces, quality, placing and joining."""

import time

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis
from stickslip.geometry.tet_generators import box, sphere
from stickslip.geometry.tet_mesh import TetMesh, edges_of, merged, without_unused
from stickslip.geometry.triangle_mesh import mass_of

CORNER = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=np.float64)
ONE = np.array([(0, 1, 2, 3)])


def two() -> tuple[np.ndarray, np.ndarray]:
    """Two elements on the two sides of the face 1, 2, 3."""
    return np.vstack([CORNER, (1, 1, 1)]), np.array([(0, 1, 2, 3), (4, 2, 1, 3)])


def test_the_smallest_mesh() -> None:
    mesh = TetMesh(CORNER, ONE)
    assert mesh.volumes == pytest.approx([1 / 6])
    assert mesh.tets.dtype == np.int32
    assert mesh.nodes.flags.c_contiguous
    assert len(mesh.surface) == 4
    assert mesh.piece_count == 1
    volume, centre, _ = mass_of(mesh.nodes, mesh.surface)  # positive: the surface faces outwards
    assert volume == pytest.approx(1 / 6)
    assert centre == pytest.approx([0.25] * 3)


@pytest.mark.parametrize(
    ("nodes", "tets", "message"),
    [
        ("abc", ONE, "numbers are needed"),
        (CORNER[:, :2], ONE, r"nodes have shape \(4, 2\)"),
        (CORNER, [[0, 1, 2]], r"tets have shape \(1, 3\)"),
        (CORNER, np.empty((0, 4), int), "no elements"),
        (CORNER, [[0, 1, 2, 2.5]], "whole numbers"),
        (np.where(CORNER == 1, np.nan, CORNER), ONE, r"nodes 1, 2, 3 are not finite"),
        (CORNER, [[0, 1, 2, 4]], r"element 0 is naming nodes that do not exist, .* 0 to 3"),
        (CORNER, [[0, 1, 2, -1]], "element 0 is naming nodes that do not exist"),
        (CORNER, [[0, 1, 2, 3], [0, 1, 1, 3]], r"element 1 is naming a node twice, the first is \[0, 1, 1, 3\]"),
        (CORNER, [[0, 1, 2, 3], [2, 0, 1, 3], [0, 1, 2, 3]], "elements 1, 2 are duplicates"),
        (np.vstack([CORNER, (5, 6, 7), (8, 9, 10)]), ONE, r"nodes 4, 5 are dangling, .* at \(5, 6, 7\)"),
        (CORNER, [[0, 2, 1, 3]], "all 1 elements are inverted"),
        (two()[0], [[0, 1, 2, 3], [4, 1, 2, 3]], r"element 1 is inverted or flat, .* volume of -0\.333 m\^3"),
        (CORNER * (1, 1, 1e-10), ONE, "element 0 is inverted or flat"),
    ],
)  # fmt: skip
def test_what_is_refused(nodes: object, tets: object, message: str) -> None:
    with pytest.raises(InputError, match=f"plate: .*{message}"):
        TetMesh(nodes, tets, "plate")  # type: ignore[arg-type]


def test_a_long_list_is_cut() -> None:
    mesh = box((1, 1, 1), 3)
    tets = mesh.tets.copy()
    tets[20:60, 2:] = tets[20:60, 3:1:-1]
    with pytest.raises(InputError, match=r"elements 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 and 30 more are inverted"):
        TetMesh(mesh.nodes, tets)


def test_three_elements_at_a_face() -> None:
    nodes, tets = two()
    nodes, tets = np.vstack([nodes, (2, 2, 3)]), np.vstack([tets, (5, 2, 1, 3)])
    with pytest.raises(InputError, match=r"elements 0, 1, 2 are meeting at faces of three .* nodes \[1, 2, 3\]"):
        TetMesh(nodes, tets)


def test_overlapping_elements() -> None:
    with pytest.raises(InputError, match="elements 0, 1 are on the same side of a face they share"):
        TetMesh(np.vstack([CORNER, (-1, -1, -1)]), [(0, 1, 2, 3), (4, 1, 2, 3)])  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", [(0,), (0, 1)], ids=["node", "edge"])
def test_elements_that_hang_by_a_node_or_an_edge(kept: tuple[int, ...]) -> None:
    mesh = box((1, 1, 1), 2)
    last = len(mesh.nodes)
    far = CORNER * 0.1 + (0.5, 0.5, 0.5) if len(kept) == 1 else CORNER[[0, 3, 1, 2]] * 0.1 + (0.5, 0.5, 0.5)
    nodes = np.vstack([mesh.nodes, far[len(kept) :]])
    corner = int(mesh.nodes_where(lambda x: (x > 0.49).all(axis=1))[0])
    ends = [corner]
    if len(kept) == 2:
        ends.append(int(mesh.nodes_where(lambda x: (x > (0.49, 0.49, -0.01)).all(axis=1) & (x[:, 2] < 0.1))[0]))
    hanging = np.array([[*ends, *range(last, last + 4 - len(kept))]])
    tets = np.vstack([hanging, mesh.tets])  # first, to see that the larger part is taken for the body
    if np.linalg.det(nodes[hanging[0, 1:]] - nodes[hanging[0, 0]]) < 0:
        tets[0, 2:] = tets[0, 3:1:-1]
    with pytest.raises(InputError, match="element 0 is dangling, joined to the rest by a node or an edge"):
        TetMesh(nodes, tets)


def test_pieces_and_merging() -> None:
    one, other = box((1, 1, 1), 1), sphere(0.5, 2).transformed(position=(3, 0, 0))
    mesh = merged([one, other, one.transformed((0, 5, 0))])
    assert mesh.piece_count == 3
    assert np.array_equal(mesh.piece, [0] * 6 + [1] * 160 + [2] * 6)
    assert mesh.volume == pytest.approx(2 + other.volume)
    assert mesh.quality().euler == 6
    with pytest.raises(InputError, match="no meshes to merge"):
        merged([])


def test_unused_nodes_can_be_left_out() -> None:
    nodes, tets = without_unused(np.vstack([(9, 9, 9), CORNER[:2], (8, 8, 8), CORNER[2:]]), [[1, 2, 4, 5]])
    assert np.array_equal(nodes, CORNER)
    assert np.array_equal(tets, ONE)


def test_transformed() -> None:
    mesh = box((1, 2, 3), 1)
    moved = mesh.transformed(position=(10, 0, 0), rotation=about_axis((0, 0, 1), np.pi / 2), scale=2.0)
    assert moved.nodes.min(axis=0) == pytest.approx([8, -1, -3])
    assert moved.nodes.max(axis=0) == pytest.approx([12, 1, 3])
    assert mesh.transformed(scale=(1, 2, 3)).volume == pytest.approx(36)
    with pytest.raises(InputError, match=r"box: scale\.y is -1\.0; it must be positive"):
        mesh.transformed(scale=(1, -1, 1))


def test_choosing_nodes() -> None:
    mesh = box((1, 2, 3), (1, 2, 3))
    assert np.array_equal(mesh.nodes_on_plane("z", -1.5), np.arange(6))
    assert len(mesh.nodes_on_plane("x", 0.45, tolerance=0.1)) == 12
    assert np.array_equal(mesh.nodes_where(lambda x: x[:, 2] < -1.4), np.arange(6))
    with pytest.raises(InputError, match="axis is 'w'"):
        mesh.nodes_on_plane("w", 0.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"gave float64 of shape \(24, 3\)"):
        mesh.nodes_where(lambda x: x)


def test_quality_of_known_elements() -> None:
    regular = TetMesh([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], [(0, 2, 1, 3)]).quality()  # type: ignore[arg-type]
    assert regular.mean_ratio == pytest.approx([1.0])
    assert np.cos([regular.smallest_angle[0], regular.largest_angle[0]]) == pytest.approx([1 / 3, 1 / 3])
    corner = TetMesh(CORNER, ONE).quality()
    assert corner.mean_ratio == pytest.approx([12 * 0.5 ** (2 / 3) / 9])
    assert np.degrees(corner.largest_angle) == pytest.approx([90.0])
    assert np.degrees(corner.smallest_angle) == pytest.approx([54.7356], abs=1e-3)
    assert np.sort(corner.edge_lengths) == pytest.approx([1] * 3 + [2**0.5] * 3)


def test_report() -> None:
    mesh = sphere(0.1, 3)
    report = mesh.quality()
    assert report.histogram.sum() == 540
    assert report.mean_ratio[report.worst[0]] == report.mean_ratio.min()
    table = str(report)
    assert table.startswith("540 elements, 147 nodes, 180 surface triangles, 1 piece\n")
    assert f"worst         {report.worst[0]} (" in table


def test_a_mesh_that_touches_itself_is_reported() -> None:
    # without two cells that meet at an edge: all joined by faces, yet four triangles at that edge
    mesh = box((3, 3, 1), (3, 3, 1))
    cell = np.repeat(np.arange(9), 6)
    pinched = TetMesh(*without_unused(mesh.nodes, mesh.tets[~np.isin(cell, (0, 4))])).quality()
    assert len(pinched.pinched) == 1
    assert "touches itself at 1 edges" in str(pinched)


def test_surface_is_closed_and_faces_outwards() -> None:
    mesh = sphere(0.3, 3)
    assert mass_of(mesh.nodes, mesh.surface)[0] == pytest.approx(mesh.volume)
    edges, sides = edges_of(mesh.surface)
    assert (sides >= 0).all()
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(edges) == 3 * len(mesh.surface) // 2
    for edge, side in zip(edges[::17], sides[::17], strict=True):
        assert set(edge) <= set(mesh.surface[side[0]]) & set(mesh.surface[side[1]])
    assert len(mesh.surface_nodes) == 92
    assert np.linalg.norm(mesh.nodes[mesh.surface_nodes], axis=1) == pytest.approx(np.full(92, 0.3))


def test_edges_of_an_open_surface() -> None:
    edges, sides = edges_of(np.array([(0, 1, 2), (2, 1, 3)], dtype=np.int32))
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert sides.tolist() == [[0, -1], [0, -1], [0, 1], [1, -1], [1, -1]]


@pytest.mark.slow
def test_a_million_elements_are_checked_in_seconds() -> None:
    mesh = box((1, 1, 1), 55)
    start = time.process_time()
    TetMesh(mesh.nodes, mesh.tets)
    assert time.process_time() - start < 15.0  # 1.5 s on a core of its own
