"""`newton` on a device of Warp: a graphics card, or the CPU where there is none ([macklin2019] sec. 10 has CUDA).

The problem goes to the device once; rows, functions, conjugate residuals and steps are taken there, and every few
iterations the impulses come back to be measured as those of any other solver, in 64 bit whatever the device has used.
The forms are the paper's: friction by its fixed point, damped steps, PCR with a diagonal preconditioner, each island by
itself.

    u = J v + bias;  C, h of all rows                                                  eq. (93)-(106)
    g = A (v - v_free) - J^T lam;  b = J H^-1 g - h                                    eq. (57), (59)
    [J H^-1 J^T + C] dlam = b                                                          conjugate residuals
    dv = H^-1 (J^T dlam - g);  lam += t dlam;  v += t dv                               eq. (60)-(62)

Where only W = A^-1 is known (soft bodies, condensed) J is I and momentum holds at all iterates, g = 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints
from stickslip.contact.laws import BILATERAL, ELASTIC
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import summed
from stickslip.linalg.sparse_blocks import to_sparse
from stickslip.solvers.budget import Clock
from stickslip.solvers.newton.ncp import LEAST_SHARE, NCP_FUNCTIONS
from stickslip.solvers.newton.rows import LARGE
from stickslip.solvers.protocol import Solution, Status
from stickslip.tolerances import NULL_SPACE

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Work(NamedTuple):
    """What launches move and compute, counted from their arguments: each array once, whatever caches save or lose."""

    bytes: int
    """[B] of all arrays that are read or written."""
    flops: int
    """Additions, multiplications, divisions, roots and comparisons of numbers."""
    launches: int


class Launch(NamedTuple):
    """A kernel with its arguments, which are packed once."""

    go: Callable[[], None]
    work: Work


Launches = list[Launch]

MEASURED_EVERY = 4
"""Newton iterations between two looks at the residual: impulses come back from the device for each."""
CHUNK = 16
"""Rows that one thread adds up."""
ROUNDING = {64: 1e-15, 32: 1e-7}
"""Relative residuals below are below the rounding of S x, by precision."""


class Tables(NamedTuple):
    """A problem as the device has it, rows in the order of islands; NumPy arrays of the precision of the solve."""

    row: NDArray[np.intp]
    """(m,) row of the problem at each place."""
    row_start: Ints
    law: Ints
    friction: Array
    """(3 n,)"""
    compliance: Array
    bound: Array
    diagonal: Array
    """(m,) diag W."""
    bias: Array
    regularised: Array
    """(m,) 0 for elastic rows, which have a compliance of their own, else 1."""
    chain: tuple[csr_array, ...]
    """Matrices whose product is J H^-1 J^T, the first to be applied first: J^T, H^-1, J, or W alone."""
    A: csr_array | None
    """None where only W is known."""
    v_free: Array
    chunk: Ints
    """(chunks + 1,) where chunks of rows start; none is in two islands."""
    island: Ints
    """(chunks,)"""
    first_chunk: Ints
    """(islands + 1,)"""

    @property
    def row_count(self) -> int:
        """Number of rows m."""
        return len(self.row)


def tables(problem: ContactProblem, precision: int) -> Tables:
    """The tables of a problem in 64 or 32 bit."""
    real = np.float64 if precision == 64 else np.float32
    islands, laws = problem.islands, problem.laws
    order = islands.order
    row = block_rows.rows_of(problem.J, order)
    height = np.diff(problem.J.row_start)
    given = problem.A.given
    chain: tuple[Any, ...]
    if given is not None:
        chain, A = (given.matrix()[row][:, row].tocsr(),), None
        v_free = problem.v_free[row]
    else:
        J = to_sparse(problem.J)[row].tocsr()
        chain, A = (J.T.tocsr(), problem.A.dense.inverse_matrix(), J), problem.A.dense.matrix().astype(real)
        v_free = problem.v_free
    starts = [np.arange(a, b, CHUNK) for a, b in zip(islands.row_start[:-1], islands.row_start[1:], strict=True)]
    chunk = np.concatenate([*starts, islands.row_start[-1:]]).astype(np.int32)
    count = np.array([len(s) for s in starts], dtype=np.int32)

    def rounded(a: Array) -> Array:
        return np.ascontiguousarray(a, dtype=real)

    return Tables(
        row, summed(height[order]), laws.law[order], rounded(laws.friction[order].ravel()),
        rounded(laws.compliance[row]), rounded(laws.bound[row]), rounded(problem.diagonal[row]),
        rounded(problem.bias[row]), rounded(np.where(np.repeat(laws.law == ELASTIC, height)[row], 0.0, 1.0)),
        tuple(matrix.astype(real) for matrix in chain), A, rounded(v_free),
        chunk, np.repeat(np.arange(len(count), dtype=np.int32), count), summed(count),
    )  # fmt: skip


def solve_on_device(options: Any, problem: ContactProblem, warm: Array | None) -> Solution:
    """Solve a problem that is linearised once, from the impulses ``warm`` (m,) where given.

    ``options`` is a NonsmoothNewton, whose module imports this one.
    """
    clock, started = Clock(options.max_seconds), time.perf_counter()
    lam, v, value = options.start(problem, warm if options.start_from == "warm" else None)
    if options.start_from == "zero":
        v = np.zeros_like(v)
    best_lam, best, mark, best_at = lam, value, value, 0
    history, iterations, most = [(0, value)], 0, options.max_iterations
    iterate = Iterate(options, problem, lam, v) if problem.row_count else None
    status: Status = "converged" if iterate is None else "max-iterations"
    while iterate is not None and iterations < most:
        if clock.is_up:
            status = "max-seconds"
            break
        count = min(MEASURED_EVERY, most - iterations)
        for _ in range(count):
            iterate.advance()
        iterations += count
        lam = iterate.impulses()
        if not np.isfinite(lam).all():
            status = "diverged"
            break
        value = options.residual(problem, lam, problem.constraint_velocity(problem.velocity(lam)))
        history.append((iterations, value))
        if value < best:
            best_lam, best = lam, value
        if value < 0.9 * mark:
            mark, best_at = value, iterations
        if value <= options.tolerance:
            status = "converged"
            break
        if iterations - best_at >= options.patience:
            status = "stalled"
            break
    return Solution(
        problem.velocity(best_lam), best_lam, status, iterations, np.array(history),
        {"device": time.perf_counter() - started},
        counts={"linear_iterations": 0 if iterate is None else iterate.linear_iterations()},
    )  # fmt: skip


class Iterate:
    """Impulses and velocities on a device, and the launches that lead to the next ones."""

    def __init__(self, options: Any, problem: ContactProblem, lam: Array, v: Array) -> None:
        """Put a problem with rows, impulses lam (m,) and velocities v (nv,) on the device."""
        from stickslip.solvers.newton import warp_kernels

        self.kernels: Any = warp_kernels
        self.wp = self.kernels.wp
        self.device = device_of(options.device)
        self.real = self.wp.float64 if options.precision == 64 else self.wp.float32
        self.tables = tables(problem, options.precision)
        row, m = self.tables.row, self.tables.row_count
        unknowns, chunks = len(self.tables.v_free), len(self.tables.island)
        islands = len(self.tables.first_chunk) - 1
        self.lam, self.v = self._up(lam[row]), self._up(v if self.tables.A is not None else v[row])
        sizes: dict[str, Any] = dict.fromkeys(("f", "w", "g", "nothing"), unknowns)
        sizes |= dict.fromkeys(("u", "x", "answer", "r", "z", "Sz"), m)
        sizes |= {"terms": (6, m), "directions": (2, m)}
        sizes |= dict.fromkeys(("sum", "weighted"), chunks) | {"now": islands, "beta": islands, "state": 5 * islands}
        self.room = {name: self.wp.zeros(size, dtype=self.real, device=self.device) for name, size in sizes.items()}
        terms, directions = self.room["terms"], self.room["directions"]
        self.room |= {name: terms[k] for k, name in enumerate(("C", "h", "impulse", "known", "on", "inverse"))}
        self.room |= {"p": directions[0], "Sp": directions[1]}
        self.done, self.undo, self.steps = (self._up(np.zeros(islands, dtype=np.int32)) for _ in range(3))
        self.chunk, self.island, self.first_chunk = (
            self._up(a) for a in (self.tables.chunk, self.tables.island, self.tables.first_chunk)
        )
        self.chain = [self._matrix(matrix) for matrix in self.tables.chain]
        joints = bool(np.isin(problem.laws.law, (BILATERAL, ELASTIC)).all())  # smooth: whole steps
        self.linear_launches = self._linear(options)
        self.launches_before = self._rows(options, problem.step) + self._start(options)
        self.launches_after = self._step(1.0 if joints else options.damping)
        self.linear_count = options.linear_iterations

    def advance(self) -> None:
        """One Newton iteration; nothing waits for the device."""
        for launch in self.launches_before:
            launch.go()
        for _ in range(self.linear_count):
            for launch in self.linear_launches:
                launch.go()
        for launch in self.launches_after:
            launch.go()

    @property
    def work(self) -> tuple[Work, Work]:
        """Of one step of conjugate residuals, and of all else in a Newton iteration."""
        return summed_work(self.linear_launches), summed_work(self.launches_before + self.launches_after)

    def impulses(self) -> Array:
        """The impulses (m,) in the order of the problem's rows, in 64 bit."""
        lam = np.empty(self.tables.row_count)
        lam[self.tables.row] = self.lam.numpy()
        return lam

    def linear_iterations(self) -> int:
        """Steps of conjugate residuals so far, of the island that took most."""
        return int(self.steps.numpy().max(initial=0))

    def _rows(self, options: Any, step: float) -> Launches:
        """Constraint velocities, and C and h of all rows."""
        kernels, room, t = self.kernels, self.room, self.tables
        given = t.A is None
        u = self._launch(kernels.copy, t.row_count, [self.v], ["u"]) if given else self.chain[2](self.v, room["u"])
        r_normal, r_friction = options.scales(step)
        known = np.stack([t.compliance, t.bound, t.diagonal, t.bias, t.regularised])
        numbers = r_normal, r_friction, options.friction_share, options.regularisation, LARGE, LEAST_SHARE
        terms = self._launch(
            kernels.row_terms, len(t.law),
            [*(self._up(a) for a in (t.row_start, t.law, t.friction, known)), NCP_FUNCTIONS[options.function],
             self._up(np.array(numbers)), self.lam],
            ["u", "terms"],
        )  # fmt: skip
        return [u, terms]

    def _start(self, options: Any) -> Launches:
        """The right-hand side b, and the start of the linear solver at zero."""
        kernels, room, t = self.kernels, self.room, self.tables
        if t.A is None:
            found, sign = self._respond(room["known"]), -1.0
        else:
            J_T, inverse, J = self.chain
            unknowns, sign = len(t.v_free), 1.0
            found = [
                J_T(room["impulse"], room["f"]),
                self._launch(kernels.subtract, unknowns, [self.v, self._up(t.v_free)], ["w"]),
                self._matrix(t.A)(room["w"], room["g"]),
                self._launch(kernels.subtract, unknowns, [room["g"], room["f"]], ["g"]),
                inverse(room["g"], room["w"]),
                J(room["w"], room["answer"]),
            ]
        tolerance = max(options.linear_tolerance, ROUNDING[options.precision])
        return [
            *found,
            self._launch(
                kernels.right_side, len(t.island),
                [self.chunk, room["on"], room["answer"], self.real(sign), room["h"], room["inverse"]],
                ["x", "r", "z", "directions", "sum", "weighted"],
            ),
            self._launch(
                kernels.begin, len(t.first_chunk) - 1,
                [self.first_chunk, self.real(tolerance), room["sum"], room["weighted"]],
                [room["state"], self.done, self.undo],
            ),
        ]  # fmt: skip

    def _linear(self, options: Any) -> Launches:
        """One step of conjugate residuals in all islands that are not done."""
        kernels, room, chunks = self.kernels, self.room, len(self.tables.island)
        islands = len(self.tables.first_chunk) - 1
        state, done, first = room["state"], self.done, self.first_chunk
        small = self.real(max(NULL_SPACE, ROUNDING[options.precision] ** 2))
        return [
            *self._respond(room["z"]),
            self._launch(
                kernels.energies, chunks, [self.chunk, room["on"], room["C"], room["answer"], room["z"]], ["Sz", "sum"]
            ),
            self._launch(kernels.choose_direction, islands, [first, room["sum"], small, state, done], ["now", "beta"]),
            self._launch(
                kernels.turn, chunks,
                [self.chunk, self.island, done, room["beta"], room["z"], room["Sz"], room["inverse"]],
                ["p", "Sp", "sum"],
            ),
            self._launch(kernels.choose_length, islands, [first, room["sum"], room["now"]], [state, done]),
            self._launch(
                kernels.advance, chunks,
                [self.chunk, self.island, done, state, room["inverse"], room["p"], room["Sp"]],
                ["x", "r", "z", "sum", "weighted"],
            ),
            self._launch(
                kernels.judge, islands, [first, room["sum"], room["weighted"], room["now"]],
                [state, done, self.undo, self.steps],
            ),
        ]  # fmt: skip

    def _step(self, t: float) -> Launches:
        """lam += t dlam and v += t dv."""
        kernels, room, m, unknowns = self.kernels, self.room, self.tables.row_count, len(self.tables.v_free)
        share, nothing = self.real(t), room["nothing"]
        back = self._launch(
            kernels.take_back, len(self.tables.island), [self.chunk, self.island, self.undo, room["state"], room["p"]],
            ["x"],
        )  # fmt: skip
        impulses = self._launch(kernels.add_share, m, [share, room["x"], room["known"]], [self.lam])
        if self.tables.A is None:  # dv = W dlam
            whole = self._launch(kernels.add_share, m, [self.real(1.0), room["x"], nothing], ["known"])
            moved = self._launch(kernels.add_share, m, [share, room["answer"], nothing], [self.v])
            return [back, impulses, whole, *self._respond(room["known"]), moved]
        J_T, inverse, _ = self.chain
        return [
            back, impulses, J_T(room["x"], room["f"]),
            self._launch(kernels.subtract, unknowns, [room["f"], room["g"]], ["f"]), inverse(room["f"], room["w"]),
            self._launch(kernels.add_share, unknowns, [share, room["w"], nothing], [self.v]),
        ]  # fmt: skip

    def _respond(self, x: Any) -> Launches:
        """answer = J H^-1 J^T x, or W x."""
        room = self.room
        if self.tables.A is None:
            return [self.chain[0](x, room["answer"])]
        J_T, inverse, J = self.chain
        return [J_T(x, room["f"]), inverse(room["f"], room["w"]), J(room["w"], room["answer"])]

    def _matrix(self, matrix: csr_array) -> Callable[[Any, Any], Launch]:
        """A matrix on the device, as a function of x and y that gives the launch of y = M x."""
        start, column, data = (
            self._up(a) for a in (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
        )
        size = matrix.shape[0]
        return lambda x, y: self._launch(self.kernels.multiply, size, [start, column, data, x], [y])

    def _launch(self, kernel: Any, size: int, inputs: list[Any], outputs: list[Any]) -> Launch:
        """A launch whose arguments are packed once; outputs are arrays, or names of those in ``room``."""
        where = [self.room[out] if isinstance(out, str) else out for out in outputs]
        arrays = [a for a in (*inputs, *where) if isinstance(a, self.wp.array)]
        moved = sum(a.size * self.wp.types.type_size_in_bytes(a.dtype) for a in arrays)
        work = Work(moved, self.kernels.FLOPS[kernel.key] * max(a.size for a in arrays), 1)
        command = self.wp.launch(kernel, size, inputs, where, device=self.device, record_cmd=True)
        return Launch(command.launch, work)

    def _up(self, a: NDArray[Any]) -> Any:
        """An array on the device, numbers in the precision of the solve."""
        dtype = self.wp.int32 if a.dtype == np.int32 else self.real
        return self.wp.array(np.ascontiguousarray(a), dtype=dtype, device=self.device)


def summed_work(launches: Launches) -> Work:
    """The work of some launches together."""
    return Work(*(sum(part) for part in zip(*(launch.work for launch in launches), strict=True)))


def device_of(name: str) -> Any:
    """The device of Warp with that name, or an InputError that lists those of this machine."""
    from stickslip.solvers.newton import warp_kernels  # says what to install where there is no warp

    kernels: Any = warp_kernels
    wp = kernels.wp
    known = [device.alias for device in wp.get_devices()]
    if name not in known and not (name == "cuda" and len(known) > 1):
        raise InputError(f"solver newton: device {name!r} is unknown; this machine has {', '.join(known)}")
    return wp.get_device(name)
