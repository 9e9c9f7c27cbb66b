"""The certificate of a step as a record: how wrong it is, in units that a person understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from math import isfinite

from stickslip.certify.energy_ledger import EnergyLedger
from stickslip.certify.measurements import Measurements

UNTOLD: Mapping[str, float] = {"joint_error": 0.0}
"""Errors that constraints tell of themselves, where there are none."""


@dataclass(frozen=True)
class Certificate:
    """How wrong one step is."""

    momentum_error: float
    """Largest error of the linear momentum of a body, |A (v - v_free) - J^T lam| [N s]."""
    angular_momentum_error: float
    """The same of the angular momentum of a rigid body [N m s]."""
    momentum_relative: float
    """Largest share of the impulses on a body that it created or lost (contact/momentum_error.py), dimensionless."""
    penetration: float
    """Deepest overlap at the configuration where contacts were found [m]."""
    velocity_violation: float
    """Largest approach that the law forbids, max(0, -u_n), with u_n + compliance lam_n for u_n [m/s]."""
    cone_violation: float
    """Largest friction force outside its cone [N]."""
    direction_error: float
    """Largest angle between sliding friction and the direction of most dissipation, opposite to slip [rad]."""
    wrong_dissipation: float
    """Power with which friction feeds the motion, summed over contacts [W]; zero in the exact law."""
    natural_residual: float
    """Scaled natural-map residual (contact/residual.py) of all constraints together, dimensionless."""
    worst_residual: float
    """The same of the island in which it is largest, by its own free velocities, dimensionless."""
    gliding_gap: float
    """Widest gap at the end of the step across which a contact pushes [m]: what the convex law costs, in which sliding
    bodies glide at the distance h mu |u_t|; zero in the exact law. Compliance counts: zero is where a spring is."""
    joint_error: float
    """Largest distance by which rigid joints are apart at the end of the step [m]."""
    turn: float
    """Largest angle by which a touching rigid body turns in the step [rad], where that moves its surface."""
    contacts: int
    iterations: int
    converged: bool
    """Whether the status is "converged"."""
    status: str
    """How the step ended, in one word; docs/certificates.md says what each promises."""
    energy: EnergyLedger
    deepened: float = 0.0
    """Most by which two rigid shapes got deeper into each other within the step [m], by a search for contacts at its
    end; 0 up to a share of the thinner one (certify/status.DEEPER_SHARE, or pieces/deeper.LEAST with ``redetect``)."""

    @property
    def penetration_mm(self) -> float:
        """Deepest overlap in millimetres."""
        return 1e3 * self.penetration

    @property
    def gliding_gap_mm(self) -> float:
        """Widest gap across which a contact pushes, in millimetres."""
        return 1e3 * self.gliding_gap

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        return self.energy.finite and all(isfinite(x) for x in vars(self).values() if isinstance(x, float))

    def as_dict(self) -> dict[str, object]:
        """Plain nested dict, for JSON and recordings."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(import_module("stickslip.view.notebook").certificate_html(self))


def certificate_of(
    found: Measurements, h: float, horizon: float, ended: tuple[str, float, int, int],
    own: Mapping[str, float] = UNTOLD,
) -> Certificate:  # fmt: skip
    """The certificate of a step of h [s] of which all is measured, with contacts ``horizon`` [s] before its end.

    ended: its status, the residual and iterations of its solution, contacts; own: errors that constraints tell.
    """
    status, residual, iterations, contacts = ended
    return Certificate(
        momentum_error=found.linear,
        angular_momentum_error=found.angular,
        momentum_relative=found.share,
        penetration=found.deepest,
        velocity_violation=found.violation,
        cone_violation=found.cone / h,
        direction_error=found.angle,
        wrong_dissipation=found.feeding / h,
        natural_residual=residual,
        worst_residual=found.worst,
        gliding_gap=horizon * found.gliding,
        turn=found.turn,
        contacts=contacts,
        iterations=iterations,
        converged=status == "converged",
        status=status,
        energy=found.energy.ledger,
        **own,
    )
