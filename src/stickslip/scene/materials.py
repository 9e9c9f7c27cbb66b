"""Surfaces of bodies, and what two of them do together: friction along two axes, torsion, restitution, stiffness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array, Ints
from stickslip.checks import SMALLEST, any_number, direction, fraction, not_negative, several, vector
from stickslip.errors import InputError
from stickslip.names import shown

Friction = float | tuple[float, float]
"""One coefficient, or two: along the friction axis of the body and across it."""

COMBINE: dict[str, Callable[[float, float], float]] = {
    "geometric": lambda a, b: float(np.sqrt(a) * np.sqrt(b)),
    "average": lambda a, b: 0.5 * (a + b),
    "multiply": lambda a, b: a * b,
    "min": min,
    "max": max,
}
"""Rules that make one coefficient of a pair from those of two materials."""

NO_AXIS, AXIS_OF_A, AXIS_OF_B = range(3)
"""Codes of ``PairTables.axis``: whose body's frame holds the friction axis of a pair."""


@dataclass(frozen=True)
class Material:
    """Surface of a shape. ``friction`` holds along ``axis`` (in the body's frame) and across it, ``torsion`` [m]
    about the normal; ``restitution`` is along the normal, ``tangential_restitution`` across it. Each contact point is a
    spring of ``contact_stiffness`` [N/m], inf for rigid ones, with a damper of ``contact_dissipation`` [s] times it."""

    name: str
    friction: tuple[float, float] = (0.5, 0.5)
    restitution: float = 0.0
    torsion: float = 0.0
    tangential_restitution: float = 0.0
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    contact_stiffness: float = inf
    contact_dissipation: float = 0.0


@dataclass(frozen=True)
class PairRule:
    """What two materials do together: numbers, or the name of a rule in COMBINE, for each coefficient.

    Torsion and tangential restitution of a pair are the larger of the two unless a number is given; the springs of two
    materials are in series and their dissipation times add up where those are None.
    """

    friction: tuple[float, float] | str
    restitution: float | str
    torsion: float | str = "max"
    tangential_restitution: float | str = "max"
    contact_stiffness: float | None = None
    contact_dissipation: float | None = None


class PairTables(NamedTuple):
    """Coefficients of every pair of nm materials."""

    friction: Array
    """(nm, nm, 3) along the axis, across it, and about the normal [m]."""
    restitution: Array
    """(nm, nm, 2) normal and tangential."""
    axis: Ints
    """(nm, nm) NO_AXIS where friction is the same in all directions, else whose axis counts."""
    compliance: Array
    """(nm, nm, 2) of a contact point: 1 / stiffness [m/N], zero where it is rigid, and dissipation time [s]."""


class Surface(NamedTuple):
    """What a user says of a surface: the name of a material, or coefficients; None where nothing was said."""

    material: str | None = None
    friction: Friction | None = None
    restitution: float | None = None
    torsion: float | None = None
    tangential_restitution: float | None = None
    friction_axis: ArrayLike | None = None
    contact_stiffness: float | None = None
    contact_dissipation: float | None = None


def material(
    name: str,
    friction: Friction | None = None,
    restitution: float | None = None,
    torsion: float | None = None,
    tangential_restitution: float | None = None,
    friction_axis: ArrayLike | None = None,
    contact_stiffness: float | None = None,
    contact_dissipation: float | None = None,
    where: str | None = None,
) -> Material:
    """A checked material; what is None keeps its default, and ``where`` is what errors call it."""
    where = where or f"material {name!r}"
    default = Material(name)
    if friction_axis is not None and not several(friction):
        raise InputError(f"{where}: friction_axis is given, but friction is {shown(friction)}; give two coefficients")
    x, y, z = direction(where, "friction_axis", default.axis if friction_axis is None else friction_axis).tolist()
    return Material(
        name,
        default.friction if friction is None else two_coefficients(where, friction),
        fraction(where, "restitution", default.restitution if restitution is None else restitution),
        not_negative(where, "torsion", default.torsion if torsion is None else torsion),
        fraction(
            where,
            "tangential_restitution",
            default.tangential_restitution if tangential_restitution is None else tangential_restitution,
        ),
        (x, y, z),
        inf if contact_stiffness is None else stiffness(where, contact_stiffness),
        0.0 if contact_dissipation is None else not_negative(where, "contact_dissipation", contact_dissipation),
    )


def add_material(materials: list[Material], name: str, surface: Surface) -> str:
    """Add a checked material to those of a scene; its name."""
    name = checks.name("material", name)
    if any(known.name == name for known in materials):
        raise InputError(f"material {name!r} exists already; choose another name")
    materials.append(material(name, *surface[1:]))
    return name


def material_index(materials: Sequence[Material], name: str) -> int:
    """Index of a material by name; an unknown one raises an InputError that lists the others."""
    for index, known in enumerate(materials):
        if isinstance(name, str) and known.name == name:
            return index
    names = ", ".join(repr(known.name) for known in materials) or "none"
    raise InputError(f"material {shown(name)} is unknown; known: {names}; add it with scene.add_material")


def body_material(materials: list[Material], label: str, surface: Surface) -> int:
    """Index of the material of a body, or of one of its own, added to ``materials`` unless an equal one is there.

    Sharing keeps the tables of pairs small.
    """
    if surface.material is not None:
        if any(value is not None for value in surface[1:]):
            raise InputError(f"body {label!r}: give either material or friction and restitution, not both")
        return material_index(materials, surface.material)
    own = material("", *surface[1:], where=f"body {label!r}")
    own = replace(own, name=f"own surface {own.friction}, {own.torsion}, {own.restitution}")
    for index, known in enumerate(materials):
        if known == own:
            return index
    materials.append(own)
    return len(materials) - 1


def changed_rule(
    where: str,
    old: PairRule,
    friction: Friction | str | None,
    restitution: float | str | None,
    torsion: float | None,
    tangential_restitution: float | None,
    contact_stiffness: float | None = None,
    contact_dissipation: float | None = None,
) -> PairRule:
    """The rule of a pair with what was given in the place of the old; wrong values raise an InputError."""
    new_friction, new_restitution = old.friction, old.restitution
    if isinstance(friction, str):
        new_friction = known_rule(where, friction)
    elif friction is not None:
        new_friction = two_coefficients(where, friction)
    if isinstance(restitution, str):
        new_restitution = known_rule(where, restitution)
    elif restitution is not None:
        new_restitution = fraction(where, "restitution", restitution)
    return PairRule(
        new_friction,
        new_restitution,
        old.torsion if torsion is None else not_negative(where, "torsion", torsion),
        old.tangential_restitution
        if tangential_restitution is None
        else fraction(where, "tangential_restitution", tangential_restitution),
        old.contact_stiffness if contact_stiffness is None else stiffness(where, contact_stiffness),
        old.contact_dissipation
        if contact_dissipation is None
        else not_negative(where, "contact_dissipation", contact_dissipation),
    )


def pair_tables(
    materials: Sequence[Material], rules: Mapping[tuple[int, int], PairRule], default: PairRule
) -> PairTables:
    """Coefficients of every pair; ``rules`` by (lower, higher) index, ``default`` elsewhere.

    Two materials with their own axes cannot be combined to one ellipse: the axis of the one whose coefficients
    differ more counts, at a draw that of the one added first.
    """
    count = len(materials)
    friction, restitution, compliance = (np.zeros((count, count, k)) for k in (3, 2, 2))
    axis = np.zeros((count, count), dtype=np.int32)
    for i, a in enumerate(materials):
        for j, b in enumerate(materials):
            rule = rules.get((min(i, j), max(i, j)), default)
            for k in range(2):
                given = rule.friction if isinstance(rule.friction, str) else rule.friction[k]
                friction[i, j, k] = _combined(given, a.friction[k], b.friction[k])
            friction[i, j, 2] = _combined(rule.torsion, a.torsion, b.torsion)
            restitution[i, j, 0] = _combined(rule.restitution, a.restitution, b.restitution)
            restitution[i, j, 1] = _combined(
                rule.tangential_restitution, a.tangential_restitution, b.tangential_restitution
            )
            own, dissipation = rule.contact_stiffness, rule.contact_dissipation
            # springs in series: a rigid one leaves the other's stiffness
            series = 1.0 / a.contact_stiffness + 1.0 / b.contact_stiffness
            compliance[i, j, 0] = series if own is None else 1.0 / own
            both = a.contact_dissipation + b.contact_dissipation
            compliance[i, j, 1] = both if dissipation is None else dissipation
            if friction[i, j, 0] != friction[i, j, 1]:
                axis[i, j] = AXIS_OF_A if (_anisotropy(a), j) >= (_anisotropy(b), i) else AXIS_OF_B
    return PairTables(friction, restitution, axis, compliance)


def _combined(rule: float | str, a: float, b: float) -> float:
    return COMBINE[rule](a, b) if isinstance(rule, str) else rule


def _anisotropy(of: Material) -> float:
    low, high = sorted(of.friction)
    return (high - low) / high if high > 0.0 else 0.0


def two_coefficients(where: str, friction: Friction) -> tuple[float, float]:
    """Friction along and across the axis from one number or two; a wrong one raises an InputError."""
    if several(friction):
        along, across = vector(where, "friction", friction, 2).tolist()
    else:
        along = across = not_negative(where, "friction", friction)
    return not_negative(where, "friction", along), not_negative(where, "friction", across)


def stiffness(where: str, value: float) -> float:
    """A stiffness of contacts [N/m], inf for rigid ones, or an error that names it."""
    wrong = InputError(
        f"{where}: contact_stiffness is {shown(value)}; it must be positive [N/m], or left out (None) for rigid "
        "contacts"
    )
    try:
        number = any_number(where, "contact_stiffness", value)
    except InputError:
        raise wrong from None
    if not number >= SMALLEST:
        raise wrong
    return number


def known_rule(where: str, rule: str) -> str:
    """The name of a rule in COMBINE, or an error that lists them."""
    if not isinstance(rule, str) or rule not in COMBINE:
        raise InputError(f"{where}: combination rule {shown(rule)} is unknown; known: {', '.join(COMBINE)}")
    return rule
