"""Joints: a driven hinge with limits lifts a weight on a rope, stops at its limit, and the rope is overloaded."""

from stickslip import Drive, Scene, Simulation

scene = Scene()
arm = scene.add_box((1.0, 0.05, 0.05), (0.5, 0, 1), mass=1.0, name="arm")
weight = scene.add_sphere(0.1, (1.0, 0, 0.5), mass=2.0, name="weight")

# a joint with None holds to the world; angles are zero at time zero, and about -y a positive one lifts the arm
hinge = scene.add_revolute(
    None, arm, (0, 0, 1), (0, -1, 0), limits=(-0.5, 0.5), drive=Drive(stiffness=5000.0, damping=500.0), name="hinge"
)
rope = scene.add_distance(arm, weight, (1.0, 0, 1), (1.0, 0, 0.5), limits=(0, 0.5), break_force=60.0, name="rope")

sim = Simulation(scene, dt=0.01)
sim.run(50)
force, torque = sim.joint_force(hinge)  # what it exerts on the arm, at its point
print(f"held at {sim.joint_position(hinge)[0]:+.4f} rad with {force[2]:.2f} N and {-torque[1]:.2f} N m")

for k in range(300):
    sim.set_drive(hinge, position=0.0025 * k)  # to 0.75 rad: further than the limit lets it
    sim.step()
    if k == 100:
        pull = sim.joint_force(rope)[0][2]
        print(f"on its way at {sim.joint_velocity(hinge)[0]:.2f} rad/s; the rope pulls the weight with {pull:.1f} N")
print(f"stopped by its limit at {sim.joint_position(hinge)[0]:.4f} rad; joints are apart by {sim.joint_error():.0e} m")

for push in (30.0, 50.0):  # besides its own 19.6 N
    sim.set_force(weight, (0, 0, -push))
    sim.step()
    print(f"pushed down with {push:.0f} N: the rope is", "broken" if sim.joint_broken(rope) else "whole")
