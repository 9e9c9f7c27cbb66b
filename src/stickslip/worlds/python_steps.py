"""Steps of single worlds by the Python driver, which takes every scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.certify.contact_report import contacts_of
from stickslip.certify.record import Certificate
from stickslip.certify.step_result import StepResult
from stickslip.errors import DivergenceError
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.simulation import Simulation
from stickslip.worlds.contacts import Pushed


class Pushes(NamedTuple):
    """Contacts of a step, without where they are."""

    body_a: Ints
    body_b: Ints
    impulse: Array
    """(k, 3) [N s] on b, world frame."""


NO_PUSHES = Pushes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3)))


class Helped(NamedTuple):
    """What is known of a step that the Python driver took."""

    steps: int
    """Of the state after it, since time zero: it is the last one as long as the world has as many."""
    certificate: Certificate
    pushes: Pushes


class PythonSteps:
    """Takes steps from any state: one simulation for each model that worlds have."""

    def __init__(self, template: Simulation) -> None:
        self.template = template
        template.looks = template.stepping.tries > 0  # as compiled worlds, which only then are not compiled
        self.simulations: dict[int, Simulation] = {}
        """By world, of those that have a model of their own."""

    def simulation(self, k: int, model: Model) -> Simulation:
        """That of world k, which has this model."""
        if model is self.template.model:
            return self.template
        own = self.simulations.get(k)
        if own is None or own.model is not model:
            own = Simulation(model, solver=self.template.solver, stepping=self.template.stepping, driver="python")
            own.looks = self.template.looks
            own.model = model  # links that pass through each other are those of the model that was given
            self.simulations[k] = own
        return own

    def result(self, k: int, model: Model, state: State, control: Control) -> StepResult | None:
        """The step of world k from a state; None where it diverges."""
        sim = self.simulation(k, model)
        sim.state, sim.control, sim.last, sim.before = state, control, None, None
        try:
            return sim.step()
        except DivergenceError:
            return None
        finally:
            sim.last = None


def helped(result: StepResult) -> Helped:
    """What is kept of a result."""
    found = contacts_of(result)
    pushes = Pushes(found.body_a.copy(), found.body_b.copy(), found.impulse[:, :3].copy())
    return Helped(result.state.steps, result.certificate, pushes)


def pushed_of(pushes: Sequence[tuple[int, Pushes]]) -> Pushed:
    """Contacts of some worlds, by their numbers."""
    world = [np.full(len(each.body_a), k, np.int64) for k, each in pushes]
    none = NO_PUSHES  # so that there is one at least
    parts = [each for _, each in pushes] + [none]
    return Pushed(
        np.concatenate([*world, np.zeros(0, np.int64)]),
        np.concatenate([each.body_a for each in parts]).astype(np.int64),
        np.concatenate([each.body_b for each in parts]).astype(np.int64),
        np.concatenate([each.impulse for each in parts]),
    )  # fmt: skip
