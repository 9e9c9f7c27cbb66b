"""``stickslip render``: pictures and films of a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.output import progress, say
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments

if TYPE_CHECKING:
    from stickslip.io.recording import Recording
    from stickslip.view.picture.shots import Look

Given = Mapping[str, Any]
"""Options that the user gave, by name."""
Told = Callable[[int, int], None]
"""Told how many of all pictures are done."""
CAMERA = ("width", "height", "azimuth", "elevation", "zoom", "follow", "samples", "colour-by", "contacts", "joints",
          "collision", "no-key")  # fmt: skip
PART = ("start", "end", "fps")


@dataclass(frozen=True)
class RenderOptions:
    """What ``stickslip render`` is asked for."""

    recording: Annotated[Path, typer.Argument(metavar="FILE.h5", help="A recording: stickslip run ... --out FILE.h5.")]
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="What to write: a picture .png, a film .gif or .mp4, a page .html.")
    ]
    frame: Annotated[
        int | None, typer.Option(help="PNG: frame from 0; negative ones count from the end. Default: -1.")
    ] = None
    time: Annotated[float | None, typer.Option(help="PNG: time in seconds instead; takes the nearest frame.")] = None
    wide: Annotated[
        bool, typer.Option("--wide", help="PNG: show all places of the whole run, as films do, not of this frame.")
    ] = False
    start: Annotated[float | None, typer.Option(help="Films: first simulated time in seconds.")] = None
    end: Annotated[float | None, typer.Option(help="Films: last simulated time in seconds.")] = None
    fps: Annotated[float | None, typer.Option(help="Films: pictures a second; 30, in a GIF 25.")] = None
    speed: Annotated[float | None, typer.Option(help="Films: simulated seconds a second; 0.25 is slow motion.")] = None
    width: Annotated[int | None, typer.Option(help="Width in pixels; 1280, of GIF 640.")] = None
    height: Annotated[int | None, typer.Option(help="Height in pixels; 9/16 of the width.")] = None
    colour_by: Annotated[
        str | None, typer.Option(help="Colours of soft bodies show: von-mises, strain, energy or speed.")
    ] = None
    contacts: Annotated[
        bool, typer.Option("--contacts", help="Contact forces on what can move, as arrows: stick blue, slip red.")
    ] = False
    joints: Annotated[bool, typer.Option("--joints", help="Joints as bars between the bodies they hold.")] = False
    collision: Annotated[
        bool, typer.Option("--collision", help="Collision shapes of robots, not what their files give to look at.")
    ] = False
    autoplay: Annotated[bool, typer.Option("--autoplay", help="A page plays as soon as it opens.")] = False
    no_key: Annotated[bool, typer.Option("--no-key", help="No key of colours and forces in the lower left corner.")] = (
        False
    )
    azimuth: Annotated[float | None, typer.Option(help="Direction of the camera from x towards y in degrees; -60.")] = (
        None
    )
    elevation: Annotated[float | None, typer.Option(help="Camera above the horizon in degrees; 18.")] = None
    zoom: Annotated[float | None, typer.Option(help="2 is twice as close as what shows all; 1.")] = None
    follow: Annotated[str | None, typer.Option(metavar="BODY", help="Keep a body in the middle: name or number.")] = (
        None
    )
    samples: Annotated[int | None, typer.Option(help="Rays per side of a pixel at edges, 1 to 8; 3, of films 2.")] = (
        None
    )


@fields_as_arguments(RenderOptions)
def render(asked: RenderOptions) -> None:
    """Draw a recording, without a display: a picture, a film, or a page that plays it.

    The camera frames what moves, in films over their whole time. Static walls in front of it are drawn as glass.

    Examples:

    stickslip render demo.h5 demo.png --time 1.2 --width 1920

    stickslip render demo.h5 demo.mp4 --speed 0.25 --contacts

    stickslip render pneunet.h5 fingers.gif --colour-by von-mises --end 1.5

    stickslip render demo.h5 demo.html
    """
    values = {item.name.replace("_", "-"): getattr(asked, item.name) for item in fields(asked)}
    out = values.pop("out")
    recording = values.pop("recording")
    given = {name: value for name, value in values.items() if value is not None and value is not False}
    form = FORMATS.get(out.suffix.lower())
    if form is None:
        endings = ", ".join(FORMATS)
        raise InputError(f"cannot write {out}: the ending {out.suffix!r} is unknown; it must be one of {endings}")
    foreign = [name for name in given if name not in form.options]
    if foreign:
        raise InputError(f"{foreign[0]} does not apply to {form.noun}; options of one are {', '.join(form.options)}")
    from stickslip.io.recording import read_recording

    with read_recording(recording) as recorded:
        if not len(recorded):
            raise InputError(f"recording {recording} has no frames; there is nothing to show")
        with progress(100) as advance:

            def told(done: int, total: int) -> None:
                advance(100 * done // max(total, 1), f"{out.name}: {done} of {total}")

            form.write(recorded, out, given, told)
    say(f"written to {out}")


def _write_picture(recording: Recording, out: Path, given: Given, told: Told) -> None:
    """One frame as PNG."""
    import numpy as np

    from stickslip.view.picture.picture import save_picture
    from stickslip.view.picture.shots import Shots

    if "frame" in given and "time" in given:
        raise InputError("both frame and time are given; give one of them")
    frame = given.get("frame", -1)
    if "time" in given:
        if not np.isfinite(given["time"]):
            raise InputError(f"time is {given['time']}; it must be finite")
        frame = _nearest(recording, given["time"])
    if not -len(recording) <= frame < len(recording):
        raise InputError(f"frame {frame} does not exist; {recording.path} has {len(recording)} frames")
    number = frame % len(recording)
    framed = range(len(recording)) if given.get("wide") else [number]
    save_picture(Shots(recording, _look(recording, given, 1280, 3), framed).picture(number), out)
    told(1, 1)


def _nearest(recording: Recording, time: float) -> int:
    """The frame nearest to a time [s], which may be outside the recording by the time between two frames."""
    import numpy as np

    first, last = float(recording.time[0]), float(recording.time[-1])
    between = float(np.diff(recording.time).max(initial=float(recording.stepping["dt"]) * recording.every))
    if not first - 1.001 * between <= time <= last + 1.001 * between:
        raise InputError(f"time is {time:g} s; {recording.path} has {first:g} s to {last:g} s")
    return int(np.abs(recording.time - time).argmin())


def _write_gif(recording: Recording, out: Path, given: Given, told: Told) -> None:
    """A film as GIF."""
    from stickslip.view.picture.shots import Shots
    from stickslip.view.picture.video import film_frames, write_gif

    fps = given.get("fps", 25.0)
    frames = film_frames(recording.time, fps, given.get("speed", 1.0), given.get("start"), given.get("end"))
    write_gif(Shots(recording, _look(recording, given, 640, 2), frames.tolist()), frames, out, fps, told)


def _write_mp4(recording: Recording, out: Path, given: Given, told: Told) -> None:
    """A film as MP4."""
    from stickslip.view.picture.shots import Shots
    from stickslip.view.picture.video import film_frames, write_mp4

    fps = given.get("fps", 30.0)
    frames = film_frames(recording.time, fps, given.get("speed", 1.0), given.get("start"), given.get("end"))
    write_mp4(Shots(recording, _look(recording, given, 1280, 2, even=True), frames.tolist()), frames, out, fps, told)


def _write_page(recording: Recording, out: Path, given: Given, told: Told) -> None:
    """A page that plays the recording."""
    from stickslip.view.player.html_player import write_player

    part = {name: given[name] for name in PART if name in given}
    write_player(
        recording, out, colour_by=given.get("colour-by"), collision=given.get("collision", False),
        autoplay=given.get("autoplay", False), progress=told, **part,
    )  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A kind of file that can be written."""

    noun: str
    write: Callable[[Recording, Path, Given, Told], None]
    options: tuple[str, ...]
    """Names of the options that apply."""


FORMATS = {
    ".png": Format("a PNG picture", _write_picture, ("frame", "time", "wide", *CAMERA)),
    ".gif": Format("a GIF film", _write_gif, (*PART, "speed", *CAMERA)),
    ".mp4": Format("an MP4 film", _write_mp4, (*PART, "speed", *CAMERA)),
    ".html": Format("an HTML page", _write_page, (*PART, "colour-by", "collision", "autoplay")),
}


def _look(recording: Recording, given: Given, width: int, samples: int, even: bool = False) -> Look:
    """How the pictures look; sides that nobody asked for become even where they must be."""
    from stickslip.view.picture.shots import Look, find_body

    chosen: dict[str, Any] = {name.replace("-", "_"): given[name] for name in CAMERA if name in given}
    chosen["key"] = not chosen.pop("no_key", False)
    chosen.setdefault("width", width)
    if not 16 <= chosen["width"] <= 8192:
        raise InputError(f"width is {chosen['width']}; it must be between 16 and 8192 pixels")
    tall = round(chosen["width"] * 9 / 16)
    chosen.setdefault("height", tall + tall % 2 if even else tall)
    chosen.setdefault("samples", samples)
    if "follow" in chosen:
        chosen["follow"] = find_body(recording.model, chosen["follow"])
    return Look(**chosen)
