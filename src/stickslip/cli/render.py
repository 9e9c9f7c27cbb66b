"""``stickslip render``: a picture of a recorded frame."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.errors import InputError


def render(
    recording: Annotated[Path, typer.Argument(metavar="FILE.h5", help="A recording: stickslip run ... --out FILE.h5.")],
    picture: Annotated[Path, typer.Argument(metavar="OUT.png", help="The picture to write.")],
    frame: Annotated[
        int | None, typer.Option(help="Frame from 0; negative ones count from the end. Default: -1.")
    ] = None,
    time: Annotated[float | None, typer.Option(help="Time in seconds instead of a frame; takes the nearest.")] = None,
    width: Annotated[int, typer.Option(help="Width of the picture in pixels; the height is 9/16 of it.")] = 1280,
    colour_by: Annotated[
        str | None, typer.Option(help="Colours of soft bodies show: von-mises, strain or energy of their elements.")
    ] = None,
) -> None:
    """Draw one frame of a recording as a PNG picture.

    Examples:

    stickslip render demo.h5 demo.png --time 1.2 --width 1920

    stickslip render pneunet.h5 fingers.png --colour-by von-mises
    """
    if picture.suffix.lower() != ".png":
        raise InputError(f"picture {picture}: only .png can be written; name it {picture.with_suffix('.png')}")
    if not 16 <= width <= 8192:
        raise InputError(f"width is {width}; it must be between 16 and 8192 pixels")
    import numpy as np

    from stickslip.io.recording import read_recording

    recorded = read_recording(recording)
    if frame is not None and time is not None:
        raise InputError("both frame and time are given; give one of them")
    if time is not None:
        if not np.isfinite(time):
            raise InputError(f"time is {time}; it must be finite")
        frame = int(np.abs(recorded.time - time).argmin())
    index = -1 if frame is None else frame
    if not -len(recorded) <= index < len(recorded):
        raise InputError(f"frame {index} does not exist; {recording} has {len(recorded)} frames")
    from stickslip.view.picture import render_frame, save_picture
    from stickslip.view.soft_colours import element_values

    model, values = recorded.model, None
    if colour_by is not None:
        values = element_values(recorded.elements(index), colour_by, model.soft.elements.volume)
    nodes, height = recorded.node_position[index], round(width * 9 / 16)
    save_picture(render_frame(model, recorded.q[index], width, height, nodes=nodes, values=values), picture)
