"""A policy for the cart-pole, trained for a moment and then for as long as it takes.

Run: python examples/train_cartpole.py [STEPS] [FOLDER]    (needs the extra "train"; 80,000 steps solve it)
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()) / "cartpole"

if find_spec("stable_baselines3") is None:
    print("CartPole: the trainer is not installed; pip install 'stickslip[train]'")
else:
    from stickslip.learning.policy import Policy, evaluate
    from stickslip.learning.trainer import train

    found = train("CartPole", folder, steps, seed=1)
    judged = evaluate(Policy(folder), episodes=5)
    print(f"CartPole: {found['timesteps']} steps in {found['seconds']:.0f} s")
    print(f"return {judged['return_mean']:.0f} of 500, largest residual {judged['worst']['residual']:.1e}")
    print(f"stickslip play {folder} shows it")
