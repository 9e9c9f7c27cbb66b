"""Elements as compliant rows: the forces of assembly, gradients by differences, stiffness in two parts."""

import numpy as np
import pytest

from element_meshes import box_elements, deformed
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.constraints.element_rows import BASIS, LEAST_EIGENVALUE, add_geometric_stiffness, element_rows
from stickslip.linalg.block_matrix import to_csr
from stickslip.scene.soft_body import COROTATIONAL, LAGGED, LINEAR, MODELS, NEO_HOOKEAN, ST_VENANT_KIRCHHOFF

ALL = pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)


def jacobian(elements, rows, count: int) -> np.ndarray:
    """Dense J (m, 3 nn)."""
    J = np.zeros((len(rows.ec), count, 3))
    owner = np.repeat(np.arange(len(elements.nodes)), np.diff(rows.row_start))
    for r, e in enumerate(owner):
        J[r, elements.nodes[e]] += rows.gradient[r]
    return J.reshape(len(rows.ec), -1)


def stiffness(elements, x, x0, pattern, project=True):
    count = len(elements.nodes)
    force, data = np.zeros_like(x), np.zeros((len(pattern.indices), 3, 3))
    assemble(elements, x, x0, np.zeros_like(x), np.zeros(count), np.ones(count), project, force, data)
    return force, to_csr(pattern, data).toarray()


def test_basis_is_orthonormal() -> None:
    weight = np.array([1, 2, 2, 1, 2, 1])
    np.testing.assert_allclose(BASIS * weight @ BASIS.T, np.eye(6), atol=1e-15)


@pytest.mark.parametrize("pressure", [0.0, 0.7])
@pytest.mark.parametrize("amount", [0.05, 0.25])
@ALL
def test_rows_have_the_forces_of_assembly(code: int, amount: float, pressure: float) -> None:
    """-J^T c to round-off, also with inverted elements, clamped eigenvalues and activation."""
    elements, rest, _, pattern = box_elements(code, (2, 2, 2))
    x, x0 = deformed(rest, 1, amount), deformed(rest, 1, 0.5 * amount)
    activation = np.full(len(elements.nodes), pressure)
    rows = element_rows(elements, x, x0, activation)
    assert (np.diff(rows.row_start) == (3 if code >= NEO_HOOKEAN else 6)).all()
    assert (rows.compliance > 0.0).all()
    assert np.isfinite(rows.ec).all()
    force, data = np.zeros_like(x), np.zeros((len(pattern.indices), 3, 3))
    assemble(elements, x, x0, np.zeros_like(x), activation, np.zeros(len(activation)), False, force, data)
    J, c = jacobian(elements, rows, len(x)), rows.ec / rows.compliance
    size = (np.abs(J.T) @ np.abs(c)).max()
    np.testing.assert_allclose(-(J.T @ c), force.ravel(), atol=2e-14 * size)
    if amount > 0.2 and code >= NEO_HOOKEAN:
        softest = 1.0 / (rows.compliance * np.repeat(elements.volume, 3)).max()
        assert softest == pytest.approx(LEAST_EIGENVALUE * 2.0 * elements.parameter[0, 0])


@pytest.mark.parametrize("code", [LINEAR, COROTATIONAL, LAGGED, ST_VENANT_KIRCHHOFF], ids=lambda c: MODELS[c])
def test_gradients_of_six_rows(code: int) -> None:
    """ec is the strain itself; central differences with 1e-5 have errors of 1e-10 times third derivatives."""
    elements, rest, _, _ = box_elements(code, (2, 1, 1))
    x, x0, step = deformed(rest, 2, 0.08), deformed(rest, 2, 0.04), 1e-5
    zero = np.zeros(len(elements.nodes))
    J = jacobian(elements, element_rows(elements, x, x0, zero), len(x))
    rng = np.random.default_rng(3)
    for _ in range(4):
        d = rng.normal(size=x.shape)
        change = element_rows(elements, x + step * d, x0, zero).ec - element_rows(elements, x - step * d, x0, zero).ec
        np.testing.assert_allclose(change / (2 * step), J @ d.ravel(), atol=1e-7)


@pytest.mark.parametrize("code", range(NEO_HOOKEAN, len(MODELS)), ids=MODELS[NEO_HOOKEAN:])
def test_gradients_of_stretches(code: int) -> None:
    """Stretches are unsorted mixtures: their invariants sum (N J d)^2 tell, by differences of c = V dPsi/ds."""
    elements, rest, _, _ = box_elements(code, (1, 1, 1))
    x, step = deformed(rest, 4, 0.05), 1e-6
    zero = np.zeros(len(elements.nodes))
    rows = element_rows(elements, x, x, zero)
    J = jacobian(elements, rows, len(x)).reshape(len(elements.nodes), 3, -1)
    d = np.random.default_rng(5).normal(size=x.shape)
    for e, nodes in enumerate(elements.nodes):
        # sum over stretches s^2 = |F|^2: its rate is 2 s . ds, and |ds| does not depend on the basis
        F, dF = (np.swapaxes(y[nodes[1:]] - y[nodes[0]], 0, 1) @ elements.gradient[e] for y in (x, d))
        U, _, Vt = np.linalg.svd(F)
        expected = np.diag(U.T @ dF @ Vt.T)
        rate = J[e] @ d.ravel()
        assert (rate**2).sum() == pytest.approx((expected**2).sum(), rel=1e-12)
        ahead, back = (np.linalg.svd(F + t * dF, compute_uv=False) for t in (step, -step))
        assert (((ahead - back) / (2 * step)) ** 2).sum() == pytest.approx((rate**2).sum(), rel=1e-6)


@ALL
def test_stiffness_at_rest(code: int) -> None:
    """J^T E^-1 J is the stiffness of assembly at rest; with stretches, once the geometric part is there."""
    elements, rest, _, pattern = box_elements(code, (2, 2, 1))
    x = rest if code == LINEAR else deformed(rest, 6, 0.0)
    count = len(elements.nodes)
    rows = element_rows(elements, x, x, np.zeros(count))
    _, K = stiffness(elements, x, x, pattern)
    J = jacobian(elements, rows, len(x))
    data = np.zeros((len(pattern.indices), 3, 3))
    add_geometric_stiffness(elements, x, np.zeros(count), np.ones(count), data)
    total = J.T @ (J / rows.compliance[:, None]) + to_csr(pattern, data).toarray()
    np.testing.assert_allclose(total, K, atol=1e-12 * np.abs(K).max())
    assert data.any() == (code >= NEO_HOOKEAN)


@pytest.mark.parametrize("code", range(NEO_HOOKEAN, len(MODELS)), ids=MODELS[NEO_HOOKEAN:])
def test_stretches_and_geometric_stiffness_make_the_projected_stiffness(code: int) -> None:
    elements, rest, _, pattern = box_elements(code, (2, 2, 1))
    x = deformed(rest, 7, 0.04)
    count = len(elements.nodes)
    rows = element_rows(elements, x, x, np.zeros(count))
    assert (1.0 / (rows.compliance * np.repeat(elements.volume, 3))).min() > 0.1  # nothing is clamped
    _, K = stiffness(elements, x, x, pattern)
    J = jacobian(elements, rows, len(x))
    data = np.zeros((len(pattern.indices), 3, 3))
    add_geometric_stiffness(elements, x, np.zeros(count), np.ones(count), data)
    total = J.T @ (J / rows.compliance[:, None]) + to_csr(pattern, data).toarray()
    np.testing.assert_allclose(total, K, atol=1e-12 * np.abs(K).max())


@ALL
def test_all_is_finite_when_collapsed(code: int) -> None:
    elements, rest, _, _ = box_elements(code, (1, 1, 1))
    for flat in (np.diag([1, 1, 0]), np.diag([1, 0, 0]), np.zeros((3, 3)), np.diag([1, 1, -1])):
        rows = element_rows(elements, rest @ flat, rest @ flat, np.full(len(elements.nodes), 0.5))
        for values in (rows.gradient, rows.ec, rows.compliance):
            assert np.isfinite(values).all()
