"""COND, [lee2023]."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.solvers.cond.cond")
