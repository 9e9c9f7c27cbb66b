"""COND gives the same bits on any number of threads."""

import child_process

SCRIPT = """
import sys
from stickslip import Scene, Simulation, elastic, jit, tet_generators
from stickslip.solvers import cond
cond.THREADED = 0
scene = Scene()
scene.add_half_space(friction=0.5)
scene.add_soft(tet_generators.box((0.2, 0.2, 0.1), (8, 8, 4)), elastic(5e4, 0.35, beta=1e-3), (0, 0, 0.05),
               friction=0.5, velocity=(0.3, 0.1, -0.2))
scene.add_box((0.08, 0.06, 0.04), (0.013, 0.007, 0.12), mass=0.3, friction=0.5)
sim = Simulation(scene, 0.005, cond.Cond(max_iterations=200))
sim.run(4)
assert sim.model.soft.pattern.size > 5 * 64
print(jit.thread_count(), sim.state.digest())
"""


def test_threads_change_no_bit() -> None:
    one, two, three = (child_process.output("-c", SCRIPT, threads=count).split() for count in (1, 2, 3))
    assert [one[0], two[0], three[0]] == ["1", "2", "3"]
    assert one[1] == two[1] == three[1]
