"""A pole on a cart swings up and stands: predictive sampling over 32 worlds, faster than real time.

Run: python examples/plan_cart_pole.py
"""

import time

import numpy as np

import stickslip
from stickslip.scenes.robots.cart_pole import cart_pole
from stickslip.worlds.planning import Search, improved, later, sequence

DT, SUBSTEPS = 0.01, 4  # [s] of a step; steps for which a control holds
CONTROLS, KNOTS, WORLDS = 30, 8, 32  # a plan is 1.2 s long

scene = stickslip.Scene()
scene.add_tree(cart_pole())


def cost(found, controls):
    """The pole upright, the cart near the middle of its rail of 2 m to both sides: (N,)."""
    q, v = found.joint_positions(robot), found.joint_velocities(robot)
    upright = 1.0 - np.cos(q[..., 1])
    speed = 0.002 * v[..., 0] ** 2 + 0.01 * v[..., 1] ** 2
    over = np.maximum(np.abs(q[..., 0]) - 1.8, 0.0)
    return (upright + 0.05 * q[..., 0] ** 2 + speed + 10.0 * over).mean(axis=0) + 0.5 * upright[-1]


plant = stickslip.Worlds(scene, 1, DT)  # what is controlled
worlds = stickslip.Worlds(scene, WORLDS, DT, threads=1)  # in which plans are tried
robot = plant.robots["cart-pole"]
plant.set_joint_positions(robot, np.array([0.0, np.pi]))  # the pole hangs
search = Search(worlds, cost, CONTROLS, np.array([-1.0]), np.array([1.0]), SUBSTEPS)
plan, random, used = np.zeros((KNOTS, 1)), np.random.default_rng(4), []
angles, furthest = [], 0.0
for _ in range(200):
    begun = time.process_time()
    plan, _ = improved(search, plant.state(0), plan, 0.5, random)
    control = sequence(plan, CONTROLS)[0]
    plan = later(plan, CONTROLS)
    plant.step(control[None], substeps=SUBSTEPS)
    used.append(time.process_time() - begun)
    q = plant.joint_positions(robot)[0]
    furthest = max(furthest, abs(q[0]))
    angles.append(abs((q[1] + np.pi) % (2.0 * np.pi) - np.pi))

period = SUBSTEPS * DT
up = next((k for k, angle in enumerate(angles) if max(angles[k:]) < 0.3), None)
print(f"the pole stands: {up is not None}" + ("" if up is None else f", from {up * period:.1f} s on"))
print(f"the cart went {furthest:.2f} m to a side; the pole is {np.degrees(angles[-1]):.1f} degrees from upright")
print(f"{period / np.median(used):.1f} times as fast as real time, on one thread (median of controls)")
