"""Recording a run to HDF5 and reading it back: states, contacts, certificates, settings."""

import tempfile
from pathlib import Path

from stickslip import Scene, Simulation
from stickslip.io.recording import Recorder, read_recording

scene = Scene()
scene.add_half_space()
scene.add_sphere(0.1, (0, 0, 0.5))

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "fall.h5"
    sim = Simulation(scene, dt=0.004)
    with Recorder(file, sim, scene_name="one ball") as record:
        sim.run(200, record)
    recording = read_recording(file)
    print(f"{len(recording)} frames of {recording.scene!r}, solver {recording.solver}")
    print(f"height at the end: {recording.q[-1, 1, 2]:.6f} m")
    print(f"largest residual: {recording.certificate['natural_residual'].max():.1e}")
