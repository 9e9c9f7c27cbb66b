"""The one module that imports Numba.

Numba's on-disk cache looks at the file of a compiled function only: editing a kernel in another file
leaves its cached callers stale. So the cache of every module with kernels lives in a folder named by a
digest of that module's source and of every stickslip module it imports, directly or not. An edit of a
kernel moves all its callers to a new folder; an edit of, say, the command line moves nothing.

``STICKSLIP_CACHE_DIR`` overrides the place (default: ``~/.cache/stickslip`` or ``$XDG_CACHE_HOME``). Where it cannot be
written, kernels are kept in a folder of this user below that of temporary files.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import hashlib
import math
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

# OpenMP threads that wait spin for a short time only, then sleep: as fast on free cores, and on busy ones a parallel
# sweep takes 2 times as long instead of 20. Read when the library of threads is loaded, so it stands before Numba.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

import numba
import numpy as np
from llvmlite.binding import parse_bitcode
from numba import prange as prange  # noqa: PLC0414  (re-exported for kernels)
from numba.core import cgutils, codegen, event, types
from numba.core.caching import IndexDataCacheFile
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic, lower_builtin, register_jitable, type_callable
from numba.np import arrayobj

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
KEPT_DAYS = 60.0
FOLDER = re.compile(r"[\w.]+-[0-9a-f]{16}")
"""Name of a folder of kernels: the module and the digest of its sources."""
IMPORT = re.compile(r"^(?:from|import) +(stickslip[\w.]*)(?: +import +(\([^)]*\)|(?:[^\n\\]|\\\n)*))?", re.MULTILINE)
"""An import of stickslip that begins a line: the module, and the names that are taken from it."""
INTRINSICS = ("call_fortran", "call_kernel", "subtract_tile", "stack_array", "view_at")
"""Functions of this file that are compiled into kernels of others."""
KERNELS: list[Any] = []
"""Every kernel decorated so far, in order, and its version for other kernels; ``stickslip warmup`` reads it."""
_OVERLOADS: list[Any] = []
"""What each of them has been compiled for: every step of a recorded run asks how many there are."""


def cache_root() -> Path:
    """Folder of all compiled kernels of stickslip on this machine."""
    chosen = os.environ.get("STICKSLIP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))
    return Path(base) / "stickslip"


@functools.cache
def temporary_root() -> Path:
    """Folder that stands in for :func:`cache_root` where that cannot be written; of this user alone.

    Whoever writes there runs code as this user, and its name is known to all: a folder that somebody else made, or may
    write, is not taken, and the kernels of this process get a new one that goes with it.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0  # Windows has such a folder for each user
    folder = Path(tempfile.gettempdir()) / f"stickslip-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder
    except OSError:
        pass  # something else has that name
    fresh = tempfile.mkdtemp(prefix="stickslip-")
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return Path(fresh)


@functools.cache
def imported_modules(module: str) -> tuple[str, ...]:
    """Names of the stickslip modules that the source of ``module`` imports at its top level, sorted.

    Kernels see nothing else: an import inside a function is not theirs. Lines that begin with an import are read rather
    than the syntax tree, which would be a third of the time until a first step; a line of a text that looks like one
    does no harm.
    """
    found: set[str] = set()
    for package, names in IMPORT.findall(source(module)):
        found.add(package)
        found.update(f"{package}.{name}" for name in re.findall(r"[\w.]+", names))
    return tuple(sorted(name for name in found - {module, "stickslip.jit"} if module_file(name)))


@functools.cache
def module_file(module: str) -> Path | None:
    """Source file of a stickslip module, or None where there is none of that name."""
    if not module.startswith("stickslip."):
        return None
    stem = os.path.join(PACKAGE, *module.split(".")[1:])
    for candidate in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None


@functools.cache
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
    if any(name in source(module) for module in closure for name in INTRINSICS):
        closure.add("stickslip.jit")  # code of this file becomes part of their kernels
    checked = " boundscheck" if numba.config.BOUNDSCHECK else ""  # Numba would serve code compiled without checks
    digest = hashlib.sha256(f"{numba.__version__} {platform.python_version()}{checked}".encode())
    for name in sorted(closure):
        digest.update(f"\0{name}\0{source(name)}".encode())
    return digest.hexdigest()[:16]


def cache_folder(module: str) -> Path:
    """Cache folder of the kernels of one module as its sources are now."""
    return cache_root() / _folder_name(module)


def _folder_name(module: str) -> str:
    return f"{module.removeprefix('stickslip.')}-{source_digest(module)}"


@functools.cache
def _prepared_folder(module: str) -> str:
    """Create the cache folder of a module, note its use, and drop folders unused for long; "" if nothing can be kept.

    Numba's own choice of another folder, beside the source, would serve stale kernels.
    """
    for root in (cache_root, temporary_root):
        try:
            folder = root() / _folder_name(module)
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            if not os.access(folder, os.W_OK):
                continue
            _drop_old_folders(folder.parent)
        except OSError:
            continue
        return str(folder)
    return ""


@functools.cache
def _drop_old_folders(root: Path) -> None:
    """Remove folders of kernels that nobody has used for long, of all modules: one look at the list a process."""
    oldest = time.time() - KEPT_DAYS * 86400.0
    with os.scandir(root) as found:
        for other in found:
            if FOLDER.fullmatch(other.name) and other.stat().st_mtime < oldest:
                shutil.rmtree(other.path, ignore_errors=True)


def is_cold(module: str, *versions: str) -> bool:
    """Whether no kernel of a module is in the cache; versions: "called", "bare", "inside", "addressed"."""
    folder = _prepared_folder(module)
    if not folder or numba.config.DISABLE_JIT:
        return False
    places = [Path(folder, version) for version in versions] or [Path(folder)]
    return not any(next(place.rglob("*.nbc"), None) for place in places)


class _UnderWay(event.Listener):  # type: ignore[misc]
    """What Numba compiles now.

    The garbage collector rests meanwhile: it takes an eighth of the time and finds next to nothing.
    """

    was_on = False

    def __init__(self) -> None:
        self.kernels: list[Any] = []
        """The kernel that is compiled, perhaps for another one that waits for it, which comes before it."""

    def on_start(self, event: event.Event) -> None:
        """A kernel is compiled."""
        if not self.kernels:
            self.was_on = gc.isenabled()
            gc.disable()
        self.kernels.append(event.data["dispatcher"])

    def on_end(self, event: event.Event) -> None:
        """It is compiled, or has failed."""
        self.kernels.pop()
        if not self.kernels and self.was_on:
            gc.enable()

    @property
    def is_part(self) -> bool:
        """Whether what is compiled now is needed in the machine code of others alone."""
        if not self.kernels:
            return False
        latest = self.kernels[-1]
        if hasattr(latest, IS_PART):
            return bool(getattr(latest, IS_PART))
        return any(hasattr(other, IS_PART) for other in self.kernels)


IS_PART = "stickslip_part"
"""Attribute of dispatchers of this package: whether other kernels alone call them, and never by an address."""
_UNDER_WAY = _UnderWay()
event.register("numba:compile", _UNDER_WAY)


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]
    """What a kernel is compiled to.

    Numba makes machine code of each kernel, optimised twice, and optimises it again in all that call it, which have a
    copy. Of those that only other kernels call nothing is needed but that copy: it is optimised there, once.
    """

    is_part, counts = False, True

    def add_ir_module(self, module: Any) -> None:
        """See Numba."""
        flags = ConfigStack.top_or_none()
        self.is_part = self.is_part or _UNDER_WAY.is_part
        self.counts = flags is None or flags.nrt
        super().add_ir_module(module)

    def _optimize_final_module(self) -> None:
        if self.is_part:
            return
        if self.counts:
            super()._optimize_final_module()
            return
        # the other round brings counts of references together, and there are none
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        if self.is_part:
            self._finalized = True
        else:
            super()._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> int:
        """See Numba."""
        return 0 if self.is_part else super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """See Numba."""
        if not self.is_part:
            return cast("tuple[Any, ...]", super().serialize_using_object_code())
        return self.name, PART, self._get_module_for_linking().as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[Any, ...]) -> Any:
        name, kind, data = state
        if kind != PART:
            return super()._unserialize(codegen, state)
        self = codegen.create_library(name)
        self.is_part, self._finalized = True, True
        self._final_module = self._shared_module = parse_bitcode(data)
        return self


PART = "part"
"""How the cache calls what has no machine code."""


def _set_env(self: Any, name: str, environment: Any, _whole: Any = codegen.JITCPUCodegen.set_env) -> None:
    """Numba's own writes into machine code that may not be there."""
    if self._engine.is_symbol_defined(name):
        _whole(self, name, environment)


codegen.JITCPUCodegen._library_class, codegen.JITCPUCodegen.set_env = _Library, _set_env


def kernel(function: F) -> F:
    """Compile a function at its first call, keep the result on disk, divide as NumPy does (no exception)."""
    return _compiled(function)


def inner_kernel(function: F) -> F:
    """Like :func:`kernel`, for functions that only kernels call: without a wrapper for Python they compile faster."""
    return _compiled(function, no_cpython_wrapper=True)


def large_kernel(function: F) -> F:
    """Like :func:`kernel`, for functions of many lines or callers: bare kernels call them rather than take them in."""
    return _compiled(function, apart=True)


def plain_kernel(function: F) -> F:
    """Compile a function into kernels that call it; Python runs it as it is, for what would take long to hand over."""
    return cast(F, register_jitable(error_model="numpy")(function))


def parallel_kernel(function: F) -> F:
    """Like :func:`kernel`, with ``prange`` over threads; each output is written by one iteration only."""
    return _compiled(function, parallel=True)


def bare_kernel(function: F) -> F:
    """Like :func:`kernel`, for functions that allocate nothing, as what they call: nobody counts references to arrays.

    Counting takes half of the time of a small step. Kernels that these call are compiled anew without it, but for
    those that are an :func:`allocating_kernel`. What a kernel or plain kernel gives back must be no array by itself
    (:func:`view_kernel`); tuples of arrays will do.
    """
    return _compiled(function, _nrt=False)


def bare_threaded_kernel(function: F) -> F:
    """Like :func:`bare_kernel`, for calls by several threads at once: Python goes on meanwhile."""
    return _compiled(function, _nrt=False, nogil=True)


def allocating_kernel(function: F) -> F:
    """Like :func:`kernel`, for functions that allocate and that bare kernels call; gives back numbers alone."""
    return _compiled(function, _nrt=True)


def view_kernel(function: F) -> F:
    """Copy a function of a few lines into the kernels that call it; for those that give back a part of an array."""
    function.py_func, function.targetoptions = function, {"inline": "always"}  # type: ignore[attr-defined]
    return cast(F, register_jitable(error_model="numpy")(function))  # its name stays behind, and must have a type


def _compiled(function: F, apart: bool = False, **options: bool) -> F:
    """A lazily compiled function whose cache lives in the folder of its module."""
    compiled = _dispatcher(function, _prepared_folder(function.__module__), **options)
    if hasattr(compiled, "get_call_template"):  # not where the compiler is off
        _serve_kernels(compiled, bool(options) and "_nrt" not in options, options.get("_nrt"), apart)
        setattr(compiled, IS_PART, options.get("no_cpython_wrapper", False))
    return cast(F, compiled)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Wait until no other process writes into a folder of kernels, and keep others waiting."""
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # what cannot be written will be said by the writer
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class _SharedIndex(IndexDataCacheFile):  # type: ignore[misc]
    """The index of a kernel's cache, to which one process adds at a time.

    Numba's own reads it, chooses the next free file name and writes both. Two processes that do so at once for
    different types choose the same name, and the index then leads to code for other types.
    """

    def save(self, key: Any, data: Any) -> None:
        """Add what a kernel was compiled to."""
        with _alone(self._cache_path):
            super().save(key, data)


def _dispatcher(function: Callable[..., Any], folder: str, **options: bool) -> Any:
    numba.config.CACHE_DIR = folder
    compiled = numba.njit(cache=bool(folder), error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept.__class__ = _SharedIndex
    KERNELS.append(compiled)
    _OVERLOADS.append(getattr(compiled, "overloads", ()))  # plain functions without the compiler
    return compiled


def _serve_kernels(compiled: Any, itself: bool, counts: bool | None, apart: bool) -> None:
    """Have a kernel that other kernels call compiled in a shorter time than one that Python calls.

    What they call is a second version without a wrapper for Python, unless the kernel serves them ``itself``: to unpack
    tuples of arrays takes longer to compile than most kernels. Its numbers are int64; Numba would compile it anew for
    each constant, and for int32. Bare kernels use a bare version, unless the kernel says itself whether it ``counts``,
    and take it in, unless it is to stay ``apart``: every array is handed over as seven numbers, thirty arrays to each
    of a hundred kernels, which would be half of the time of a small step. What is called by its address is a version
    that has machine code of its own.
    """

    @functools.cache
    def served(bare: bool, addressed: bool = False) -> Any:
        if itself and not bare and not addressed:
            return compiled
        folder = _prepared_folder(compiled.py_func.__module__)
        inside = bare and not apart and not addressed
        name = "addressed" if addressed else "inside" if inside else "bare" if bare else "called"
        own = os.path.join(folder, name) if folder else ""
        version = _dispatcher(compiled.py_func, own, no_cpython_wrapper=True, _nrt=not bare, forceinline=inside)
        setattr(version, IS_PART, not addressed)
        return version

    def version() -> Any:
        caller = ConfigStack.top_or_none()
        return served(caller is not None and not caller.nrt if counts is None else not counts)

    def call_template(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        wide = {name: _widened(kind) for name, kind in keywords.items()}
        return type(compiled).get_call_template(version(), tuple(map(_widened, arguments)), wide)

    compiled.get_call_template = call_template
    compiled.get_overload = lambda signature: type(compiled).get_overload(version(), signature)
    compiled.by_address = lambda: served(not counts, True)


def _widened(kind: Any) -> Any:
    """The type of an argument as kernels for kernels take it."""
    plain = types.unliteral(kind)  # type: ignore[attr-defined]
    return types.int64 if plain == types.int32 else plain


def compiled_count() -> int:
    """How many kernel signatures this process has compiled or loaded so far (zero right after import)."""
    return sum(map(len, _OVERLOADS))


def thread_count() -> int:
    """Threads that parallel kernels run on; ``NUMBA_NUM_THREADS`` chooses them at start."""
    return int(numba.get_num_threads())


def _call_fortran_plainly(address: int, arguments: tuple[Any, ...]) -> None:
    """What :func:`call_fortran` does, without a compiler."""
    kept: list[Any] = []
    for item in arguments:
        if hasattr(item, "ctypes"):
            kept.append(ctypes.c_void_p(item.ctypes.data) if item.ndim else ctypes.pointer(ctypes.c_int(int(item))))
        else:
            kept.append(ctypes.pointer(ctypes.c_double(item) if isinstance(item, float) else ctypes.c_int(item)))
    ctypes.CFUNCTYPE(None)(address)(*kept)


@intrinsic  # type: ignore[untyped-decorator]
def _call_fortran_compiled(typing_context: Any, address: Any, arguments: Any) -> Any:
    """What :func:`call_fortran` does, in a kernel."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = cgutils.voidptr_t
        passed = []
        for k, kind in enumerate(signature.args[1].types):
            item = builder.extract_value(values[1], k)
            if isinstance(kind, types.Array):
                place = context.make_array(kind)(context, builder, item).data
            else:
                stored = types.float64 if isinstance(kind, types.Float) else types.int32
                place = cgutils.alloca_once(builder, context.get_value_type(stored))
                builder.store(context.cast(builder, item, kind, stored), place)
            passed.append(builder.bitcast(place, pointer))
        function = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [pointer] * len(passed))
        builder.call(builder.inttoptr(values[0], function.as_pointer()), passed)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


call_fortran: Any = _call_fortran_plainly if numba.config.DISABLE_JIT else _call_fortran_compiled
"""call_fortran(address, (argument, ...)): call a Fortran subroutine from a kernel.

Arrays go in by their data, numbers by the place of a copy: integers as 32 bits, which serves characters (ord) as well.
The address is an argument and not a constant, so that the kernel's machine code can be kept on disk.
"""


def stack_array(count: int, kind: type = np.float64) -> Any:
    """A function without arguments that gives kernels an array (count,) on the stack, with anything in it.

    So that they allocate nothing; no kernel may give it back.
    """
    number_type = numba.from_dtype(np.dtype(kind))

    @intrinsic  # type: ignore[untyped-decorator]
    def on_the_stack(typing_context: Any) -> Any:
        whole = types.Array(number_type, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            number = context.get_data_type(number_type)
            length, size = cgutils.intp_t(count), cgutils.intp_t(context.get_abi_sizeof(number))
            made = context.make_array(whole)(context, builder)
            data = cgutils.alloca_once(builder, number, size=length)
            arrayobj.populate_array(made, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
            return made._getvalue()

        return whole(), generate

    return (lambda: np.empty(count, kind)) if numba.config.DISABLE_JIT else on_the_stack


def kernel_address(compiled: Any, *samples: Any) -> Any:
    """Where the machine code of a kernel for arguments like the samples is, for bare kernels that :func:`call_kernel`.

    It is compiled if need be; without a compiler it is the function itself.
    """
    if not hasattr(compiled, "overloads"):
        return compiled
    version = compiled.by_address()
    signature = tuple(numba.typeof(sample) for sample in samples)
    version.compile(signature)
    found = version.overloads[signature]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


def kernel_table(addresses: dict[int, Any], size: int) -> Any:
    """Addresses of kernels by their numbers below ``size``, as kernels read them; 0 where there is none."""
    table = [addresses.get(number, 0) for number in range(size)]
    return table if any(callable(address) for address in table) else np.array(table, dtype=np.int64)


def _call_kernel_plainly(address: Any, result: Any, arguments: tuple[Any, ...]) -> Any:
    """What :func:`call_kernel` does, without a compiler."""
    return address(*arguments)


@intrinsic  # type: ignore[untyped-decorator]
def _call_kernel_compiled(typing_context: Any, address: Any, result: Any, arguments: Any) -> Any:
    """What :func:`call_kernel` does, in a kernel."""
    kinds = tuple(_widened(kind) for kind in arguments.types)
    returned = types.unliteral(result)  # type: ignore[attr-defined]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        passed = [
            context.cast(builder, builder.extract_value(values[2], k), given, kind)
            for k, (given, kind) in enumerate(zip(signature.args[2].types, kinds, strict=True))
        ]
        function = context.call_conv.get_function_type(returned, kinds)
        pointer = builder.inttoptr(values[0], function.as_pointer())
        status, found = context.call_conv.call_function(builder, pointer, returned, kinds, passed)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return returned(types.int64, result, arguments), generate


call_kernel: Any = _call_kernel_plainly if numba.config.DISABLE_JIT else _call_kernel_compiled
"""call_kernel(address, result, (argument, ...)): call a kernel by its address (``kernel_address``).

``result`` is any number or tuple of the type that it returns. What is called so is not compiled into the kernel that
calls it, nor twice: who has many kernels and needs few of them, or is called by several, compiles in a shorter time.
"""


def view_at(x: Any, first: int, shape: tuple[int, ...]) -> Any:
    """The elements of x (n,) from the first on as an array of a shape; in kernels without any check.

    Only for what the caller of the kernel has made: that x is still used is not known while only the view is. Numba's
    slices with ``reshape`` take 30 ns each, ten times as long: with a hundred of them as long as a robot.
    """
    return x[first : first + math.prod(shape)].reshape(shape)


@type_callable(view_at)  # type: ignore[untyped-decorator]
def _type_view(_: Any) -> Any:
    """What :func:`view_at` returns in a kernel."""
    return lambda x, first, shape: x.copy(ndim=len(shape), layout="C")


@lower_builtin(view_at, types.Array, types.Integer, types.BaseTuple)  # type: ignore[untyped-decorator,attr-defined]
def _lower_view(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """What :func:`view_at` does in a kernel."""
    x, first, shape = signature.args
    source = context.make_array(x)(context, builder, values[0])
    sizes = [
        context.cast(builder, size, kind, types.intp)
        for size, kind in zip(cgutils.unpack_tuple(builder, values[2]), shape.types, strict=True)
    ]
    size = cgutils.ir.Constant(
        context.get_value_type(types.intp), context.get_abi_sizeof(context.get_data_type(x.dtype))
    )
    step, strides = size, list[Any]()
    for length in reversed(sizes):
        strides.insert(0, step)
        step = builder.mul(step, length)
    view = context.make_array(signature.return_type)(context, builder)
    start = builder.gep(source.data, [context.cast(builder, values[1], first, types.intp)])
    arrayobj.populate_array(view, data=start, shape=sizes, strides=strides, itemsize=size, meminfo=None)
    return view._getvalue()


TILE = 12
"""Rows of :func:`subtract_tile`."""


def _subtract_tile_plainly(
    c: Any, at: int, stride: int, a: Any, left: int, right: int, lead: int, count: int, skip: int, old: float
) -> None:
    """What :func:`subtract_tile` does, without a compiler."""
    for x in range(3):
        for y in range(skip, TILE):
            total = sum(a[left + y + k * lead] * a[right + x + k * lead] for k in range(count))
            c[at + x * stride + y] = (c[at + x * stride + y] if old else 0.0) - total


@intrinsic  # type: ignore[untyped-decorator]
def _subtract_tile_compiled(
    typing_context: Any,
    c: Any,
    at: Any,
    stride: Any,
    a: Any,
    left: Any,
    right: Any,
    lead: Any,
    count: Any,
    skip: Any,
    old: Any,
) -> Any:
    """What :func:`subtract_tile` does, in a kernel: nine registers of four numbers hold the tile."""
    whole = types.int64
    signature = types.void(c, whole, whole, a, whole, whole, whole, whole, whole, types.float64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ir = cgutils.ir
        builder.function.attributes.add("noinline")  # copies of the kernel around it would only take time to compile
        number, integer = ir.DoubleType(), ir.IntType(64)
        four = ir.VectorType(number, 4)
        c_data, a_data = (context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 3))
        at, stride, left, right, lead, count, skip, share = values[1:3] + values[4:]

        def address(base: Any, place: Any, offset: int, kind: Any) -> Any:
            place = builder.add(place, integer(offset))
            return builder.bitcast(builder.gep(base, [place]), kind.as_pointer())

        def load(base: Any, place: Any, offset: int) -> Any:
            found = builder.load(address(base, place, offset, four))
            found.align = 8
            return found

        def spread(scalar: Any, kind: Any) -> Any:
            one = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.IntType(32)(0))
            return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4))

        sums = [[cgutils.alloca_once_value(builder, ir.Constant(four, [0.0] * 4)) for _ in range(3)] for _ in range(3)]
        with cgutils.for_range(builder, count) as loop:
            column = builder.mul(loop.index, lead)
            rows = [load(a_data, builder.add(left, column), 4 * v) for v in range(3)]
            for x in range(3):
                scalar = builder.load(address(a_data, builder.add(right, column), x, number))
                factor = spread(scalar, four)
                for v in range(3):
                    product = builder.fmul(factor, rows[v], flags=("contract",))
                    total = builder.fadd(builder.load(sums[x][v]), product, flags=("contract",))
                    builder.store(total, sums[x][v])
        index = ir.VectorType(integer, 4)
        zero, fresh = ir.Constant(four, [0.0] * 4), builder.fcmp_ordered("==", share, number(0.0))
        for x in range(3):
            place = builder.add(at, builder.mul(stride, integer(x)))
            for v in range(3):
                old = load(c_data, place, 4 * v)
                new = builder.fsub(builder.select(fresh, zero, old), builder.load(sums[x][v]))
                lanes = ir.Constant(index, [4 * v + k for k in range(4)])
                taken = builder.icmp_signed(">=", lanes, spread(skip, index))
                builder.store(builder.select(taken, new, old), address(c_data, place, 4 * v, four)).align = 8
        return context.get_dummy_value()

    return signature, generate


subtract_tile: Any = _subtract_tile_plainly if numba.config.DISABLE_JIT else _subtract_tile_compiled
"""subtract_tile(c, at, stride, a, left, right, lead, count, skip, old): twelve rows of C = old C - A B^T in registers.

Three columns of C from c[at], ``stride`` apart; A from a[left] and three rows of B from a[right], ``count`` columns of
each ``lead`` apart. The first ``skip`` rows stay as they are; ``old``: 1, or 0 if nothing is there yet. Nothing is
checked. LLVM does not find this form by itself, and it is ahead of BLAS for panels that fit into the second cache.
"""
