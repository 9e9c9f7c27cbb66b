"""Scenes of elasticity without contact: a cantilever against beam theory, a bar that keeps or loses its volume."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.scenes.cantilever import beam_deflection
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import Summary, execute, prepare


def run(name: str, steps: int, dt: float, **settings) -> Summary:
    return execute(prepare(name, settings=settings, dt=dt), steps)


def test_beam_theory_has_the_bending_of_euler_and_bernoulli_and_shear():
    # q = 2 N/m, E I = 1000 / 12 * 0.2^4, G A = 500 * 0.04
    bending, shear = 2.0 / (8 * 1000 / 12 * 0.2**4), 2.0 / (2 * 5 / 6 * 500 * 0.04)
    assert beam_deflection((1, 0.2, 0.2), 1000, 0.0, 50.0, 1.0) == pytest.approx(bending + shear, rel=1e-12)


@pytest.mark.parametrize("model", ["linear", "lagged-corotational", "neo-hookean"])
def test_cantilever_comes_to_rest_near_beam_theory(model: str):
    """Within the error of two elements over the height, which lock in bending; finer: tests/bodies."""
    summary = run("cantilever", 6, 10.0, model=model, divisions=(16.0, 1.0, 2.0), size=(1.0, 0.03, 0.125), gravity=0.1)
    assert summary.converged
    assert -0.45 < summary.metrics["deflection_error"] < -0.25
    assert summary.metrics["tip_speed_m_per_s"] < 1e-6


def test_finer_cantilever_is_nearer_to_beam_theory():
    size = (1.0, 0.03, 0.125)
    errors = [
        run("cantilever", 3, 10.0, model="linear", divisions=cells, size=size).metrics["deflection_error"]
        for cells in ((32.0, 1.0, 4.0), (64.0, 2.0, 8.0))
    ]
    assert errors[0] < errors[1] < 0.0
    assert errors[1] > -0.05


@pytest.mark.parametrize("model", ["corotational", "neo-hookean"])
def test_a_linear_law_loses_volume_where_neo_hooke_keeps_it(model: str):
    """[macklin2019] Fig. 13. In the middle, far from the ends that cannot contract, both have closed forms.

    A bar under a linear law contracts by nu times its strain, and keeps s (1 - nu (s - 1))^2 of its volume at a stretch
    s: half at s = 2.1. Neo-Hooke's has no stress across where J = 1 + mu / (mu + lam) (1 - 1 / s), 5 % more.
    """
    settings = {"model": model, "divisions": (8.0, 2.0, 2.0), "size": (0.8, 0.1, 0.1)}
    prepared = prepare("extension", settings=settings, dt=0.05)
    soft = prepared.sim.model.soft
    summary = execute(prepared, 60)
    assert summary.converged
    assert summary.metrics["stretch"] == pytest.approx(2.0, rel=1e-12)
    corners = soft.x_start[soft.elements.nodes]
    middle = np.abs(corners[:, :, 0]).max(axis=1) < 0.101
    x, X = prepared.sim.state.node_position[soft.elements.nodes[middle]], corners[middle]
    F = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2) @ np.linalg.inv(np.swapaxes(X[:, 1:] - X[:, :1], 1, 2))
    s, ratio = F[:, 0, 0].mean(), np.linalg.det(F).mean()
    mu, lam = 1e5 / 2.9, 0.45e5 / (1.45 * 0.1)
    exact = s * (1 - 0.45 * (s - 1)) ** 2 if model == "corotational" else 1 + mu / (mu + lam) * (1 - 1 / s)
    assert ratio == pytest.approx(exact, rel=0.01)
    if model == "corotational":
        assert 0.5 < summary.metrics["volume_ratio"] < 0.8
    else:
        assert 1.0 < summary.metrics["volume_ratio"] < 1.1


def test_extension_has_the_material_of_the_paper():
    parameters = SCENES["extension"].defaults()
    assert (parameters["young"], parameters["poisson"]) == (1e5, 0.45)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("cantilever", {"size": (1.0, 2.0)}, "three numbers"),
        ("cantilever", {"divisions": (1.5, 1.0, 1.0)}, "divisions is 1.5"),
        ("cantilever", {"model": "jelly"}, "'jelly'"),
        ("extension", {"stretch": -1.0}, "stretch is -1.0"),
        ("extension", {"size": (1.0, -2.0, 1.0)}, "size is -2.0"),
    ],
)
def test_wrong_settings_are_refused(name: str, settings, message: str):
    with pytest.raises(InputError, match=message):
        SCENES[name].build(**settings)
