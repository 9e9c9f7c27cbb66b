"""Elastic models: derivatives against finite differences, rest state, small strains, rotations, inversion."""

import numpy as np
import pytest

from stickslip.bodies.soft.elastic_models import energy_density, hessian, hessian_product, is_isotropic, stress
from stickslip.bodies.soft.isotropic_models import SMALL_VOLUME
from stickslip.scene.soft_body import COROTATIONAL, LAGGED, LINEAR, MODELS, MOONEY_RIVLIN, NEO_HOOKEAN, elastic

SEEDS = range(40)


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def parameters(code: int) -> tuple[float, ...]:
    if code == MOONEY_RIVLIN:
        return elastic(mooney=(0.7, 0.4, 9.0)).parameters
    return elastic(mu=1.3, lam=2.1, model=MODELS[code]).parameters


def flat(m: np.ndarray) -> tuple[float, ...]:
    return tuple(float(x) for x in np.ravel(m))


def rotation_for(code: int, rng: np.random.Generator) -> np.ndarray:
    return rotation(rng) if code == LAGGED else np.eye(3)


class Model:
    """A model with its parameters, rotation and activation, on matrices."""

    def __init__(self, code: int, R: np.ndarray, pressure: float = 0.0) -> None:
        self.fixed = flat(R), parameters(code), pressure
        self.code = code

    def energy(self, F: np.ndarray) -> float:
        return energy_density(self.code, flat(F), *self.fixed)

    def stress(self, F: np.ndarray) -> np.ndarray:
        return np.array(stress(self.code, flat(F), *self.fixed)).reshape(3, 3)

    def hessian(self, F: np.ndarray, project: bool = False) -> np.ndarray:
        H = np.empty((9, 9))
        hessian(self.code, flat(F), *self.fixed, project, H)
        return H


def gradients(seed: int) -> np.ndarray:
    """Deformation gradients from small to wild; every other one is inverted."""
    rng = np.random.default_rng(seed)
    s = np.array([1.0, 1.0, 1.0]) + rng.normal(size=3) * (0.01, 0.2, 0.5)[seed % 3]
    s = np.abs(s) + 0.1
    if seed % 2:
        s[2] *= -0.7
    return rotation(rng) @ np.diag(s) @ rotation(rng).T


def smooth(code: int, F: np.ndarray) -> bool:
    """Whether the second derivative is bounded and finite differences make sense there."""
    s = np.linalg.svd(F, compute_uv=False)
    s[2] *= np.sign(np.linalg.det(F))
    if code == COROTATIONAL:
        return s[1] + s[2] > 0.05
    return code != MOONEY_RIVLIN or abs(s.prod() - SMALL_VOLUME) > 1e-3


@pytest.mark.parametrize("pressure", [0.0, 0.8])
@pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
def test_derivatives(code: int, pressure: float) -> None:
    """Central differences: truncation step^2 times a third derivative, rounding 1e-16 / step, relative to the size."""
    step = 1e-5
    for seed in SEEDS:
        F, rng = gradients(seed), np.random.default_rng(1000 + seed)
        model = Model(code, rotation_for(code, rng), pressure)
        if not smooth(code, F):
            continue
        P, H = model.stress(F), model.hessian(F)
        size = np.abs(H).max()
        for k in range(9):
            d = np.zeros(9)
            d[k] = step
            d = d.reshape(3, 3)
            slope = (model.energy(F + d) - model.energy(F - d)) / (2 * step)
            assert slope == pytest.approx(P.ravel()[k], abs=3e-7 * size)
            column = (model.stress(F + d) - model.stress(F - d)).ravel() / (2 * step)
            np.testing.assert_allclose(column, H[:, k], atol=3e-6 * size)
        assert np.abs(H - H.T).max() < 1e-13 * size


@pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
def test_projection_clamps_the_negative_eigenvalues(code: int) -> None:
    """The projected Hessian is the nearest semi-definite one: the same eigenvectors, eigenvalues max(e, 0)."""
    for seed in SEEDS:
        F = gradients(seed)
        model = Model(code, rotation_for(code, np.random.default_rng(seed)), 0.3)
        H, projected = model.hessian(F), model.hessian(F, project=True)
        e, Q = np.linalg.eigh(0.5 * (H + H.T))
        np.testing.assert_allclose(projected, Q @ np.diag(np.maximum(e, 0.0)) @ Q.T, atol=1e-12 * np.abs(e).max())


@pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
def test_rest_is_free_of_energy_and_stress(code: int) -> None:
    for seed in range(5):
        R = np.eye(3) if code == LINEAR else rotation(np.random.default_rng(seed))
        model = Model(code, R)
        assert abs(model.energy(R)) < 1e-15
        assert np.abs(model.stress(R)).max() < 2e-14


@pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
def test_small_strains_have_the_stiffness_of_linear_elasticity(code: int) -> None:
    """d^2 Psi / dF^2 at rest is that of mu |sym d|^2 + lam / 2 tr(d)^2, exactly."""
    mu, lam = parameters(code)[:2]
    expected = np.empty((9, 9))
    hessian(LINEAR, flat(np.eye(3)), flat(np.eye(3)), (mu, lam, 0.0, 0.0, 0.0), 0.0, False, expected)
    assert np.abs(Model(code, np.eye(3)).hessian(np.eye(3)) - expected).max() < 2e-14
    d = np.random.default_rng(0).normal(size=(3, 3))
    energy = mu * ((0.5 * (d + d.T)) ** 2).sum() + 0.5 * lam * np.trace(d) ** 2
    assert d.ravel() @ expected @ d.ravel() == pytest.approx(2.0 * energy, rel=1e-14)


@pytest.mark.parametrize("code", [c for c in range(len(MODELS)) if is_isotropic(c)], ids=lambda c: MODELS[c])
def test_isotropic_models_turn_with_the_frame(code: int) -> None:
    rng = np.random.default_rng(8)
    model = Model(code, np.eye(3), 0.4)
    for seed in SEEDS:
        F, A, B = gradients(seed), rotation(rng), rotation(rng)
        if not smooth(code, F):
            continue
        size = np.abs(model.hessian(F)).max()
        assert model.energy(A @ F @ B) == pytest.approx(model.energy(F), abs=1e-13 * size)
        np.testing.assert_allclose(model.stress(A @ F @ B), A @ model.stress(F) @ B, atol=1e-13 * size)


def test_lagged_equals_corotational_where_the_rotation_is_that_of_F() -> None:
    for seed in SEEDS:
        F = gradients(seed)
        U, _, Vt = np.linalg.svd(F)
        R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
        lagged, corotational = Model(LAGGED, R, 0.3), Model(COROTATIONAL, R, 0.3)
        assert lagged.energy(F) == pytest.approx(corotational.energy(F), rel=1e-12, abs=1e-14)
        np.testing.assert_allclose(lagged.stress(F), corotational.stress(F), atol=1e-13)


@pytest.mark.parametrize("code", [COROTATIONAL, NEO_HOOKEAN, MOONEY_RIVLIN], ids=lambda c: MODELS[c])
@pytest.mark.parametrize("s3", [-1e-3, -0.3, -1.0, 0.0])
def test_inverted_elements_recover(code: int, s3: float) -> None:
    """Newton steps with the projected Hessian and a shift, downhill in energy, end at rest.

    St. Venant and Kirchhoff's energy is even in s: mirrored elements are at rest for it.
    """
    rng = np.random.default_rng(12)
    model = Model(code, np.eye(3))
    F = rotation(rng) @ np.diag([1.1, 0.9, s3]) @ rotation(rng).T
    for _ in range(200):
        P = model.stress(F)
        step = -np.linalg.solve(model.hessian(F, project=True) + 0.05 * np.eye(9), P.ravel()).reshape(3, 3)
        t = 1.0
        while model.energy(F + t * step) > model.energy(F) and t > 1e-8:
            t *= 0.5
        F = F + t * step
    assert np.linalg.det(F) > 0.99
    assert np.abs(F.T @ F - np.eye(3)).max() < 1e-4


@pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
@pytest.mark.parametrize("s", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, -1), (1, 1, 1)])
def test_all_is_finite_in_degenerate_states(code: int, s: tuple[float, ...]) -> None:
    model = Model(code, np.eye(3), 0.5)
    F = np.diag(s).astype(float)
    H = model.hessian(F, project=True)
    assert np.isfinite(model.energy(F))
    assert np.isfinite(model.stress(F)).all()
    assert np.isfinite(H).all()
    assert np.linalg.eigvalsh(H).min() >= -1e-12 * np.abs(H).max()
    product = hessian_product(code, flat(F), *model.fixed, True, flat(np.eye(3)))
    np.testing.assert_allclose(product, H @ np.eye(3).ravel(), atol=1e-12 * np.abs(H).max())
