"""[lee2023] measured again."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.lee2023.experiment")
