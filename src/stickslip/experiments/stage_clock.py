"""CPU time of the stages of a step by the functions that do their work, each second counted for the innermost one.

``StepResult.timings`` has wall times of larger stages: assembly there holds elements and factorisation together, and a
solve holds what it asks for first. Here functions are wrapped while the clock is open, and put back after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from types import TracebackType
from typing import Any

OTHER = "other"
STAGES: Mapping[str, tuple[str, ...]] = {
    "geometry": (
        "stickslip.constraints.registry:contacts_of_step",
        "stickslip.constraints.registry:find_soft_contacts",
    ),
    "elements": ("stickslip.bodies.soft.momentum:momentum",),
    "Cholesky and Schur": (
        "stickslip.bodies.soft.kind:parts_ending_with",
        "stickslip.linalg.block_factors:BlockFactors.__init__",
        "stickslip.linalg.soft_blocks:SparseBlocks.solve",
        "stickslip.contact.problem:participating",
        "stickslip.contact.participating:Participating.extended",
    ),
    "SAP, factorisations": (
        "stickslip.solvers.sap.sap:structure_of",
        "stickslip.solvers.sap.sap:base_of",
        "stickslip.solvers.sap.sap:factorised",
        "stickslip.solvers.sap.sap:solve",
    ),
    "SAP, all else": ("stickslip.solvers.sap.sap:Sap.solve",),
    "certificate": ("stickslip.step:certify",),
}
"""Functions by stage, as module:name where they are looked up. Elements: forces, stiffness and their sum A. Cholesky
and Schur: orders of elimination, factors of A, free motion (eq. 10), A^ with its inverse (eq. 16), and eq. 15."""
NAMES = (*STAGES, OTHER)


class StageClock:
    """While it is open, ``taken`` [s] has the CPU time of every stage since the last ``reset``."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}
        self._under_way: list[str] = []
        self._since = 0.0
        self._put_back: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StageClock:
        found = []  # all of them before the first is wrapped: one that is missing leaves nothing behind
        for stage, places in STAGES.items():
            for place in places:
                module, _, path = place.partition(":")
                *within, name = path.split(".")
                owner: Any = import_module(module)
                for part in within:
                    owner = getattr(owner, part)
                found.append((owner, name, getattr(owner, name), stage))
        self.reset()
        for owner, name, original, stage in found:
            self._put_back.append((owner, name, original))
            setattr(owner, name, self._timed(original, stage))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for owner, name, original in reversed(self._put_back):
            setattr(owner, name, original)
        self._put_back.clear()

    def reset(self) -> None:
        """Begin at zero."""
        self.taken = dict.fromkeys(NAMES, 0.0)
        self._under_way, self._since = [OTHER], time.process_time()

    def read(self) -> dict[str, float]:
        """[s] of every stage since the last ``reset``."""
        self._book()
        return dict(self.taken)

    def _book(self) -> None:
        """Give the time since the last change to the stage under way."""
        now = time.process_time()
        self.taken[self._under_way[-1]] += now - self._since
        self._since = now

    def _timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        @wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            self._book()
            self._under_way.append(stage)
            try:
                return function(*given, **named)
            finally:
                self._book()
                self._under_way.pop()

        return timed
