"""Decompositions of 3x3 matrices: random, scaled, nearly singular, inverted, with repeated values, zero."""

import numpy as np
import pytest
from scipy.linalg import polar

from stickslip.linalg.svd3 import polar_rotation, svd3, symmetric_eigen3


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def flat(m: np.ndarray) -> tuple[float, ...]:
    return tuple(float(x) for x in m.ravel())


VALUES = {
    "rest": (1, 1, 1),
    "pair": (2, 1, 1),
    "inverted": (1.2, 0.9, -0.5),
    "mirrored": (1, 1, -1),
    "flat": (1, 0.5, 0),
    "thin": (1, 1e-9, 1e-12),
    "line": (1, 0, 0),
    "point": (0, 0, 0),
    "needle": (1e6, 1e-6, -1e-8),
    "huge": (1e30, 3e29, 2e29),
    "tiny": (1e-40, 1e-41, -1e-42),
    "nearly a pair": (1 + 1e-9, 1, 1 - 1e-13),
}


@pytest.mark.parametrize("name", VALUES)
def test_singular_values_with_rotations(name: str) -> None:
    rng = np.random.default_rng(3)
    expected = np.array(VALUES[name], dtype=float)
    for k in range(20):
        a, b = (np.eye(3), np.eye(3)) if k == 0 else (rotation(rng), rotation(rng))
        F = a @ np.diag(expected) @ b.T
        U, s, V = (np.array(x) for x in svd3(flat(F)))
        U, V = U.reshape(3, 3), V.reshape(3, 3)
        size = max(abs(expected[0]), 1e-300)
        assert np.abs(U @ np.diag(s) @ V.T - F).max() <= 5e-15 * size
        assert np.abs(s - expected).max() <= 5e-15 * size
        for R in (U, V):
            assert np.abs(R.T @ R - np.eye(3)).max() < 5e-15
            assert np.linalg.det(R) > 0


def test_random_singular_values() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        F = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-3, 3)
        U, s, V = (np.array(x) for x in svd3(flat(F)))
        assert np.abs(U.reshape(3, 3) @ np.diag(s) @ V.reshape(3, 3).T - F).max() < 5e-15 * s[0]
        assert s[0] >= s[1] >= abs(s[2])
        assert np.sign(s[2]) == np.sign(np.linalg.det(F))


def test_polar_rotation() -> None:
    """The factor's condition is 2 |F| / (s2 + s3), s3 signed ([Higham 1986] for s3 > 0)."""
    rng = np.random.default_rng(5)
    for k in range(400):
        F = np.eye(3) + rng.normal(size=(3, 3)) * (0.05, 0.3, 1.0)[k % 3]
        F = rotation(rng) @ F * (1.0, 1e3)[k % 2]
        R = np.array(polar_rotation(flat(F))).reshape(3, 3)
        assert np.abs(R.T @ R - np.eye(3)).max() < 5e-15
        assert np.linalg.det(R) > 0
        S = R.T @ F
        s = np.linalg.svd(F, compute_uv=False) * [1, 1, np.sign(np.linalg.det(F))]
        assert np.abs(S - S.T).max() < 1e-14 * s[0]
        if np.linalg.det(F) > 0:
            assert np.abs(R - polar(F)[0]).max() < 1e-14 * max(1.0, s[0] / (s[1] + s[2]))


def test_polar_rotation_where_it_is_not_unique() -> None:
    for name in ("line", "point", "mirrored", "flat"):
        R = np.array(polar_rotation(flat(np.diag(VALUES[name]).astype(float)))).reshape(3, 3)
        assert np.abs(R.T @ R - np.eye(3)).max() < 5e-15
        assert np.linalg.det(R) > 0


@pytest.mark.parametrize("values", [(1, 2, 3), (1, 1, 1), (0, 0, 0), (-1, -1, 5), (1e9, 1e-9, -1e-9)])
def test_symmetric_eigenvectors(values: tuple[float, ...]) -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        Q = rotation(rng)
        M = Q @ np.diag(values) @ Q.T
        M = 0.5 * (M + M.T)
        e, W = symmetric_eigen3((M[0, 0], M[0, 1], M[0, 2], M[1, 1], M[1, 2], M[2, 2]))
        W = np.array(W).reshape(3, 3)
        size = max(abs(v) for v in values)
        assert np.abs(W @ np.diag(e) @ W.T - M).max() <= 5e-15 * size
        assert np.abs(W.T @ W - np.eye(3)).max() < 5e-15
        assert np.linalg.det(W) > 0
        assert e[0] >= e[1] >= e[2]
