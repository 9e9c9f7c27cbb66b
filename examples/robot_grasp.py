"""An arm and a gripper from two files, fixed to each other, grasp a soft ball and lift it: what each finger does.

Run: python examples/robot_grasp.py [ARM GRIPPER] [--picture OUT.png] (needs the extra ``robots``)

Without files it writes two small ones. Others must be of the same kind: the last link of the arm takes the first link
of the gripper, which has a free joint and points down; the first actuator of the arm lifts, and all actuators of the
gripper close.
"""

import argparse
import tempfile
from pathlib import Path

import stickslip
from stickslip import tet_generators

ARM = """<mujoco model="gantry">
  <worldbody>
    <body name="carriage" pos="0 0 0.16">
      <joint name="lift" type="slide" axis="0 0 1" range="0 0.3" damping="5"/>
      <geom type="box" size="0.03 0.03 0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator><position name="lift" joint="lift" kp="6000" kv="400" forcerange="-200 200"/></actuator>
</mujoco>
"""
GRIPPER = """<mujoco model="gripper">
  <worldbody>
    <body name="palm" pos="0 0 0.12">
      <freejoint name="palm"/>
      <geom type="box" size="0.08 0.03 0.015" mass="0.4"/>
      <body name="left" pos="-0.062 0 -0.055">
        <joint name="left" type="slide" axis="1 0 0" range="0 0.06" damping="1"/>
        <geom type="box" size="0.008 0.02 0.035" mass="0.1" friction="0.8"/>
      </body>
      <body name="right" pos="0.062 0 -0.055">
        <joint name="right" type="slide" axis="-1 0 0" range="0 0.06" damping="1"/>
        <geom type="box" size="0.008 0.02 0.035" mass="0.1" friction="0.8"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="left" joint="left" kp="2000" kv="100" ctrlrange="0 0.06" forcerange="-10 10"/>
    <position name="right" joint="right" kp="2000" kv="100" ctrlrange="0 0.06" forcerange="-10 10"/>
  </actuator>
</mujoco>
"""
RADIUS, LIFT = 0.04, 0.1
"""[m] of the ball; by which it is lifted."""
CLOSING, LIFTING, HOLDING = 75, 75, 100
"""Steps of 4 ms."""


def read_options() -> argparse.Namespace:
    """The files, if any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="arm and gripper, URDF or MJCF")
    parser.add_argument("--picture", type=Path, default=None, help="PNG file of the end")
    options = parser.parse_args()
    if len(options.files) not in (0, 2):
        parser.error(f"{len(options.files)} files are given; two are needed, or none")
    return options


def main() -> None:
    """Close, lift, hold, and print what each finger does."""
    options = read_options()
    scene = stickslip.Scene()
    scene.add_half_space()
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or [Path(folder) / "arm.xml", Path(folder) / "gripper.xml"]
        if not options.files:
            files[0].write_text(ARM)
            files[1].write_text(GRIPPER)
        arm, gripper = (scene.add_robot(file) for file in files)
    hand, palm = arm.link(arm.link_names[-1]), gripper.link(gripper.link_names[0])
    scene.add_fixed(hand, palm)
    rubber = stickslip.elastic(4e4, 0.4, density=800.0, beta=0.01)
    ball = scene.add_soft(tet_generators.sphere(RADIUS, 3), rubber, (0.0, 0.0, RADIUS + 1e-3), friction=0.8)
    sim = stickslip.Simulation(scene, dt=0.004)

    solved = True
    closed = {each.name: each.control_range[1] for each in gripper.record.actuators}
    start = float(sim.soft_centre(ball)[2])
    for k in range(CLOSING + LIFTING + HOLDING):
        sim.set_control(gripper, actuators={name: min(k / CLOSING, 1.0) * end for name, end in closed.items()})
        sim.set_control(arm, actuators={arm.actuator_names[0]: min(max((k - CLOSING) / LIFTING, 0.0), 1.0) * LIFT})
        solved = sim.step().certificate.converged and solved
    for name in gripper.link_names:
        force = sim.contacts(ball, gripper.link(name)).total_force
        if force.any():
            print(f"{name}: presses with {abs(force[0]):.2f} N and carries {force[2]:.2f} N")
    held = sim.robot_contact_force(gripper)
    lifted = float(sim.soft_centre(ball)[2]) - start
    print(f"all steps converged: {solved}; ball lifted by {lifted:.3f} m, with {-held[2]:.2f} N on the gripper")
    if options.picture is not None:
        from stickslip.bodies.registry import frame_poses
        from stickslip.view.picture.picture import render_frame, save_picture

        poses = frame_poses(sim.model, sim.state)
        save_picture(render_frame(sim.model, poses, 640, 480, nodes=sim.state.node_position), options.picture)


if __name__ == "__main__":
    main()
