"""Heaps that move: deepest overlap, and processor time to find contacts, with and without looking where steps led.

Both variants of each scene run in this process, one thread: as the registry has it, and with ``redetect=0 searches=3``,
which looks ahead for all that may be hit on and never again. Times are told, and ratios between the two variants
recorded in heap_ratios.json: they depend on the machine far less. ``--check`` exits with 1 where a ratio is worse than
the recorded one by more than a quarter, or a heap overlaps by more than half a millimetre.

    python benchmarks/bench_heaps.py [scene ...] [--json] [--check] [--record]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is loaded

from stickslip.constraints import registry  # noqa: E402
from stickslip.pieces import deeper  # noqa: E402
from stickslip.scenes.running import prepare  # noqa: E402

SCENES = {
    "jacks": (70, {"scale": 0.1}),
    "glasses": (70, {"scale": 0.15}),
    "chalices": (90, {"scale": 0.01}),
    "funnel": (90, {"scale": 0.05}),
    "spheres": (60, {"scale": 0.2}),
}
"""Steps, until the heap has fallen on itself, and settings."""
BEFORE = {"stepping.redetect": 0, "stepping.searches": 3}
WORSE, OVERLAP = 1.25, 0.5
"""Factor by which a ratio of times may grow; most overlap [mm]."""
RECORD = Path(__file__).with_name("heap_ratios.json")


class Meter:
    """Processor time [s] spent in functions of modules."""

    def __init__(self) -> None:
        self.seconds = dict[str, float]()
        self.undo: list[tuple[Any, str, Callable[..., Any]]] = []

    def watch(self, module: Any, name: str) -> None:
        """Measure a function, until ``stop``."""
        function = getattr(module, name)
        self.undo.append((module, name, function))
        self.seconds[name] = 0.0

        def timed(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            try:
                return function(*args, **options)
            finally:
                self.seconds[name] += time.process_time() - started

        setattr(module, name, timed)

    def stop(self) -> None:
        """Put the functions back."""
        for module, name, function in self.undo:
            setattr(module, name, function)


def run(name: str, more: dict[str, Any]) -> dict[str, Any]:
    """Figures of a run."""
    steps, settings = SCENES[name]
    sim = prepare(name, settings={**settings, **more}).sim
    sim.run(2)
    meter = Meter()
    meter.watch(registry, "contacts_of_step")
    meter.watch(deeper, "deeper")
    started = time.process_time()
    certificates = []
    try:
        sim.run(steps, lambda result: certificates.append(result.certificate))
    finally:
        meter.stop()
    find, look = (1e3 * meter.seconds[each] / steps for each in ("contacts_of_step", "deeper"))
    return {
        "overlap_mm": max(each.penetration_mm for each in certificates),
        "contacts": sum(each.contacts for each in certificates) / steps,
        "converged": sum(each.converged for each in certificates) / steps,
        "find_ms": find,
        "look_ms": look,
        "step_ms": 1e3 * (time.process_time() - started) / steps,
    }


def main() -> int:
    """Run, print, check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    for option in ("json", "check", "record"):
        parser.add_argument(f"--{option}", action="store_true")
    options = parser.parse_args()
    rows, wrong = [], False
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in options.scenes:
        run(name, {})  # kernels are compiled or loaded
        before, now = run(name, BEFORE), run(name, {})
        # what the certificate alone looks at was not there before, and is in neither
        ratio = (now["find_ms"] + now["look_ms"]) / before["find_ms"]
        rows.append({"scene": name, "ratio": ratio, "before": before, "now": now})
        known = recorded.get(name, {"ratio": ratio})["ratio"]
        wrong = wrong or ratio > WORSE * known or now["overlap_mm"] > OVERLAP
        if not options.json:
            print(
                f"{name:9s} overlap {before['overlap_mm']:6.2f} -> {now['overlap_mm']:5.2f} mm, finding contacts "
                f"{before['find_ms']:6.2f} -> {now['find_ms'] + now['look_ms']:6.2f} ms ({ratio:.2f}), contacts "
                f"{before['contacts']:5.0f} -> {now['contacts']:5.0f}, converged {before['converged']:4.0%} -> "
                f"{now['converged']:4.0%}, steps {before['step_ms']:6.1f} -> {now['step_ms']:6.1f} ms"
            )
    if options.json:
        print(json.dumps(rows, indent=1))
    if options.record:
        kept = {
            row["scene"]: {"ratio": round(row["ratio"], 2), "overlap_mm": round(row["now"]["overlap_mm"], 3)}
            for row in rows
        }
        RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(options.check and wrong)


if __name__ == "__main__":
    sys.exit(main())
