"""The general convex narrow phase against coal and the support functions, and on degenerate input."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from convex_placing import (
    COMPILED,
    NAMES,
    NONE,
    PAIRS,
    TYPES,
    Placing,
    block,
    contacts,
    finite,
    gap_along,
    pair,
    random_placing,
    random_rotations,
)

from stickslip.arrays import Array
from stickslip.geometry.hull import polyhedron
from stickslip.geometry.shapes import BOX, CAPSULE, CYLINDER, HULL, SPHERE

MANY = 1000 if COMPILED else 5


def coal_distance(placing: Placing, i: int) -> tuple[float, Array]:
    """Signed distance and normal of pair i by coal."""
    coal = pytest.importorskip("coal")

    def shape(s: int):
        r, half, _ = placing.size[s]
        kind = placing.types[s % 2]
        if kind == SPHERE:
            return coal.Sphere(r)
        if kind == CAPSULE:
            return coal.Capsule(r, 2.0 * half)
        if kind == BOX:
            return coal.Box(*(2.0 * placing.size[s]))
        if kind == CYLINDER:
            return coal.Cylinder(r, 2.0 * half)
        points = coal.StdVec_Vec3s()
        for vertex in placing.hulls[placing.hull_of[s]].vertices:
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, "Qt")

    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    pose = [coal.Transform3s(placing.rotation[s], placing.position[s]) for s in (2 * i, 2 * i + 1)]
    distance = coal.distance(shape(2 * i), pose[0], shape(2 * i + 1), pose[1], request, result)
    return distance, np.array(result.normal)


@pytest.mark.parametrize("types", PAIRS, ids=NAMES)
def test_signed_distance_agrees_with_coal(types):
    """Ours within 1e-6 of coal's; where they differ, ours must be the true gap along our normal and the larger.

    coal's EPA stops early on some deeply overlapping cylinders; a larger gap along an actual axis proves it wrong,
    since the signed distance is the maximum over all axes.
    """
    rng = np.random.default_rng(100 * types[0] + types[1])
    placing = random_placing(rng, types, MANY)
    normals = differ = 0
    for i, found in enumerate(contacts(placing)):
        assert len(found.gap) > 0
        ours, n = found.gap.min(), found.normal[0]
        assert finite(found)
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-14)
        assert ((found.feature >= 0) & (found.feature <= 65535)).all()
        assert len(set(found.feature.tolist())) == len(found.feature)
        theirs, m = coal_distance(placing, i)
        if abs(theirs) > 1e6:  # coal gave up
            theirs = -np.inf
        if ours <= theirs + 1e-6:
            assert ours == pytest.approx(theirs, abs=1e-6)
            if abs(ours) > 1e-3:
                normals += n @ m > 1.0 - 1e-6
        else:
            differ += 1
            assert CYLINDER in types, "coal is exact for polytopes"
            assert theirs < 0.0, "and for what is apart"
            assert ours == pytest.approx(gap_along(placing, i, n[None])[0], abs=1e-9)
    if COMPILED:  # few pairs are no statistics
        assert normals > 0.85 * MANY
        assert differ < 0.12 * MANY


@pytest.mark.parametrize("other", TYPES, ids=TYPES.values())
def test_no_sampled_axis_separates_overlapping_cylinders_further(other):
    """The signed distance is the largest gap over all axes: none of many random ones and their neighbours beats it."""
    types = (min(other, CYLINDER), max(other, CYLINDER))
    rng = np.random.default_rng(7 + other)
    placing = random_placing(rng, types, 40 if COMPILED else 3, spread=0.5)
    start = rng.normal(size=(4000, 3))
    start /= np.linalg.norm(start, axis=1)[:, None]
    for i, found in enumerate(contacts(placing)):
        d = start
        for width in (0.1, 0.03, 0.01, 0.003, 0.001):
            best = d[np.argsort(gap_along(placing, i, d))[-20:]]
            near = np.repeat(best, 50, axis=0) + width * rng.normal(size=(1000, 3))
            d = np.concatenate([best, near / np.linalg.norm(near, axis=1)[:, None]])
        assert gap_along(placing, i, d).max() <= found.gap.min() + 1e-5


@pytest.mark.parametrize("types", PAIRS, ids=NAMES)
def test_contacts_move_with_the_pair(types):
    """A common rigid motion moves points and normals along and leaves gaps and ids."""
    rng = np.random.default_rng(5)
    placing = random_placing(rng, types, 60 if COMPILED else 2)
    turn, shift = random_rotations(rng, 1)[0], rng.normal(size=3)
    moved = replace(
        placing,
        position=np.ascontiguousarray(placing.position @ turn.T + shift),
        rotation=np.ascontiguousarray(turn @ placing.rotation),
    )
    for before, after in zip(contacts(placing), contacts(moved), strict=True):
        assert after.gap.min() == pytest.approx(before.gap.min(), abs=1e-8)
        if before.gap.min() > -0.05 and len(before.gap) == len(after.gap):
            np.testing.assert_allclose(after.gap, before.gap, atol=1e-6)
            np.testing.assert_allclose(after.normal, before.normal @ turn.T, atol=1e-4)
            np.testing.assert_array_equal(after.feature, before.feature)


@pytest.mark.parametrize("kind", TYPES, ids=TYPES.values())
def test_swapping_the_shapes_turns_the_normal(kind):
    rng = np.random.default_rng(6)
    placing = random_placing(rng, (kind, kind), 60 if COMPILED else 2)
    order = np.arange(len(placing.position)).reshape(-1, 2)[:, ::-1].ravel()
    swapped = replace(
        placing,
        position=np.ascontiguousarray(placing.position[order]),
        rotation=np.ascontiguousarray(placing.rotation[order]),
        size=np.ascontiguousarray(placing.size[order]),
        hull_of=np.ascontiguousarray(placing.hull_of[order]),
    )
    for one, two in zip(contacts(placing), contacts(swapped), strict=True):
        assert two.gap.min() == pytest.approx(one.gap.min(), abs=1e-7)
        if one.gap.min() > 1e-3:
            assert one.normal[0] @ two.normal[0] < -1.0 + 1e-5


def test_nothing_out_of_reach_is_reported():
    for types in PAIRS:
        placing = random_placing(np.random.default_rng(11), types, 30 if COMPILED else 2, spread=3.0)
        near, all_of_them = contacts(placing, reach=0.05), contacts(placing)
        for some, every in zip(near, all_of_them, strict=True):
            assert (some.gap <= 0.05).all()
            if every.gap.min() <= 0.05 - 1e-6:
                assert some.gap.min() == pytest.approx(every.gap.min(), abs=1e-6)


@pytest.mark.parametrize("types", PAIRS, ids=NAMES)
def test_concentric_shapes_give_finite_contacts(types):
    placing = random_placing(np.random.default_rng(12), types, 20 if COMPILED else 2)
    position = placing.position.copy()
    position[1::2] = position[0::2]
    for rotation in (placing.rotation, np.ascontiguousarray(np.tile(np.eye(3), (len(position), 1, 1)))):
        for found in contacts(replace(placing, position=position, rotation=rotation)):
            assert len(found.gap) > 0
            assert finite(found)
            assert found.gap.min() < 0.0


@pytest.mark.parametrize("other", TYPES, ids=TYPES.values())
def test_needle_hull(other):
    """A hull 1000 times longer than thick, at random and along the axes, gives the gap that its normal promises.

    The bound allows for a normal that is taken from a face 1e-3 rad away from the separating axis, over 1 m.
    """
    rng = np.random.default_rng(13)
    needle = polyhedron(np.array(list(itertools.product([-1.0, 1.0], repeat=3))) * [5e-4, 5e-4, 0.5])
    placing = random_placing(rng, (other, HULL), 40 if COMPILED else 2, spread=0.6)
    placing = replace(placing, hulls=[needle], hull_of=np.where(placing.hull_of >= 0, 0, -1).astype(np.int32))
    aligned = replace(placing, rotation=np.ascontiguousarray(np.tile(np.eye(3), (len(placing.position), 1, 1))))
    for each in (placing, aligned):
        for i, found in enumerate(contacts(each)):
            assert len(found.gap) > 0
            assert finite(found)
            promised = gap_along(each, i, found.normal[:1])[0]
            assert promised - 1e-9 <= found.gap.min() <= promised + 2e-3


def test_parallel_edges_touching():
    """Two cubes that meet along an edge, corner and face diagonals exactly aligned: finite, gap zero."""
    half = np.array([0.5, 0.5, 0.5])
    for offset in ((1.0, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.5)):
        found = contacts(pair((HULL, HULL), (NONE, NONE), [block(half)], np.array(offset)))[0]
        assert np.isfinite(found.point).all()
        assert found.gap.min() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.skipif(not COMPILED, reason="is itself the run in another mode")
def test_runs_uncompiled():
    """All of this and resting contact holds as plain Python, where an index out of its array is an error."""
    files = [__file__, str(Path(__file__).with_name("test_convex_resting.py"))]
    chosen = "voussoirs or lying or crossed or tilted or (concentric and cylinder)"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files, "-k", chosen]
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1")
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
