"""Kinds of constraints, by the numbers that keys of blocks and remembered impulses begin with."""

KINDS = ("contact", "soft contact", "joint", "weld", "cavity", "element", "coordinate", "island", "lead")
"""The last two are no constraints: what solved the island of a body in the last step (contact/habits.py), and by how
much velocities at the end of a step of mean velocities lead these (State.mean_velocity)."""
KIND = {kind: number for number, kind in enumerate(KINDS)}
"""Their numbers by name."""
