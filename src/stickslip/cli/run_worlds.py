"""``stickslip run SCENE --worlds N``: many worlds of a scene at once, and how fast."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from stickslip.cli.output import plain_number, progress
from stickslip.errors import InputError, WorldsWarning

if TYPE_CHECKING:
    from stickslip.scenes.running import Run


@dataclass
class WorldsSummary:
    """What a run of many worlds did; maxima are over all worlds and steps."""

    scene: str
    worlds: int
    driver: str
    reason: str
    """Why not the compiled driver."""
    threads: int
    solver: str
    dt: float
    steps: int
    world_steps_per_second: float
    """Of all steps but the first, in which kernels are loaded."""
    us_per_world_step: float
    bytes_per_world: float
    diverged: int
    """Worlds that did, and stopped."""
    converged_fraction: float
    statuses: dict[str, int]
    """Steps of worlds by how they ended."""
    contacts_mean: float
    certificate: dict[str, float] = field(default_factory=dict)
    """Largest numbers of the certificates, by their fields."""
    state_hash: str = ""

    @property
    def converged(self) -> bool:
        """Whether every step of every world did."""
        return self.converged_fraction == 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; what is not finite becomes None."""
        found = asdict(self)
        found["certificate"] = {name: x if math.isfinite(x) else None for name, x in self.certificate.items()}
        return found


def run_worlds(run: Run, count: int, steps: int, threads: int | None) -> WorldsSummary:
    """Take so many steps of so many worlds of a scene; all start alike."""
    from stickslip.worlds.worlds import Worlds

    if count < 1:
        raise InputError(f"worlds is {count}; it must be at least 1")
    sim = run.sim
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldsWarning)  # the summary says so
        worlds = Worlds(sim.model, count, threads=threads, solver=sim.solver, stepping=sim.stepping)
    statuses, worst, contacts, seconds, timed = Counter[str](), dict[str, float](), 0, 0.0, 0
    with progress(steps) as advance:
        advance(0, f"{run.entry.name}: first step (compiles if the cache is empty)")
        for done in range(1, steps + 1):
            going, start = count - int(worlds.diverged.sum()), time.perf_counter()
            worlds.step()
            if done > 1 or steps == 1:
                seconds, timed = seconds + time.perf_counter() - start, timed + going
            told = worlds.certificate
            statuses.update(told.status.tolist())
            contacts += int(told.contacts.sum())
            for name, number in told.worst().items():
                worst[name] = max(worst.get(name, 0.0), number)
            rate = timed / seconds if seconds else 0.0
            advance(done, f"{run.entry.name}: {count} worlds, {plain_number(rate)} steps of worlds a second")
    total = sum(statuses.values())
    return WorldsSummary(
        run.entry.name, count, worlds.driver, worlds.reason, worlds.threads, worlds.solver.name, worlds.stepping.dt,
        steps, rate, 1e6 * seconds / timed, worlds.nbytes / count, int(worlds.diverged.sum()),
        statuses["converged"] / total, dict(statuses.most_common()), contacts / total, worst,
        worlds.get_state().digest(),
    )  # fmt: skip


def print_worlds(summary: WorldsSummary) -> None:
    """The summary as text."""
    from rich.console import Console
    from rich.table import Table

    console, s = Console(highlight=False), summary
    console.print(
        f"[bold]{s.scene}[/]: {s.worlds} worlds, {s.steps} steps of {1e3 * s.dt:g} ms, {s.contacts_mean:.1f} contacts "
        "on average"
    )
    how = f"{s.driver} driver" + (f" ({s.reason})" if s.reason else f", {s.threads} threads")
    console.print(
        f"{s.solver}, {how}: {plain_number(s.world_steps_per_second)} steps of worlds a second, "
        f"{plain_number(s.us_per_world_step)} us each, {s.bytes_per_world:.0f} bytes a world"
    )
    if s.converged:
        console.print("[green]Every step of every world converged.[/]")
    else:
        ended = ", ".join(f"{count} {word}" for word, count in s.statuses.items() if word != "converged")
        console.print(f"[red]Not all steps converged: {ended}.[/] {s.diverged} worlds diverged and stopped.")
    table = Table("", "", show_header=False, box=None, padding=(0, 2))
    for name in ("natural_residual", "momentum_relative", "penetration", "cone_violation"):
        table.add_row(name, plain_number(s.certificate[name]))
    console.print(table)
    console.print(f"states {s.state_hash[:16]}")
