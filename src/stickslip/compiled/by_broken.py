"""What drivers of steps with joints share: tables of the joints that are not broken, a step called by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.compiled.driver import NO_POSES, Driver
from stickslip.jit import kernel_address
from stickslip.model.control import Control
from stickslip.model.state import State


class ByBroken:
    """Tables of a model by which of its joints are broken: worlds differ in that."""

    def __init__(self, joints: int) -> None:
        """With no joint of so many broken."""
        self.broken: Bools = np.zeros(joints, np.bool_)
        self.known = dict[bytes, Any]()

    def tables(self, now: Any, broken: Bools, make: Callable[[], Any]) -> Any:
        """Those of the joints that are not broken (nj,); ``now``: the ones of before, ``make`` has new ones."""
        if broken is self.broken:
            return now
        changed = not np.array_equal(broken, self.broken)
        self.known[self.broken.tobytes()] = now
        self.broken = broken
        if not changed:
            return now
        known = self.known.get(broken.tobytes())
        return make() if known is None else known


class ByAddress:
    """A compiled step that Python calls by its address, as kernels do.

    Its arguments have the same types in all steps, which are looked at once: for some sixty arrays that takes as long
    as two linearisations of a linkage.
    """

    def __init__(self, kernel: Any, call: Callable[..., int]) -> None:
        self.kernel, self.call = kernel, call
        self.place: Any = None

    def __call__(self, *arguments: Any) -> int:
        """The step."""
        if self.place is not None:
            return int(self.call(self.place, *arguments))
        self.place = kernel_address(self.kernel, *arguments)
        code = int(self.call(self.place, *arguments))
        versions = list(getattr(self.call, "overloads", {}).values())
        if len(versions) == 1:  # else nothing says which of them these arguments are for
            self.call = versions[0].entry_point
        return code

    def address(self, driver: Driver, state: State, control: Control) -> Any:
        """Where it is, for arguments like those of a step of a driver."""
        out: Array = np.empty(len(state.q) + len(state.v))
        given = driver.arguments(state, control, state.body_velocity, NO_POSES, out, np.empty(driver.told))
        return kernel_address(self.kernel, *given)
