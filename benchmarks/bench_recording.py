"""Recordings: what they cost a step, how long a large one takes to open, and a frame of it to read.

The large recording is made by repeating the steps of a small run; it needs 1 GB in the folder for temporary files.
Times of opening and reading are of a file that the system still has in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from stickslip.io.recording import Recorder, read_recording
from stickslip.scenes.running import prepare
from stickslip.simulation import Simulation
from stickslip.view.frame import recorded_frame


def share_of_a_step(sim: Simulation, steps: int, folder: Path) -> dict[str, float]:
    """Time that recording takes over that of the steps themselves, in one run: CPU and wall, means and medians."""
    taken = np.zeros((steps, 4))
    with Recorder(folder / "share.h5", sim) as record:
        for row in taken:
            clocks = [(time.process_time(), time.perf_counter())]
            result = sim.step()
            clocks.append((time.process_time(), time.perf_counter()))
            record(result)
            clocks.append((time.process_time(), time.perf_counter()))
            row[:] = np.diff(clocks, axis=0).ravel()
        end = time.process_time()
    closing = time.process_time() - end
    cpu, wall = taken[:, [0, 2]], taken[:, [1, 3]]
    return {
        "step [ms]": 1e3 * float(np.median(cpu[:, 0])),
        "CPU, mean": float(cpu[:, 1].sum() / cpu[:, 0].sum()),
        "CPU, median": float(np.median(cpu[:, 1]) / np.median(cpu[:, 0])),
        "wall, mean": float(wall[:, 1].sum() / wall[:, 0].sum()),
        "wall, median": float(np.median(wall[:, 1]) / np.median(wall[:, 0])),
        "closing [ms]": 1e3 * closing,
        "MB a frame": (folder / "share.h5").stat().st_size / steps / 1e6,
    }


def large_recording(file: Path, size: float) -> Simulation:
    """A recording of 2,000 balls of about ``size`` bytes, the same steps over and over."""
    sim = prepare("spheres", settings={"count": 2000, "across": 12}).sim
    sim.run(150)
    results = [sim.step() for _ in range(20)]
    with Recorder(file, sim) as record:
        frame = 0
        while frame < 40 or file.with_name(f"{file.name}.partial").stat().st_size < size:
            record(results[frame % len(results)])
            frame += 1
    return sim


def main() -> None:
    """Print a table of each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps, a recording of 50 MB")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("recording over step, spheres with 1,000 balls")
        sim = prepare("spheres", settings={"count": 1000}).sim
        sim.run(3)
        for phase, start, steps in (("falling", 10, 150), ("settling", 300, 150), ("settled", 1000, 300)):
            if quick and start > 300:
                break
            sim.run(max(0, (start // 10 if quick else start) - sim.state.steps))
            found = share_of_a_step(sim, 30 if quick else steps, folder)
            print(f"  {phase:9}" + ", ".join(f"{label} {value:.3g}" for label, value in found.items()))

        file = folder / "large.h5"
        large_recording(file, 5e7 if quick else 1e9)
        times = []
        for _ in range(3):
            start_time = time.perf_counter()
            recording = read_recording(file)
            times.append(time.perf_counter() - start_time)
            recording.close()
        recording = read_recording(file)
        count = len(recording)
        contacts = int(np.diff(recording.contact_offset).max())
        print(f"opening {file.stat().st_size / 1e9:.2f} GB, {count} frames: {max(times):.3f} s (longest of 3)")
        for label, order in (("in order", np.arange(min(count, 200))), ("at random", None)):
            frames = np.random.default_rng(0).integers(0, count, 200) if order is None else order
            taken = []
            for frame in frames:
                start_time = time.perf_counter()
                recorded_frame(recording, int(frame))
                taken.append(time.perf_counter() - start_time)
            print(
                f"a frame of {recording.model.body_count} bodies, {contacts} contacts, {label}: "
                f"median {1e3 * np.median(taken):.2f} ms, 95 % below {1e3 * np.quantile(taken, 0.95):.2f} ms"
            )
        recording.close()


if __name__ == "__main__":
    main()
