"""A hundred worlds at once: the same box on a slope with other friction in each, then a rollout of a robot.

Run: python examples/many_worlds.py
"""

import numpy as np

import stickslip
from stickslip.geometry.shapes import Capsule, placed
from stickslip.robots.records import Actuator, LinkShape, RobotRecord, TreeJoint, TreeLink

# a box on a slope of 20 degrees, in 100 worlds that differ in its friction: it slides below tan 20 = 0.364
angle = np.radians(20.0)
gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
scene = stickslip.Scene(gravity=gravity)
ground = scene.add_half_space(friction=1.0)
box = scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.05))

worlds = stickslip.Worlds(scene, count=100, dt=0.005)
friction = np.linspace(0.1, 0.6, 100)
worlds.set_parameters(friction={box: friction**2})  # with that of the ground, 1, the pair has its root: geometric mean
for _ in range(20):
    worlds.step(substeps=5)
moving = worlds.velocity(box)[:, 0] > 1e-6
print(f"slides where friction is at most {friction[moving].max():.3f} (tan 20 degrees is {np.tan(angle):.3f})")
print(f"largest residual over all worlds: {worlds.certificate.natural_residual.max():.1e}")

# a pendulum with a motor: 16 sequences of 50 torques, tried from the same start in one call
link = TreeLink(
    "arm", -1, (TreeJoint("hinge", "revolute", (0.0, 1.0, 0.0)),), 1.0, np.diag([0.001, 0.02, 0.02]), (0.25, 0.0, 0.0),
    (0.0, 0.0, 1.0), shapes=(LinkShape(placed(Capsule(0.02, 0.4), (0.25, 0.0, 0.0), (0.7071, 0.0, 0.7071, 0.0))),),
)  # fmt: skip
scene = stickslip.Scene()
arm = scene.add_tree(RobotRecord("arm", (link,), actuators=(Actuator("motor", "motor", (("hinge", 1.0),)),)))
worlds = stickslip.Worlds(scene, count=16, dt=0.005)
torques = np.random.default_rng(1).uniform(-6.0, 2.0, (50, 16, 1))
found = stickslip.rollout(worlds, torques, every=10, substeps=2, checkpoints=[50])
angles = found.joint_positions(arm)[..., 0]
best = int(np.argmin(angles[-1]))
print(f"{angles.shape[0]} records of {angles.shape[1]} worlds; number {best} came highest: {-angles[-1, best]:.2f} rad")

# from a checkpoint worlds go on bit for bit
worlds.step(np.zeros(1), substeps=10)
end = worlds.get_state().digest()
worlds.set_state(found.checkpoints[50])
worlds.step(np.zeros(1), substeps=10)
print(f"the same bits: {worlds.get_state().digest() == end}")
