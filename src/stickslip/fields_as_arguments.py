"""A function of one record, called with the fields of the record as its arguments.

Commands and scenes have many parameters, which their users give one by one. Inside they travel as one value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

R = TypeVar("R")
T = TypeVar("T")


def fields_as_arguments(record: type[R]) -> Callable[[Callable[[R], T]], Callable[..., T]]:
    """Decorator: a function of a ``record``, a dataclass, takes its fields instead, with their types and defaults.

    Who asks for its signature (``help``, the command line, the parameters of scenes) sees these arguments.
    """
    hints = get_type_hints(record, include_extras=True)
    names = [item.name for item in fields(record)]  # type: ignore[arg-type]
    defaults = [Parameter.empty if item.default is MISSING else item.default for item in fields(record)]  # type: ignore[arg-type]
    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hints[name])
        for name, default in zip(names, defaults, strict=True)
    ]

    def decorated(function: Callable[[R], T]) -> Callable[..., T]:
        returned = get_type_hints(function).get("return", Parameter.empty)

        @wraps(function)
        def called(*given: Any, **named: Any) -> T:
            return function(record(*given, **named))

        called.__signature__ = Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
        called.__annotations__ = {**{name: hints[name] for name in names}, "return": returned}
        return called

    return decorated
