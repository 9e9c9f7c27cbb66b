"""Every solver on random problems: what it solves, and whether what it says of its solutions is true.

A solution is *wrong* when it was called converged and its residual, recomputed outside in the law and criterion of the
solver, is above the tolerance, when it is not finite, or when its velocities are not those of its impulses. Times are
of solves alone. Solves that crash or do not end are found, counted, and named by their seeds.
Run: python benchmarks/bench_random.py [--problems 20000] [--solvers a,b] [--criterion scaled] [--json]
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Lock
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

CHUNK = 50
"""Problems that a process does before it reports."""
LONGEST = 20.0
"""[s] after which a single solve counts as one that does not end."""
PATIENCE = 600.0
"""[s] for a chunk, compiling included; after it, its problems are tried one by one."""
CONSISTENT = 1e-9
KEPT = 12
"""Seeds named per kind of failure."""


@dataclass
class Tally:
    """What happened to one solver."""

    statuses: Counter = field(default_factory=Counter)
    solved: list[int] = field(default_factory=list)
    worst: float = 0.0
    seconds: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)
    failures: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def fail(self, kind: str, seed: int, text: str) -> None:
        self.failures.setdefault(kind, []).append((seed, text))

    def add(self, other: "Tally") -> None:
        self.statuses += other.statuses
        self.solved += other.solved
        self.worst = max(self.worst, other.worst)
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)
        for kind, found in other.failures.items():
            self.failures.setdefault(kind, []).extend(found)


def solve_seeds(seeds: list[int], names: list[str], options: dict[str, Any]) -> dict[str, Tally]:
    """In a worker: all solvers on the problems of these seeds."""
    from stickslip.contact.random_problems import random_problem

    tallies = {name: Tally() for name in names}
    for seed in seeds:
        drawn = random_problem(seed, wide=bool(options.get("wide")))
        for name in names:
            _solve(tallies[name], seed, name, drawn, options)
    return tallies


def _solve(tally: Tally, seed: int, name: str, drawn: Any, options: dict[str, Any]) -> None:
    from dataclasses import replace

    import numpy as np

    from stickslip.errors import InputError
    from stickslip.solvers.registry import make_solver
    from stickslip.solvers.verdict import judge_solution

    solver = make_solver(name, **{key: value for key, value in options.items() if key != "wide"})
    problem = replace(drawn.problem)  # no solver profits from what another one computed
    start = time.perf_counter()
    try:
        with np.errstate(all="ignore"):
            solution = solver.solve(problem, drawn.warm)
    except InputError as error:
        tally.statuses["refused"] += 1
        if "friction set" not in str(error):
            tally.fail("refused", seed, str(error))
        return
    except Exception as error:
        tally.statuses["crashed"] += 1
        tally.fail("crashed", seed, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        return
    took = time.perf_counter() - start
    tally.seconds += took
    tally.slowest = max(tally.slowest, (took, seed))
    tally.statuses[solution.status] += 1
    verdict = judge_solution(solver, problem, solution)
    siconos = options["criterion"] == "siconos"
    if (verdict.exact.siconos if siconos else verdict.exact.scaled) <= options["tolerance"]:
        tally.solved.append(seed)
    traits = ", ".join(drawn.traits)
    if not verdict.finite:
        tally.fail("not finite", seed, traits)
        return
    if solution.converged:
        tally.worst = max(tally.worst, verdict.own)
    if not verdict.honest:
        tally.fail("converged above the tolerance", seed, f"{verdict.own:.3e}; {traits}")
    speed = np.abs(problem.v_free).max(initial=0.0) + np.abs(solution.v).max(initial=0.0)
    if not verdict.physical.consistency <= CONSISTENT * np.abs(problem.J.data).max(initial=1.0) * speed:
        tally.fail("v is not that of lam", seed, f"{verdict.physical.consistency:.3e} m/s; {traits}")


def measure(count: int, first: int, names: list[str], options: dict[str, Any], workers: int) -> dict[str, Tally]:
    """All problems in several processes; results do not depend on how many."""
    from stickslip.experiments.limited_worker import LimitedWorker, TimeUp, WorkerEnded

    chunks: Queue[list[int]] = Queue()
    for start in range(first, first + count, CHUNK):
        chunks.put(list(range(start, min(start + CHUNK, first + count))))
    tallies = {name: Tally() for name in names}
    lock, done, begun = Lock(), [0], time.perf_counter()

    def take(found: dict[str, Tally], solved: int) -> None:
        with lock:
            for name, tally in found.items():
                tallies[name].add(tally)
            done[0] += solved
            pace = (time.perf_counter() - begun) / max(done[0], 1)
            left = pace * (count - done[0])
            print(f"\r{done[0]} of {count} problems, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    def work() -> None:
        with LimitedWorker() as worker:
            with suppress(TimeUp, WorkerEnded):  # loads kernels; what happens here happens again below
                worker.call(PATIENCE, solve_seeds, list(range(first, first + CHUNK)), names, options)
            while True:
                try:
                    seeds = chunks.get_nowait()
                except Empty:
                    return
                try:
                    take(worker.call(PATIENCE, solve_seeds, seeds, names, options), len(seeds))
                except (TimeUp, WorkerEnded):
                    one_by_one(worker, seeds)

    def one_by_one(worker: LimitedWorker, seeds: list[int]) -> None:
        """A solve of these ended the process or did not end: find out which."""
        for seed in seeds:
            for name in names:
                try:
                    if not worker.running:
                        worker.call(PATIENCE, solve_seeds, [first], names, options)  # loads kernels
                    take(worker.call(LONGEST, solve_seeds, [seed], [name], options), 0)
                except (TimeUp, WorkerEnded) as error:
                    failed = Tally()
                    kind = "does not end" if isinstance(error, TimeUp) else "ends the process"
                    failed.statuses[kind] += 1
                    failed.fail(kind, seed, str(error))
                    take({name: failed}, 0)
        take({}, len(seeds))

    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(work) for _ in range(workers)]:
            future.result()
    print(file=sys.stderr)
    return tallies


def report(tallies: dict[str, Tally], count: int, options: dict[str, Any]) -> None:
    """Print the table and the failures."""
    from stickslip.solvers.registry import make_solver

    print(f"{count} problems, tolerance {options['tolerance']:g} ({options['criterion']} residual), "
          f"{options['max_iterations'] or 'own number of'} iterations at most")  # fmt: skip
    solvable = {seed for tally in tallies.values() for seed in tally.solved}
    print(f"{len(solvable)} of them some solver solves in the exact law; the others may have no solution.\n")
    print("| solver | law | converged | exact law | not solved, by status | wrong | worst residual | s | slowest |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, tally in tallies.items():
        others = ", ".join(f"{n} {status}" for status, n in tally.statuses.most_common() if status != "converged")
        wrong = sum(len(found) for found in tally.failures.values())
        took, seed = tally.slowest
        cells = (
            name, make_solver(name).takes.law, tally.statuses["converged"], len(tally.solved), others or "-", wrong,
            f"{tally.worst:.1e}", f"{tally.seconds:.1f}", f"{took:.2f} s, seed {seed}",
        )  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")
    for name, tally in tallies.items():
        for kind, found in sorted(tally.failures.items()):
            print(f"\n{name}: {len(found)} {kind}")
            same: dict[str, list[int]] = {}
            for seed, text in sorted(found):
                same.setdefault(text, []).append(seed)
            for text, seeds in list(same.items())[:KEPT]:
                more = f" and {len(seeds) - KEPT} more" if len(seeds) > KEPT else ""
                print(f"  seed {', '.join(map(str, seeds[:KEPT]))}{more}: {text}")


def main() -> None:
    """Run and print a table, or JSON; exit with 1 where a solution is wrong."""
    from stickslip.solvers.registry import SOLVERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--criterion", choices=("scaled", "siconos"), default="scaled")
    parser.add_argument("--max-iterations", type=int, default=200, help="0: each solver's own number")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--wide", action="store_true", help="mass ratios to 1e8; torsion or ellipses in half of them")
    given = parser.parse_args()
    options: dict[str, Any] = {"tolerance": given.tolerance, "criterion": given.criterion, "wide": given.wide}
    used = options | ({"max_iterations": given.max_iterations} if given.max_iterations else {})
    names = given.solvers.split(",")
    tallies = measure(given.problems, given.first, names, used, given.workers)
    if given.json:
        solvable = {seed for tally in tallies.values() for seed in tally.solved}
        plain = {
            name: {
                **vars(tally), "statuses": dict(tally.statuses), "solved": len(tally.solved),
                "missed": sorted(solvable.difference(tally.solved)),
            }
            for name, tally in tallies.items()
        }  # fmt: skip
        print(json.dumps({"options": used, "problems": given.problems, "solvers": plain}, indent=1))
    else:
        report(tallies, given.problems, {"max_iterations": 0, **used})
    sys.exit(1 if any(tally.failures for tally in tallies.values()) else 0)


if __name__ == "__main__":
    main()
