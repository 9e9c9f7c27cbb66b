"""How often one step goes from one module of the package to another: a step that reads in one go stays in few rooms."""

import json

from child_process import output

MOST = {"box": 82, "hinge": 130, "soft": 159}
"""Borders crossed in the third step of each scene; lower them, never raise them."""
CODE = """
import json, sys, stickslip
SMALL = ("vec3", "mat3", "small_", "jit", "arrays", "quaternion")  # arithmetic and tables, which have no borders

def box(s):
    s.add_half_space()
    s.add_box((0.2, 0.2, 0.2), position=(0, 0, 0.1), mass=1.0)

def hinge(s):
    a = s.add_box((0.2, 0.2, 0.2), position=(0, 0, 2), mass=1.0)
    b = s.add_box((0.2, 0.2, 0.2), position=(0.3, 0, 2), mass=1.0)
    s.add_revolute(a, b, point=(0.15, 0, 2), axis=(0, 1, 0))

def soft(s):
    s.add_half_space()
    cube = stickslip.tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1))
    s.add_soft(cube, stickslip.elastic(1e5, 0.3), position=(0, 0, 0.05))

found = {}
for fill in (box, hinge, soft):
    scene, order = stickslip.Scene(), []
    fill(scene)
    sim = stickslip.Simulation(scene, dt=0.005)
    sim.run(2)

    def look(frame, event, _):
        name = frame.f_globals.get("__name__", "")
        own = name.startswith("stickslip.") and not name.rsplit(".", 1)[-1].startswith(SMALL)
        if event == "call" and own and (not order or order[-1] != name):
            order.append(name)

    sys.setprofile(look)
    sim.step()
    sys.setprofile(None)
    found[fill.__name__] = len(order) - 1
print(json.dumps(found))
"""


def test_a_step_crosses_few_borders() -> None:
    found = json.loads(output("-c", CODE, NUMBA_DISABLE_JIT="1"))
    assert {name: count for name, count in found.items() if count > MOST[name]} == {}
