"""``stickslip problems``: the collection of contact problems, made anew in a folder."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.output import plain_number, print_json, progress, say, table_console


class Size(StrEnum):
    """Which problems."""

    SMALL = "small"
    MEDIUM = "medium"
    HARD = "hard"
    ALL = "all"


def problems(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to; made where it is missing.")],
    size: Annotated[Size, typer.Option(help="Which problems.")] = Size.ALL,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Write a collection of contact problems with reference solutions, for comparing solvers.

    Each is the problem of a step of a built-in scene, as .npz and in fclib/ as FCLIB (.hdf5); problems.json lists them.

    Examples:

    stickslip problems collection --size small

    stickslip compare collection --solvers auto,nsgs,apgd --plot profile.png
    """
    from stickslip.experiments.collection import SIZES, make_collection

    chosen = SIZES if size is Size.ALL else tuple(each for each in SIZES if each == size.value)
    with progress(100) as advance:
        found = make_collection(folder, chosen, lambda done, total, text: advance(100 * done // total, text))
    if json:
        print_json(found)
        return
    from rich.table import Table

    table = Table("problem", "size", "contacts", "rows", "unknowns", "reference", "residual", "what it is")
    for each in found:
        numbers = (str(each[name]) for name in ("contacts", "rows", "unknowns"))
        residual = plain_number(each["reference_residual"])
        table.add_row(each["name"], each["size"], *numbers, each["reference_solver"], residual, each["about"])
    table_console().print(table)
    say(f"written to {folder}; compare solvers on them: stickslip compare {folder}")
