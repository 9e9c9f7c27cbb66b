"""``stickslip export``: a recording for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.output import print_json, progress, say


def export(
    recording: Annotated[Path, typer.Argument(metavar="FILE.h5", help="A recording: stickslip run ... --out FILE.h5.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="What to write: .csv .parquet .npz .pvd .vtu .glb .usd .usda .usdc .obj"),
    ],
    every: Annotated[int, typer.Option(help="Only every so many of the recorded frames.")] = 1,
    start: Annotated[float | None, typer.Option(help="First simulated time in seconds.")] = None,
    end: Annotated[float | None, typer.Option(help="Last simulated time in seconds.")] = None,
    table: Annotated[
        str | None, typer.Option(help="Of .csv and .parquet: steps (default), bodies, contacts, joints or nodes.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as one JSON object.")] = False,
) -> None:
    """Write a recording in a format that other programs read.

    .csv, .parquet: a table, by default a row a step with its certificate; .npz: arrays of NumPy; .pvd: ParaView, with
    stresses and contact forces (.vtu: the last frame alone); .glb: an animated scene for browsers and Blender; .usd:
    the same for Omniverse and film tools; .obj: a mesh a frame. All but .csv, .npz and .obj need the extra ``export``.

    Examples:

    stickslip export demo.h5 demo.csv

    stickslip export demo.h5 contacts.parquet --table contacts

    stickslip export soft-ball.h5 soft-ball.pvd --every 2

    stickslip export demo.h5 demo.glb --start 0.5 --end 2
    """
    from stickslip.export.formats import export as write

    with progress(100) as advance:
        count = write(
            recording, out, every=every, start=start, end=end, table=table,
            told=lambda done, total: advance(100 * done // total, f"{out.name}: {done} of {total}"),
        )  # fmt: skip
    if json:
        print_json({"recording": str(recording), "file": str(out), "frames": count})
    else:
        say(f"{count} frames written to {out}")
