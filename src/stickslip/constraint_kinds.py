"""Kinds of constraints, by the numbers that keys of blocks and remembered impulses begin with."""

KINDS = ("contact", "soft contact", "joint", "weld", "cavity", "element", "coordinate")
KIND = {kind: number for number, kind in enumerate(KINDS)}
"""Their numbers by name."""
