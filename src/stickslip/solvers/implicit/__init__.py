"""Implicit complementarity, [todorov2010]."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.solvers.implicit.implicit")
