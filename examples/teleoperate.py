"""Lead the hand of a robot, close its gripper and lift a box, as one does in the viewer, by program.

Run: python examples/teleoperate.py [--view]

With --view the same scene opens in the browser instead (needs the extra ``view``): drag the arrows at the hand.
"""

import argparse

import stickslip
from stickslip.scenes.own_scene import run_of_scene
from stickslip.scenes.robots.panda import panda
from stickslip.view.live.run import LiveRun

DT, EDGE = 0.005, 0.05
DOWN = (0.0, 1.0, 0.0, 0.0)
"""Rotation (w, x, y, z) of a hand that points down."""

scene = stickslip.Scene()
scene.add_half_space(name="ground")
scene.add_box((EDGE,) * 3, (0.45, 0.1, 0.5 * EDGE), mass=0.2, friction=0.8, name="box", colour=(0.85, 0.45, 0.2))
scene.add_tree(panda())

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--view", action="store_true")
if parser.parse_args().view:
    from stickslip.view.live.page import serve_scene

    with serve_scene(run_of_scene(scene, "teleoperate", DT), open_browser=True) as page:
        print(page.url)
        page.wait()

with LiveRun(run_of_scene(scene, "teleoperate", DT)) as run:
    run.watch_robot("panda")

    def advance(seconds):
        """Take steps; what the run is then."""
        for _ in range(round(seconds / DT)):
            run.step_once()
        return run.settled()

    found = run.hands["panda"]
    print("frames that can be led:", [frame.name for frame in found.frames])
    print("grippers:", [gripper.name for gripper in found.grippers])

    for height in (0.15, 0.5 * EDGE):
        run.set_target("panda", "tool", (0.45, 0.1, height), DOWN)
        hand = advance(0.9).robot.hands[0]
        print(f"target {height:.3f} m above the ground: {hand.words}, {1e3 * hand.distance:.2f} mm from it")
    run.set_grip("panda", "hand", 1.0)
    start = advance(0.7).frame.q[1, 2]
    run.set_target("panda", "tool", (0.45, 0.1, 0.2), DOWN)
    end = advance(0.9)
    print(f"the box is lifted by {end.frame.q[1, 2] - start:.2f} m; {end.certificate.status}")
