"""[han2023] measured again."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.experiments.han2023.experiment")
