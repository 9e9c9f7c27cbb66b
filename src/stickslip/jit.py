"""The one module that imports Numba.

Numba's on-disk cache looks at the file of a compiled function only: editing a kernel in another file
leaves its cached callers stale. So the cache of every module with kernels lives in a folder named by a
digest of that module's source and of every stickslip module it imports, directly or not. An edit of a
kernel moves all its callers to a new folder; an edit of, say, the command line moves nothing.

``STICKSLIP_CACHE_DIR`` overrides the place (default: ``~/.cache/stickslip`` or ``$XDG_CACHE_HOME``).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import platform
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

# OpenMP threads that wait spin for a short time only, then sleep: as fast on free cores, and on busy ones a parallel
# sweep takes 2 times as long instead of 20. Read when the library of threads is loaded, so it stands before Numba.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import numba
from numba import prange as prange  # noqa: PLC0414  (re-exported for kernels)

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
KEPT_DAYS = 60.0
KERNELS: list[Any] = []
"""Every kernel decorated so far, in order; ``stickslip warmup`` and the tests read it."""


def cache_root() -> Path:
    """Folder of all compiled kernels of stickslip on this machine."""
    chosen = os.environ.get("STICKSLIP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stickslip"


@functools.cache
def imported_modules(module: str) -> tuple[str, ...]:
    """Names of the stickslip modules that the source of ``module`` imports at its top level, sorted.

    Kernels see nothing else: an import inside a function is not theirs.
    """
    found: set[str] = set()
    for node in ast.parse(source(module)).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found.update(name for name in names if name.startswith("stickslip.") and module_file(name))
    return tuple(sorted(found - {module, "stickslip.jit"}))


def module_file(module: str) -> Path | None:
    """Source file of a stickslip module, or None where there is none of that name."""
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def source(module: str) -> str:
    """Text of a stickslip module."""
    file = module_file(module)
    return file.read_text(encoding="utf-8") if file else ""


@functools.cache
def source_digest(module: str) -> str:
    """Digest of a module's source, of all stickslip modules behind its imports, and of the compiler."""
    closure, waiting = {module}, [module]
    while waiting:
        for name in imported_modules(waiting.pop()):
            if name not in closure:
                closure.add(name)
                waiting.append(name)
    checked = " boundscheck" if numba.config.BOUNDSCHECK else ""  # Numba would serve code compiled without checks
    digest = hashlib.sha256(f"{numba.__version__} {platform.python_version()}{checked}".encode())
    for name in sorted(closure):
        digest.update(f"\0{name}\0{source(name)}".encode())
    return digest.hexdigest()[:16]


def cache_folder(module: str) -> Path:
    """Cache folder of the kernels of one module as its sources are now."""
    return cache_root() / f"{module.removeprefix('stickslip.')}-{source_digest(module)}"


@functools.cache
def _prepared_folder(module: str) -> str:
    """Create the cache folder of a module, note its use, and drop folders unused for long."""
    folder = cache_folder(module)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        for other in folder.parent.glob(f"{module.removeprefix('stickslip.')}-*"):
            if time.time() - other.stat().st_mtime > KEPT_DAYS * 86400.0:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        return ""  # a read-only home: Numba falls back to its own choice of folder
    return str(folder)


def kernel(function: F) -> F:
    """Compile a function at its first call, keep the result on disk, divide as NumPy does (no exception)."""
    return _compiled(function)


def inner_kernel(function: F) -> F:
    """Like :func:`kernel`, for functions that only kernels call: without a wrapper for Python they compile faster."""
    return _compiled(function, no_cpython_wrapper=True)


def parallel_kernel(function: F) -> F:
    """Like :func:`kernel`, with ``prange`` over threads; each output is written by one iteration only."""
    return _compiled(function, parallel=True)


def _compiled(function: F, **options: bool) -> F:
    """A lazily compiled function whose cache lives in the folder of its module."""
    numba.config.CACHE_DIR = _prepared_folder(function.__module__)
    compiled = numba.njit(cache=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    KERNELS.append(compiled)
    return cast(F, compiled)


def compiled_count() -> int:
    """How many kernel signatures this process has compiled or loaded so far (zero right after import)."""
    return sum(len(getattr(item, "signatures", ())) for item in KERNELS)


def thread_count() -> int:
    """Threads that parallel kernels run on; ``NUMBA_NUM_THREADS`` chooses them at start."""
    return int(numba.get_num_threads())
