"""PROX, [erleben2017]."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.solvers.prox.scheme")
