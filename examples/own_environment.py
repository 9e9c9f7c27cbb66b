"""An environment of one's own from three functions: a puck is to be slid so that friction stops it at a line.

Run: python examples/own_environment.py    (needs the extra "rl")
"""

import numpy as np

import stickslip

TARGET = 1.0  # [m] where the puck shall stop


def table() -> stickslip.Scene:
    """A puck of 0.2 kg on a table."""
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.3)
    scene.add_box((0.08, 0.08, 0.03), (0.0, 0.0, 0.015), mass=0.2, friction=0.3, name="puck")
    return scene


def observe(moment):
    """Where the puck is and how fast it slides: (N, 2) of N worlds."""
    puck = moment.body("puck")
    return np.stack([moment.worlds.position(puck)[:, 0], moment.worlds.velocity(puck)[:, 0]], axis=1)


def reward(moment):
    """Parts by name, whose sum counts; (N,) each."""
    return {"near": -np.abs(moment.worlds.position(moment.body("puck"))[:, 0] - TARGET)}


def push(moment, actions):
    """Actions (N, 1) from -1 to 1 are forces along x, for the first 0.2 s only."""
    force = np.where(moment.time[:, None] < 0.2, 5.0 * actions, 0.0)
    moment.worlds.set_force(moment.body("puck"), np.concatenate([force, np.zeros((len(force), 2))], axis=1))
    return {}  # there are no actuators to control


task = stickslip.Task("Puck", table, observe, reward, act=push, actions=1, dt=0.005, substeps=4, max_episode_steps=60)

# 21 worlds try 21 forces at once; stickslip.Environment(task) is one world of it, for gymnasium
envs = stickslip.VectorEnvironment(task, num_envs=21)
envs.reset(seed=0)
forces, returns = np.linspace(0.0, 1.0, 21)[:, None], np.zeros(21)
for _ in range(60):
    seen, rewards, terminated, truncated, told = envs.step(forces)
    returns += rewards
best = int(returns.argmax())
print(f"{5.0 * forces[best, 0]:.2f} N is best: the puck stops at {seen[best, 0]:.3f} m")
print(f"largest residual in the last step of all worlds: {told['certificate']['residual'].max():.1e}")
