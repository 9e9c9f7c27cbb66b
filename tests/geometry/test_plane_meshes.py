"""Discs of crossed quadrilaterals."""

import math

import numpy as np
import pytest
from scipy.spatial import cKDTree

from stickslip.errors import InputError
from stickslip.geometry.plane_meshes import crossed_disc


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("layers", [1, 2])
def test_counts_volume_and_symmetry(n: int, layers: int):
    mesh, m = crossed_disc(0.2, 0.03, n, layers), (n + 1) // 2
    assert len(mesh.nodes) == (2 * n * n + 2 * n + 1 + 8 * n * m) * (layers + 1)
    assert len(mesh.tets) == 12 * (n * n + 4 * n * m) * layers
    assert (mesh.volumes > 0.0).all()
    polygon = 2 * n * math.sin(2.0 * math.pi / (4 * n)) * 0.2**2  # regular, of 4 n corners
    assert mesh.volume == pytest.approx(0.03 * polygon, rel=1e-12)
    plane = cKDTree(mesh.nodes[:, :2])
    for mirror in ([-1, 1], [1, -1]):
        assert plane.query(mesh.nodes[:, :2] * mirror)[0].max() < 1e-15


@pytest.mark.parametrize(("n", "on_node"), [(4, True), (5, False)])
def test_even_discs_stand_on_a_node_and_odd_ones_on_an_edge(n: int, on_node: bool):
    mesh = crossed_disc(0.2, 0.03, n)
    lowest = mesh.nodes[mesh.nodes[:, 1] < mesh.nodes[:, 1].min() + 1e-12]
    assert len(lowest) == (2 if on_node else 4)
    assert np.all(np.abs(lowest[:, 0]) < 1e-12) == on_node


def test_wrong_sizes_are_refused():
    with pytest.raises(InputError, match="divisions is 0"):
        crossed_disc(0.2, 0.03, 0)
    with pytest.raises(InputError, match="radius"):
        crossed_disc(-0.2, 0.03, 2)
