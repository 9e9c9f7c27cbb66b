"""[erleben2017] measured again."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.erleben2017.experiment")
