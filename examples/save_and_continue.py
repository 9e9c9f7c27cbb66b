"""A simulation saved in the middle of contact, with a force on a box, continues bit for bit."""

import tempfile
from pathlib import Path

from stickslip import Scene, Simulation

scene = Scene()
scene.add_half_space()
for k in range(5):
    scene.add_box((0.1, 0.1, 0.1), (0.01 * k, 0.0, 0.06 + 0.11 * k))

one = Simulation(scene, dt=0.004)
one.run(50)
one.set_force(scene.body("box-5"), (0.5, 0, 0))
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "state.npz"
    one.save(file)  # state and control; one.state.save(file) writes the state alone
    other = Simulation(scene, dt=0.004)
    other.load(file)
one.run(50)
other.run(50)
print("the same bits:", one.state.digest() == other.state.digest())
