"""A gallery of contact problems whose solutions are known: every solver is run on all of them.

Each entry gives the problem and the velocity v (nv,) that solves it; velocities are unique here even where
impulses are not (redundant contacts). ``impulses`` (m,) are given where they are unique, too.
Bodies are rigid (6 velocities); h is a time step, g gravity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from stickslip.contact.joint_gallery import (
    disc_with_load,
    drive_holds,
    drive_saturates,
    four_bar,
    heavy_chain,
    pendulum,
    short_chain,
)
from stickslip.contact.laws import BILATERAL, ELLIPSE, ELLIPSOID, LIMIT
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.row_by_row import KnownProblem, Row, assemble, contact

H, G = 0.01, 9.81


def _particle(velocity: ArrayLike, mu: float, bias: float = 0.0) -> ContactProblem:
    """A particle of 2 kg above the ground with the given free velocity (x, y, z)."""
    free = [*np.asarray(velocity, dtype=np.float64), 0, 0, 0]
    return assemble([2.0], [1.0], free, [contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, 0), mu, bias, tangent=(1, 0, 0))])


def one_contact_open() -> KnownProblem:
    """The particle leaves: nothing happens."""
    v = np.array([0.3, 0.1, 0.2, 0, 0, 0])
    return KnownProblem(_particle(v[:3], 0.5), v, np.zeros(3))


def one_contact_stick() -> KnownProblem:
    """Free velocity inside the cone: it stops."""
    return KnownProblem(_particle((0.1, -0.1, -1.0), 0.5), np.zeros(6), np.array([2.0, -0.2, 0.2]))


def one_contact_slip() -> KnownProblem:
    """Free velocity outside the cone: friction takes mu times the normal velocity."""
    return KnownProblem(_particle((1.0, 0.0, -1.0), 0.4), np.array([0.6, 0, 0, 0, 0, 0]), np.array([2.0, -0.8, 0.0]))


def one_contact_gap() -> KnownProblem:
    """A gap of 4 mm may close within the step (bias gap / h); the particle lands and slides on."""
    v = np.array([1.0 - 0.4 * 0.6, 0, -0.4, 0, 0, 0])
    return KnownProblem(_particle((1.0, 0.0, -1.0), 0.4, bias=0.004 / H), v, np.array([1.2, -0.48, 0.0]))


def one_contact_rebound() -> KnownProblem:
    """Restitution one half: bias e u_before, no friction."""
    v = np.array([1.0, 0, 0.5, 0, 0, 0])
    return KnownProblem(_particle((1.0, 0.0, -1.0), 0.0, bias=-0.5), v, np.array([3.0, 0.0, 0.0]))


def _sphere_on_slope(angle: float, mu: float) -> tuple[ContactProblem, float]:
    """Ball of 1 kg and 0.1 m, gravity tilted by the angle; rolls along x."""
    radius, mass = 0.1, 1.0
    inertia = 0.4 * mass * radius**2
    free = [G * H * np.sin(angle), 0, -G * H * np.cos(angle), 0, 0, 0]
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, -radius), mu, tangent=(1, 0, 0))
    return assemble([mass], [inertia], free, [row]), radius


def sphere_rolls_on_slope() -> KnownProblem:
    """A ball that rolls without slip gains 5/7 g sin(angle) h."""
    angle = 0.4
    problem, radius = _sphere_on_slope(angle, 0.5)
    speed = 5.0 / 7.0 * G * H * np.sin(angle)
    impulse = np.array([G * H * np.cos(angle), -2.0 / 7.0 * G * H * np.sin(angle), 0.0])
    return KnownProblem(problem, np.array([speed, 0, 0, 0, speed / radius, 0]), impulse)


def sphere_slips_on_slope() -> KnownProblem:
    """With mu below 2/7 tan(angle) the ball slips and spins up at 5 mu g cos(angle) / (2 radius)."""
    angle, mu = 0.8, 0.1
    problem, radius = _sphere_on_slope(angle, mu)
    normal = G * H * np.cos(angle)
    speed = G * H * np.sin(angle) - mu * normal
    spin = 2.5 * mu * normal / radius
    return KnownProblem(problem, np.array([speed, 0, 0, 0, spin, 0]), np.array([normal, -mu * normal, 0.0]))


CORNERS = ((-1, -1), (1, -1), (-1, 1), (1, 1))


def _box(lower: int, upper: int, half: float, mu: float) -> list[Row]:
    """Four corner contacts of a cube of half length ``half`` on the ground (-1) or on an equal one below."""
    return [
        contact(lower, upper, (0, 0, 1), (half * x, half * y, half), (half * x, half * y, -half), mu)
        for x, y in CORNERS
    ]


def box_sticks_on_slope() -> KnownProblem:
    """Slope at 80 % of the Coulomb limit: the box stays."""
    angle = np.arctan(0.8 * 0.5)
    free = [G * H * np.sin(angle), 0, -G * H * np.cos(angle), 0, 0, 0]
    return KnownProblem(assemble([1.0], [1.0 / 600.0], free, _box(-1, 0, 0.05, 0.5)), np.zeros(6))


def box_slips_on_slope() -> KnownProblem:
    """Slope at twice the Coulomb limit of mu 0.2: g (sin - mu cos) h."""
    angle, mu = np.arctan(0.4), 0.2
    free = [G * H * np.sin(angle), 0, -G * H * np.cos(angle), 0, 0, 0]
    v = np.array([G * H * (np.sin(angle) - mu * np.cos(angle)), 0, 0, 0, 0, 0])
    return KnownProblem(assemble([1.0], [1.0 / 600.0], free, _box(-1, 0, 0.05, mu)), v)


def _stack(masses: Sequence[float]) -> KnownProblem:
    """Cubes of 0.1 m on each other, at rest under gravity."""
    rows = [row for i in range(len(masses)) for row in _box(i - 1, i, 0.05, 0.5)]
    free = [[0, 0, -G * H, 0, 0, 0]] * len(masses)
    return KnownProblem(assemble(masses, [m / 600.0 for m in masses], free, rows), np.zeros(6 * len(masses)))


def stack_of_five() -> KnownProblem:
    """Five equal cubes stay."""
    return _stack([1.0] * 5)


def mass_ratio() -> KnownProblem:
    """10,000 kg on 1 kg stay."""
    return _stack([1.0, 1e4])


def redundant_table() -> KnownProblem:
    """A table top on sixteen legs in a row of four by four: rank 6 from 48 rows; it stays."""
    legs = [(0.3 * i - 0.45, 0.3 * j - 0.45) for i in range(4) for j in range(4)]
    rows = [contact(-1, 0, (0, 0, 1), (0, 0, 0), (x, y, -0.4), 0.5) for x, y in legs]
    return KnownProblem(assemble([20.0], [2.0], [0, 0, -G * H, 0, 0, 0], rows), np.zeros(6))


def ball_in_groove() -> KnownProblem:
    """A ball in a frictionless V of two planes at 45 degrees: each carries m g h / sqrt 2."""
    s = np.sqrt(0.5)
    rows = [contact(-1, 0, n, (0, 0, 0), -0.1 * np.array(n), 0.0) for n in ((s, 0, s), (-s, 0, s))]
    impulse = np.array([G * H * s, 0, 0, G * H * s, 0, 0])
    return KnownProblem(assemble([1.0], [0.004], [0, 0, -G * H, 0, 0, 0], rows), np.zeros(6), impulse)


def wedge_jams() -> KnownProblem:
    """A block pressed from above between two steep walls (10 degrees from vertical, mu 0.5) jams: it stays."""
    a = np.deg2rad(10.0)
    rows = []
    for side in (-1.0, 1.0):
        n = np.array([-side * np.cos(a), 0, np.sin(a)])
        rows += [contact(-1, 0, n, (0, 0, 0), (side * 0.1, y, z), 0.5) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    return KnownProblem(assemble([1.0], [0.01], [0, 0, -1.0, 0, 0, 0], rows), np.zeros(6))


def painleve_rod() -> KnownProblem:
    """Painleve's rod: its tip runs ahead along x, at 70 degrees to the ground with mu 1.5, and cannot go on sliding.

    W_nn - mu W_nt < 0, so no sliding force is consistent; the impulsive problem jams: the tip stops at once.
    """
    mass, length, angle, mu = 1.0, 2.0, np.deg2rad(70.0), 1.5
    half = 0.5 * length
    inertia = mass * length**2 / 12.0
    arm = np.array([half * np.cos(angle), 0.0, -half * np.sin(angle)])
    free = np.array([1.0, 0, -G * H, 0, 0, 0])
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), arm, mu, tangent=(1, 0, 0))
    J, inverse = row.rows_b, np.diag(1.0 / np.array([mass] * 3 + [inertia] * 3))
    W = J @ inverse @ J.T
    impulse = -np.linalg.solve(W, J @ free)
    return KnownProblem(assemble([mass], [inertia], free, [row]), free + inverse @ J.T @ impulse, impulse)


def ellipse_slips() -> KnownProblem:
    """Anisotropic friction: the impulse is the point of the ellipse whose outward normal is opposite to slip."""
    mu1, mu2, m = 0.6, 0.2, 2.0
    slip = np.array([0.8, 0.5])
    # maximal dissipation over the ellipse at normal impulse m * 1: closed form of the support point
    a, b = mu1 * m, mu2 * m
    friction = -np.array([a * a * slip[0], b * b * slip[1]]) / np.hypot(a * slip[0], b * slip[1])
    free = np.array([*(slip - friction / m), -1.0, 0, 0, 0])
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, 0), (mu1, mu2, 0.0), friction_set=ELLIPSE, tangent=(1, 0, 0))
    return KnownProblem(assemble([m], [1.0], free, [row]), np.array([*slip, 0, 0, 0, 0]), np.array([m, *friction]))


def _disc(spin: float) -> ContactProblem:
    """A disc of 2 kg that lands at 1 m/s and spins about the normal, torsional friction 0.01 m."""
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, -0.02), (0.5, 0.5, 0.01), friction_set=ELLIPSOID)
    return assemble([2.0], [0.05], [0, 0, -1.0, 0, 0, spin], [row])


def disc_spins() -> KnownProblem:
    """Coulomb-Contensou: a disc that spins on the spot loses c lam_n / I of its spin, c the torsional coefficient."""
    return KnownProblem(_disc(3.0), np.array([0, 0, 0, 0, 0, 3.0 - 0.02 / 0.05]), np.array([2.0, 0, 0, -0.02]))


def disc_stops() -> KnownProblem:
    """The same disc with less spin than torsional friction can take: it stops."""
    return KnownProblem(_disc(0.1), np.zeros(6), np.array([2.0, 0, 0, -0.1 * 0.05]))


def hanging_pair() -> KnownProblem:
    """A body on a ball joint (bilateral, three rows) and one that reached a limit below it: both stay."""
    joint = Row(-1, 0, np.zeros((3, 6)), np.eye(3, 6), np.zeros(3), BILATERAL)
    limit = Row(0, 1, -np.eye(6)[2:3], np.eye(6)[2:3], np.zeros(1), LIMIT)
    free = np.array([0.1, 0.2, -G * H, 0, 0, 0, 0, 0, -G * H, 0, 0, 0])
    problem = assemble([1.0, 3.0], [1.0, 1.0], free, [joint, limit])
    return KnownProblem(problem, np.zeros(12), np.array([-0.1, -0.2, 4 * G * H, 3 * G * H]))


def compliant_joint() -> KnownProblem:
    """A bilateral row with compliance C: v = v_free C / (C + 1/m)."""
    C, m = 0.5, 2.0
    row = Row(-1, 0, np.zeros((1, 6)), np.eye(6)[:1], np.zeros(1), BILATERAL, compliance=C)
    v = C / (C + 1.0 / m)
    return KnownProblem(
        assemble([m], [1.0], [1.0, 0, 0, 0, 0, 0], [row]), np.array([v, 0, 0, 0, 0, 0]), np.array([m * (v - 1.0)])
    )


def delassus_only() -> KnownProblem:
    """The slipping particle, given by its Delassus matrix; v is then the constraint velocity."""
    known = one_contact_slip()
    assert known.impulses is not None
    return KnownProblem(from_delassus(np.eye(3) / 2.0, [-1.0, 1.0, 0.0], [0.4]), np.array([0, 0.6, 0]), known.impulses)


GALLERY: dict[str, Callable[[], KnownProblem]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        one_contact_open, one_contact_stick, one_contact_slip, one_contact_gap, one_contact_rebound,
        sphere_rolls_on_slope, sphere_slips_on_slope, box_sticks_on_slope, box_slips_on_slope,
        stack_of_five, mass_ratio, redundant_table, ball_in_groove, wedge_jams, painleve_rod,
        ellipse_slips, disc_spins, disc_stops, hanging_pair, compliant_joint, delassus_only,
        pendulum, drive_holds, drive_saturates, four_bar, short_chain, heavy_chain, disc_with_load,
    )
}  # fmt: skip
"""Every problem by name."""
