"""Environments for reinforcement learning, on gymnasium and ``Worlds``; importing this room registers them."""

from importlib.util import find_spec

from stickslip.errors import MissingDependencyError

if find_spec("gymnasium") is None:
    raise MissingDependencyError("environments need gymnasium; install it with: pip install 'stickslip[rl]'")

from stickslip.learning.registration import register

register()
