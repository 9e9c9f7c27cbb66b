"""A robot arm from a file holds its posture, reaches for a point, and presses a soft ball: who carries what.

Run: python examples/robot_arm.py (needs the extra ``robots``)
"""

import tempfile
from pathlib import Path

import stickslip
from stickslip import tet_generators

ARM = """<mujoco model="arm">
  <worldbody>
    <body name="shoulder" pos="0 0 0.1">
      <joint name="turn" axis="0 0 1" range="-170 170" damping="0.5"/>
      <geom name="column" type="cylinder" size="0.05 0.1" pos="0 0 0.1" mass="3"/>
      <body name="upper" pos="0 0 0.2">
        <joint name="lift" axis="0 1 0" range="-120 120" damping="0.5"/>
        <geom type="capsule" fromto="0 0 0.05 0 0 0.35" size="0.04" mass="2"/>
        <body name="fore" pos="0 0 0.4">
          <joint name="elbow" axis="0 1 0" range="-150 150" damping="0.5"/>
          <geom type="capsule" fromto="0 0 0.05 0 0 0.25" size="0.03" mass="1"/>
          <body name="hand" pos="0 0 0.3">
            <joint name="wrist" axis="0 1 0" range="-120 120" damping="0.1"/>
            <geom type="box" size="0.06 0.06 0.01" pos="0 0 0.02" mass="0.3"/>
            <site name="palm" pos="0 0 0.03"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="turn" joint="turn" kp="800" kv="60" forcerange="-90 90"/>
    <position name="lift" joint="lift" kp="800" kv="60" forcerange="-90 90"/>
    <position name="elbow" joint="elbow" kp="400" kv="30" forcerange="-50 50"/>
    <position name="wrist" joint="wrist" kp="100" kv="5" forcerange="-20 20"/>
  </actuator>
</mujoco>
"""


def main() -> None:
    """Press the ball and print who carries what."""
    scene = stickslip.Scene()
    scene.add_half_space()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(ARM)
        robot = scene.add_robot(file)
    rubber = stickslip.elastic(2e4, 0.4, density=800.0, model="neo-hookean")
    ball = scene.add_soft(tet_generators.sphere(0.08, 3), rubber, (0.45, 0.0, 0.081), friction=0.8)
    sim = stickslip.Simulation(scene, dt=0.004)

    above = sim.inverse_kinematics(robot, "hand", (0.45, 0.0, 0.26), (0.0, 0.0, 1.0, 0.0), tolerance=1e-5)
    sim.set_joint_positions(robot, above)
    down = sim.inverse_kinematics(robot, "hand", (0.45, 0.0, 0.16), (0.0, 0.0, 1.0, 0.0), tolerance=1e-5)
    steps = 100
    for k in range(2 * steps):
        share = min(1.0, k / steps)
        sim.set_control(robot, position=(1.0 - share) * above + share * down)
        sim.step()
    certificate = sim.step().certificate
    pressed = sim.contacts(ball, robot.link("hand")).total_force
    print(f"status: {certificate.status}, residual {certificate.natural_residual:.1e}")
    print(f"hand at {sim.link_pose(robot, 'hand')[0].round(3)}, it presses the ball with {-pressed[2]:.2f} N")
    print(f"torques of the drives: {sim.actuator_forces(robot).round(2)} N m")


if __name__ == "__main__":
    main()
