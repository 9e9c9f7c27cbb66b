"""Geometric stiffness of particles, [macklin2019] sec. 8.3 and Fig. 12: stiff springs in a row that are flung aside."""

import numpy as np
import pytest

from stickslip.arrays import Array
from stickslip.contact.block_laws import Laws
from stickslip.contact.laws import BILATERAL
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows
from stickslip.linalg.inertia import block_diagonal
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.protocol import Solution

COUNT = 3
FLEXIBILITY = 1e-10
"""[m/N]"""


class ParticlePendulum:
    """Particles of 1 kg that hang from the origin by springs of 1/3 m each, thrown sideways."""

    def __init__(self, speed: float, h: float) -> None:
        """The lowest particle has ``speed`` [m/s]; a step of h."""
        self.h = h
        self.x = np.array([[0.0, 0.0, -(k + 1.0) / COUNT] for k in range(COUNT)])
        v = np.zeros((COUNT, 3))
        v[:, 0] = speed * np.arange(1, COUNT + 1) / COUNT
        self.v_free = (v + h * np.array([0.0, 0.0, -9.81])).ravel()
        eye = np.tile(np.eye(3).ravel(), COUNT)
        self.A = block_diagonal(eye.reshape(-1, 3, 3), eye.reshape(-1, 3, 3).copy())

    def at(self, v: Array, lam: Array | None = None) -> ContactProblem:
        """The problem linearised where v (nv,) leads."""
        x = self.x + self.h * v.reshape(-1, 3)
        d = np.diff(np.vstack([np.zeros(3), x]), axis=0)
        length = np.linalg.norm(d, axis=1)
        column, entries, start = [], [], [0]
        for k, e in enumerate(d / length[:, None]):
            if k > 0:
                column.append(k - 1)
                entries.append(-e)
            column.append(k)
            entries.append(e)
            start.append(len(column))
        J = BlockRows(
            np.arange(COUNT + 1, dtype=np.int32),
            np.array(start, dtype=np.int32),
            np.array(column, dtype=np.int32),
            3 * np.arange(len(column) + 1, dtype=np.int32),
            np.concatenate(entries),
            3 * np.arange(COUNT + 1, dtype=np.int32),
        )
        laws = Laws(
            np.full(COUNT, BILATERAL, np.int32), np.zeros(COUNT, np.int32), np.zeros((COUNT, 3)),
            np.full(COUNT, FLEXIBILITY / self.h**2), np.zeros(COUNT),
        )  # fmt: skip
        bias = (length - 1.0 / COUNT) / self.h - block_rows.apply(J, v)
        return ContactProblem(Momentum(self.A, self.v_free), J, bias, laws, self.h)

    def solved(self, stiffness: bool) -> Solution:
        """Newton's method from rest, with or without geometric stiffness."""
        solver = NonsmoothNewton(
            geometric_stiffness=stiffness, tolerance=1e-10, max_iterations=100, patience=100, regularisation=0.0,
            start_from="zero",
        )  # fmt: skip
        return solver.solve(self.at(np.zeros(3 * COUNT)), None, self.at)


@pytest.mark.parametrize(("speed", "h"), [(20.0, 0.03), (50.0, 0.01)])
def test_large_transverse_motion_oscillates_without_it_and_converges_with_it(speed: float, h: float) -> None:
    pendulum = ParticlePendulum(speed, h)
    without, with_it = pendulum.solved(False), pendulum.solved(True)
    assert not without.converged
    rises = np.diff(without.history[:, 1]) > 0.0
    assert rises[20:].mean() > 0.3  # up and down to the end
    assert with_it.converged
    assert with_it.iterations < 40
    # converged where it says so: lengths at the end of the step
    x = pendulum.x + h * with_it.v.reshape(-1, 3)
    lengths = np.linalg.norm(np.diff(np.vstack([np.zeros(3), x]), axis=0), axis=1)
    np.testing.assert_allclose(lengths - 1.0 / COUNT, -FLEXIBILITY * with_it.lam / h, atol=1e-8)


def test_it_is_faster_where_both_converge_and_the_solution_is_the_same() -> None:
    """The mass block is that of the iteration alone: no damping comes with it."""
    pendulum = ParticlePendulum(20.0, 0.01)
    without, with_it = pendulum.solved(False), pendulum.solved(True)
    assert without.converged
    assert with_it.converged
    assert with_it.iterations < without.iterations
    np.testing.assert_allclose(with_it.v, without.v, atol=1e-7)
    np.testing.assert_allclose(with_it.lam, without.lam, rtol=1e-7)
