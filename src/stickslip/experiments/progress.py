"""How long work tells how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Told how many steps are done, of how many, and what is under way."""
