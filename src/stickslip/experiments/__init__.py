"""Measured comparisons: the truth tests on our solvers and on other engines, and the papers' tables."""
