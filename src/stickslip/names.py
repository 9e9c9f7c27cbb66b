"""Names and values as texts that harm nobody: on a terminal, on a page, in a message.

A name from a file can hold anything: escape sequences that recolour or clear a terminal, new lines that forge lines of
a report, marks that turn the direction of writing around. Nobody needs these in a name, so they are shown as what they
are, ``\\x1b``, and refused where a person names a body.
"""

from __future__ import annotations

import unicodedata

LONGEST_NAME = 200
"""Characters of a name at most."""
SHOWN_LENGTH = 120
"""Characters of a name or a value that a message shows at most."""
HIDDEN = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that no name may have: controls, halves of pairs, ends of lines and paragraphs."""
DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that change the direction of what follows them."""


def hidden_characters(text: str) -> list[str]:
    """The characters of a text that must not reach a terminal or a page, in their order."""
    if text.isascii() and text.isprintable():
        return []
    return [character for character in text if character in DIRECTIONS or unicodedata.category(character) in HIDDEN]


def visible(text: object, longest: int = SHOWN_LENGTH) -> str:
    """A name on one line, as a terminal or a page may show it: no control characters, and not too long.

    A backslash stays as it is: what is shown is for reading, not for reading back.
    """
    shown = str(text)
    if len(shown) > longest:
        kept = max(1, (longest - 3) // 2)
        shown = f"{shown[:kept]}...{shown[-kept:]}"
    for character in dict.fromkeys(hidden_characters(shown)):
        shown = shown.replace(character, character.encode("unicode_escape").decode("ascii"))
    return shown


def visible_text(text: object) -> str:
    """A text of several lines, as a terminal may show it: only ends of lines are left of control characters."""
    return "\n".join(visible(line, 10_000) for line in str(text).split("\n"))


def shown(value: object) -> str:
    """A value of any kind as a message shows it: its ``repr`` on one line, shortened, whatever that raises."""
    try:
        if isinstance(value, int) and abs(value) >= 10**50:
            return f"a whole number of {value.bit_length()} bits"  # more digits than Python agrees to print
        text = repr(value[:SHOWN_LENGTH]) if isinstance(value, str | bytes) else repr(value)
    except Exception:  # of an object that somebody else wrote
        return f"a {type(value).__name__} that cannot be shown"
    return visible(" ".join(text.split()))


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words: "1 joint", "3 joints"; nothing where there are none."""
    if not number:
        return ""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many or one + 's'}"
