"""Energy that a scheme takes from rigid bodies while they fall and gives back when they land.

Where positions advance by h v(end), gravity g does the work m g . h v(end) in a step, and the velocity changes as if it
were m g . h (v(start) + v(end)) / 2. The ledger calls the difference numerical:

    lent = (theta_vq - 1/2) h sum over bodies of  m g . (v(start) - v(end)),        theta_vq = 1: Euler; 1/2: midpoint

Its sum over steps is that of the first and the last velocity alone: a body that falls from rest and comes to rest again
has lost and got back the same, whatever happened in between. It cannot add up, and drives nothing.
"""

from __future__ import annotations

from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping


def given_back(model: Model, before: State, after: State, options: Stepping) -> float:
    """Part [J] of EnergyLedger.numerical of a step that the scheme gives back to rigid bodies; negative: takes."""
    rule = options.rule
    if rule.mean_velocities or not len(model.dynamic):
        return 0.0
    lost = before.body_velocity[model.dynamic, :3] - after.body_velocity[model.dynamic, :3]
    share = (rule.theta_vq - 0.5) * options.dt
    return float(share * (model.mass[model.dynamic] @ (lost @ model.gravity)))
