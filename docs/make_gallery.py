"""Writes docs/gallery.md and its pictures: runs every scene, renders it by the commands that the page shows.

    python docs/make_gallery.py [--only NAME ...] [--recordings FOLDER]

All runs together took 41 minutes on busy cores, kernels compiled on the way; pictures of recordings that a folder kept
from an earlier run took 45 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from stickslip.cli import main as stickslip
from stickslip.scenes.registry import SCENES

DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "images" / "gallery"
PAGE = DOCS / "gallery.md"
WIDTH, HEIGHT = 480, 270


@dataclass(frozen=True)
class Shot:
    """How a scene is run and photographed: options of both commands, as one would type them."""

    run: str = ""
    render: str = ""


SHOTS = {
    "demo": Shot("--time 1.2", "--time 0.92 --zoom 1.08"),
    "box-slope": Shot("--time 0.2", "--contacts"),
    "box-slide": Shot("", "--time 0.5 --contacts --zoom 0.8"),
    "anisotropic-slide": Shot("--time 0.8", "--wide --time 0.3 --elevation 30 --contacts"),
    "heavy-stack": Shot("--time 0.5"),
    "mass-ratio": Shot("--time 0.5", "--contacts"),
    "wall": Shot("--time 0.3"),
    "tower": Shot("--time 0.3"),
    "spheres": Shot("--set count=729 --set across=9 --time 1 --every 10", "--zoom 0.95"),
    "jacks": Shot("--set count=180 --time 1 --every 10", "--elevation 30 --zoom 1.05"),
    "glasses": Shot("--set count=180 --time 0.8 --every 10", "--elevation 30 --zoom 1.05"),
    "chalices": Shot("--set scale=0.1 --time 0.5 --every 10", "--elevation 28 --zoom 0.88"),
    "funnel": Shot("--set scale=0.2 --time 0.6 --every 10", "--elevation 25"),
    "temple": Shot("--time 0.03"),
    "colosseum": Shot("--time 0.03", "--elevation 28"),
    "arch": Shot("--set friction=0.2 --time 0.8", "--time 0.6"),
    "round-arch": Shot("--time 0.5", "--contacts"),
    "table-pile": Shot("--set base=4 --set layers=3 --time 0.8 --every 5"),
    "beam-insertion": Shot(""),
    "chain": Shot("--time 1.2", "--time 0.7"),
    "cable": Shot("--set links=60 --time 0.5 --every 5"),
    "cable-winding": Shot("--set links=120 --every 20"),
    "panda-cable": Shot("--time 30 --every 100", "--time 30 --azimuth 60 --elevation 22"),
    "four-bar": Shot("--time 0.5", "--joints"),
    "allegro-ball": Shot("--time 2 --every 5", "--azimuth 40 --elevation 32 --time 1.9"),
    "dexnet": Shot("--time 3 --every 20", "--azimuth 30 --elevation 20"),
    "allegro-iiwa": Shot("--time 4.5 --every 5", "--elevation 16 --zoom 1.25 --follow robot/palm --time 4.45"),
    "humanoid": Shot("--set mode=fall --time 1.1", "--azimuth 35"),
    "yumi-cabinet": Shot("--time 3", "--azimuth -110 --elevation 28 --zoom 1.1"),
    "gripper-lift": Shot("--time 2", "--contacts --zoom 0.9"),
    "rope-bridge": Shot("--time 1.5"),
    "scale": Shot("--time 1"),
    "rolling": Shot("--time 0.5", "--elevation 3"),
    "ball-drop": Shot(""),
    "balls-in-cube": Shot("--time 0.6"),
    "bouncing-ball": Shot("--time 1", "--time 0.78 --wide --zoom 1.15"),
    "cradle": Shot(""),
    "spin-down": Shot("--time 0.3", "--zoom 0.7"),
    "tippe-top": Shot("", "--time 1.5 --zoom 0.7"),
    "soft-ball": Shot("--set mode=squeeze --time 1", "--elevation 8"),
    "soft-stack": Shot("--time 0.5", "--colour-by von-mises"),
    "soft-chain": Shot("--time 0.4 --every 5", "--elevation 8"),
    "soft-torus": Shot("--time 0.3", "--colour-by von-mises"),
    "soft-arch": Shot("--time 0.3", "--contacts"),
    "soft-bubble": Shot("--solver sap --every 10", "--time 3.4"),
    "soft-mat": Shot("--set divisions=24 --every 10"),
    "soft-gripper": Shot("--set scale=0.6 --every 10"),
    "panda-mat": Shot("--every 20", "--time 5.4 --azimuth 60"),
    "panda-gripper": Shot("--every 20", "--azimuth 55 --elevation 15"),
    "ball-grip": Shot("--set divisions=5 --every 10"),
    "fetch-beam": Shot("--time 2.1 --every 10", "--azimuth -50 --elevation 16"),
    "fetch-tomato": Shot("--every 20", "--azimuth -55 --elevation 16 --zoom 1.1 --time 6"),
    "twist": Shot("--set cells=18 --every 10", "--colour-by von-mises"),
    "pneunet": Shot("--set arches=4 --every 10", "--time 1.6"),
    "cantilever": Shot("--time 2 --every 10", "--colour-by von-mises"),
    "cylinder-press": Shot("--set mesh=0 --set ramp=100 --time 100 --every 10", "--colour-by von-mises"),
    "extension": Shot("", "--colour-by von-mises"),
}


def commands(name: str, folder: str = "") -> tuple[list[str], list[str]]:
    """Arguments of ``stickslip`` that run a scene and draw it; files go into a folder."""
    shot, file = SHOTS[name], f"{folder}{name}.h5"
    size = f"--width {WIDTH} --height {HEIGHT}"
    plain = ["--no-key"] if {"--contacts", "--colour-by", "--joints"} & set(shot.render.split()) else []
    picture = str(PICTURES / f"{name}.png") if folder else f"{name}.png"
    return (
        ["run", name, *shot.run.split(), "--out", file],
        ["render", file, picture, *shot.render.split(), *plain, *size.split()],
    )


def page() -> str:
    """The text of docs/gallery.md."""
    lines = [
        "# Gallery",
        "",
        "Every scene, with the commands that make its picture; `stickslip list scenes` tells their settings.",
        "`make gallery` writes the page and its pictures. A film instead of a picture: name it `.mp4`, `.gif` or",
        "`.html`; see [viewing.md](viewing.md).",
    ]
    for name in SCENES:
        run, render = (" ".join(["stickslip", *arguments]) for arguments in commands(name))
        lines += ["", f"## {name}", "", f"![{name}](images/gallery/{name}.png)", "", _sentence(SCENES[name].summary)]
        lines += ["", "```", run, render, "```"]
    return "\n".join(lines) + "\n"


def _sentence(summary: str) -> str:
    text = summary[0].upper() + summary[1:]
    return text if text[-1] in ".?!" else f"{text}."


def main() -> int:
    """Make the pictures that are asked for, then the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(SCENES), help="scenes to draw again")
    parser.add_argument("--recordings", type=Path, help="folder that keeps recordings; those in it are not made again")
    options = parser.parse_args()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.recordings or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.only or SCENES:
            run, render = commands(name, f"{folder}/")
            start = time.perf_counter()
            code = 0 if options.recordings and (folder / f"{name}.h5").exists() else stickslip([*run, "--json"])
            code = code or stickslip(render)
            if code:
                print(f"{name}: stopped with code {code}", file=sys.stderr)
                return code
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
