"""A scene as flat arrays, what changes of it in time, and how time advances."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.model.model")
