"""A state saved in the middle of contact continues bit for bit."""

import tempfile
from pathlib import Path

from stickslip import Scene, Simulation, State

scene = Scene()
scene.add_half_space()
for k in range(5):
    scene.add_box((0.1, 0.1, 0.1), (0.01 * k, 0.0, 0.06 + 0.11 * k))

one = Simulation(scene, dt=0.004)
one.run(50)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "state.npz"
    one.state.save(file)
    other = Simulation(scene, dt=0.004)
    other.restore(State.load(file))
one.run(50)
other.run(50)
print("the same bits:", one.state.digest() == other.state.digest())
