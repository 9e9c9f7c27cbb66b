"""Environments for learning, on gymnasium and ``Worlds``: ``import stickslip.learning`` registers them."""

from importlib.util import find_spec

if find_spec("gymnasium") is not None:  # without it the list of names is still there
    from stickslip.learning.registration import register

    register()
