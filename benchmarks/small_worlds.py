"""Rows of bench_small.py with many worlds in one call: ``stickslip.Worlds`` beside ``mujoco.rollout``.

While there is no ``stickslip.Worlds``, worlds of rigid bodies are stepped by what it will stand on
(compiled/many.ManyWorlds), and rows of robots are left out. Time is that of a step of one world, on several threads on
the clock; both engines take as many steps in one call and go on from where they are. Drives of the ants aim at random
angles that differ from world to world; all else starts alike. Worlds that the Python driver steps are fewer: FEWER.
"""

from __future__ import annotations

import tracemalloc
from typing import Any, NamedTuple

import numpy as np

import stickslip
from small_rows import Row, clock_seconds, cpu_seconds, yardstick
from small_scenes import subject
from stickslip.arrays import Array
from stickslip.certify.measurements import measurements_in
from stickslip.compiled.many import ManyWorlds
from stickslip.compiled.rigid_step import OWN_NUMBERS, RESIDUAL
from stickslip.errors import StickslipError

COUNT = 1024
FEWER = 64
"""Worlds of which memory is measured, and of those that the Python driver steps."""
AIMS = {"ant": 0.3}
"""[rad] Largest angle at which drives aim."""
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

    driver = "compiled"

    def __init__(self, sim: Any, count: int, threads: int, control: Array | None) -> None:
        if control is not None:
            raise NotImplementedError("its worlds have no controls of their own")
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

    def __init__(self, sim: Any, count: int, threads: int, control: Array | None) -> None:
        self.worlds = stickslip.Worlds(
            sim.model, count, threads=threads, solver=sim.solver, stepping=sim.stepping
        )  # fmt: skip
        self.driver = self.worlds.driver
        if self.driver == "python" and count > FEWER + 1:
            raise NotImplementedError("the Python driver steps them")
        if control is not None:
            self.worlds.step(control[:count])

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
    scene, _, ending = name.partition("-worlds")
    threads = int(ending[1:] or 1)
    sim, text, _ = subject(scene, solver, "python")
    kind = Together if hasattr(stickslip, "Worlds") else Alone
    worlds, count, control, reason = None, COUNT, None, ""
    for count in (COUNT, FEWER):
        control = _aims(scene, sim, count)
        try:
            worlds = kind(sim, count, threads, control)
            worlds.step(SUBSTEPS)
            break
        except (StickslipError, NotImplementedError, ValueError) as error:
            worlds, reason = None, str(error).splitlines()[0]
    if worlds is None:
        return f"{kind.__name__}: {reason}"
    for _ in range(-(-warmup // SUBSTEPS) - 1):
        worlds.step(SUBSTEPS)
    peer = Rollout(text, count, threads, control) if beside else None
    for _ in range(-(-warmup // SUBSTEPS) if beside else 0):
        peer.run()
    ours, theirs, loop = [], [], []
    seconds = cpu_seconds if threads == 1 else clock_seconds
    for _ in range(rounds):
        ours.append(seconds(lambda: worlds.step(SUBSTEPS)))
        loop.append(cpu_seconds(yardstick))
        if peer is not None:
            theirs.append(seconds(peer.run))
    figures, steps = worlds.figures(), count * SUBSTEPS
    return Row(
        scene=name,
        ours_us=1e6 * min(ours) / steps,
        mujoco_us=1e6 * min(theirs) / steps if theirs else None,
        yardstick_us=1e6 * min(loop),
        residual=figures.residual,
        penetration_mm=figures.penetration_mm,
        driver=worlds.driver,
        error_mm=figures.penetration_mm,
        mujoco_mm=None if peer is None else peer.penetration_mm(),
        contacts=figures.contacts,
        converged=figures.converged,
        compiled=float(worlds.driver == "compiled"),
        memory_kb=memory_kb(kind, sim, threads, control),
    )


def _aims(scene: str, sim: Any, count: int) -> Array | None:
    """(count, nu) angles at which drives of each world aim; None where they aim at what the file says."""
    if scene not in AIMS:
        return None
    (robot,) = sim.model.others
    size = count, len(sim.control.actuators[robot.name])
    return np.random.default_rng(0).uniform(-AIMS[scene], AIMS[scene], size)


def memory_kb(kind: Any, sim: Any, threads: int, control: Array | None) -> float:
    """[kB] that a world takes, after some steps."""
    sizes = []
    tracemalloc.start()
    for count in (1, FEWER):
        before = tracemalloc.get_traced_memory()[0]
        worlds = kind(sim, count, threads, None if control is None else control[:count])
        worlds.step(1)
        sizes.append(tracemalloc.get_traced_memory()[0] - before)
        del worlds
    tracemalloc.stop()
    return 1e-3 * (sizes[1] - sizes[0]) / (FEWER - 1)


class Rollout:
    """The same number of worlds of one model in MuJoCo."""

    def __init__(self, text: str, count: int, threads: int, control: Array | None) -> None:
        import mujoco
        from mujoco.rollout import Rollout as Pool

        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = [mujoco.MjData(self.model) for _ in range(threads)]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data[0], start, kind)
        self.start = np.tile(start, (count, 1))
        self.state = np.empty((count, SUBSTEPS, len(start)))
        self.control = None if control is None else np.repeat(control[:, None, :], SUBSTEPS, axis=1)
        self.pool = Pool(nthread=threads if threads > 1 else 0)

    def run(self) -> None:
        """SUBSTEPS steps of all worlds."""
        self.pool.rollout(self.model, self.data, self.start, self.control, nstep=SUBSTEPS, state=self.state)
        self.start = self.state[:, -1].copy()

    def penetration_mm(self) -> float:
        """Deepest overlap at the end, of the world that was last."""
        return 1e3 * -float(self.data[0].contact.dist.min(initial=0.0))
