"""Non-smooth Newton, [macklin2019]."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.solvers.newton.newton")
