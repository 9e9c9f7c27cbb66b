"""A finger learns to push a box to its place on tables that differ in friction.

Run: python examples/train_push_box.py [STEPS] [FOLDER]    (needs the extra "train"; docs/learning.md says how far that
has come)
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()) / "push_box"
options = {"randomise": {"friction": (0.5, 1.5)}}

if find_spec("stable_baselines3") is None:
    print("PushBox: the trainer is not installed; pip install 'stickslip[train]'")
else:
    from stickslip.learning.policy import Policy, evaluate
    from stickslip.learning.trainer import train

    found = train("PushBox", folder, steps, seed=1, options=options)
    judged = evaluate(Policy(folder), episodes=16)
    print(f"PushBox: {found['timesteps']} steps in {found['seconds']:.0f} s")
    print(
        f"the box is within 2 cm of its place in {judged['rewards']['there']:.0f} of {judged['steps_mean']:.0f} steps"
    )
    print(f"stickslip play {folder} shows it")
