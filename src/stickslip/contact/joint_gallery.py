"""Joints of the gallery: problems with bilateral blocks and drives of limited force whose solutions are known."""

from __future__ import annotations

import numpy as np

from stickslip.contact.laws import BILATERAL, BOUNDED, ELLIPSOID
from stickslip.contact.problem import ContactProblem
from stickslip.contact.row_by_row import KnownProblem, Row, assemble, ball_joint, contact, hinge

H, G = 0.01, 9.81


def pendulum() -> KnownProblem:
    """A rod held level by a ball joint at its end begins to fall: omega = m g h l / (I + m l^2), l half its length."""
    m, half, inertia = 2.0, 0.5, 2.0 / 12.0
    omega = m * G * H * half / (inertia + m * half**2)
    problem = assemble([m], [inertia], [0, 0, -G * H, 0, 0, 0], [ball_joint(-1, 0, (0, 0, 0), (-half, 0, 0))])
    fall = omega * half
    return KnownProblem(problem, np.array([0, 0, -fall, 0, omega, 0]), np.array([0, 0, m * (G * H - fall)]))


def _driven_hinge(speed: float, bound: float) -> ContactProblem:
    """A wheel of 0.2 kg m^2 on a hinge about z at its centre, driven towards the speed [rad/s]."""
    drive = Row(-1, 0, np.zeros((1, 6)), np.eye(6)[5:], np.array([-speed]), BOUNDED, bound=bound)
    free = [0.1, 0, -G * H, 0, 0.3, 1.0]
    return assemble([3.0], [0.2], free, [hinge(-1, 0, (0, 0, 0), (0, 0, 0), 2), drive])


def drive_holds() -> KnownProblem:
    """The drive of a hinge is strong enough: the wheel turns as it should."""
    impulse = np.array([-0.3, 0, 3.0 * G * H, 0, -0.06, 0.2 * (2.0 - 1.0)])
    return KnownProblem(_driven_hinge(2.0, 0.25), np.array([0, 0, 0, 0, 0, 2.0]), impulse)


def drive_saturates() -> KnownProblem:
    """The drive of a hinge is too weak to turn the wheel back: it gives all it has and slows it by bound / I."""
    impulse = np.array([-0.3, 0, 3.0 * G * H, 0, -0.06, -0.05])
    return KnownProblem(_driven_hinge(-2.0, 0.05), np.array([0, 0, 0, 0, 0, 1.0 - 0.05 / 0.2]), impulse)


def four_bar() -> KnownProblem:
    """A parallelogram of hinges: twenty rows on three bars, three of them redundant, that leave one motion.

    Cranks of length l turn at omega and the coupler goes along at omega l: what remains of the coupler's free momentum.
    """
    m, inertia, coupler, half, speed = 1.0, 1.0 / 12.0, 3.0, 0.5, 0.7
    up, down = (0, 0, half), (0, 0, -half)
    rows = []
    for crank, x in ((0, -1.0), (1, 1.0)):
        rows += [hinge(-1, crank, (0, 0, 0), down, 1), hinge(crank, 2, up, (x, 0, 0), 1)]
    free = np.zeros(18)
    free[12:15] = speed, 0.2, -G * H
    problem = assemble([m, m, coupler], [inertia, inertia, coupler / 3.0], free, rows)
    omega = coupler * speed * 2.0 * half / (coupler * 4.0 * half**2 + 2.0 * (inertia + m * half**2))
    crank_v = [omega * half, 0, 0, 0, omega, 0]
    return KnownProblem(problem, np.array([*crank_v, *crank_v, 2.0 * omega * half, 0, 0, 0, 0, 0]))


def heavy_chain(links: int = 50, ratio: float = 1e4) -> KnownProblem:
    """A chain of links of 1 kg on ball joints, its last one heavier by the ratio, hangs and stays."""
    mass = np.ones(links)
    mass[-1] = ratio
    up, down = (0, 0, 0.05), (0, 0, -0.05)
    rows = [ball_joint(k - 1, k, down, up) for k in range(links)]
    problem = assemble(mass.tolist(), (mass * 0.01 / 12.0).tolist(), np.tile([0, 0, -G * H, 0, 0, 0], links), rows)
    impulses = np.zeros((links, 3))
    impulses[:, 2] = G * H * np.cumsum(mass[::-1])[::-1]
    return KnownProblem(problem, np.zeros(6 * links), impulses.ravel())


def short_chain() -> KnownProblem:
    """Four links, the last one of 10 kg: a chain that every method can solve."""
    return heavy_chain(4, 10.0)


def disc_with_load() -> KnownProblem:
    """The disc that spins on the spot, with a second one welded on (six rows): torsion and a joint in one problem."""
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, -0.02), (0.5, 0.5, 0.01), friction_set=ELLIPSOID)
    weld = Row(0, 1, -np.eye(6), np.eye(6), np.zeros(6), BILATERAL)
    problem = assemble([2.0, 2.0], [0.05, 0.05], np.tile([0, 0, -1.0, 0, 0, 3.0], 2), [row, weld])
    v = np.array([0, 0, 0, 0, 0, 3.0 - 0.04 / 0.1])
    return KnownProblem(problem, np.tile(v, 2), np.array([4.0, 0, 0, -0.04, 0, 0, 2.0, 0, 0, -0.02]))
