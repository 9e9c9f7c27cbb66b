"""Scenes for commands: by name, from a scene file, from a robot's file, or from a function in a file of Python."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stickslip.errors import FileError, InputError, StickslipError
from stickslip.keywords import unknown
from stickslip.names import shown

if TYPE_CHECKING:
    from stickslip.scenes.registry import SceneEntry
    from stickslip.scenes.running import Run

ROBOT_ENDINGS = (".urdf", ".xacro", ".xml", ".mjcf")
SCENE_ENDING, PYTHON_ENDING = ".toml", ".py"
FILE_STEP, FILE_TIME = 0.002, 1.0
"""[s] step size and time of scenes from files where none is given."""
STAMP = "_stickslip_file"
"""Name under which a module of a user keeps when its file was written, and its size."""
FUNCTION = "build"
"""Name of the function of a file of Python that makes a scene, where none is given after a colon."""
RUN_KEYS = ("dt", "time", "solver", "quality")
"""What the table [run] of a scene file may say, and DT, TIME, SOLVER, QUALITY of a file of Python."""


def prepared(
    what: str, solver: str | None, settings: Mapping[str, Any], dt: float | None, package_dirs: Sequence[Path] = ()
) -> Run:
    """A scene ready to step: by name, or what a file has (:func:`entry_of`)."""
    from stickslip.scenes.running import prepare_entry

    return prepare_entry(entry_of(what, package_dirs), solver, settings, dt)


def is_file(what: str) -> bool:
    """Whether a text names a scene in a file, not one that is built in; the file need not exist."""
    return what.lower().endswith((*ROBOT_ENDINGS, SCENE_ENDING, PYTHON_ENDING)) or f"{PYTHON_ENDING}:" in what


def stem(what: str) -> str:
    """The name of a scene: that of its file without folder, ending and function."""
    return Path(what.partition(f"{PYTHON_ENDING}:")[0]).stem if is_file(what) else what


def entry_of(what: str, package_dirs: Sequence[Path] = ()) -> SceneEntry:
    """A built-in scene by name, or that of a file: TOML, a robot alone on the ground, or ``my.py[:build]``."""
    from stickslip.scenes.own_scene import Unmeasured
    from stickslip.scenes.registry import SceneEntry, find_scene

    if not is_file(what):
        return find_scene(what)
    file, _, function = what.rpartition(":") if f"{PYTHON_ENDING}:" in what else (what, "", FUNCTION)
    given: Mapping[str, Any] = {}
    if what.lower().endswith(SCENE_ENDING):
        build, given = _scene_of(file)
    elif what.lower().endswith(ROBOT_ENDINGS):
        from stickslip.view.live.robot_scene import robot_scene

        scene = robot_scene(what, package_dirs)
        build = lambda: scene  # noqa: E731
    else:
        build, given = _built_by(file, function or FUNCTION)
    for name in given:
        if name not in RUN_KEYS:
            raise unknown(f"scene file {shown(file)}: run:", name, RUN_KEYS)
    if "solver" in given and "quality" in given:
        raise InputError(f"scene file {shown(file)}: run: both solver and quality are given; give one of them")
    from stickslip.checks import positive
    from stickslip.solvers.quality import solver_options

    step, duration = (positive(f"scene file {shown(file)}", name, given.get(name, usual))
                      for name, usual in (("dt", FILE_STEP), ("time", FILE_TIME)))  # fmt: skip
    own: dict[str, Any] = {"method": given["solver"]} if "solver" in given else {}
    if "solver" not in given:
        own = {"quality": given.get("quality", "normal"), "solver": solver_options(given.get("quality", "normal"))}
    return SceneEntry(
        stem(what), f"from {Path(file).name}", build, step, duration, lambda sim, parameters: Unmeasured(), **own
    )


def _scene_of(file: str) -> tuple[Callable[..., Any], Mapping[str, Any]]:
    """What makes the scene of a TOML file, and its table [run]."""
    from stickslip.scene.scene import Scene
    from stickslip.scene.scene_file import read_table

    given = read_table(file).get("run", {})
    if not isinstance(given, dict):
        raise InputError(f"scene file {shown(file)}: run is {shown(given)}; a table is needed")
    return (lambda: Scene.load(file)), given


def function_of(file: str, name: str) -> Callable[..., Any]:
    """The function of this name in a file, which must give a Scene; its arguments with defaults are parameters."""
    return _built_by(file, name)[0]


def names_in(file: str) -> Mapping[str, Any]:
    """What a file of Python defines; it is run again where it has changed, and may register solvers.

    It is a module by its own name where no other has that name, and its folder is searched for modules: processes that
    a command starts can then import what the file has, such as a solver that it registers.
    """
    if not Path(file).is_file():
        raise FileError(f"scene file {shown(file)} does not exist; give the name of a scene, or a file that builds one")
    path = Path(file).resolve()
    loaded, stamp = sys.modules.get(path.stem), (path.stat().st_mtime_ns, path.stat().st_size)
    own = getattr(loaded, "__file__", None) == str(path)
    if loaded is not None and own and getattr(loaded, STAMP, None) == stamp:
        return vars(loaded)  # the same classes, so that solvers are found again by processes
    free = own or (path.stem not in sys.modules and path.stem.isidentifier() and not _is_installed(path))
    try:
        if not free:
            return runpy.run_path(file, run_name=path.stem)
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
        setattr(module, STAMP, stamp)
    except StickslipError:
        raise
    except Exception as error:  # what a user's file does can be anything
        raise InputError(f"scene file {shown(file)}: {type(error).__name__}: {error}") from error
    return vars(module)


def _is_installed(path: Path) -> bool:
    """Whether another module than a file would be found by the file's name."""
    try:
        found = find_spec(path.stem)
    except (ImportError, ValueError):
        return True
    return found is not None and found.origin != str(path)


def _built_by(file: str, name: str) -> tuple[Callable[..., Any], Mapping[str, Any]]:
    """A function of a file that gives a Scene, and what the file says of its runs."""
    from stickslip.scene.scene import Scene

    found = names_in(file)
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
    return build, {key: found[key.upper()] for key in RUN_KEYS if key.upper() in found}
