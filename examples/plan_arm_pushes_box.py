"""An arm of three hinges pushes a box to a place on a table: MPPI over 24 worlds, faster than real time.

Run: python examples/plan_arm_pushes_box.py
"""

import time

import numpy as np

import stickslip
from stickslip.robots.records import RobotRecord, TreeJoint
from stickslip.scenes.robots.parts import Weight, drive, link, rod
from stickslip.worlds.planning import Search, improved, later, sequence

LENGTHS, HEIGHT, PLACE = (0.35, 0.3, 0.15), 0.05, np.array([0.45, 0.3])  # [m]
DT, SUBSTEPS = 0.01, 8  # [s] of a step; steps for which a control holds
CONTROLS, KNOTS, WORLDS = 8, 4, 24  # a plan is 0.64 s long


def arm() -> RobotRecord:
    """Three links that turn about upright axes, a finger's breadth above the table; drives take angles [rad]."""
    links, joints, start = [], [], 0.0
    for k, length in enumerate(LENGTHS):
        joints.append(TreeJoint(f"hinge{k}", "revolute", (0.0, 0.0, 1.0), limits=(-2.8, 2.8), effort=20.0, damping=0.5))
        shape = rod((0.0, 0.0, 0.0), (length, 0.0, 0.0), 0.02, (0.8, 0.55 - 0.15 * k, 0.2))
        place = (start, 0.0, HEIGHT if k == 0 else 0.0)
        weight = Weight(0.8 - 0.2 * k)
        links.append(link(f"link{k}", k - 1, weight, [shape], joints=(joints[k],), position=place, friction=0.3))
        start = length
    drives = tuple(drive(joint, 60.0, 4.0) for joint in joints)
    beside = frozenset({("link0", "link1"), ("link1", "link2"), ("link0", "link2")})
    return RobotRecord("arm", tuple(links), actuators=drives, excluded=beside, start=np.array([-1.2, 1.4, 1.0]))


scene = stickslip.Scene()
scene.add_half_space(friction=0.4)
scene.add_tree(arm())
box = scene.add_box((0.1, 0.1, 0.08), (0.5, 0.0, 0.04), mass=0.5, friction=0.4, name="box", colour=(0.3, 0.5, 0.8))


def tip(q):
    """Where the end of the arm is: (..., 2) [m] for joint positions (..., 3)."""
    angles = np.cumsum(q, axis=-1)[..., None]
    return (np.array(LENGTHS)[:, None] * np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)).sum(axis=-2)


def cost(found, controls):
    """The box at its place, the tip of the arm behind the box: (N,)."""
    at = found.centre(box)[..., :2]
    way = PLACE - at
    left = np.linalg.norm(way, axis=-1)
    behind = at - 0.07 * way / np.maximum(left, 0.02)[..., None]
    reach = np.linalg.norm(tip(found.joint_positions(robot)) - behind, axis=-1)
    return (left + 0.5 * reach * np.minimum(1.0, left / 0.02)).mean(axis=0) + left[-1]


plant = stickslip.Worlds(scene, 1, DT)  # what is controlled
coarse = stickslip.make_solver("auto", tolerance=1e-5)
worlds = stickslip.Worlds(scene, WORLDS, DT, threads=1, solver=coarse)  # in which plans are tried
robot = plant.robots["arm"]
search = Search(worlds, cost, CONTROLS, np.full(3, -2.8), np.full(3, 2.8), SUBSTEPS)
plan, random, used = np.tile(plant.joint_positions(robot), (KNOTS, 1)), np.random.default_rng(1), []
taken, left, certificates = 0, np.inf, []
while taken < 120 and (left > 0.01 or np.linalg.norm(plant.velocity(box)[0]) > 0.01):
    begun = time.process_time()
    plan, _ = improved(search, plant.state(0), plan, 0.15, random, temperature=0.003)
    control = sequence(plan, CONTROLS)[0]
    plan = later(plan, CONTROLS)
    plant.step(control[None], substeps=SUBSTEPS)
    used.append(time.process_time() - begun)
    taken += 1
    left = float(np.linalg.norm(PLACE - plant.position(box)[0, :2]))
    certificates.append(plant.certificate.natural_residual[0])

print(f"the box is at its place: {left < 0.01}, {1e3 * left:.0f} mm off after {taken * SUBSTEPS * DT:.1f} s")
print(f"largest residual of what was done: {max(certificates):.1e}")
print(f"{SUBSTEPS * DT / np.median(used):.1f} times as fast as real time, on one thread (median of controls)")
