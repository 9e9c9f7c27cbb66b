"""Plain tables as the text of a TOML file, every number with all of its digits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 100
"""Characters of a table that stands on one line."""
PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, Any]) -> str:
    """The text of a table of texts, numbers, truth values, lists and tables; None is left out by who makes it."""
    return "\n".join(_lines("", table)).strip() + "\n"


def _lines(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Values first, then the tables that are too long for one line, each below its name."""
    later: list[tuple[str, Any]] = []
    for key, value in table.items():
        if _has_tables(value) and len(_inline(value)) > LONGEST:
            later.append((key, value))
        else:
            yield f"{_key(key)} = {_inline(value)}"
    for key, value in later:
        name = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            yield from ("", f"[{name}]")
            yield from _lines(name, value)
        elif all(isinstance(item, Mapping) for item in value):
            for item in value:
                yield from ("", f"[[{name}]]")
                yield from _lines(name, item)
        else:
            yield f"{_key(key)} = {_inline(value)}"


def _has_tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(_has_tables(item) for item in value))


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _key(key: str) -> str:
    return key if PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
