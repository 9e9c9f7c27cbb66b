"""What a scheme takes while bodies fall it gives back when they land: no energy adds up."""

from __future__ import annotations

import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.certify.lent import given_back


@pytest.mark.parametrize("scheme", ["euler", "symplectic", "moreau"])
def test_all_that_is_numerical_of_a_falling_ball_is_lent(scheme):
    """A ball falls, lands and lies: in the ledger of every step there is nothing numerical but what is lent."""
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.5), mass=2.0)
    sim = Simulation(scene, stepping=Stepping(dt=0.004, scheme=scheme), driver="python")
    taken, back = 0.0, 0.0
    for _ in range(120):
        result = sim.step()
        lent = given_back(sim.model, sim.before, sim.state, sim.stepping)
        assert result.certificate.energy.numerical == pytest.approx(lent, abs=1e-10)
        taken, back = taken + max(0.0, -lent), back + max(0.0, lent)
    # m g h v / 2, for the speed with which it lands
    speed = (2 * 9.81 * 0.4) ** 0.5
    assert taken == pytest.approx(0.0 if scheme == "moreau" else 2.0 * 9.81 * 0.004 * speed / 2, rel=0.02, abs=1e-9)
    assert back == pytest.approx(taken, rel=1e-6, abs=1e-9)
