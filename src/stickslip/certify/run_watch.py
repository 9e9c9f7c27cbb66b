"""What a run says of itself while it goes on: one warning of each kind, and a summary in sentences.

Thresholds are those of the report of a recording (view/report/warnings.py) where it has them; what a report knows of
every step is here known of the steps that were looked at: all of the Python driver, some of the compiled one.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from stickslip.arrays import Array
from stickslip.certify.certificate import Certificate
from stickslip.certify.contact_report import contacts_of
from stickslip.certify.step_result import StepResult
from stickslip.errors import SimulationWarning
from stickslip.geometry.shapes import HULL, MESH
from stickslip.model.model import Model
from stickslip.names import visible

OVERLAP, DEEP_OVERLAP = 0.01, 0.1
"""Overlap over the size of the smaller body: visible in a picture; changes what happens."""
STARTING_OVERLAP = 0.02
"""The same of bodies that overlap before anything has moved."""
LARGE = 10.0
"""[m] size of a body from a mesh from which on its unit is doubted."""
ENERGY = 0.1
"""Energy that came from nowhere over that which moved."""
LIFT = 1e-3
"""Height over its size by which lifting a body is energy that does not count as motion."""
SAMPLED = 64
"""Of so many steps of the compiled driver one is looked at."""
PUT_ASIDE = 200
"""Certificates in which nothing speaks that are put aside before they are counted, at most."""
MOST_LOOKS = 50
"""Steps whose contacts are read in search of a deep overlap, at most."""


@dataclass(frozen=True)
class RunSummary:
    """A run so far, in sentences; print it, or end a notebook's cell with it."""

    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    """What was warned of."""

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *(f"warning: {text}" for text in self.warnings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from html import escape

        lines = [f"<p>{escape(text)}</p>" for text in self.sentences]
        return "".join(lines + [f"<p><b>Warning:</b> {escape(text)}</p>" for text in self.warnings])


@dataclass(eq=False)
class RunWatch:
    """Looks at the steps of a simulation, warns once of each kind of trouble, and keeps what a summary says."""

    model: Model
    silent: bool = False
    """Whether to keep warnings to itself."""
    enough: float = 0.0
    """Residual at which the solver ends steps of heaps; 0 where it has none but its tolerance."""
    ended_early: int = 0
    """Steps that it ended so."""
    solved: int = 0
    """Steps of the compiled driver that nobody looked at: their contact problem was solved to the tolerance, or it
    would have handed them back."""
    quiet: list[tuple[float, Certificate]] = field(default_factory=list)
    """Times [s] and certificates of steps that nobody has looked at yet, since nothing speaks in them."""
    looked: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)
    """Warnings by their kind."""
    deepest: tuple[float, float] = (0.0, 0.0)
    """[m] and the time [s] of the largest overlap."""
    residual: tuple[float, float] = (0.0, 0.0)
    """Largest residual of the contact law, and its time [s]."""
    momentum: float = 0.0
    made: float = 0.0
    """[J] that the numerics added since the sum was last zero."""
    gained: float = 0.0
    """[J] that they added in all steps that gained."""
    moved: float = 0.0
    """[J] largest kinetic energy so far."""
    worked: float = 0.0
    """[J] work of forces, drives and motions, whatever its sign."""
    potential: tuple[float, float] | None = None
    """[J] least and largest potential and elastic energy so far."""
    contacts: int = 0
    looks: int = 0

    @cached_property
    def sizes(self) -> Array:
        """(bodies,) [m] diameter of a ball that holds each, infinite for half-spaces; soft bodies follow."""
        soft = self.model.soft
        own = np.where(self.model.radius > 0.0, 2.0 * self.model.radius, np.inf)
        widths = [float(np.linalg.norm(np.ptp(soft.x_start[soft.node_body == k], axis=0))) for k in range(soft.count)]
        return np.concatenate([own, widths])

    @cached_property
    def smallest(self) -> float:
        """[m] size of the smallest body that moves."""
        moving = np.concatenate([self.model.body_dynamic, np.ones(self.model.soft.count, bool)])
        return float(self.sizes[moving].min(initial=np.inf))

    @cached_property
    def still_energy(self) -> float:
        """[J] below which energy is not worth a word: that of lifting every body by a thousandth of its size."""
        g = self.model.gravity_norm or 9.81
        size, soft = np.where(np.isfinite(self.sizes), self.sizes, 0.0), self.model.soft
        own = (self.model.mass * size[: self.model.body_count]).sum()
        nodes = (soft.mass * size[self.model.body_count + soft.node_body]).sum() if soft.count else 0.0
        return float(LIFT * g * (own + nodes)) + 1e-12

    def check_sizes(self) -> None:
        """Warn of bodies from meshes that are as large as houses: files in millimetres read as metres."""
        kinds = np.isin(self.model.shape_type, (MESH, HULL)) & self.model.body_dynamic[self.model.shape_body]
        for shape in np.flatnonzero(kinds).tolist():
            size = self._across(shape)
            if size > LARGE:
                name = visible(self.model.body_names[self.model.shape_body[shape]])
                self._warn(
                    "size",
                    f"body {name!r} is {size:.3g} m across. If its mesh is in millimetres, say so: "
                    "add_mesh(..., units='mm')",
                )
                return

    def check_postures(self, outside: Sequence[str]) -> None:
        """Warn of joints of robots that are outside their ranges before the first step; each is told in words."""
        if outside:
            more = f", and {len(outside) - 1} others" if len(outside) > 1 else ""
            self._warn(
                "posture",
                f"the first step begins with {outside[0]}{more}: limits throw them inside. Give a posture first, by "
                'sim.apply_keyframe(robot, "home") or sim.set_joint_positions(robot, ...)',
            )

    def _across(self, shape: int) -> float:
        """[m] diagonal of the box about a shape of vertices."""
        hull, hulls = int(self.model.shape_hull[shape]), self.model.hulls
        if hull < 0:
            return 2.0 * float(self.model.shape_radius[shape])
        own = hulls.vertices[hulls.vertex_start[hull] : hulls.vertex_start[hull + 1]]
        return float(np.linalg.norm(np.ptp(own, axis=0)))

    @cached_property
    def visible(self) -> float:
        """[m] overlap below which nobody need look closer."""
        return np.inf if self.model.compliant else OVERLAP * self.smallest

    def see(self, result: StepResult) -> None:
        """A step, and those before it that were put aside."""
        self.settle()
        if result.certificate.penetration > self.visible:
            self._look_at_overlap(result, result.certificate)
        self._count(result.state.time, result.certificate)

    def settle(self) -> None:
        """Count the steps that were put aside."""
        for time, seen in self.quiet:
            self._count(time, seen)
        self.quiet.clear()

    def _count(self, time: float, seen: Certificate) -> None:
        self.looked += 1
        early = seen.status == "max-iterations" and seen.natural_residual <= self.enough
        self.ended_early += early
        self.statuses["ended early" if early else seen.status] += 1
        self.contacts = max(self.contacts, seen.contacts)
        self.momentum = max(self.momentum, seen.momentum_relative)
        self.residual = max(self.residual, (seen.natural_residual, time))
        self.deepest = max(self.deepest, (seen.penetration, time))
        if early:
            self._warn(
                "ended early",
                f"the step at t = {time:.4g} s has {seen.contacts} contacts and ended at a residual of the contact law "
                f"of {seen.natural_residual:.2g}, as quality 'normal' does with heaps (at most {self.enough:g}). Later "
                "ones may, too: quality='exact' solves them further, and takes many times as long",
            )
        elif not seen.converged:
            self._warn(
                "unconverged",
                f"the step at t = {time:.4g} s did not converge ({seen.status}; residual of the contact law "
                f"{seen.natural_residual:.2g}). Later ones may not, too: print(sim.summary()) counts them",
            )
        self._book(seen, time)

    def _look_at_overlap(self, result: StepResult, seen: Certificate) -> None:
        """Warn where bodies overlap by a visible share of the smaller one, unless springs hold them apart."""
        if "deep overlap" in self.said or self.looks >= MOST_LOOKS or seen.penetration < self.deepest[0]:
            return
        self.looks += 1
        found = contacts_of(result)
        if not len(found.gap):
            return
        share = -found.gap / np.minimum(self.sizes[found.body_a], self.sizes[found.body_b])
        c = int(share.argmax())
        first = result.state.steps == 1
        if share[c] <= (STARTING_OVERLAP if first else OVERLAP):
            return
        names = " and ".join(repr(self._name(int(side[c]))) for side in (found.body_a, found.body_b))
        size = f"{-1e3 * found.gap[c]:.3g} mm, {100 * share[c]:.2g} % of the size of the smaller one"
        if first:
            advice = "They are pushed apart in the first step, which may throw them; move them apart"
            self._warn("starting overlap", f"bodies {names} overlap by {size}, where they start. {advice}")
        else:
            advice = "A shorter step (dt) or quality='exact' makes it less"
            self._warn("deep overlap", f"bodies {names} overlap by {size}, at t = {result.state.time:.4g} s. {advice}")

    def _name(self, number: int) -> str:
        count = self.model.body_count
        return visible(self.model.body_names[number] if number < count else self.model.soft.names[number - count])

    def _book(self, seen: Certificate, time: float) -> None:
        """Energy that came from nowhere, against what moved."""
        energy = seen.energy
        stored = energy.potential + energy.elastic
        low, high = self.potential or (stored, stored)
        self.potential = min(low, stored), max(high, stored)
        self.moved = max(self.moved, energy.kinetic)
        self.worked += abs(energy.work)
        apart = max(0.0, -energy.impact)  # overlaps pushed apart
        self.gained += max(0.0, energy.numerical)
        self.made = max(0.0, self.made + energy.numerical + apart)
        if "energy" in self.said or self.made <= self.still_energy:
            return
        moved = self.moved + self.worked + self.potential[1] - self.potential[0] + self.still_energy
        if self.made > ENERGY * moved:
            self._warn(
                "energy",
                f"{self.made:.3g} J of energy came from nowhere by t = {time:.4g} s, {100 * self.made / moved:.2g} % "
                "of what moved: the step is too long for this motion, or overlaps are pushed apart. Try a shorter dt",
            )

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self.said:
            self.said[kind] = text
            if not self.silent:
                warnings.warn(text, SimulationWarning, stacklevel=_depth_of_user())

    def summary(self, steps: int, time: float) -> RunSummary:
        """The run so far, of so many steps, until a time [s]."""
        self.settle()
        if not steps:
            return RunSummary(("No step has been taken yet.",), tuple(self.said.values()))
        words = [word for word in self.statuses if word not in ("converged", "ended early")]
        failed = sum(self.statuses[word] for word in words)
        how = ", ".join(f"{self.statuses[word]} {word}" for word in sorted(words, key=lambda w: -self.statuses[w]))
        ended = "All converged" if not failed else f"{failed} did not converge: {how}"
        if self.ended_early:
            ended = ended.replace("All", "All others") if not failed else ended
            ended = f"{self.ended_early} ended early, at a residual of {self.enough:g} at most. {ended}"
        told = f"{steps} steps to t = {time:.4g} s, {self.contacts} contacts at most. {ended}."
        if self.solved:
            told += (
                f" {self.looked} of them were measured, of which all else here is said; the contact problems of the "
                "others were solved to the same tolerance."
            )
        return RunSummary(
            (
                told,
                f"The contact law is obeyed to {self.residual[0]:.2g} (residual, at t = {self.residual[1]:.4g} s).",
                f"Bodies overlap by {1e3 * self.deepest[0]:.2g} mm at most (at t = {self.deepest[1]:.4g} s).",
                f"Momentum is conserved to {self.momentum:.1e}; the time discretisation added {self.gained:.2g} J.",
            ),
            tuple(self.said.values()),
        )


def _depth_of_user() -> int:
    """How many calls above ``warnings.warn`` the code is that is not of this package."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("stickslip."):
        frame, depth = frame.f_back, depth + 1
    return depth
