"""Parameters of scenes, solvers and stepping as text: parsing, and checking against the defaults they replace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from stickslip import checks
from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.names import shown

Value = int | float | bool | str | tuple[float, ...] | None


def whole_number(where: str, what: str, value: float, least: int) -> int:
    """``value`` as an int, or an InputError unless it is a whole number of at least ``least``."""
    number = checks.finite(where, what, value)
    if int(number) != number or not least <= number <= checks.MOST:
        raise InputError(f"{where}: {what} is {number:g}; it must be a whole number, at least {least}")
    return int(number)


def parse_assignments(texts: Iterable[str]) -> dict[str, Value]:
    """``KEY=VALUE`` texts as a dict; values are read as int, float, bool, comma-separated numbers or plain text."""
    settings: dict[str, Value] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise InputError(f"setting {shown(text)} is not understood; write KEY=VALUE, for example friction=0.6")
        if key.strip() in settings:
            raise InputError(f"setting {shown(key.strip())} is given twice; give it once")
        settings[key.strip()] = parse_value(value.strip())
    return settings


def parse_value(text: str) -> Value:
    """One value: int, float, bool, comma-separated numbers (a tuple) or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return tuple(float(part) for part in text.split(",")) if "," in text else float(text)
    except ValueError:
        return text


def fitted(where: str, defaults: Mapping[str, Value], given: Mapping[str, Value]) -> dict[str, Value]:
    """``defaults`` with ``given`` in their places; unknown names and values of another type raise an InputError."""
    for name in given:
        if name not in defaults:
            raise unknown(f"{where}: parameter", name, defaults)
    return {
        name: _fit(where, name, default, given[name]) if name in given else default
        for name, default in defaults.items()
    }


def _fit(where: str, name: str, default: Value, value: Value) -> Value:
    """``value`` in the type of ``default``; where the default is None, a number."""
    good = False
    if isinstance(default, bool):
        good = isinstance(value, bool)
    elif isinstance(default, int):
        good = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
        value = checks.whole(where, name, value, -checks.MOST) if good else value
    elif isinstance(default, float) or default is None:
        good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        value = checks.finite(where, name, value) if good else value
    elif isinstance(default, tuple):
        good = checks.several(value) or (isinstance(value, int | float | np.number) and not isinstance(value, bool))
        value = tuple(checks.array(where, name, value, (), (None,)).reshape(-1).tolist()) if good else value
    else:
        good = isinstance(value, str)
    if not good:
        kinds = {bool: "true or false", int: "a whole number", tuple: "numbers separated by commas", str: "a word"}
        raise InputError(f"{where}: {name} is {shown(value)}; it must be {kinds.get(type(default), 'a number')}")
    return value
