"""Stepping.envelope and Stepping.least_overlap: what gaps and overlaps count as, as in the runs of [erleben2017]."""

import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.errors import InputError
from stickslip.solvers.registry import make_solver


def ball_at(height: float) -> Scene:
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.1 + height), name="ball")
    return scene


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_a_body_rests_where_the_envelope_begins(scheme: str) -> None:
    sim = Simulation(ball_at(0.005), stepping=Stepping(dt=0.01, scheme=scheme, lookahead=False, envelope=0.01))
    for _ in range(5):
        assert sim.step().certificate.contacts == 1
    assert sim.state.body_pose[1, 2] == pytest.approx(0.105, abs=1e-3 if scheme == "moreau" else 1e-12)


@pytest.mark.parametrize(("overlap", "left"), [(0.0005, 0.0005), (0.004, 0.002), (0.04, 0.03)])
def test_overlaps_above_the_least_one_are_removed_as_a_whole(overlap: float, left: float) -> None:
    """Half of it, at most 10 mm a step; 0.5 mm are left alone."""
    options = Stepping(dt=0.01, recovery=0.5, recovery_speed=1.0, least_overlap=1e-3)
    sim = Simulation(ball_at(-overlap), stepping=options)
    sim.watch.silent = True
    sim.step()
    assert 0.1 - sim.state.body_pose[1, 2] == pytest.approx(left, abs=1e-9)


def test_the_scheme_of_mean_velocities_has_neither() -> None:
    for name in ("envelope", "least_overlap"):
        with pytest.raises(InputError, match=f"{name} is 0.01 m; the scheme 'passive'"):
            Stepping(scheme="passive", **{name: 0.01})
    with pytest.raises(InputError, match="envelope"):
        Stepping(envelope=-1.0)


def test_factors_that_never_shrink() -> None:
    """nu = 1, as of blocked factors in the author's runs: a rolled-back iteration comes again until the last."""
    sim = Simulation(ball_at(0.0))
    sim.step()
    solver = make_solver("prox-gs", nu=1.0, criterion="step", growth=1.0, relative=0.0, subspace=0, max_iterations=7)
    assert solver.rule.nu == 1.0
    for wrong in (0.0, 1.1, float("nan")):
        with pytest.raises(InputError, match="nu is"):
            make_solver("prox-gs", nu=wrong)
