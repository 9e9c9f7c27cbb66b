"""Scenes of elasticity without contact: a cantilever against beam theory, a bar that keeps or loses its volume."""

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
    """Within the error of two elements over the height, which lock in bending; finer: tests/dynamics."""
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


def test_a_linear_law_loses_volume_where_neo_hooke_keeps_it():
    """[macklin2019] Fig. 13. A linear bar contracts by nu times its strain: (1 - nu)^2 2 = 0.605 far from the ends."""
    found = {
        model: run("extension", 60, 0.05, model=model, divisions=(8.0, 2.0, 2.0), size=(0.8, 0.1, 0.1)).metrics
        for model in ("corotational", "neo-hookean")
    }
    for metrics in found.values():
        assert metrics["stretch"] == pytest.approx(2.0, rel=1e-12)
    assert 0.55 < found["corotational"]["volume_ratio"] < 0.8
    assert found["neo-hookean"]["volume_ratio"] == pytest.approx(1.0, abs=0.1)
    assert found["corotational"]["waist_ratio"] == pytest.approx((1 - 0.45) ** 2, rel=0.05)
    assert found["neo-hookean"]["waist_ratio"] > 1.3 * found["corotational"]["waist_ratio"]


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
