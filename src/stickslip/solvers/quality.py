"""Quality in three words: what a user who does not choose a solver gets (docs/guide/choosing.md has what each costs).

``normal`` is what ``auto`` does by itself, but that heaps of hundreds of contacts whose steps cost too much may end
them at a residual of ENOUGH. ``exact`` asks for a hundredth of the residual, of heaps, too. ``fast`` stops after some
fifty iterations, for looking at piles. Whatever a step did not reach, its certificate says, and the run warns once.
"""

from __future__ import annotations

from typing import Any, Literal

from stickslip.checks import choice

Quality = Literal["fast", "normal", "exact"]
QUALITIES: tuple[Quality, ...] = ("fast", "normal", "exact")

ENOUGH = 1e-3
"""Residual of the contact law at which ``normal`` may end a step of a heap. It is the residual that counts and not the
work: a heap whose steps end far from solved, after any number of iterations, can lock and burst."""
OPTIONS: dict[str, dict[str, Any]] = {
    "fast": {"tolerance": 1e-4, "max_iterations": 50},
    "normal": {"enough": ENOUGH},
    "exact": {"tolerance": 1e-10, "max_iterations": 10_000},
}
"""Options of ``auto``. Fifty iterations are few enough that it stays with sweeps, which cost a tenth of the methods
that it would go on with. A pile in which many steps in a row end far from solved can lock and burst: many bodies do
not decide for it by themselves."""
HEAP_BODIES = 50
"""Rigid bodies that move freely from which on steps are looked at where they led, unless ``fast`` is asked for, ..."""
TRIES_AGAIN = 3
"""... and taken again so often at most where the user gives no Stepping (Stepping.redetect)."""


def solver_options(quality: str) -> dict[str, Any]:
    """Options of ``auto`` for a quality."""
    return OPTIONS[choice("simulation", "quality", quality, QUALITIES)]


def tries_again(quality: str | None, bodies: int) -> int:
    """``Stepping.redetect`` of a quality, for so many rigid bodies that move freely; None: a solver was chosen."""
    return 0 if quality in (None, "fast") or bodies < HEAP_BODIES else TRIES_AGAIN
