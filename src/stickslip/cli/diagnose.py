"""``stickslip warmup`` and ``stickslip doctor``: is everything ready, and does it compute right?"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from typing import Annotated

import typer

from stickslip.cli.output import print_json, progress

REQUIRED = ("numpy", "scipy", "numba", "h5py", "typer", "rich")
OPTIONAL = {
    "trimesh": "mesh",
    "collada": "mesh",
    "PIL": "view",
    "viser": "view",
    "imageio_ffmpeg": "video",
    "matplotlib": "plot",
    "mujoco": "robots",
    "xacro": "xacro",
    "coacd": "decomposition",
    "pytetwild": "tetwild",
    "mkl": "mkl",
    "pymetis": "metis",
    "meshio": "export",
    "pyarrow": "export",
    "pygltflib": "export",
    "pxr": "export",
    "gymnasium": "rl",
    "stable_baselines3": "train",
    "torch": "train",
    "tensorboard": "train",
    "ray": "ray",
    "warp": "gpu",
    "pydrake": "peers",
    "pybullet": "peers",
    "pinocchio": "peers",
}
"""Optional modules and the extra that brings them."""


def warmup(
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that share the work; default: all cores.")
    ] = None,
) -> None:
    """Compile every kernel now, so that no run has to wait for it later."""
    from stickslip.warmup import Progress
    from stickslip.warmup import warmup as compile_all

    with progress(100, remaining=False) as advance:

        def tell(at: Progress) -> None:
            stages = f"{at.done} of {at.total} stages"
            doing = f", now {' and '.join(at.under_way)}" if at.under_way else ""
            advance(round(100 * at.done / at.total), f"{stages}{doing}; about {_in_words(at.left)} left")

        report = compile_all(tell, processes)
    print(f"{report.compiled} kernels compiled, {report.loaded} found in the cache, {report.seconds:.1f} s")


def _in_words(seconds: float) -> str:
    """A time as people say it."""
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.1f} min"


@dataclass(frozen=True)
class Check:
    """One finding of the doctor."""

    name: str
    ok: bool
    detail: str


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Check Python, packages, the compiler's cache and a short computation; exit with 1 on a problem."""
    checks: list[Check] = []
    for examine in (_python, _packages, _extras, _threads, _cache, _self_test):
        checks.extend(_guarded(examine))
    good = all(check.ok for check in checks)
    if json:
        print_json({"ok": good, "checks": [asdict(check) for check in checks]})
    else:
        from rich.console import Console

        console = Console(highlight=False)
        for check in checks:
            console.print(f"{'[green]ok     [/]' if check.ok else '[red]PROBLEM[/]'} {check.name:<10} ", end="")
            console.print(check.detail, markup=False)
    if not good:
        raise typer.Exit(1)


def _guarded(examine: Callable[[], Iterator[Check]]) -> list[Check]:
    """The findings of one examination; whatever it raises is a finding, too."""
    try:
        return list(examine())
    except Exception as error:
        return [Check(examine.__name__.strip("_"), False, f"{type(error).__name__}: {error}")]


def _python() -> Iterator[Check]:
    good = sys.version_info >= (3, 11)
    need = "" if good else "; 3.11 or later is needed"
    yield Check("Python", good, f"{platform.python_version()} on {platform.platform()}{need}")


def _packages() -> Iterator[Check]:
    for name in REQUIRED:
        try:
            yield Check(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Check(name, False, f"not installed; pip install {name}")


def _extras() -> Iterator[Check]:
    found = {name: util.find_spec(name) is not None for name in OPTIONAL}
    whole = [extra for extra in dict.fromkeys(OPTIONAL.values())
             if all(found[name] for name, of in OPTIONAL.items() if of == extra)]  # fmt: skip
    yield Check("extras", True, f"installed: {', '.join(whole) or 'none'}")
    for extra in dict.fromkeys(OPTIONAL.values()):
        if extra not in whole:
            lacking = ", ".join(name for name, of in OPTIONAL.items() if of == extra and not found[name])
            yield Check(extra, True, f"not installed ({lacking}); pip install 'stickslip[{extra}]'")


def _threads() -> Iterator[Check]:
    from stickslip import jit

    switched_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    threads = jit.numba.get_num_threads()  # type: ignore[attr-defined]
    text = "switched off by NUMBA_DISABLE_JIT, which is slow" if switched_off else f"{threads} threads"
    yield Check("compiler", True, f"{text}; {os.cpu_count()} processors")


def _cache() -> Iterator[Check]:
    from stickslip import jit

    root = jit.cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        instead = f"kernels go to {jit.temporary_root()}; set STICKSLIP_CACHE_DIR"
        yield Check("cache", False, f"{root} cannot be written ({error.strerror}): {instead}")
        return
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
    yield Check("cache", True, f"{root}, {size / 1e6:.0f} MB")


def _self_test() -> Iterator[Check]:
    """One second of a box on a slope below the friction limit: it must rest, and every step must be certified."""
    from stickslip.scenes.running import execute, prepare

    start = time.perf_counter()
    prepared = prepare("box-slope", dt=0.01)
    body = int(prepared.sim.model.dynamic[0])
    before = prepared.sim.state.body_pose[body, :3].copy()
    summary = execute(prepared, 100)
    moved = float(abs(prepared.sim.state.body_pose[body, :3] - before).max())
    residual = summary.certificate["natural_residual_max"]
    good = summary.converged and moved < 1e-6 and residual < 1e-6
    seconds = time.perf_counter() - start
    detail = f"a box on a slope for 1 s: moved {1e6 * moved:.2g} um, residual {residual:.1e}, took {seconds:.1f} s"
    yield Check("self test", good, detail)
