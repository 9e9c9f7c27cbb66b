"""What went through what, and steps in pieces."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.pieces.pieces")
