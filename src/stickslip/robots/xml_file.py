"""XML of robot files, with line numbers, and without what can harm: no document types, no entities, bounded size.

The standard library's ElementTree keeps no line numbers and expands entities; defusedxml keeps none either. So the
parser below both, expat, is asked directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from stickslip.errors import FileError
from stickslip.names import shown, visible
from stickslip.reading import regular_file

MOST_BYTES = 64 * 2**20
"""Largest XML file [bytes] that is read."""
MOST_ELEMENTS = 200_000
"""Most elements of a file; the largest robots have some thousand."""
DEEPEST = 100
"""Elements within elements at most."""


@dataclass(eq=False)
class Element:
    """One element: its tag (with the prefix of its namespace, if any), attributes, first line, text and children."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Children with a tag, in the order of the file."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child with a tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def words(self) -> str:
        """The element as messages name it: line, tag, and its name where it has one."""
        name = self.attributes.get("name", self.attributes.get("reference"))
        return f"line {self.line}, <{visible(self.tag)}{'' if name is None else ' ' + shown(name)}>"


def parse_file(path: str | Path, what: str, needed: str) -> Element:
    """Root element of a file; ``what`` it should be and what is ``needed`` are for messages."""
    file = regular_file(path, what, needed)
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise FileError(f"{what} {file} has {size / 2**20:.0f} MB; at most {MOST_BYTES >> 20} MB are read")
    try:
        return parse_text(file.read_bytes(), str(file))
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{what} {file} cannot be read: {error.strerror or error}; give {needed}") from None


def parse_text(text: bytes, file: str) -> Element:
    """Root element of a text; ``file`` names it in messages. Anything wrong raises a FileError with its line."""
    parser = expat.ParserCreate(namespace_separator=" ")  # prefixes that nobody declared are errors
    parser.namespace_prefixes = True
    parser.buffer_text = True
    top = Element("", {}, 0)
    stack = [top]
    count = 0

    def refuse(reason: str) -> NoReturn:
        raise FileError(f"{visible(file, 400)}, line {parser.CurrentLineNumber}: {reason}")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS:
            refuse(f"the file has more than {MOST_ELEMENTS} elements; that many are read at most")
        if len(stack) > DEEPEST:
            refuse(f"elements are nested more than {DEEPEST} deep")
        plain = {_plain(key): value for key, value in attributes.items()}
        element = Element(_plain(name), plain, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def doctype(*_: object) -> None:
        refuse("it declares a document type (<!DOCTYPE ...>), through which entities come; remove it")

    def characters(data: str) -> None:
        stack[-1].text += data

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise FileError(
            f"{visible(file, 400)}, line {error.lineno}: malformed XML, {reason} at column {error.offset + 1}"
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise FileError(f"{visible(file, 400)}: malformed XML, {visible(error)}") from None
    return top.children[0]


def _plain(name: str) -> str:
    """``prefix:local`` of expat's "uri local prefix"; the default namespace has no prefix."""
    parts = name.split(" ")
    return f"{parts[2]}:{parts[1]}" if len(parts) == 3 else parts[-1]


def walk(element: Element) -> Iterator[Element]:
    """An element and all within it."""
    yield element
    for child in element.children:
        yield from walk(child)


def fail(file: str, element: Element, reason: str) -> NoReturn:
    """Raise the error of a file: file, line, element and reason."""
    raise FileError(f"{visible(file, 400)}, {element.words()}: {reason}")


def attribute(file: str, element: Element, name: str) -> str:
    """A text that must be there and not be empty."""
    value = element.attributes.get(name, "").strip()
    if not value:
        fail(file, element, f"the attribute {name!r} is missing or empty; it must be given")
    return value


def numbers(
    file: str, element: Element, name: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Finite numbers of an attribute; without ``default`` it must be there."""
    text = element.attributes.get(name)
    if text is None:
        if default is None:
            fail(file, element, f"the attribute {name!r} is missing; it must have {_count(count)}")
        return default
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        fail(file, element, f"{name} is {shown(text)}; it must have {_count(count)}")
    if len(values) != count:
        fail(file, element, f"{name} is {shown(text)}; it must have {_count(count)}, not {len(values)}")
    if not all(map(isfinite, values)) or any(abs(value) > 1e50 for value in values):
        fail(file, element, f"{name} is {shown(text)}; it must be finite")
    return values


def number(file: str, element: Element, name: str, default: float | None = None) -> float:
    """One finite number of an attribute; without ``default`` it must be there."""
    return numbers(file, element, name, 1, None if default is None else (default,))[0]


def _count(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"
