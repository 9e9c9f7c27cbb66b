"""Assembly of elements: forces against energies, stiffness against forces, rigid motion, patches, threads."""

import numpy as np
import pytest

from element_meshes import box_elements, deformed
from stickslip.bodies.soft import element_assembly
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.bodies.soft.element_energies import strain_energies, strains_and_stresses
from stickslip.linalg.block_matrix import to_csr
from stickslip.scene.soft_body import COROTATIONAL, LAGGED, LINEAR, MODELS

ALL = pytest.mark.parametrize("code", range(len(MODELS)), ids=MODELS)
TURNING = pytest.mark.parametrize("code", range(1, len(MODELS)), ids=MODELS[1:])


def assembled(elements, x, x0, pattern, *, v=None, pressure=0.0, factor=1.0, project=False):
    """Forces (nn, 3) and matrix (3 nf, 3 nf) of all elements."""
    count = len(elements.nodes)
    force, data = np.zeros_like(x), np.zeros((len(pattern.indices), 3, 3))
    v = np.zeros_like(x) if v is None else v
    assemble(elements, x, x0, v, np.full(count, pressure), np.full(count, factor), project, force, data)
    return force, to_csr(pattern, data).toarray()


@pytest.mark.parametrize("pressure", [0.0, 0.6])
@ALL
def test_forces_and_stiffness_are_derivatives(code: int, pressure: float) -> None:
    """Along random directions, by central differences with a step of 1e-5: errors of 1e-10 times third derivatives."""
    elements, rest, block, pattern = box_elements(code, (2, 2, 1), held=4)
    x, x0, step = deformed(rest, 1, 0.06), deformed(rest, 1, 0.03), 1e-5
    force, K = assembled(elements, x, x0, pattern, pressure=pressure)
    rng = np.random.default_rng(2)
    activation = np.full(len(elements.nodes), pressure)
    for _ in range(4):
        d = rng.normal(size=x.shape)
        d[block < 0] = 0.0
        ahead, back = x + step * d, x - step * d
        energy = [strain_energies(elements, at, x0, activation).sum() for at in (ahead, back)]
        assert -(force * d).sum() == pytest.approx((energy[0] - energy[1]) / (2 * step), abs=1e-7)
        forces = [assembled(elements, at, x0, pattern, pressure=pressure)[0] for at in (ahead, back)]
        change = (forces[0] - forces[1])[block >= 0].ravel() / (2 * step)
        np.testing.assert_allclose(-K @ d[block >= 0].ravel(), change, atol=1e-5 * np.abs(K).max())
    assert np.abs(K - K.T).max() <= 1e-13 * np.abs(K).max()


@ALL
def test_projected_stiffness_is_positive_and_damps(code: int) -> None:
    elements, rest, block, pattern = box_elements(code, (2, 2, 1), held=4, beta=0.3)
    x = deformed(rest, 3, 0.2)  # some elements are inverted
    v = np.random.default_rng(0).normal(size=x.shape)
    v[block < 0] = 0.0
    still, K = assembled(elements, x, x, pattern, pressure=0.2, project=True)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()
    moving, twice = assembled(elements, x, x, pattern, v=v, pressure=0.2, project=True, factor=2.0)
    np.testing.assert_allclose(twice, 2.0 * K, atol=1e-13 * np.abs(K).max())
    own = block >= 0
    expected = -0.3 * (K @ v[own].ravel()).reshape(-1, 3)
    np.testing.assert_allclose((moving - still)[own], expected, atol=1e-13 * np.abs(K).max())


@TURNING
def test_rigid_motion_makes_no_force(code: int) -> None:
    elements, rest, _, pattern = box_elements(code, (3, 2, 2))
    x = deformed(rest, 4, 0.0)
    force, K = assembled(elements, x, x, pattern)
    assert np.abs(force).max() < 1e-14
    assert np.abs(K @ np.tile([1.0, 2.0, 3.0], len(x))).max() < 1e-13
    spin = np.cross([0.3, -0.2, 0.5], x - x.mean(axis=0))
    assert np.abs(K @ spin.ravel()).max() < 1e-13


@ALL
def test_internal_forces_and_torques_balance(code: int) -> None:
    elements, rest, _, pattern = box_elements(code, (3, 2, 2))
    x = deformed(rest, 5, 0.1)
    force, _ = assembled(elements, x, x, pattern, pressure=0.7)
    assert np.abs(force.sum(axis=0)).max() < 1e-14 * np.abs(force).sum()
    if code != LINEAR:  # which has no torque about the positions at rest instead
        assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-13 * np.abs(force).sum() * np.abs(x).max()


@ALL
def test_patch(code: int) -> None:
    """The same deformation everywhere: no force on inner nodes, the same stress in all elements."""
    elements, rest, _, pattern = box_elements(code, (3, 3, 3))
    F = np.eye(3) + 0.1 * np.random.default_rng(6).normal(size=(3, 3))
    x = rest @ F.T
    force, _ = assembled(elements, x, x, pattern)
    inside = (np.abs(rest) < 0.49).all(axis=1)
    assert inside.sum() == 8
    assert np.abs(force[inside]).max() < 1e-14 < np.abs(force).max()
    strain, cauchy, mises = strains_and_stresses(elements, x, np.zeros(len(elements.nodes)))
    assert np.abs(strain - 0.5 * (F.T @ F - np.eye(3))).max() < 1e-14
    assert np.ptp(cauchy, axis=0).max() < 3e-14
    deviator = cauchy[0] - np.trace(cauchy[0]) / 3.0 * np.eye(3)
    np.testing.assert_allclose(mises, np.sqrt(1.5 * (deviator**2).sum()), rtol=1e-12)


def test_uniaxial_stress_of_small_strains() -> None:
    """Young's modulus in a thin pull with free sides: all models have sigma = E eps + O(eps^2)."""
    eps = 1e-6
    for code in range(len(MODELS)):
        elements, rest, _, _ = box_elements(code, (1, 1, 1))
        mu, lam = elements.parameter[0, :2]
        young, poisson = mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))
        x = rest * (1.0 + eps * np.array([1.0, -poisson, -poisson]))
        _, cauchy, mises = strains_and_stresses(elements, x, np.zeros(len(elements.nodes)))
        expected = np.diag([young * eps, 0.0, 0.0])
        assert np.abs(cauchy - expected).max() < 20 * young * eps**2
        np.testing.assert_allclose(mises, young * eps, rtol=20 * eps)


@ALL
def test_activation_swells(code: int) -> None:
    elements, rest, _, pattern = box_elements(code, (2, 2, 2))
    force, _ = assembled(elements, rest, rest, pattern, pressure=0.5)
    assert (force * rest).sum() == pytest.approx(3 * 0.5 * elements.volume.sum(), rel=1e-12)


@ALL
def test_threads_give_the_same_bits(code: int) -> None:
    elements, rest, _, pattern = box_elements(code, (5, 4, 4), held=9, beta=0.1)
    x, v = deformed(rest, 7, 0.05), deformed(rest, 8, 0.1)
    count = len(elements.nodes)
    results = []
    for walk in (element_assembly._assemble_serial, element_assembly._assemble_parallel):
        force, data = np.zeros_like(x), np.zeros((len(pattern.indices), 3, 3))
        turn = element_assembly.rotations(elements, rest)
        walk(elements, x, turn, v, np.full(count, 0.1), np.full(count, 2.0), True, force, data)
        results.append((force, data))
    assert (results[0][0] == results[1][0]).all()
    assert (results[0][1] == results[1][1]).all()


def test_without_a_factor_the_matrix_stays() -> None:
    for code in (LINEAR, COROTATIONAL, LAGGED):
        elements, rest, _, pattern = box_elements(code, (2, 1, 1))
        x = deformed(rest, 9, 0.1)
        with_matrix, _ = assembled(elements, x, x, pattern)
        force, K = assembled(elements, x, x, pattern, factor=0.0)
        assert (force == with_matrix).all()
        assert not K.any()
