"""[macklin2019] measured again."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.macklin2019.experiment")
