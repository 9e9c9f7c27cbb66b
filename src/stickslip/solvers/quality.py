"""Quality in three words: what a user who does not choose a solver gets (docs/guide/choosing.md has what each costs).

``exact`` asks for what the package can give and pays for it. ``normal`` gives the same to what stands and to all small
scenes; in piles of many bodies that fall, where more iterations would not be seen, it stops earlier. ``fast`` stops
there always. Whatever a step did not reach, its certificate says.
"""

from __future__ import annotations

from typing import Any, Literal

from stickslip.checks import choice

Quality = Literal["fast", "normal", "exact"]
QUALITIES: tuple[Quality, ...] = ("fast", "normal", "exact")

EXACT: dict[str, Any] = {}
"""Options of ``auto``: its own defaults, 1e-8 of the free velocity, at most 2,000 iterations a step."""
PILE: dict[str, Any] = {"tolerance": 1e-4, "max_iterations": 50}
"""Those of many bodies in motion: few enough iterations that ``auto`` stays with sweeps, which cost a tenth of the
methods that it would go on with."""
MANY = 50
"""Dynamic bodies of a pile, at least."""
STANDING = 0.5
"""Share of dynamic bodies that touch something at the start from which on a scene stands and is no pile."""


def solver_options(quality: str, bodies: int = 0, touching: int = 0) -> dict[str, Any]:
    """Options of ``auto`` for a quality and a scene of so many dynamic bodies, of which some touch others at first."""
    word = choice("simulation", "quality", quality, QUALITIES)
    if word == "exact":
        return EXACT
    falling = bodies >= MANY and touching < STANDING * bodies
    return PILE if word == "fast" or falling else EXACT
