"""Quality in three words: what a user who does not choose a solver gets (docs/guide/choosing.md has what each costs).

``normal`` is what ``auto`` does by itself. ``exact`` asks for a hundredth of its residual. ``fast`` stops after some
fifty iterations, for looking at piles. Whatever a step did not reach, its certificate says.
"""

from __future__ import annotations

from typing import Any, Literal

from stickslip.checks import choice

Quality = Literal["fast", "normal", "exact"]
QUALITIES: tuple[Quality, ...] = ("fast", "normal", "exact")

OPTIONS: dict[str, dict[str, Any]] = {
    "fast": {"tolerance": 1e-4, "max_iterations": 50},
    "normal": {},
    "exact": {"tolerance": 1e-10, "max_iterations": 10_000},
}
"""Options of ``auto``. Fifty iterations are few enough that it stays with sweeps, which cost a tenth of the methods
that it would go on with. A pile in which many steps in a row end far from solved can lock and burst: many bodies do
not decide for it by themselves."""


def solver_options(quality: str) -> dict[str, Any]:
    """Options of ``auto`` for a quality."""
    return OPTIONS[choice("simulation", "quality", quality, QUALITIES)]
