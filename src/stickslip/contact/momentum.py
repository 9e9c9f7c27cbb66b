"""The momentum equation of a step: A (v - at) = missing + J^T lam."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from stickslip.arrays import Array
from stickslip.linalg.inertia import Inertia


@dataclass(frozen=True, eq=False)
class Momentum:
    """Momentum linearised at some velocities; the free velocities are solved for when somebody asks for them."""

    A: Inertia
    at: Array
    """(nv,) velocities at which momentum was linearised; the free velocities where nothing is missing there."""
    missing: Array | None = None
    """(nv,) [N s] that is missing there without constraints: A (v_free - at) = missing. None: nothing is."""

    @cached_property
    def free(self) -> Array:
        """(nv,) velocities without constraints."""
        return self.at if self.missing is None else self.at + self.A.solve(self.missing)

    def moved(self, impulse: Array) -> Array:
        """Velocities (nv,) that impulses (nv,) of constraints lead to."""
        if self.missing is None:
            return self.at + self.A.solve(impulse)
        return self.at + self.A.solve(self.missing + impulse)

    def gain(self, v: Array) -> Array:
        """A (v - v_free) [N s] (nv,), for which nothing is solved; an InputError where only A^-1 is known."""
        gained = self.A.apply(v - self.at)
        return gained if self.missing is None else gained - self.missing

    def pushed(self, impulse: Array) -> Momentum:
        """The same with impulses (nv,) [N s] that act without being asked for."""
        if self.missing is None:
            return Momentum(self.A, self.at + self.A.solve(impulse))
        return Momentum(self.A, self.at, self.missing + impulse)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the fields, not what was computed from them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
