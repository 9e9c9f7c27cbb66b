"""Rows of bench_small.py with many worlds in one call: ``stickslip.Worlds`` beside ``mujoco.rollout``.

While there is no ``stickslip.Worlds``, worlds of rigid bodies are stepped by what it will stand on
(compiled/many.ManyWorlds), and rows of robots are left out. Time is that on the clock, of a step of one world; both
engines take as many steps in one call. All worlds start alike.
"""

from __future__ import annotations

import tracemalloc
from typing import Any, NamedTuple

import numpy as np

import stickslip
from small_rows import Row, clock_seconds, cpu_seconds, yardstick
from small_scenes import subject
from stickslip.certify.measurements import measurements_in
from stickslip.compiled.many import ManyWorlds
from stickslip.compiled.rigid_step import OWN_NUMBERS, RESIDUAL
from stickslip.errors import StickslipError

COUNT = 1024
FEWER = 64
"""Worlds of which memory is measured."""
SUBSTEPS = 10
"""Steps in one call."""


class Figures(NamedTuple):
    """What is told of the last steps of all worlds."""

    residual: float
    penetration_mm: float
    contacts: float
    converged: float


class Alone:
    """Worlds by ManyWorlds."""

    def __init__(self, sim: Any, count: int, threads: int) -> None:
        self.sim, self.going = sim, np.ones(count, dtype=bool)
        self.many = ManyWorlds(sim.model, sim.stepping, sim.solver, [sim.state] * count, threads)

    def step(self, substeps: int) -> None:
        """Take steps of all worlds."""

        def by_python(k: int, state: Any) -> Any:
            self.sim.restore(state)
            return self.sim.run(1)

        self.many.step(self.going, substeps, by_python)

    def figures(self) -> Figures:
        """Of the last step of each world."""
        told, dt = self.many.arrays.told, self.sim.stepping.dt
        own = told.shape[1] - OWN_NUMBERS
        deepest = max(measurements_in(each[:own], dt).deepest for each in told)
        residual = float(told[:, own + RESIDUAL].max())
        converged = float((told[:, own + RESIDUAL] <= self.sim.solver.tolerance).mean())
        return Figures(residual, 1e3 * deepest, float(self.many.arrays.remembered.mean()), converged)


class Together:
    """Worlds by stickslip.Worlds."""

    def __init__(self, sim: Any, count: int, threads: int) -> None:
        self.worlds = stickslip.Worlds(sim.model, count, sim.stepping.dt, threads=threads, solver=sim.solver)

    def step(self, substeps: int) -> None:
        """Take steps of all worlds."""
        self.worlds.step(substeps=substeps)

    def figures(self) -> Figures:
        """Of the last step of each world."""
        told = self.worlds.certificate
        return Figures(
            float(np.max(told.natural_residual)), 1e3 * float(np.max(told.penetration)), float(np.mean(told.contacts)),
            float(np.mean(told.converged)),
        )  # fmt: skip


def measure_worlds(name: str, solver: str, warmup: int, rounds: int, beside: bool) -> Row | str:
    """Figures of a row, or why there are none yet."""
    scene, _, threads = name.partition("-worlds")
    count = int(threads[1:] or 1)
    sim, text, _ = subject(scene, solver, "python")
    kind = Together if hasattr(stickslip, "Worlds") else Alone
    try:
        worlds = kind(sim, COUNT, count)
        worlds.step(SUBSTEPS)
    except (StickslipError, TypeError, ValueError, AttributeError, AssertionError) as error:
        return f"{kind.__name__}: {error}".splitlines()[0]
    for _ in range(-(-warmup // SUBSTEPS) - 1):
        worlds.step(SUBSTEPS)
    peer = Rollout(text, count, warmup) if beside else None
    ours, theirs, loop = [], [], []
    for _ in range(rounds):
        ours.append(clock_seconds(lambda: worlds.step(SUBSTEPS)))
        loop.append(cpu_seconds(yardstick))
        if peer is not None:
            theirs.append(clock_seconds(peer.run))
    figures, steps = worlds.figures(), COUNT * SUBSTEPS
    return Row(
        scene=name,
        ours_us=1e6 * min(ours) / steps,
        mujoco_us=1e6 * min(theirs) / steps if theirs else None,
        yardstick_us=1e6 * min(loop),
        residual=figures.residual,
        penetration_mm=figures.penetration_mm,
        driver="compiled",
        error_mm=figures.penetration_mm,
        mujoco_mm=None if peer is None else peer.penetration_mm(),
        contacts=figures.contacts,
        converged=figures.converged,
        compiled=1.0,
        memory_kb=memory_kb(kind, sim, count),
    )


def memory_kb(kind: Any, sim: Any, threads: int) -> float:
    """[kB] that a world takes, after some steps."""
    sizes = []
    tracemalloc.start()
    for count in (1, 1 + FEWER):
        before = tracemalloc.get_traced_memory()[0]
        worlds = kind(sim, count, threads)
        worlds.step(1)
        sizes.append(tracemalloc.get_traced_memory()[0] - before)
        del worlds
    tracemalloc.stop()
    return 1e-3 * (sizes[1] - sizes[0]) / FEWER


class Rollout:
    """The same number of worlds of one model in MuJoCo."""

    def __init__(self, text: str, threads: int, warmup: int) -> None:
        import mujoco
        from mujoco.rollout import Rollout as Pool

        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = [mujoco.MjData(self.model) for _ in range(threads)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        for _ in range(warmup):
            mujoco.mj_step(self.model, self.data[0])
        start = np.zeros(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data[0], start, kind)
        self.start = np.tile(start, (COUNT, 1))
        self.warm = np.tile(self.data[0].qacc_warmstart, (COUNT, 1))
        self.state = np.empty((COUNT, SUBSTEPS, len(start)))
        self.pool = Pool(nthread=threads if threads > 1 else 0)

    def run(self) -> None:
        """SUBSTEPS steps of all worlds."""
        self.pool.rollout(
            self.model, self.data, self.start, nstep=SUBSTEPS, initial_warmstart=self.warm, state=self.state,
            skip_checks=False,
        )  # fmt: skip

    def penetration_mm(self) -> float:
        """Deepest overlap at the end."""
        return 1e3 * -float(self.data[0].contact.dist.min(initial=0.0))
