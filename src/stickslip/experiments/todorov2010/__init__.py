"""[todorov2010] measured again."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.todorov2010.experiment")
