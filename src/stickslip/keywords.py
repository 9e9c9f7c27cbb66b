"""Keywords that a method does not know: an error of ours with the closest known ones, in the place of Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, get_args, get_type_hints

from stickslip.errors import InputError
from stickslip.names import shown, visible

C = TypeVar("C")
CLOSE, MOST_NAMES = 0.5, 60
"""Likeness of names from which on one may be meant, and names that are listed at most."""
SAME = {"color": "colour"}
"""Other spellings that are taken, and what they are here."""


class KeywordError(InputError, TypeError):
    """A keyword that a function does not have; a TypeError, too, as Python's own."""


def checks_keywords(*answering: str) -> Callable[[type[C]], type[C]]:
    """Class decorator: public methods answer unknown keywords with those that are closest, and take ``SAME``.

    Methods without arguments are left as they are, and those that are ``answering`` themselves.
    """

    def decorated(cls: type[C]) -> type[C]:
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_") and method.__name__ not in answering:
                if len(inspect.signature(method).parameters) > 1:
                    setattr(cls, name, _checked(cls.__name__, method))
        return cls

    return decorated


def _checked(owner: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with a look at its keywords first."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    rest = next((each.name for each in parameters if each.kind == each.VAR_KEYWORD), None)
    known: list[str] = []

    @wraps(method)
    def called(self: Any, *given: Any, **keywords: Any) -> Any:
        if keywords and not keywords.keys() <= set(named):
            if not known:  # types are looked up at the first doubt: most calls have none
                known.extend([*named, *_options(method, rest)])
            for spelling, name in SAME.items():
                if spelling in keywords and name in known and name not in keywords:
                    keywords[name] = keywords.pop(spelling)
            for keyword in keywords:
                if keyword not in known:
                    raise _unknown(f"{owner}.{method.__name__}", keyword, known)
        return method(self, *given, **keywords)

    return called


def _options(method: Callable[..., Any], rest: str | None) -> list[str]:
    """Names of the options that a method takes as ``**options: Unpack[...]``."""
    if rest is None:
        return []
    unpacked = get_args(get_type_hints(method).get(rest))
    return list(get_type_hints(unpacked[0])) if unpacked else []


def _unknown(where: str, keyword: str, known: list[str]) -> KeywordError:
    return KeywordError(f"{where}: there is no argument {keyword!r}; {known_names(keyword, known)}")


def known_names(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: all that are known, and those of them that are close."""
    names = list(known)
    close = get_close_matches(str(name), names, 3, CLOSE)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"known: {', '.join(map(visible, names[:MOST_NAMES])) or 'none'}{more}{meant}"


def unknown(what: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a name that nothing has."""
    return InputError(f"{what} {shown(name)} is unknown; {known_names(name, known)}")
