"""A page about a run: record it, write its report, and read the warnings."""

import tempfile
from pathlib import Path

from stickslip import Scene, Simulation
from stickslip.io.recording import Recorder, read_recording
from stickslip.view.report.page import write_report
from stickslip.view.report.warnings import run_warnings

scene = Scene()
scene.add_half_space(name="ground")
scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), name="at rest")
scene.add_box((0.2, 0.2, 0.2), (1, 0, 0.1), velocity=(1, 1, 0), name="slider")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "slide.h5"
    sim = Simulation(scene, dt=0.005, solver="pgs")  # a box in the place of the friction cone: wrong on the diagonal
    with Recorder(file, sim, scene_name="two boxes") as record:
        sim.run(40, record)
    recording = read_recording(file)
    page = Path(folder) / "slide.html"
    facts = write_report(recording, page, pictures=3)
    print(facts["verdict"])
    for warning in run_warnings(recording):
        print(f"{warning.severity}: {warning.text}")
    print(f"the page has {page.stat().st_size // 1000} kB")
