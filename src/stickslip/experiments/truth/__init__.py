"""The truth tests, on our solvers and on other engines."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.truth.truth")
