"""``stickslip view``: a scene or a recording in the browser."""

from __future__ import annotations

import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.completion import beginning, scene_and_robot_names, solver_names
from stickslip.cli.output import say
from stickslip.errors import InputError
from stickslip.scene_files import ROBOT_ENDINGS, is_file

if TYPE_CHECKING:
    from stickslip.view.live.page import LivePage
    from stickslip.view.playback.page import PlaybackPage

ENDINGS = (".h5", ".hdf5")
"""Ends of the names of finished recordings."""
ROBOT_STEP = 0.002
"""[s] step size of robots where none is given."""


def view(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|FILE",
            autocompletion=beginning(scene_and_robot_names),
            help="A scene (its name, my.py:build, or .toml) or a robot (its name, .urdf, .xml) to run live, or a "
            "recording (.h5) to play.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback let other machines see and drive it.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="Port to listen on. Default: 8080, or the next that is free.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene, or solver.X, or stepping.X."),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(autocompletion=beginning(solver_names), help="Solver of a scene. Default: the scene's own."),
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Step size of a scene in seconds, instead of its own.")] = None,
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="Folder with packages, for package:// names of a robot's file.")
    ] = None,
) -> None:
    """Show a scene or a robot that runs live, or a recording, in the browser; Ctrl-C ends it.

    Examples:

    stickslip view demo

    stickslip view arch --set friction=0.3 --solver nsgs

    stickslip view demo.h5 --no-browser --port 9000

    stickslip view panda.xml

    stickslip view my.py:build --set friction=0.3

    stickslip view yumi
    """
    if port is not None and not 1 <= port <= 65535:
        raise InputError(f"port is {port}; it must be between 1 and 65535")
    if not what.strip():
        raise InputError("nothing to show: give a recording, or the name of a scene (stickslip list scenes)")
    built_in = _is_robot(what)
    if built_in or what.lower().endswith(ROBOT_ENDINGS):
        if set_:
            raise InputError(f"{what} is a robot, which has no parameters; --set is for scenes")
        from stickslip.scenes.own_scene import run_of_scene
        from stickslip.scenes.robots.registry import find_robot
        from stickslip.solvers.registry import DEFAULT
        from stickslip.view.live.page import serve_scene
        from stickslip.view.live.robot_scene import robot_scene

        scene = robot_scene(find_robot(what).build() if built_in else what, package_dir or ())
        run = run_of_scene(scene, Path(what).stem, dt or ROBOT_STEP, solver or DEFAULT)
        page: PlaybackPage | LivePage = serve_scene(run, host, port or 0)
    elif _is_recording(what):
        if Path(what).is_dir():
            raise InputError(f"{what} is a folder; give a recording, which is a file, or the name of a scene")
        options = (("--set", set_ or None), ("--solver", solver), ("--dt", dt))
        given = [name for name, value in options if value is not None]
        if given:
            verb = "is" if len(given) == 1 else "are"
            raise InputError(f"{what} is a recording; {' and '.join(given)} {verb} for scenes")
        from stickslip.view.playback.page import serve_recording

        page = serve_recording(Path(what), host, port or 0)
    else:
        from stickslip.scene_files import prepared
        from stickslip.scenes.parameters import parse_assignments
        from stickslip.view.live.page import serve_scene

        page = serve_scene(prepared(what, solver, parse_assignments(set_ or []), dt), host, port or 0)
    with page, _signals() as ended:
        if not _is_loopback(host):
            name = socket.gethostname() if host in ("0.0.0.0", "::") else host
            say(f"warning: everyone who reaches {name} can see and drive this page")
        say(f"{what}: {page.url} (Ctrl-C ends it)")
        if browser:
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(page.url,), daemon=True).start()
        while not ended.wait(0.5):
            pass


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a request to end sets, so that the page is closed in order."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended  # only the main thread hears signals
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_robot(what: str) -> bool:
    """Whether it is the name of a robot that is built in."""
    from stickslip.scenes.robots.registry import ROBOTS

    return what in ROBOTS and not Path(what).exists()


def _is_recording(what: str) -> bool:
    from stickslip.io.partial_file import unfinished

    if is_file(what):
        return False
    if what.lower().endswith(ENDINGS) or unfinished(Path(what)) or "/" in what or Path(what).is_file():
        return True
    from stickslip.scenes.registry import SCENES

    return Path(what).is_dir() and what not in SCENES  # a folder by mistake


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
