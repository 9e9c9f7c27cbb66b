"""A run as one HTML file to send around: it plays in any browser, offline, with the certificate as plots.

Run: python examples/share_a_run.py [FOLDER]; without a folder the page is written to a temporary one and removed.
"""

import sys
import tempfile
from pathlib import Path

from stickslip import Scene, Simulation
from stickslip.io.recording import Recorder, read_recording
from stickslip.view.player.html_player import write_player

scene = Scene()
scene.add_half_space(friction=0.5)
for level in range(6):
    scene.add_box((0.2, 0.2, 0.1), (0.02 * (-1) ** level, 0, 0.05 + 0.1 * level), name=f"brick-{level}", friction=0.5)
scene.add_sphere(0.1, (1.5, 0, 0.4), name="ball", velocity=(-4, 0, 1.5), mass=5, colour=(0.9, 0.3, 0.1))

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
    sim = Simulation(scene, dt=0.005)
    with Recorder(folder / "tower.h5", sim, scene_name="tower and ball") as record:
        sim.run(300, record)
    with read_recording(folder / "tower.h5") as recording:
        write_player(recording, folder / "tower.html", fps=60)
    size = (folder / "tower.html").stat().st_size
    print(f"tower.html: {len(recording)} steps in one page of less than 0.2 MB: {size < 2e5}")
