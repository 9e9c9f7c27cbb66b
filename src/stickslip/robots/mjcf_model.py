"""A compiled MJCF model with names for everything, and a report that says what became of its elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.checks import name as checked_name
from stickslip.names import shown, visible
from stickslip.robots.mjcf_files import ModelFiles
from stickslip.robots.records import ImportReport, Quaternion, Vector

KINDS = ("body", "jnt", "geom", "site", "cam", "mesh", "tendon", "actuator", "sensor", "eq", "pair", "key", "flex")
"""Beginnings of the fields of a compiled model that hold names (name_bodyadr) and values (body_mass)."""
WORDS = {"jnt": "joint", "cam": "camera", "eq": "equality", "key": "keyframe"}
"""What elements are called in messages, where that is not the beginning of the fields."""
LINES = {"eq": "equality", "key": "keyframe", "pair": "contact", "flex": "deformable"}
"""Parts of a file in which the lines of elements are looked for, where these are not their words."""
LISTS = {
    "body": "bodies", "jnt": "joints", "geom": "geoms", "site": "sites", "cam": "cameras", "mesh": "meshes",
    "tendon": "tendons", "actuator": "actuators", "sensor": "sensors", "eq": "equalities", "pair": "pairs",
    "key": "keys", "flex": "flexes",
}  # fmt: skip
"""Lists of a specification (mujoco.MjSpec) by kind."""
WORLD = "world"


@dataclass
class CompiledModel:
    """What all parts of the reader share."""

    m: Any
    """mujoco.MjModel"""
    files: ModelFiles
    report: ImportReport
    contacts: bool = True
    """Whether the file lets anything touch at all."""
    parents_pass: bool = True
    """Whether links pass through those that they hang on."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Unique names by kind; those without one are called by their number, "joint5"."""
    given: dict[str, list[str]] = field(default_factory=dict)
    """The names that the file gives, empty where there are none."""
    lines: dict[str, list[int]] = field(default_factory=dict)
    """Lines of elements in whichever of the files they are; 0 where that is not known."""

    def element(self, kind: str, i: int, what: str = "") -> str:
        """An element in words, with what it is and its line: "tendon 'rope' (spatial, line 7)"."""
        line = self.files.where(LINES.get(kind, WORDS.get(kind, kind)), self.given[kind][i], self.lines[kind][i])
        details = ", ".join(filter(None, (what, line)))
        return f"{WORDS.get(kind, kind)} {shown(self.names[kind][i])}" + (f" ({details})" if details else "")

    def elements(self, kind: str, numbers: Iterable[int]) -> str:
        """Several elements in words: "body 'a', 'b'"."""
        return f"{WORDS.get(kind, kind)} " + ", ".join(shown(self.names[kind][i]) for i in numbers)

    def warn(self, kind: str, i: int, what: str, problem: str) -> None:
        """Say what of an element is not there."""
        self.report.warnings.append(f"{self.element(kind, i, what)}: {problem}")

    def link(self, body: int) -> str | None:
        """Name of the link that a body is; None is the world."""
        return self.names["body"][body] if body else None


def line_of(element: Any) -> int:
    """Line of an element of a specification, 0 where the compiler does not know it."""
    found = re.search(r"line (\d+)", element.info)
    return int(found[1]) if found else 0


def compiled(m: Any, spec: Any, files: ModelFiles, report: ImportReport) -> CompiledModel:
    """A compiled model with unique names for all of its elements, and their lines in the files."""
    model = CompiledModel(m, files, report)
    text = bytes(m.names)
    for kind in KINDS:
        starts = getattr(m, f"name_{kind}adr")
        given = [text[start : text.index(b"\0", start)].decode("utf-8", "replace") for start in starts.tolist()]
        where = f"{WORDS.get(kind, kind)} of {visible(files.top.name)}"
        model.given[kind] = [checked_name(where, name) for name in given]
        taken, names = set(given), list[str]()
        for i, name in enumerate(given):
            while not name or (name in taken and name != given[i]):
                name = f"{name}_" if name else f"{WORDS.get(kind, kind)}{i}"
            taken.add(name)
            names.append(name)
        model.names[kind] = names
        model.lines[kind] = [0] * len(names)
        for element in getattr(spec, LISTS[kind]):
            if 0 <= element.id < len(names):
                model.lines[kind][element.id] = line_of(element)
    return model


def vector(values: NDArray[Any] | Sequence[float]) -> Vector:
    """Three numbers as a record holds them."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def quaternion(values: NDArray[Any] | Sequence[float]) -> Quaternion:
    """A rotation (w, x, y, z) as a record holds it, of unit length to rounding error."""
    w, x, y, z = (np.asarray(values, dtype=np.float64) / np.linalg.norm(values)).tolist()
    return w, x, y, z
