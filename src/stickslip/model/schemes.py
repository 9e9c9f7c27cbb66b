"""Time-stepping schemes as data: what distinguishes one scheme from another stands here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Scheme = Literal["euler", "symplectic", "moreau", "passive"]
ForcesAt = Literal["end", "found", "halfway"]
Settling = Literal["nothing", "joints", "all"]


@dataclass(frozen=True)
class SchemeRule:
    """The properties of a scheme. v_0 and v_end are the velocities before and after a step of h [s]."""

    theta: float = 1.0
    """Forces of soft bodies act at theta of the step ([han2023] eq. 1): 0 is explicit, 1 fully implicit."""
    theta_vq: float = 1.0
    """Nodes advance with theta_vq v + (1 - theta_vq) v_0, v the unknown velocities of the step."""
    contacts_at: float = 0.0
    """Share of the step at which contacts are found, along v_0."""
    mean_velocities: bool = False
    """Whether the unknowns are the mean velocities (v_0 + v_end) / 2, not v_end."""
    forces_at: ForcesAt = "end"
    """Where rigid bodies are when joints and inertia act on them: at the end of the step, where contacts are found, or
    halfway along the unknown velocities."""
    settles: Settling = "nothing"
    """Across which constraints v_end must be zero (constraints/joint/projection.py, constraints/settling.py): rigid
    joints, or those, welds and sticking contacts."""
    acts_ahead: float = 1.0
    """Steps before they touch in which contacts begin to act."""

    @cached_property
    def gain(self) -> float:
        """v_end - v_0 over v - v_0, v the unknown velocities of a step."""
        return 2.0 if self.mean_velocities else 1.0

    @cached_property
    def fully_implicit(self) -> bool:
        """Whether all forces and velocities are those at the end of the step."""
        return self.theta == 1.0

    @cached_property
    def advances_with_end(self) -> bool:
        """Whether positions advance with v_end alone."""
        return self.theta_vq == 1.0 and not self.mean_velocities


SCHEMES: Mapping[str, SchemeRule] = {
    "euler": SchemeRule(),
    "symplectic": SchemeRule(theta=0.0),
    "moreau": SchemeRule(theta=0.5, theta_vq=0.5, contacts_at=0.5, forces_at="found", settles="joints"),
    "passive": SchemeRule(
        theta=0.5, mean_velocities=True, forces_at="halfway", settles="all", acts_ahead=1.5
    ),
}  # fmt: skip
"""By the name that users give (``Stepping.scheme``)."""
