"""Checks of what a person gives: each returns the value in its plain type, or raises an InputError that names it.

``where`` says whose value it is and ``what`` which one; both begin the message. Numbers are int, float and NumPy's
scalars and arrays of them. Text, truth values, None, complex numbers, dates, fractions and decimals are not numbers:
they are mistakes more often than wishes, and float() would take some of them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Sequence
from math import isfinite, isnan
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.arrays import Array, Ints
from stickslip.errors import FileError, InputError
from stickslip.names import LONGEST_NAME, hidden_characters, shown

LARGEST = 1e50
"""Numbers beyond it are refused: products of several of them, as in an inertia r^5 density, would overflow."""
SMALLEST = 1e-50
"""Positive numbers below it are refused, since their inverses would overflow in the same way."""
MOST = 2**31 - 1
"""Largest whole number: that of the indices in kernels."""

T = TypeVar("T")


def any_number(where: str, what: str, value: Any) -> float:
    """A number that may be infinite."""
    plain = _scalar(value)
    number_like = isinstance(plain, int | float | np.integer | np.floating)
    if not number_like or isinstance(plain, bool | np.timedelta64):  # a time span is one of NumPy's integers
        raise InputError(f"{where}: {what} is {shown(value)}; it must be a number")
    try:
        number = float(plain)
    except OverflowError:
        raise InputError(f"{where}: {what} is {shown(value)}; it must be at most {LARGEST:g} in size") from None
    if isnan(number):
        raise InputError(f"{where}: {what} is {number}; it must be a number")
    return number


def finite(where: str, what: str, value: Any, largest: float = LARGEST) -> float:
    """A finite number."""
    number = any_number(where, what, value)
    if not isfinite(number):
        raise InputError(f"{where}: {what} is {number}; it must be a finite number")
    if abs(number) > largest:
        raise InputError(f"{where}: {what} is {number}; it must be at most {largest:g} in size")
    return number


def positive(where: str, what: str, value: Any, largest: float = LARGEST) -> float:
    """A finite number above zero."""
    number = finite(where, what, value, largest)
    if number <= 0.0:
        raise InputError(f"{where}: {what} is {number}; it must be positive")
    if number < SMALLEST:
        raise InputError(f"{where}: {what} is {number}; it must be positive, at least {SMALLEST:g}")
    return number


def not_negative(where: str, what: str, value: Any) -> float:
    """A finite number, zero or more."""
    number = finite(where, what, value)
    if number < 0.0:
        raise InputError(f"{where}: {what} is {number}; it must be zero or positive")
    return number


def fraction(where: str, what: str, value: Any) -> float:
    """A number between 0 and 1."""
    number = finite(where, what, value)
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{where}: {what} is {number}; it must be between 0 and 1")
    return number


def whole(where: str, what: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number from ``least`` to ``most``; 2.0, a float, is rejected."""
    plain = _scalar(value)
    good = isinstance(plain, int | np.integer) and not isinstance(plain, bool | np.timedelta64)
    if not good or plain < least:
        raise InputError(f"{where}: {what} is {shown(value)}; it must be a whole number, at least {least}")
    if plain > most:
        raise InputError(f"{where}: {what} is {shown(value)}; it must be a whole number, at most {most}")
    return int(plain)


def array(where: str, what: str, value: Any, *shapes: tuple[int | None, ...], largest: float = LARGEST) -> Array:
    """A new array of finite numbers of one of the shapes, in which None stands for any length."""
    found = numbers(where, what, value, *shapes)
    if not np.isfinite(found).all():
        first = tuple(np.argwhere(~np.isfinite(found))[0][:-1].tolist())
        place = f"{what}{list(first)}" if first else what
        raise InputError(f"{where}: {place} is {found[first]}; every entry must be a finite number")
    if (np.abs(found) > largest).any():
        far = float(found[np.abs(found) > largest][0])
        raise InputError(f"{where}: {what} has the entry {far}; every entry must be at most {largest:g} in size")
    return found


def numbers(where: str, what: str, value: Any, *shapes: tuple[int | None, ...]) -> Array:
    """A new array of numbers, finite or not, of one of the shapes, in which None stands for any length."""
    return np.array(_array_of(where, what, value, "iuf", shapes, "numbers"), dtype=np.float64, order="C")


def vector(where: str, what: str, value: Any, length: int = 3, largest: float = LARGEST) -> Array:
    """A new finite vector of the given length."""
    return array(where, what, value, (length,), largest=largest)


def direction(where: str, what: str, value: Any) -> Array:
    """A vector (3,) scaled to unit length."""
    given = vector(where, what, value)
    size = float(np.linalg.norm(given))
    if size < 1e-12:
        raise InputError(f"{where}: {what} is {given}; a vector other than zero is needed")
    return given / size


def unit_quaternion(where: str, value: Any, what: str = "rotation") -> Array:
    """A quaternion (w, x, y, z) scaled to unit length."""
    quaternion = vector(where, what, value, 4)
    length = float(np.linalg.norm(quaternion))
    if length < 1e-12:
        raise InputError(f"{where}: {what} is {quaternion}; a quaternion (w, x, y, z) other than zero is needed")
    return quaternion / length


def for_each(where: str, what: str, value: Any, count: int, largest: float = LARGEST) -> Array:
    """Finite numbers (count, 3) from one vector (3,) for all, or from one for each."""
    return np.broadcast_to(array(where, what, value, (3,), (count, 3), largest=largest), (count, 3))


def whole_array(where: str, what: str, value: Any, shape: tuple[int | None, ...], count: int) -> Ints:
    """A new array of whole numbers from 0 to below ``count`` of a shape, in which None stands for any length."""
    found = _array_of(where, what, value, "iu", (shape,), "whole numbers")
    if found.size and (found.min() < 0 or found.max() >= count):
        go = "go" if what.endswith("s") else "goes"
        raise InputError(f"{where}: {what} {go} from {found.min()} to {found.max()}; there are {count}")
    return np.array(found, dtype=np.int32, order="C")


def indices(where: str, what: str, value: Any, count: int) -> Ints:
    """Different rising indices below ``count``, at least one; a mask of that length is taken, too."""
    given = _as_array(where, what, value, "a list of whole numbers")
    if given.dtype == np.bool_ and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise InputError(f"{where}: {what} are {shown(value)}; a list of whole numbers is needed, and not an empty one")
    chosen = whole_array(where, what, given, (None,), count)
    unique = np.unique(chosen)
    if len(unique) < len(chosen):
        raise InputError(f"{where}: {what} have {len(chosen) - len(unique)} numbers twice")
    return unique


def choice(where: str, what: str, value: Any, known: Collection[str]) -> str:
    """One of several words."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{where}: {what} is {shown(value)}; it must be one of {', '.join(known)}")
    return value


def boolean(where: str, what: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{where}: {what} is {shown(value)}; it must be True or False")
    return bool(value)


def text(where: str, what: str, value: Any) -> str:
    """A text of any length, of whole characters."""
    if not isinstance(value, str):
        raise InputError(f"{where}: {what} is {shown(value)}; it must be a text")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{where}: {what} is {shown(value)}; it has half a character, which no file can hold")
    return str(value)


def name(where: str, value: Any, longest: int = LONGEST_NAME) -> str:
    """A text that names something: one line, not too long, without control characters."""
    what = "name"
    given = text(where, what, value)
    if len(given) > longest:
        raise InputError(f"{where}: {what} has {len(given)} characters; it must have at most {longest}")
    hidden = hidden_characters(given)
    if hidden:
        raise InputError(
            f"{where}: {what} is {shown(given)}; it must have no control characters such as {shown(hidden[0])}"
        )
    return given


def path(where: str, value: Any, what: str = "path") -> Path:
    """The path of a file or folder that may or may not exist; a name that none can have raises a FileError."""
    try:
        given = os.fspath(value)
    except Exception:  # no path, or one that somebody else wrote
        given = None
    if not isinstance(given, str) or not given:
        raise InputError(f"{where}: {what} is {shown(value)}; it must be the path of a file, as a text or a Path")
    try:
        os.stat(given)
    except ValueError as error:
        raise FileError(f"{where}: {what} is {shown(given)}; no file can have that name: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL):
            raise FileError(f"{where}: {what} {shown(given)} cannot be a file: {error.strerror}") from None
    return Path(given)


def instance(where: str, what: str, value: Any, kind: type[T], needed: str) -> T:
    """An object of a class; ``needed`` says what would be right."""
    if not isinstance(value, kind):
        raise InputError(f"{where}: {what} is {shown(value)}; {needed}")
    return value


def function(where: str, what: str, value: Any, needed: str = "a function of time") -> Callable[..., Any]:
    """Something that can be called; ``needed`` says what it should be."""
    if not callable(value):
        raise InputError(f"{where}: {what} is {shown(value)}; {needed} is needed")
    return value


def colour(where: str, value: ArrayLike | None) -> tuple[float, float, float] | None:
    """Red, green and blue between 0 and 1, or None."""
    if value is None:
        return None
    red, green, blue = (fraction(where, "colour", part) for part in vector(where, "colour", value).tolist())
    return red, green, blue


def several(value: Any) -> bool:
    """Whether a value is a list of values, and neither a single one nor a text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def sequence(where: str, what: str, value: Any, needed: str) -> list[Any]:
    """The entries of a list, a tuple or another finite sequence that is no text; ``needed`` says what it should be."""
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        raise InputError(f"{where}: {what} is {shown(value)}; {needed}")
    try:
        return list(value)
    except Exception:  # of an object that somebody else wrote
        raise InputError(f"{where}: {what} is {shown(value)}; {needed}") from None


def _array_of(
    where: str, what: str, value: Any, kinds: str, shapes: tuple[tuple[int | None, ...], ...], words: str
) -> NDArray[Any]:
    """What was given as an array of one of the shapes, its type among ``kinds``, as NumPy letters them."""
    needed = " or ".join(f"{_shape_text(shape)} {words}" for shape in shapes)
    found = _as_array(where, what, value, needed)
    has, is_ = ("have", "are") if what.endswith("s") else ("has", "is")
    if found.dtype.kind not in kinds and found.size:  # an empty list is an array of floats
        raise InputError(f"{where}: {what} {is_} {shown(value)}; {needed} are needed")
    if not any(_fits(found.shape, shape) for shape in shapes):
        raise InputError(f"{where}: {what} {has} shape {found.shape}, as {shown(value)}; {needed} are needed")
    return found


def _fits(found: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    return len(found) == len(shape) and all(n in (None, m) for n, m in zip(shape, found, strict=True))


def _as_array(where: str, what: str, value: Any, needed: str) -> NDArray[Any]:
    if isinstance(value, np.ndarray) and _masked(value):
        raise InputError(f"{where}: {what} is a masked array; {needed} are needed, so fill its holes first")
    try:
        return np.asarray(value)
    except Exception:  # lists of unequal lengths, and whatever conversion an object brings along
        raise InputError(f"{where}: {what} is {shown(value)}; {needed} are needed") from None


def _scalar(value: Any) -> Any:
    """The number in an array without dimensions; anything else as it is."""
    one = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf" and not _masked(value)
    return value[()] if one else value


def _masked(value: NDArray[Any]) -> bool:
    return isinstance(value, np.ma.MaskedArray)


def _shape_text(shape: tuple[int | None, ...]) -> str:
    if len(shape) == 1 and shape[0] is not None:
        return str(shape[0])
    letters = iter("nkm")
    return f"({', '.join(next(letters) if n is None else str(n) for n in shape)}{',' * (len(shape) == 1)})"
