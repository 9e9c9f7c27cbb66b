"""Kinds of constraints, by the numbers that keys of blocks and remembered impulses begin with."""

KINDS = ("contact", "soft contact", "joint", "weld", "cavity", "element", "coordinate", "island")
"""The last one is no constraint: what solved the island of a body in the last step (contact/habits.py)."""
KIND = {kind: number for number, kind in enumerate(KINDS)}
"""Their numbers by name."""
