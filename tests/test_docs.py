"""The documentation: links lead somewhere, snippets run, the reference is whole, the site builds."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import stickslip

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    file for file in DOCS.rglob("*.md") if not {"_build", "reference", "examples"} & set(file.relative_to(DOCS).parts)
)
LINK = re.compile(r"(?<!`)\[[^\]`]*(?:`[^`]*`)?[^\]]*\]\(([^)\s]+)\)")
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_SNIPPETS = [
    file for file in PAGES
    if (file.parent.name in ("guide", "howto") or file.name in ("start.md", "index.md", "scene_files.md"))
    and SNIPPET.search(file.read_text(encoding="utf-8"))
]  # fmt: skip


def site_pages() -> Any:
    """The module that makes pages of the site, which is not installed."""
    spec = importlib.util.spec_from_file_location("site_pages", DOCS / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(file: Path) -> set[str]:
    """Names of the headings of a page, as links have them."""
    found = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            words = line.lstrip("#").strip().replace("`", "").lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = page if not name else (page.parent / name)
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached() -> None:
    listed = set()
    for page in PAGES:
        for tree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in (line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")):
                folder = page.parent
                listed |= {file.resolve() for file in folder.glob(f"{entry}.md")}
    assert {page for page in PAGES if page not in listed} == {DOCS / "index.md"}


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: str(page.relative_to(DOCS)))
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a page in their order, as a reader would paste them into one session."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "snippet"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in SNIPPET.findall(page.read_text(encoding="utf-8")):
            exec(compile(code, str(page), "exec"), names)


def test_the_reference_has_every_public_name() -> None:
    groups = site_pages().GROUPS
    listed = [name for names in groups.values() for name in names]
    assert sorted([*listed, "__version__"]) == sorted(stickslip.__all__)


def public_members() -> list[tuple[str, Any]]:
    """Public classes and functions, and the methods and properties of the classes."""
    pages = site_pages()
    places = [("stickslip", name) for names in pages.GROUPS.values() for name in names]
    places += [(place, name) for place, names in pages.FURTHER.items() for name in names]
    found: list[tuple[str, Any]] = []
    for place, name in places:
        item = getattr(import_module(place), name)
        found.append((name, item))
        if inspect.isclass(item) and item.__module__.startswith("stickslip"):
            found += [
                (f"{name}.{key}", value) for key, value in vars(item).items() if key[0] != "_" and documented(value)
            ]
    return found


def documented(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def test_every_public_name_has_a_docstring() -> None:
    members = public_members()
    assert len(members) > 200
    assert [name for name, item in members if not (getattr(item, "__doc__", "") or "").strip()] == []


def test_every_public_function_is_used_in_a_page_or_an_example() -> None:
    """The site links each to up to three of them."""
    found = site_pages().uses(DOCS)
    assert found["add_revolute_joint"]
    assert [name for name, _ in public_members() if name.rpartition(".")[2] not in found] == []


def test_functions_of_arrays_say_their_shapes_or_units() -> None:
    """In the docstring of a function that takes or gives arrays: (n, 3), [m], or both."""
    said = re.compile(r"\([A-Za-z0-9_]+,[^()]*\)|\[[^\]]+\]")
    missing = []
    for name, item in public_members():
        call = getattr(item, "__func__", item)
        call = call.fget if isinstance(call, property) else call
        if not inspect.isfunction(call):
            continue
        types = " ".join(map(str, getattr(call, "__annotations__", {}).values()))
        if re.search(r"Array|Ints|Bools", types) and not said.search(inspect.getdoc(item) or ""):
            missing.append(name)
    assert missing == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton", "gymnasium"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (extra docs)")
    environment = {**os.environ, "STICKSLIP_DOCS_EXAMPLES": "0"}
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert 'class="sig' in (tmp_path / "site" / "reference" / "simulation.html").read_text(encoding="utf-8")
