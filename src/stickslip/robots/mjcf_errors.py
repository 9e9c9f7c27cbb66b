"""What the compiler of MJCF complains of, as one error with file, line and element, and what would be right."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import FileError
from stickslip.names import shown, visible
from stickslip.robots.link_inertia import SMALL_MASS, moments_text, physical
from stickslip.robots.mjcf_files import WHAT, ModelFiles, place

ELEMENT = re.compile(r"Element(?: '(?P<tag>[^']*)')?(?: name '(?P<name>[^']*)')?(?:, id \d+)?(?:, line (?P<line>\d+))?")


def compiler_error(files: ModelFiles, message: str, spec: Any) -> FileError:
    """What the compiler complains of in one line, with the line of the element that it names."""
    found = next((match for match in ELEMENT.finditer(message) if match["tag"] or match["name"] or match["line"]), None)
    where, text = "", message
    if found:
        text = message[: found.start()]
        name = found["name"] or ""
        known = files.lines.get(("", name))
        if found["line"]:
            where = f", line {int(found['line'])}"
        elif known:
            where = f", {place(*known, files.top)}"
        if found["tag"] or name:
            where += f", element {shown(found['tag'] or name)}"
    quoted = re.search(r"'([^']+)'", text)
    if not found and quoted and ("", quoted[1]) in files.lines:
        where = f", {place(*files.lines['', quoted[1]], files.top)}"
    for word, better in (("XML Error:", ""), ("Error:", ""), ("larger than mjMINVAL", "positive")):
        text = text.replace(word, better)
    text = visible(" ".join(text.split()), 400)
    hint = ""
    if "inertia" in text:
        hint = "; " + _possible_inertia(spec, found["name"] if found else None)
    elif quoted and re.search(r"\bun(known|recognized)\b", text):
        close = get_close_matches(quoted[1], {name for _, name in files.lines}, 3, 0.5)
        hint = f"; did you mean {' or '.join(map(shown, close))}?" if close else ""
    return FileError(f"{WHAT} {files.top}{where}: {text}{hint}")


def _possible_inertia(spec: Any, name: str | None) -> str:
    """What would make a link physical, in words."""
    needed = (
        "a link that moves needs a positive mass and moments of inertia of which none is larger than the sum of the "
        "others; repair=True makes it so"
    )
    body = next((each for each in spec.bodies if each.name == name), None) if spec is not None and name else None
    if body is None or not body.explicitinertial:
        return needed
    given = given_inertia(body)
    mass = body.mass if body.mass > 0.0 else SMALL_MASS
    better = physical(mass, given if np.isfinite(given).all() else np.zeros((3, 3)))
    return (
        f"it has {body.mass:g} kg and principal moments {moments_text(given)}; {mass:g} kg and {moments_text(better)} "
        f"would be physical: {needed}"
    )


def given_inertia(body: Any) -> Array:
    """(3, 3) [kg m^2] inertia that a file gives a body, along its own axes."""
    if np.isfinite(body.fullinertia).all() and np.any(body.fullinertia):
        xx, yy, zz, xy, xz, yz = body.fullinertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.diag(body.inertia)
