"""A recording as one HTML file that plays by itself: no server, no network, any browser with WebGL 2.

The viewer's own export (viser's as_html) was considered and is not used: it keeps the raw arrays of every message, so
that 10 s of 500 bodies do not fit into 5 MB, and cannot tie plots to the time line. What is here instead is a small
player (player.html, player.css, player*.js) and the recording, packed by frames.py and data.py. The
page may load nothing at all: its content security policy allows its own script and style, by their hashes, and no
more. Names of a recording are inside the packed data and reach the page as text, never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import checks
from stickslip.errors import FileError
from stickslip.files import whole_file
from stickslip.names import visible
from stickslip.view.course import course_of_recording
from stickslip.view.picture.picture import without_visuals
from stickslip.view.player.course import courses
from stickslip.view.player.data import STEADY, joined
from stickslip.view.player.frames import contact_marks, few_poses, framed_places, geometry, motion, played_frames, walls
from stickslip.view.soft_colours import SCALE

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

SCRIPTS = (
    "player_data.js", "player_algebra.js", "player_camera.js", "player_meshes.js", "player_shaders.js",
    "player_scene.js", "player_pick.js", "player_marks.js", "player_plots.js", "player_page.js", "player.js",
)  # fmt: skip
"""Parts of the page's script, in the order in which they are joined."""


def write_player(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    start: float | None = None,
    end: float | None = None,
    title: str | None = None,
    colour_by: str | None = None,
    contacts: bool = True,
    collision: bool = False,
    autoplay: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a page that plays a recording, with its certificate as plots; whole or not at all.

    fps: frames a second of the film, the nearest recorded ones; between them the page interpolates. start, end [s]:
    the part to play. colour_by: quantity of view/soft_colours that colours of soft bodies show. contacts: whether
    contact points and forces are stored. collision: whether collision shapes of robots are shown, and not what their
    files give to look at. autoplay: whether the page plays as soon as it opens, unless its reader wants less motion.
    progress(done, total) is called as frames are read.
    """
    contacts = checks.boolean("player", "contacts", contacts)
    collision = checks.boolean("player", "collision", collision)
    title = None if title is None else checks.text("player", "title", title)
    if checks.path("player", path).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"cannot write {visible(path)}: a player is a web page; give a name that ends in .html")
    data = player_data(
        recording, fps=fps, start=start, end=end, title=title, colour_by=colour_by, contacts=contacts,
        collision=collision, autoplay=autoplay, progress=progress,
    )  # fmt: skip
    page = page_text(data, title or recording.scene or Path(recording.path).stem)
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def player_data(
    recording: Recording,
    *,
    fps: float = 30.0,
    start: float | None = None,
    end: float | None = None,
    title: str | None = None,
    colour_by: str | None = None,
    contacts: bool = True,
    collision: bool = False,
    autoplay: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """The packed recording that a page holds; options as in :func:`write_player`."""
    time = recording.time
    frames = played_frames(time, fps, start, end)
    passes = 2 if contacts else 1

    def report(done: int, total: int, stage: int) -> None:
        if progress is not None:
            progress(stage * total + done, passes * total)

    model = without_visuals(recording.model) if collision else recording.model
    parts = [geometry(model), motion(recording, frames, colour_by, lambda k, n: report(k, n, 0))]
    if contacts:
        parts.append(contact_marks(recording, frames, parts[1].facts["size"], lambda k, n: report(k, n, 1)))
    shown = (np.arange(len(time)) >= frames[0]) & (np.arange(len(time)) <= frames[-1])
    parts.append(courses(course_of_recording(recording), shown))
    facts = _facts(recording, title, len(frames))
    facts["autoplay"] = checks.boolean("player", "autoplay", autoplay)
    for part in parts:
        facts.update(part.facts)
    poses = few_poses(recording, frames)
    facts["framed"], facts["walls"] = framed_places(model, poses), walls(model, poses)
    facts["error"] = STEADY * facts["position_step"]
    return joined(facts, {name: block for part in parts for name, block in part.blocks.items()})


def page_text(data: bytes, title: str) -> str:
    """The page around packed data."""
    folder = files("stickslip.view.player")
    script = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    style = folder.joinpath("player.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = folder.joinpath("player.html").read_text(encoding="utf-8")
    # one pass over the template: what is put in is not searched again
    pieces = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": base64.b64encode(data).decode("ascii"),
    }
    out = []
    for k, piece in enumerate(page.split("%%")):
        out.append(pieces[piece] if k % 2 else piece)
    return "".join(out)


def _facts(recording: Recording, title: str | None, frames: int) -> dict[str, Any]:
    """Settings of the run, as texts and numbers."""
    model = recording.model
    return {
        "title": title or recording.scene or Path(recording.path).stem,
        "scene": recording.scene,
        "parameters": {str(name): str(value) for name, value in recording.parameters.items()},
        "solver": recording.solver,
        "scheme": str(recording.stepping.get("scheme", "")),
        "dt": float(recording.stepping["dt"]),
        "version": recording.stickslip_version,
        "complete": bool(recording.complete),
        "every": recording.every,
        "recorded": len(recording),
        "frames": frames,
        "names": [visible(name) for name in (*model.body_names, *model.soft.names)],
        "bodies": model.body_count,
        "scale": SCALE.tolist(),
    }


def _hash(text: str) -> str:
    """How a content security policy names a text that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
