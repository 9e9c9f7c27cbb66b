"""The two sets of settings of [erleben2017]: ``printed``, what the paper says, and ``author``, what its author ran.

The second is in his public simulator, github.com/diku-dk/PROX: ``bin/rigid_body_cmd/2017_SCA_*/*.cfg`` for the settings
of the runs of each figure, ``PROCEDURAL/src/make_*.cpp`` for layouts, ``PROX/include/solvers`` for nu. Values were
learned from it, nothing else. It differs from what is printed in nearly everything that the paper leaves open, and in
some that it does not: R of blocked factors never shrinks (nu = 1), that of global ones does by a tenth and not by half;
half of each overlap above 1 mm is removed in every step, at most 10 mm; contacts within 10 mm may not close; friction
is a ball of radius 0.65 lambda_n over slip and spin, of stones on each other; Jacobi has no tolerance and makes 1000
iterations. Of his runs we do not have: linear and angular damping of 0.01, pairs that part already are stabilised
here, too, his contact points (most opposing faces, on tetrahedra), and that Gauss-Seidel there goes on, after it rolled
back, with the velocities of the iterate that it threw away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

PRINTED, AUTHOR = "printed", "author"
BOTH = "both"
CHOICES = (PRINTED, AUTHOR, BOTH)

MAX_ITERATIONS = 1000
THRESHOLD = 1e-3
"""[N s] merit of absolute convergence, sec. 5."""
NO_TOLERANCE = 1e-300
"""Tolerances must be above zero; no merit but zero is below this one."""

_STEPPING: Mapping[str, Any] = {"dt": 0.01, "scheme": "moreau", "lookahead": False, "warm_start": False}
_OPTIONS: Mapping[str, Any] = {
    "criterion": "step", "tolerance": THRESHOLD, "relative": 1e-3, "max_iterations": MAX_ITERATIONS, "growth": 1.0,
    "plain": True,
}  # fmt: skip
"""Of every solver: eq. (27), thresholds of sec. 5, the rule of Alg. 1 and 2, projections in the plain norm."""
_FACTORS: Mapping[str, Mapping[str, Any]] = {
    "blocked": {"factors": "blocked"},
    "global": {"factors": "global", "r_start": 5.0},
    "local": {"factors": "local"},
}
"""The r-factor strategies of sec. 4.2."""


@dataclass(frozen=True)
class Variant:
    """Settings of all runs."""

    name: str
    words: str
    """What they are, for the report."""
    stepping: Mapping[str, Any]
    options: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]]
    """Options of each solver."""
    strategies: Mapping[str, Mapping[str, Any]]
    """Options of each r-factor strategy."""
    scenes: Mapping[str, Mapping[str, Any]]
    """Scenes of Fig. 3 and 4 and the parameters that differ from their defaults; those with the longest runs first."""
    quick: Mapping[str, Mapping[str, Any]]
    """Parameters of quick runs, in the place of those."""
    quick_steps: int


PRINTED_SETTINGS = Variant(
    PRINTED,
    "what the paper says: nu 0.9 local, 0.5 global and blocked; nothing is stabilised; contacts are what touches",
    stepping={**_STEPPING, "recovery": 0.0},
    options=_OPTIONS,
    own={"prox-gs": {"subspace": 0}, "prox-jacobi": {}},
    strategies=_FACTORS,
    scenes={
        "spheres": {},
        "jacks": {},
        "glasses": {},
        "wall": {"length": 0.5, "height": 0.25, "width": 0.25, "joint": 0.005},
        "tower": {"radius": 0.6, "height": 0.24, "width": 0.24, "joint": 0.008},
    },
    quick={
        "spheres": {"scale": 0.05}, "jacks": {"scale": 0.05}, "glasses": {"scale": 0.05}, "wall": {"scale": 0.3},
        "tower": {"scale": 0.5},
    },
    quick_steps=100,
)  # fmt: skip

_SLICE = math.pi / 12
"""Half the angle of one of the 12 stones of a ring of the author's tower, with radii of 2.5 and 3 m."""
_STONE: Mapping[str, Any] = {"friction": 0.65, "torsion": 0.65}
"""[1] and [m]: stones on stones; his friction set is a ball of that radius over both slips and the spin."""
AUTHOR_SETTINGS = Variant(
    AUTHOR,
    "what its author ran (github.com/diku-dk/PROX): nu 0.9 local, 0.1 global, 1 blocked; half of overlaps over 1 mm "
    "removed, at most 10 mm a step; an envelope of 10 mm; Jacobi without tolerance; friction and torsion 0.65",
    stepping={
        **_STEPPING, "recovery": 0.5, "recovery_speed": 1.0, "least_overlap": 1e-3, "envelope": 0.01, "margin": 0.01
    },
    options=_OPTIONS,
    own={"prox-gs": {"subspace": 0}, "prox-jacobi": {"tolerance": NO_TOLERANCE, "relative": 0.0}},
    strategies={
        "blocked": {**_FACTORS["blocked"], "nu": 1.0},
        "global": {**_FACTORS["global"], "nu": 0.1},
        "local": {**_FACTORS["local"], "nu": 0.9},
    },
    # densities: such that bodies have the masses of Table 1
    scenes={
        "spheres": {"layout": "glass", "radius": 0.2, "density": 2029.0, **_STONE},
        "jacks": {"layout": "glass", "reach": 0.375, "density": 1705.0, "vertices": 1660, **_STONE},
        "glasses": {"layout": "glass", "height": 0.75, "density": 1332.0, "vertices": 1630, **_STONE},
        "wall": {"length": 0.625, "height": 0.4, "width": 0.5, "joint": 0.0, "shift": 0.5, **_STONE},
        "tower": {
            "rings": 4, "bricks": 12, "radius": 2.75, "height": 0.75, "width": 0.5 * math.cos(_SLICE),
            "joint": 2.0 * (2.75 - 0.25 * math.cos(_SLICE)) * math.tan(_SLICE) - 1.9 * 2.5 * math.sin(_SLICE), **_STONE,
        },
    },
    quick={
        "spheres": {"scale": 0.05},
        "jacks": {"scale": 0.05, "vertices": 0},
        "glasses": {"scale": 0.05, "vertices": 0, "density": 1374.0},
        "wall": {"scale": 0.3},
        "tower": {"scale": 0.5},
    },
    quick_steps=200,
)  # fmt: skip

VARIANTS: Mapping[str, Variant] = MappingProxyType({v.name: v for v in (PRINTED_SETTINGS, AUTHOR_SETTINGS)})


def chosen(settings: str) -> tuple[Variant, ...]:
    """The variants that a choice of settings means."""
    return tuple(VARIANTS.values()) if settings == BOTH else (VARIANTS[settings],)
