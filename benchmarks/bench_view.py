"""What playing a recording in the browser costs the server: milliseconds of Python a frame, against the bar of 10 ms.

A recording is made of a few steps and played with a client connected over a WebSocket, in a process of its own, that
reads everything, as a page does. Counted is the time of the processor of the whole serving process: reading the file,
moving nodes, numbers and plots beside the view, packing and sending. Frames are shown 30 a second, all different
from the one before.

    bodies       2,000 balls with their contacts as points and arrows
    stones       640 blocks, no two alike
    soft         20,160 triangles of a soft mat, plain
    soft, ...    the same, coloured by speed, stress or strain

Run: python benchmarks/bench_view.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from stickslip import Scene, Simulation
from stickslip.geometry import tet_generators
from stickslip.io.recorder import Recorder
from stickslip.scene.soft_body import elastic
from stickslip.solvers.registry import make_solver
from stickslip.view.playback.page import PlaybackPage, serve_recording

BAR_MS = 10.0
DT = 0.005
CLIENT = """
import sys, viser, websockets.sync.client as client
url = sys.argv[1]
with client.connect(url.replace("http", "ws"), origin=url, subprotocols=[f"viser-v{viser.__version__}"],
                    max_size=None, compression=None) as socket:
    print("connected", flush=True)
    total = 0
    try:
        for message in socket:
            total += len(message)
    except Exception:
        pass
    print(total, flush=True)
"""


@dataclass(frozen=True)
class Row:
    """Figures of one recording."""

    name: str
    nodes: int
    """Nodes of the page's scene for bodies."""
    frames: int
    contacts: int
    ms: float
    """[ms] of the processor a frame, all of the server."""
    megabytes: float
    """[MB] sent in all, with the meshes at the start."""


def balls(count: int) -> Scene:
    """Layers of balls on the ground."""
    scene = Scene()
    scene.add_half_space()
    side = int(np.ceil(np.sqrt(count / 5)))
    for k in range(count):
        x, y, z = k % side, (k // side) % side, k // side**2
        scene.add_sphere(0.05, (0.1 * x, 0.1 * y, 0.05 + 0.0999 * z), velocity=(0.05, 0.02, 0.0))
    return scene


def stones(count: int) -> Scene:
    """Blocks of which no two are alike."""
    rng = np.random.default_rng(0)
    scene = Scene()
    scene.add_half_space()
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    side = int(np.ceil(np.sqrt(count)))
    for k in range(count):
        own = 0.05 * corners * rng.uniform(0.7, 1.0, 3)
        scene.add_hull(own, (0.15 * (k % side), 0.15 * (k // side), 0.2), velocity=(0.1, 0.0, 0.0))
    return scene


def mat(cells: tuple[int, int, int]) -> Scene:
    """A soft mat in the air."""
    scene = Scene()
    mesh = tet_generators.box((0.7, 0.7, 0.01), cells, "mirrored")
    rubber = elastic(75e3, 0.35, density=1000.0, beta=0.01)
    scene.add_soft(mesh, rubber, (0, 0, 0.1), friction=0.3, angular_velocity=(0.3, 0, 2.0))
    return scene


def record(scene: Scene, path: Path, steps: int) -> None:
    """Some steps of a scene."""
    sim = Simulation(scene, dt=DT, solver=make_solver("auto"))
    with Recorder(path, sim, "bench") as recorder:
        for _ in range(steps):
            recorder(sim.step())


def measure(name: str, path: Path, quantity: str | None, seconds: float) -> Row:
    """Play a recording to a client."""
    with serve_recording(path) as page:
        page.panel.quantity = quantity
        reader = subprocess.Popen([sys.executable, "-c", CLIENT, page.url], stdout=subprocess.PIPE, text=True)
        assert reader.stdout is not None
        try:
            assert reader.stdout.readline().strip() == "connected"
            time.sleep(1.0)  # the first messages, with all meshes, are not counted
            shown, ms = _play(page, seconds)
            contacts = len(page.recording.contacts(len(page.recording) - 1))
            nodes = page.scene.node_count
        finally:
            page.close()
        total = int(reader.communicate(timeout=20)[0] or 0)
    return Row(name, nodes, shown, contacts, ms, total / 1e6)


def _play(page: PlaybackPage, seconds: float) -> tuple[int, float]:
    """Play in a loop, so slowly that every frame is due for 1/30 s; frames shown, and milliseconds of each."""
    page.clock.loop, page.clock.speed = True, 30.0 * DT
    page.clock.play()
    time.sleep(0.5)
    shown, start = page.frames_shown, time.process_time()
    time.sleep(seconds)
    used, shown = time.process_time() - start, page.frames_shown - shown
    return shown, 1e3 * used / shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller scenes and fewer frames")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    part = 10 if options.quick else 1
    seconds = 1.0 if options.quick else 4.0
    cells = (22, 22, 1) if options.quick else (70, 70, 1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.h5" for name in ("bodies", "stones", "soft")}
        record(balls(2000 // part), files["bodies"], 12)
        record(stones(640 // part), files["stones"], 12)
        record(mat(cells), files["soft"], 6)
        rows.append(measure("bodies", files["bodies"], None, seconds))
        rows.append(measure("stones", files["stones"], None, seconds))
        rows.append(measure("soft", files["soft"], None, seconds))
        rows.append(measure("soft, speed", files["soft"], "speed", seconds))
        rows.append(measure("soft, von-mises", files["soft"], "von-mises", seconds))
        rows.append(measure("soft, strain", files["soft"], "strain", seconds))
    if options.json:
        print(json.dumps({"bar_ms": BAR_MS, "rows": [asdict(row) for row in rows]}))
        return
    print(f"{'recording':18}{'nodes':>7}{'contacts':>10}{'frames':>8}{'ms a frame':>12}{'MB':>8}{'bar 10 ms':>12}")
    for row in rows:
        verdict = "kept" if row.ms < BAR_MS else "missed"
        figures = f"{row.nodes:7}{row.contacts:10}{row.frames:8}{row.ms:12.2f}{row.megabytes:8.1f}"
        print(f"{row.name:18}{figures}{verdict:>12}")


if __name__ == "__main__":
    main()
