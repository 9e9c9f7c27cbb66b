"""What drivers of steps with joints share: tables of the joints that are not broken, a step called by its address."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.compiled.driver import NO_POSES, Driver
from stickslip.constraints.joints import JointMemory
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


class JoinedDriver(Driver):
    """A driver of a model with joints: its tables are those of the joints that are not broken."""

    step: ByAddress
    tables: Any

    def begin_joints(self, kernel: Any, call: Callable[..., int]) -> None:
        """With no joint broken; the compiled step, and what calls it."""
        self.known = JointMemory()
        self.by_broken, self.step = ByBroken(self.model.joints.count), ByAddress(kernel, call)
        self.angle, self.pushed = np.zeros((0, 2)), np.zeros(0)
        """What the latest step wrote: angles (nj, 2) and impulses of all rows (k,) of joints."""

    @abstractmethod
    def _tables(self) -> Any:
        """Tables of the model with the joints that are not broken."""

    def take_broken(self, broken: Bools) -> None:
        """Have tables of the joints that are not broken (nj,)."""
        self.tables = self.by_broken.tables(self.tables, broken, self._tables)

    def address(self, state: State, control: Control) -> Any:
        """See Driver."""
        out: Array = np.empty(len(state.q) + len(state.v))
        given = self.arguments(state, control, state.body_velocity, NO_POSES, out, np.empty(self.told))
        return kernel_address(self.step.kernel, *given)
