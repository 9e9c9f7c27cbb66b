"""Scenes for commands: by name, from a robot's file, or from a function in a file of Python."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickslip.errors import FileError, InputError, StickslipError
from stickslip.names import shown

if TYPE_CHECKING:
    from stickslip.scenes.running import Run

ROBOT_ENDINGS = (".urdf", ".xacro", ".xml", ".mjcf")
FILE_STEP, FILE_TIME = 0.002, 1.0
"""[s] step size and time of scenes from files where none is given."""
FUNCTION = "build"
"""Name of the function of a file of Python that makes a scene, where none is given after a colon."""


def prepared(
    what: str, solver: str | None, settings: Mapping[str, Any], dt: float | None, package_dirs: Sequence[Path] = ()
) -> Run:
    """A scene by name, the robot of a file on ground, or what a function of a file of Python builds."""
    from stickslip.scenes.own_scene import Unmeasured
    from stickslip.scenes.registry import SceneEntry
    from stickslip.scenes.running import prepare, prepare_entry

    file, _, function = what.rpartition(":") if ".py:" in what else (what, "", FUNCTION)
    if what.lower().endswith(ROBOT_ENDINGS):
        from stickslip.view.live.robot_scene import robot_scene

        scene = robot_scene(what, package_dirs)
        build: Callable[..., Any] = lambda: scene  # noqa: E731
    elif file.endswith(".py"):
        build = function_of(file, function or FUNCTION)
    else:
        return prepare(what, solver, settings, dt)
    name = Path(file).stem
    entry = SceneEntry(name, "", build, FILE_STEP, FILE_TIME, lambda sim, parameters: Unmeasured())
    return prepare_entry(entry, solver, settings, dt)


def function_of(file: str, name: str) -> Callable[..., Any]:
    """The function of this name in a file, which must give a Scene; its arguments with defaults are parameters."""
    from stickslip.scene.scene import Scene

    if not Path(file).is_file():
        raise FileError(f"scene file {shown(file)} does not exist; give the name of a scene, or a file that builds one")
    try:
        found = runpy.run_path(file, run_name=Path(file).stem)
    except StickslipError:
        raise
    except Exception as error:  # what a user's file does can be anything
        raise InputError(f"scene file {shown(file)}: {type(error).__name__}: {error}") from error
    make = found.get(name)
    if not callable(make):
        known = ", ".join(key for key, value in found.items() if callable(value) and not key.startswith("_"))
        raise InputError(f"scene file {shown(file)}: it has no function {name!r}; those that it has: {known or 'none'}")

    def build(*arguments: Any, **parameters: Any) -> Any:
        scene = make(*arguments, **parameters)
        if not isinstance(scene, Scene):
            raise InputError(f"scene file {shown(file)}: {name} gave {shown(scene)}; a stickslip.Scene is needed")
        return scene

    build.__wrapped__ = make  # type: ignore[attr-defined]  # its parameters are those of the function
    return build
