"""How time advances and how gaps enter the problem of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from stickslip.checks import boolean, choice, fraction, not_negative, positive, whole
from stickslip.errors import InputError
from stickslip.model.schemes import SCHEMES, Scheme, SchemeRule

Geometric = Literal["projected", "column-sums"]
GEOMETRIC: tuple[Geometric, ...] = ("projected", "column-sums")
Detection = Literal["surfaces", "vertices"]
DETECTIONS: tuple[Detection, ...] = ("surfaces", "vertices")
Elasticity = Literal["auto", "matrix", "rows"]
ELASTICITIES: tuple[Elasticity, ...] = ("auto", "matrix", "rows")
Holding = Literal["rows", "potentials"]
Overlaps = Literal["pushed", "closed"]
OVERLAPS: tuple[Overlaps, ...] = ("pushed", "closed")
HOLDINGS: tuple[Holding, ...] = ("rows", "potentials")

LEAST_PER_PAIR = 4
"""Contacts that a pair keeps at least: three carry a load, and the deepest one may be another."""


@dataclass(frozen=True)
class Stepping:
    """Options of time stepping; the defaults are good for most scenes."""

    dt: float = 0.002
    """[s] step size h."""
    scheme: Scheme = "euler"
    """"euler": semi-implicit for rigid bodies, backward Euler for soft ones. "symplectic": the same with explicit
    forces of soft bodies. "moreau": the midpoint rule, contacts at the midpoint ([erleben2017] eq. 41-42). "passive":
    the midpoint rule for the mean velocity of the step, contacts at its start ([lee2023] eq. 4-9)."""
    margin: float | None = None
    """[m] gap up to which resting contacts are seen; None: what gravity closes in two steps, at least 1 um; for soft
    bodies half a percent of their edges."""
    slop: float = 1e-9
    """[m] gaps and overlaps up to this count as touching."""
    envelope: float = 0.0
    """[m] gaps up to which contacts may not close at all, as if they touched: what some simulators call a collision
    envelope. Bodies then rest on each other at such a distance. 0: only where they touch."""
    least_overlap: float = 0.0
    """[m] overlaps up to this are left alone, and deeper ones are removed as a whole; 0: all are, down to ``slop``."""
    calmed: bool = False
    """With the scheme "passive": what soft bodies and rods turn round in every step, stiff vibrations and errors of
    iterations, is taken out as far as that lowers their energy (bodies/soft/turning.py). Free vibrations fade, too."""
    recovery: float = 0.2
    """Share of an overlap removed per step."""
    recovery_speed: float = 0.5
    """[m/s] cap of the speed at which overlaps are pushed apart."""
    overlaps: Overlaps = "pushed"
    """What becomes of overlaps: "pushed" apart, by ``recovery`` a step and with its speed; "closed" within the step at
    position level ([macklin2019] sec. 5) by a second solve, without adding speed (constraints/closing.py), also beside
    joints, robots and soft bodies; schemes "euler" and "symplectic", in place of ``recovery``."""
    restitution_speed: float = 0.01
    """[m/s] approach speed below which contacts do not bounce."""
    stabilisation: int = 0
    """Passes of post-stabilisation after each step ([erleben2017] sec. 4.4): overlaps are removed by moving bodies,
    which changes no velocity; in place of ``recovery``."""
    lookahead: bool = True
    """Find contacts that will close within the step; without it only those that touch, and fast bodies overlap before
    they are stopped (the paper's discrete detection)."""
    searches: int = 3
    """Times at most that contacts of a step are sought again, each as far as bodies move that may be hit in it. With
    ``redetect``, 0 finds a heap's contacts in half the time and a third of their number."""
    redetect: int = 0
    """Times at most that a step is taken again with what it found only where it led: bodies that turn, slide or are hit
    on come to overlap where no contact was near at the start. For fast scenes of rigid bodies; schemes "euler" and
    "symplectic" with ``lookahead``, others do not look."""
    per_pair: int = 0
    """Contacts that each pair of bodies has at most, 4 or more; 0: all that are found. The deepest one is always kept,
    so the certificate's overlap is that of all (collision/reduction.py). Not for soft bodies."""
    warm_start: bool = True
    """Start the solver from the impulses of the last step."""
    continuous: bool = False
    """Find contacts of soft bodies along the whole way of the step, so that thin fast sheets do not pass through."""
    detection: Detection = "surfaces"
    """Where soft surfaces touch: "surfaces", also between their nodes, edges with edges too; "vertices": nodes in
    shapes and in faces, and corners of shapes in faces none of whose nodes touches that shape, as in [lee2023]. That
    finds half as many, and no node twice; an edge may cut into a surface between its nodes, and no measure tells."""
    elasticity: Elasticity = "auto"
    """How soft bodies enter: "matrix", their stiffness is in A; "rows", each element has compliant rows ([macklin2019]
    sec. 9); "auto": as the solver wants it."""
    geometric: Geometric = "projected"
    """How A stays definite where forces turn with bodies: "projected", negative eigenvalues of each element and body
    are left out; "column-sums", the turning enters as a diagonal of absolute column sums ([lee2023] sec. II-A)."""

    joints: Holding = "rows"
    """How joints, rods and welds enter: "rows", beside the contacts, at position level; "potentials", their stiffness
    is in A and a step is linearised once ([lee2023] eq. 7-9, contact/potentials.py)."""

    def __post_init__(self) -> None:
        for name, known in (
            ("scheme", SCHEMES), ("detection", DETECTIONS), ("elasticity", ELASTICITIES), ("geometric", GEOMETRIC),
            ("joints", HOLDINGS), ("overlaps", OVERLAPS),
        ):  # fmt: skip
            choice("stepping", name, getattr(self, name), known)
        checks: dict[str, Callable[[str, str, object], object]] = {
            "dt": positive,
            "slop": not_negative,
            "envelope": not_negative,
            "least_overlap": not_negative,
            "recovery": fraction,
            "recovery_speed": not_negative,
            "restitution_speed": not_negative,
            "stabilisation": whole,
            "searches": whole,
            "redetect": whole,
            "per_pair": whole,
            "calmed": boolean,
            "lookahead": boolean,
            "warm_start": boolean,
            "continuous": boolean,
        }
        if self.margin is not None:
            checks["margin"] = not_negative
        for name, check in checks.items():
            object.__setattr__(self, name, check("stepping", name, getattr(self, name)))
        for name in ("envelope", "least_overlap") if self.rule.mean_velocities else ():
            if getattr(self, name) > 0.0:
                raise InputError(
                    f"stepping: {name} is {getattr(self, name)} m; the scheme {self.scheme!r} has none, give 0"
                )

        able = self.rule.contacts_at == 0.0 and not self.rule.mean_velocities
        if self.overlaps == "closed" and (self.stabilisation or not able):
            raise InputError(
                f"stepping: overlaps is 'closed', scheme {self.scheme!r}, stabilisation {self.stabilisation}; it needs "
                "a scheme with velocities at the end, 'euler' or 'symplectic', and stabilisation 0"
            )
        if 0 < self.per_pair < LEAST_PER_PAIR:
            raise InputError(
                f"stepping: per_pair is {self.per_pair}; it must be 0, for all, or {LEAST_PER_PAIR} or more"
            )

    @cached_property
    def rule(self) -> SchemeRule:
        """The properties of the scheme."""
        return SCHEMES[self.scheme]

    @cached_property
    def horizon(self) -> float:
        """[s] time from where contacts are found to the end of the step."""
        return (1.0 - self.rule.contacts_at) * self.dt

    @cached_property
    def tries(self) -> int:
        """How often a step is taken again at most: ``redetect``, where contacts are sought ahead from its start."""
        able = self.lookahead and self.rule.contacts_at == 0.0 and not self.rule.mean_velocities
        return self.redetect if able else 0

    def margin_under(self, gravity: float) -> float:
        """[m] gap up to which contacts at rest take part in a step, under ``gravity`` [m/s^2]."""
        margin = max(1e-6, 2.0 * gravity * self.dt**2) if self.margin is None else self.margin
        return max(margin, self.envelope)
