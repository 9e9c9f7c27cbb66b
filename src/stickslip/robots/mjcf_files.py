"""Which files an MJCF model is made of, looked at before the compiler sees any of them.

The compiler of the format reads whatever a file names. Here its text is walked over once, for what must not reach the
compiler (document types and entities, files outside of the folder, sizes without bounds), for the files that it is
made of, and for the lines of its elements, which messages name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from xml.parsers import expat

from stickslip.errors import FileError
from stickslip.names import shown, visible
from stickslip.reading import reason, regular_file

WHAT = "robot file"
MOST_BYTES = 32 * 2**20
"""Of all XML files of a model together."""
MOST_ELEMENTS = 200_000
"""Of all files together, copies that ``replicate`` and grids make included; the largest robots known have 3,000."""
MOST_BODIES = 5_000
"""Bodies of a model, copies included: the compiler's time grows with their square."""
MOST_CELLS = 10**8
"""Cells of a height field, pixels of a texture, entries of what a ``size`` element reserves."""
MOST_DEPTH = 400
"""Elements within each other; the compiler's own limit is not much higher."""
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*\?>")
FILE_KINDS = {"mesh": "mesh", "hfield": "mesh", "skin": "mesh", "flexcomp": "mesh", "texture": "texture"}
"""Elements that name files, and the folder of the compiler's settings that these are in."""
TEXTURE_FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
SECTIONS = ("tendon", "actuator", "sensor", "equality", "contact", "keyframe", "deformable")
"""Parts of a file whose children have names among each other, whatever their tags are."""


@dataclass
class ModelFiles:
    """The files of a model, and where its elements stand."""

    top: Path
    xml: list[Path] = field(default_factory=list)
    """The model's own file first, then what it includes and attaches."""
    assets: list[tuple[Path, str, int, Path]] = field(default_factory=list)
    """Meshes and pictures: where they are, their element, its line and the file that it is in."""
    lines: dict[tuple[str, str], tuple[int, Path]] = field(default_factory=dict)
    """Line and file of an element by its kind ("body", "joint", "actuator" ...) and name."""
    places: dict[tuple[str, int], list[tuple[str, Path]]] = field(default_factory=dict)
    """Names and files of all elements of a kind that start in a line."""
    nameless: dict[str, list[tuple[int, Path]]] = field(default_factory=dict)
    """Lines and files of elements without a name, by kind."""
    contents: dict[Path, bytes] = field(default_factory=dict)
    elements: int = 0
    bodies: int = 0
    size: int = 0
    """[bytes] of all XML files."""

    def where(self, kind: str, name: str, line: int = 0) -> str:
        """ "line 12" or "line 12 of arm.xml" of an element, nothing where that is not known.

        ``line`` is the one that the compiler has kept, without its file; attached models put a prefix before names.
        """
        if not line and name:
            found = self.lines.get((kind, name))
            return place(*found, self.top) if found else ""
        if not line:  # of what is included the compiler knows no lines
            elsewhere = [found for found in self.nameless.get(kind, ()) if found[1] != self.top]
            if len(elsewhere) == 1:
                return place(*elsewhere[0], self.top)
            return " or ".join(dict.fromkeys(visible(file.name) for _, file in elsewhere))
        known = self.places.get((kind, line), [])
        fitting = (
            [file for own, file in known if own == name]
            or [file for own, file in known if own and own in name]
            or [file for _, file in known]
        )
        return " or ".join(place(line, file, self.top) for file in dict.fromkeys(fitting)) or f"line {line}"


def place(line: int, file: Path, top: Path) -> str:
    """A line in words, with its file where that is not the model's own."""
    return f"line {line}" if file == top else f"line {line} of {visible(file.name)}"


def model_files(path: str | os.PathLike[str], allow_outside: bool = False) -> ModelFiles:
    """All files that an MJCF model is made of; whatever must not reach the compiler raises a FileError."""
    top = regular_file(path, WHAT, "an MJCF model (.xml)")
    files = ModelFiles(top)
    _walk_model(files, top, allow_outside)
    return files


class _Walk:
    """What the parser of one model, with all that it includes, has seen so far."""

    def __init__(self, files: ModelFiles, main: Path, allow_outside: bool) -> None:
        self.files, self.main, self.allow_outside = files, main, allow_outside
        self.folders = {"mesh": "", "texture": ""}
        self.strip = False
        self.named: list[tuple[str, str, str, int, Path]] = []  # element, folder, file, line, XML file
        self.models: list[tuple[str, int, Path]] = []


def _walk_model(files: ModelFiles, main: Path, allow_outside: bool) -> None:
    """Walk over a model file and its includes, then over models that it attaches, which have their own settings."""
    walk = _Walk(files, main, allow_outside)
    _walk_file(walk, main, None)
    for element, kind, name, line, file in walk.named:
        name = os.path.basename(name.replace("\\", "/")) if walk.strip else name
        asset = main.parent / walk.folders[kind] / name
        if not asset.is_file() and (file.parent / name).is_file():
            asset = file.parent / name  # beside the file that it is included from, whatever the folder of meshes is
        _require_inside(walk, asset, element, name, line, file)
        if not asset.is_file():
            where = place(line, file, files.top)
            raise FileError(
                f"{WHAT} {files.top}, {where}: {element} names the file {shown(name)}, which does not exist; "
                f"looked for {visible(asset)}"
            )
        files.assets.append((asset, element, line, file))
    for name, line, file in walk.models:
        model = main.parent / name
        _require_inside(walk, model, "model", name, line, file)
        if model.suffix.lower() in (".xml", ".mjcf") and model not in files.xml:
            _require_there(walk, model, "model", name, line, file)
            _walk_model(files, model, allow_outside)
        elif model.is_file():
            files.assets.append((model, "model", line, file))


def _walk_file(walk: _Walk, path: Path, from_: tuple[int, Path] | None) -> None:
    """Walk over one XML file."""
    files = walk.files
    text = _text_of(files, path)
    parser = expat.ParserCreate(encoding="utf-8")
    stack: list[str] = []
    copies = [1]
    includes: list[tuple[str, int]] = []

    def fail(problem: str) -> FileError:
        return FileError(f"{WHAT} {path}, line {parser.CurrentLineNumber}: {problem}")

    def no_entities(*_: object) -> None:
        raise fail("it has a document type or entities of its own, which no robot needs; remove them")

    def started(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if not stack and from_ is None and tag != "mujoco":
            hint = "; this is a URDF file" if tag == "robot" else ""
            raise fail(f"its first element is {shown(tag)}; that of an MJCF model is 'mujoco'{hint}")
        stack.append(tag)
        if len(stack) > MOST_DEPTH:
            raise fail(f"{len(stack)} elements are within each other; {MOST_DEPTH} at most are taken")
        grid = _product(attributes.get("count", "")) if tag in ("replicate", "composite", "flexcomp") else 1.0
        copies.append(copies[-1] * (int(max(1.0, grid)) if tag == "replicate" and grid <= MOST_ELEMENTS else 1))
        files.elements += copies[-2] * int(min(max(1.0, grid), 10.0 * MOST_ELEMENTS))
        if files.elements > MOST_ELEMENTS:
            raise fail(f"more than {MOST_ELEMENTS:,} elements, copies included; a model may have as many at most")
        files.bodies += copies[-2] if tag == "body" else 0
        if files.bodies > MOST_BODIES:
            raise fail(f"more than {MOST_BODIES:,} bodies, copies included; a model may have as many at most")
        _require_size(tag, attributes, fail)
        _note_line(files, stack, attributes, line, path)
        if tag == "include":
            includes.append((attributes.get("file", ""), line))
        elif tag == "model" and attributes.get("file"):
            walk.models.append((attributes["file"], line, path))
        elif tag == "compiler":
            _note_folders(walk, attributes)
        elif tag in FILE_KINDS:
            named = [attributes.get(key, "") for key in (TEXTURE_FILES if tag == "texture" else ("file",))]
            walk.named += [(tag, FILE_KINDS[tag], name, line, path) for name in named if name]

    def ended(_: str) -> None:
        stack.pop()
        copies.pop()

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = no_entities
    parser.StartElementHandler, parser.EndElementHandler = started, ended
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise FileError(f"{WHAT} {path}, line {error.lineno}: it is not well-formed XML: {problem}") from None
    for name, line in includes:
        # relative to the model's own file; some write it relative to the including one, which the compiler may refuse
        found = [folder / name for folder in (walk.main.parent, path.parent) if (folder / name).is_file()]
        included = found[0] if found else walk.main.parent / name
        _require_inside(walk, included, "include", name, line, path)
        _require_there(walk, included, "include", name, line, path)
        if included not in files.xml:
            _walk_file(walk, included, (line, path))


def _text_of(files: ModelFiles, path: Path) -> bytes:
    """The bytes of an XML file; comments and the declaration are blank, about which parsers disagree."""
    regular_file(path, WHAT, "an MJCF model (.xml)")
    try:
        files.size += path.stat().st_size
        if files.size > MOST_BYTES:
            raise FileError(f"{WHAT} {path}: more than {MOST_BYTES >> 20} MB of XML; a model may have as much at most")
        text = path.read_bytes()
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{WHAT} {path} cannot be read: {reason(error)}") from None
    files.xml.append(path)
    files.contents[path] = text

    def blank(found: re.Match[bytes]) -> bytes:
        return re.sub(rb"[^\n]", b" ", found.group())

    return COMMENT.sub(blank, DECLARATION.sub(blank, text)) + b"\n"


def _require_inside(walk: _Walk, file: Path, element: str, name: str, line: int, xml: Path) -> None:
    """Reject a file outside of the folder of the model, unless that is allowed."""
    folder = os.path.abspath(walk.files.top.parent)
    if walk.allow_outside or os.path.abspath(file).startswith(folder.rstrip(os.sep) + os.sep):
        return
    where = place(line, xml, walk.files.top)
    raise FileError(
        f"{WHAT} {walk.files.top}, {where}: {element} names the file {shown(name)}, which is outside of the folder of "
        "the model; read it with allow_outside=True if you trust the file"
    )


def _require_there(walk: _Walk, file: Path, element: str, name: str, line: int, xml: Path) -> None:
    """Reject a name of an XML file that does not exist."""
    if not file.is_file():
        where = place(line, xml, walk.files.top)
        raise FileError(
            f"{WHAT} {walk.files.top}, {where}: {element} names the file {shown(name)}, which does not exist; "
            f"looked for {visible(file)}"
        )


def _note_folders(walk: _Walk, attributes: dict[str, str]) -> None:
    """Folders of meshes and textures, as a ``compiler`` element sets them; assetdir is both unless they are set."""
    if "assetdir" in attributes:
        walk.folders = dict.fromkeys(walk.folders, attributes["assetdir"])
    for kind in walk.folders:
        walk.folders[kind] = attributes.get(f"{kind}dir", walk.folders[kind])
    if "strippath" in attributes:
        walk.strip = attributes["strippath"] == "true"


def _note_line(files: ModelFiles, stack: list[str], attributes: dict[str, str], line: int, path: Path) -> None:
    """Remember where an element stands; elements of defaults have no names of their own."""
    if "default" in stack[:-1] or (stack[-1] in SECTIONS and stack[0] in stack[-2:-1]):
        return
    name = attributes.get("name", "")
    tag = "joint" if stack[-1] == "freejoint" else stack[-1]
    section = next((part for part in stack[:-1] if part in SECTIONS), None)
    if section is None or stack[-2] == section:
        files.places.setdefault((section or tag, line), []).append((name, path))
        if not name:
            files.nameless.setdefault(section or tag, []).append((line, path))
    if not name:
        return
    files.lines.setdefault((section or tag, name), (line, path))
    files.lines.setdefault(("", name), (line, path))


def _require_size(tag: str, attributes: dict[str, str], fail: Callable[[str], FileError]) -> None:
    """Reject numbers that would make the compiler take more memory than there is."""
    asked: tuple[str, ...] = ()
    if tag == "hfield":
        asked = (f"{attributes.get('nrow', '')} {attributes.get('ncol', '')}",)
    elif tag == "texture":
        asked = (f"{attributes.get('width', '')} {attributes.get('height', '')}",)
    elif tag == "size":
        asked = tuple(value for key, value in attributes.items() if key not in ("memory", "njmax", "nconmax", "nstack"))
    for value in asked:
        if _product(value) > MOST_CELLS:
            raise fail(f"{tag} asks for {shown(value.strip())}; {MOST_CELLS:,} at most are taken")


def _product(text: str) -> float:
    """Product of the numbers of an attribute; 1 where there are none."""
    result = 1.0
    for part in text.split():
        try:
            number = abs(float(part))
        except ValueError:
            return 1.0  # the compiler says what is wrong
        result *= number if isfinite(number) else float(MOST_CELLS) * 10.0
    return result
