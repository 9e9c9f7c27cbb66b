"""Writes docs/licences.md: the licences of the packages that stickslip and its extras need, from their own metadata.

python docs/make_licences.py        (in an environment that has them; those that are missing keep their line)
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "licences.md"
HEAD = """# Licences

`stickslip` is under the Apache License 2.0. What it needs comes with its own licence, as the packages say themselves
(`python docs/make_licences.py`); nothing of it is copied into this repository.

| package | for | licence |
|---|---|---|
"""


def licence_of(name: str) -> str:
    """What a package says of its licence, in a few words; empty where it is not installed."""
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    classes = [line.split(" :: ")[-1] for line in found.get_all("Classifier") or () if line.startswith("License ::")]
    said = found.get("License-Expression") or ", ".join(classes) or found.get("License") or "see the package"
    return said.splitlines()[0][:80]


def main() -> None:
    """Write the page."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^\w.-]", each)[0]: "always" for each in project["dependencies"]}
    for extra, names in project["optional-dependencies"].items():
        for each in names:
            name = re.split(r"[^\w.-]", each)[0]
            if name != "stickslip":
                needed.setdefault(name, f"extra {extra}")
    old = dict(re.findall(r"^\| (\S+) \| [^|]* \| (.*) \|$", PAGE.read_text(), re.M)) if PAGE.is_file() else {}
    rows = [
        f"| {name} | {use} | {licence_of(name) or old.get(name, 'not looked up')} |" for name, use in needed.items()
    ]
    PAGE.write_text(HEAD + "\n".join(rows) + "\n")
    print(f"{len(rows)} packages")


if __name__ == "__main__":
    main()
