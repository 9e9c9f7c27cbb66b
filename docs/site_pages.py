"""Pages of the site that are made of the package itself: the reference, and the examples with what they print.

They are written to docs/reference/ and docs/examples/ when the site is built, and are no part of the repository.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import stickslip

REPOSITORY = Path(__file__).resolve().parent.parent
GROUPS: dict[str, tuple[str, ...]] = {
    "Scenes": (
        "Scene", "shapes", "placed", "Body", "Joint", "Drive", "Rod", "SoftBody", "elastic", "TetMesh",
        "tet_generators",
    ),
    "Simulation": ("Simulation", "Stepping", "make_solver", "show", "RunSummary", "Certificate", "State", "Control"),
    "Models and problems": ("Model", "compile_scene", "ContactProblem"),
    "Many worlds": ("Worlds", "rollout", "sweep"),
    "Learning": ("Environment", "VectorEnvironment", "Task"),
    "Errors and warnings": (
        "StickslipError", "InputError", "FileError", "MissingDependencyError", "DivergenceError", "SimulationWarning",
    ),
}  # fmt: skip
"""Every name of ``stickslip.__all__`` has its place here; a test holds that."""
FURTHER: dict[str, tuple[str, ...]] = {
    "stickslip.certify.contact_report": ("ContactReport",),
    "stickslip.certify.step_result": ("StepResult",),
    "stickslip.certify.energy_ledger": ("EnergyLedger",),
    "stickslip.reading_state": ("ElementReport",),
    "stickslip.scene.robots": ("Robot",),
    "stickslip.robots.records": ("RobotRecord", "TreeLink", "TreeJoint", "Actuator"),
    "stickslip.io.recording": ("Recording", "read_recording"),
    "stickslip.io.recorder": ("Recorder",),
    "stickslip.solvers.protocol": ("Solution", "Solver", "Takes"),
    "stickslip.export.formats": ("export",),
}
"""What public calls take and give, and users meet by its own name."""
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#|images/)([^)\s]+)\)")


FENCED, INLINE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL), re.compile(r"`[^`\n]+`")
TRAINS = "train"
"""Begin of the names of examples that train a policy."""
MOST_USES = 3
"""Places where a name is used that its docstring is followed by, at most."""


def install(app: Any, docs: Path) -> None:
    """Connect to Sphinx."""
    found = uses(docs)
    app.connect("builder-inited", lambda _: write_pages(docs))
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-process-docstring", lambda *given: add_uses(found, *given))
    app.connect("source-read", lambda _, name, source: source.__setitem__(0, on_site(source[0], docs, name)))


def plain_bars(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Bars of docstrings are absolute values, not substitutions."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def uses(docs: Path) -> dict[str, list[str]]:
    """Pages by the words in their code: examples first, then snippets of pages, then code within their sentences."""
    found: dict[str, list[str]] = {}

    def add(page: str, code: str) -> None:
        for word in sorted(set(re.findall(r"\w+", code))):
            pages = found.setdefault(word, [])
            if page not in pages:
                pages.append(page)

    for file in sorted((REPOSITORY / "examples").glob("*.py")):
        add(f"/examples/{file.stem}", file.read_text(encoding="utf-8"))
    made = {docs / "_build", docs / "reference", docs / "examples"}
    pages = [file for file in sorted(docs.rglob("*.md")) if not made & set(file.parents)]
    texts = {
        "/" + file.relative_to(docs).with_suffix("").as_posix(): file.read_text(encoding="utf-8") for file in pages
    }
    for page, text in texts.items():
        add(page, "\n".join(FENCED.findall(text)))
    for page, text in texts.items():
        add(page, "\n".join(INLINE.findall(text)))
    return found


def add_uses(
    found: dict[str, list[str]], app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Where a function or a class is used, behind its docstring."""
    pages = found.get(name.rpartition(".")[2], [])[:MOST_USES]
    if what in ("function", "method", "property", "class") and pages:
        lines += ["", f"*Used in* {', '.join(f':doc:`{page}`' for page in pages)}."]


def on_site(text: str, docs: Path, name: str) -> str:
    """The text of a page whose links to files outside of the site are words."""
    folder = (docs / name).parent

    def changed(match: re.Match[str]) -> str:
        words, target = match.groups()
        file = target.partition("#")[0]
        if not file or (
            file.endswith(".md") and (folder / file).is_file() and docs in (folder / file).resolve().parents
        ):
            return match.group(0)
        if (folder / file / "index.md").is_file():
            return f"[{words}]({file.rstrip('/')}/index.md)"
        return words

    return LINK.sub(changed, text)


def write_pages(docs: Path) -> None:
    """The reference and the examples."""
    reference, examples = docs / "reference", docs / "examples"
    for folder in (reference, examples):
        folder.mkdir(exist_ok=True)
    pages = dict(_reference())
    pages["index"] = _reference_index(list(pages))
    _write(reference, pages)
    _write(examples, dict(_examples(docs / "_build" / "printed", examples)))


def _write(folder: Path, pages: dict[str, str]) -> None:
    """Only what has changed, so that Sphinx reads no more than it must."""
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


# ---- the reference ---------------------------------------------------------------------------------------------------


def _reference() -> Iterator[tuple[str, str]]:
    for title, names in GROUPS.items():
        items = [("stickslip", name) for name in names]
        yield title.lower().replace(" ", "-"), _page(title, items)
    yield "further", _page("Further classes", [(place, name) for place, names in FURTHER.items() for name in names])


def _reference_index(pages: list[str]) -> str:
    listed = "\n".join(pages)
    return (
        "# Reference\n\nEvery public name, from its docstring. Lengths are in m, masses in kg, angles in rad; "
        "shapes of arrays are in brackets. The command line: `stickslip --help`, and `stickslip COMMAND --help`.\n\n"
        f"```{{toctree}}\n:maxdepth: 2\n\n{listed}\n../examples/index\n```\n"
    )


def _page(title: str, items: list[tuple[str, str]]) -> str:
    parts = [f"# {title}\n"]
    for place, name in items:
        found = getattr(import_module(place), name)
        # where it is defined: autodoc looks for docstrings of fields there
        module = found.__name__ if inspect.ismodule(found) else getattr(found, "__module__", place)
        kind = "automodule" if inspect.ismodule(found) else "autoclass" if inspect.isclass(found) else "autofunction"
        target = module if inspect.ismodule(found) else f"{module}.{name}"
        options = ":members:\n" if kind != "autofunction" else ""
        if inspect.isclass(found) and issubclass(found, BaseException):
            options = ""
        if inspect.ismodule(found):
            elsewhere = sorted(set(vars(found)) & set(stickslip.__all__))
            options += f":exclude-members: {', '.join(elsewhere)}\n" if elsewhere else ""
        indented = "".join(f"   {option}\n" for option in options.split("\n") if option)
        parts.append(f"## {name}\n\n```{{eval-rst}}\n.. {kind}:: {target}\n{indented}```\n")
    return "\n".join(parts)


# ---- the examples ----------------------------------------------------------------------------------------------------


def _examples(kept: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """A page an example: a picture, its code, and what it prints; and the gallery of them.

    STICKSLIP_DOCS_EXAMPLES=0 runs none of them.
    """
    files = sorted((REPOSITORY / "examples").glob("*.py"))
    runs = os.environ.get("STICKSLIP_DOCS_EXAMPLES") != "0"
    found = _run([file for file in files if not file.stem.startswith(TRAINS)], kept) if runs else {}
    cards = []
    for file in files:
        code = file.read_text(encoding="utf-8")
        first = (inspect.cleandoc(code.split('"""')[1]).splitlines() or [file.stem])[0]
        title = file.stem.replace("_", " ").capitalize()
        picture, printed = _kept_picture(found.get(file), folder, file.stem), ""
        if runs and file not in found:
            printed = "It trains for minutes, and was not run for this page.\n"
        elif file in found:
            printed = f"It prints:\n\n```\n{found[file].read_text(encoding='utf-8').rstrip()}\n```\n"
        shown = f"![{title}]({picture})\n\n" if picture else ""
        yield (
            file.stem,
            f"# {title}\n\n{first}\n\n{shown}`examples/{file.name}`\n\n````python\n{code}````\n\n{printed}",
        )
        image = f'<img src="{picture}" alt="">' if picture else "<span></span>"
        cards.append(f'<a href="{file.stem}.html">{image}<b>{title}</b>{escape(first)}</a>')
    listed = "\n".join(file.stem for file in files)
    said = "All but those that train were run for this site: a page shows the code and what it printed." if runs else ""
    yield (
        "index",
        f"# Examples\n\nOne short program a capability. {said}\n\n"
        f'<div class="examples">\n{chr(10).join(cards)}\n</div>\n\n'
        f"```{{toctree}}\n:maxdepth: 1\n:hidden:\n\n{listed}\n```\n",
    )


def _kept_picture(printed: Path | None, folder: Path, stem: str) -> str:
    """The picture beside what an example printed, copied to its page: its name, or none."""
    picture = None if printed is None else printed.with_suffix(".png")
    if picture is None or not picture.is_file():
        return ""
    shutil.copyfile(picture, folder / f"{stem}.png")
    return f"{stem}.png"


def _run(files: list[Path], kept: Path) -> dict[Path, Path]:
    """Run those examples of which nothing is kept by this code of theirs and of the package; what each printed."""
    package = hashlib.sha256()
    for source in sorted(Path(stickslip.__file__).parent.rglob("*.py")):
        package.update(source.read_bytes())
    places = {}
    for file in files:
        digest = hashlib.sha256(package.digest() + file.read_bytes()).hexdigest()[:16]
        places[file] = kept / digest / f"{file.stem}.txt"
    missing = [file for file, place in places.items() if not place.is_file()]
    if missing:
        fresh = kept / "fresh"
        fresh.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(Path(__file__).parent / "run_examples.py"), str(fresh), *map(str, missing)]
        done = subprocess.run(command, stdout=sys.stderr, check=False)
        for file in missing:
            place = places[file]
            for ending in (".txt", ".png"):
                new = fresh / f"{file.stem}{ending}"
                if new.is_file():
                    place.parent.mkdir(exist_ok=True)
                    new.replace(place.with_suffix(ending))
        if done.returncode:
            raise RuntimeError(f"an example failed; run it: python docs/run_examples.py FOLDER {missing[0]} ...")
    return places
