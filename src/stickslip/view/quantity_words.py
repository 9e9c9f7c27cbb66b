"""Quantities in words: two or three digits, with the unit that a person would choose."""

from __future__ import annotations

import numpy as np


def time_words(seconds: float | np.floating) -> str:
    """A time [s]."""
    return f"{float(seconds):.4g} s"


def length_words(metres: float) -> str:
    """A length [m], in millimetres where it is short."""
    return f"{1e3 * metres:.2g} mm" if metres < 1.0 else f"{metres:.3g} m"


def number_words(value: float, unit: str) -> str:
    """A number in two digits, or whole from a hundred on, and its unit."""
    return f"{value:.2g} {unit}" if value < 100.0 else f"{value:.0f} {unit}"


def speed_words(speed: float) -> str:
    """A speed [m/s]."""
    return f"{1e3 * speed:.2g} mm/s" if speed < 0.1 else f"{speed:.2g} m/s"


def percent_words(share: float) -> str:
    """A share in per cent."""
    return f"{100.0 * share:.2g} %" if share < 1.0 else f"{100.0 * share:.0f} %"


def count_words(number: int, thing: str) -> str:
    """How many of a thing."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, ..."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def prefixed(largest: float) -> tuple[float, str]:
    """The factor and the prefix with which numbers up to ``largest`` are written with few digits."""
    if not 1e-12 <= largest < 1e15:
        return 1.0, ""
    power = int(np.clip(np.floor(np.log10(largest) / 3.0 + 1e-12), -3, 3))
    return 1000.0**power, {-3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G"}[power]
