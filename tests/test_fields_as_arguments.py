"""A function of one record that is called with its fields."""

import inspect
from dataclasses import dataclass

import pytest

from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.scenes.registry import SCENES


@dataclass(frozen=True)
class Ball:
    radius: float
    mass: float = 2.0
    name: str = "ball"


@fields_as_arguments(Ball)
def described(ball: Ball) -> str:
    """What a ball is."""
    return f"{ball.name}: {ball.radius} m, {ball.mass} kg"


def test_fields_are_given_by_position_and_by_name() -> None:
    assert described(0.5) == "ball: 0.5 m, 2.0 kg"
    assert described(0.5, name="b", mass=1.0) == described(0.5, 1.0, "b") == "b: 0.5 m, 1.0 kg"


def test_its_signature_is_that_of_the_fields() -> None:
    seen = inspect.signature(described)
    assert list(seen.parameters) == ["radius", "mass", "name"]
    assert [item.default for item in seen.parameters.values()] == [inspect.Parameter.empty, 2.0, "ball"]
    assert seen.parameters["radius"].annotation is float
    assert seen.return_annotation is str
    assert (described.__name__, described.__doc__) == ("described", "What a ball is.")


def test_wrong_arguments_are_rejected_as_of_any_function() -> None:
    with pytest.raises(TypeError, match="radius"):
        described()
    with pytest.raises(TypeError, match="colour"):
        described(0.5, colour=3)


def test_scenes_of_records_have_parameters() -> None:
    assert SCENES["twist"].defaults()["turns"] == 2.0
    assert list(SCENES["soft-bubble"].defaults())[:3] == ["height", "bear_young", "bear_poisson"]
