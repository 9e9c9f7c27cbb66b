"""Times of impact against dense sampling in time, and against cases with known times."""

import numpy as np
import pytest

from stickslip.collision.surfaces.continuous import edge_edge_impact, point_triangle_impact

SAMPLES = 4001


def tuples(*vectors: np.ndarray) -> list[tuple[float, ...]]:
    return [tuple(float(c) for c in vector) for vector in vectors]


def impact(function, start: np.ndarray, motion: np.ndarray) -> tuple:
    """Call with points and displacements in turn."""
    return function(*tuples(*(row for pair in zip(start, motion, strict=True) for row in pair)))


def random_motion(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four points with displacements of their size, the first and the last of them towards each other."""
    start, motion = rng.uniform(-1.0, 1.0, (4, 3)), rng.normal(scale=0.7, size=(4, 3))
    motion[0] += 2.0 * (start[1:].mean(axis=0) - start[0])
    return start, motion


def triple(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.einsum("ti,ti->t", c, np.cross(a, b))


def sampled(start: np.ndarray, motion: np.ndarray, edges: bool) -> list[tuple[float, int, float, float]]:
    """Crossings seen by sampling: time, +1 where the volume rises, and two places on the features."""
    t = np.linspace(0.0, 1.0, SAMPLES)
    p = start[None] + t[:, None, None] * motion[None]
    if edges:
        e, f, c = p[:, 1] - p[:, 0], p[:, 3] - p[:, 2], p[:, 2] - p[:, 0]
    else:
        e, f, c = p[:, 2] - p[:, 1], p[:, 3] - p[:, 1], p[:, 0] - p[:, 1]
    volume = triple(e, f, c)
    found = []
    for k in np.flatnonzero((volume[:-1] > 0.0) != (volume[1:] > 0.0)):
        share = volume[k] / (volume[k] - volume[k + 1])
        time = t[k] + share * (t[k + 1] - t[k])
        ee, ff, cc = (a[k] + share * (a[k + 1] - a[k]) for a in (e, f, c))
        n = np.cross(ee, ff)
        if edges:
            places = np.cross(cc, ff) @ n / (n @ n), np.cross(cc, ee) @ n / (n @ n)
        else:
            places = np.cross(cc, ff) @ n / (n @ n), np.cross(ee, cc) @ n / (n @ n)
        found.append((float(time), 1 if volume[k + 1] > volume[k] else -1, *places))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_point_and_triangle_agree_with_sampling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(60):
        start, motion = random_motion(rng)
        time, u, w = impact(point_triangle_impact, start, motion)
        seen = [each for each in sampled(start, motion, False) if each[1] < 0]
        clear = [each for each in seen if min(each[2], each[3], 1.0 - each[2] - each[3]) > 2e-2]
        if clear:  # sampling says that there is one for sure
            assert 0.0 <= time <= clear[0][0] + 1e-3
        if time >= 0.0:
            hits += 1
            assert min(u, w, 1.0 - u - w) >= -1e-6
            at = start + time * motion
            there = (1.0 - u - w) * at[1] + u * at[2] + w * at[3]
            np.testing.assert_allclose(there, at[0], atol=1e-9)
        else:
            assert not clear
    assert hits > 5


@pytest.mark.parametrize("seed", range(8))
def test_edges_agree_with_sampling(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    hits = 0
    for _ in range(60):
        start, motion = random_motion(rng)
        time, u, w, n = impact(edge_edge_impact, start, motion)
        clear = [e for e in sampled(start, motion, True) if min(e[2], e[3], 1.0 - e[2], 1.0 - e[3]) > 2e-2]
        if clear:
            assert 0.0 <= time <= clear[0][0] + 1e-3
        if time >= 0.0:
            hits += 1
            at = start + time * motion
            on_first, on_second = at[0] + u * (at[1] - at[0]), at[2] + w * (at[3] - at[2])
            np.testing.assert_allclose(on_first, on_second, atol=1e-9)
            assert np.linalg.norm(n) == pytest.approx(1.0)
            # just before, the second is on the side that n points to
            before = start + max(time - 1e-6, 0.0) * motion
            apart = before[2] + w * (before[3] - before[2]) - before[0] - u * (before[1] - before[0])
            if np.linalg.norm(apart) > 1e-9 and time > 1e-6:
                assert apart @ n > -1e-9
    assert hits > 5


FACE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def at_face(point: tuple[float, float, float], move: tuple[float, float, float]) -> tuple[float, float, float]:
    start, motion = np.vstack([point, FACE]), np.zeros((4, 3))
    motion[0] = move
    return impact(point_triangle_impact, start, motion)


def test_a_point_that_falls_on_a_triangle() -> None:
    time, u, w = at_face((0.25, 0.5, 1.0), (0.0, 0.0, -4.0))
    assert (time, u, w) == pytest.approx((0.25, 0.25, 0.5), abs=1e-12)


@pytest.mark.parametrize(
    ("point", "move"),
    [
        ((0.25, 0.5, -1.0), (0.0, 0.0, 4.0)),  # from the back
        ((0.25, 0.5, 1.0), (0.0, 0.0, -0.5)),  # not that far
        ((0.8, 0.8, 1.0), (0.0, 0.0, -4.0)),  # beside it
        ((0.25, 0.5, 1.0), (0.0, 0.0, 4.0)),  # away from it
        ((-1.0, 0.5, 0.0), (4.0, 0.0, 0.0)),  # along its plane
        ((0.25, 0.5, 1.0), (0.0, 0.0, 0.0)),  # not at all
    ],
)
def test_a_point_that_misses(point: tuple[float, float, float], move: tuple[float, float, float]) -> None:
    assert at_face(point, move)[0] == -1.0


def test_nothing_slips_through_between_two_triangles() -> None:
    rng = np.random.default_rng(5)
    corner = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    for _ in range(300):
        along = rng.uniform(0.0, 1.0)
        point, move = np.array([along, along, 0.3]), np.array([0.0, 0.0, -1.0])
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        turn *= np.sign(np.linalg.det(turn))
        drift = rng.normal(size=3)
        times = []
        for face in ([0, 1, 2], [0, 2, 3]):
            start = np.vstack([point, corner[face]]) @ turn.T
            motion = np.vstack([move, np.zeros((3, 3))]) @ turn.T + drift
            times.append(impact(point_triangle_impact, start, motion)[0])
        assert max(times) == pytest.approx(0.3, abs=1e-9)


def test_edges_that_cross_at_a_known_time() -> None:
    start = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, -1.0, 2.0], [0.5, 1.0, 2.0]])
    motion = np.zeros((4, 3))
    motion[2:, 2] = -4.0
    time, u, w, n = impact(edge_edge_impact, start, motion)
    assert (time, u, w) == pytest.approx((0.5, 0.75, 0.5), abs=1e-12)
    assert n == pytest.approx((0.0, 0.0, 1.0))
    assert impact(edge_edge_impact, start, 0.25 * motion)[0] == -1.0
