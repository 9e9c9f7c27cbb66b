"""Pictures and films, computed without a display."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.view.picture.picture")
