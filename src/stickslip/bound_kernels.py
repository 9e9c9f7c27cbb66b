"""Kernels that are called again and again with the same arrays: Python hands over the address of a list of them.

Numba takes 0.2 us for each array that Python hands to a kernel, and a step takes fifty. Here a few lines of machine
code read all arguments of a compiled kernel from one array of integers, the frame, and call it by its address. They are
made in each process, by LLVM alone, in some milliseconds; the kernel is the version that other kernels call, so nothing
is compiled twice.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

SIZE, DATA, SHAPE = 2, 4, 5
"""Integers of an array in the frame: two owners that nobody counts, its size, bytes of an element, where its elements
are, its shape; steps in bytes along its axes follow."""
FIRST = 1
"""Where arguments begin in the frame, after the address of the kernel."""
CAN_BIND = not (numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK)
"""Whether kernels are compiled, and raise nothing."""
_CALLERS: dict[str, tuple[Any, Any]] = {}
"""What calls kernels of a signature: its library, which must live on, and the function."""


class BoundKernel:
    """A kernel that returns an integer and raises nothing, with its arguments: arrays, or tuples of arrays.

    It keeps the arrays. What is written into them between two calls is what the next one reads.
    """

    def __init__(self, kernel: Any, *arguments: Any) -> None:
        """The kernel is compiled, if need be, for such arguments."""
        self.kernel, self.arguments = kernel, arguments
        version, kinds = kernel.by_address(), tuple(map(numba.typeof, arguments))
        version.compile(kinds)
        compiled = version.overloads[kinds]
        frame, self._places = [compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)], []
        self._arrays = list(arrays_in(arguments))
        for array in self._arrays:
            self._places.append(len(frame))
            frame += [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]
        self._frame = np.array(frame, dtype=np.int64)
        self._place = self._frame.ctypes.data
        self._call: Callable[[int], int] = _caller(compiled)

    def __call__(self) -> int:
        """What the kernel returns for what its arguments hold now."""
        return self._call(self._place)

    def numbers(self, argument: int) -> range:
        """The numbers of the arrays of one argument among those of all."""
        first, count = (
            sum(1 for _ in arrays_in(part)) for part in (self.arguments[:argument], self.arguments[argument:][:1])
        )
        return range(first, first + count)

    def cut(self, number: int, count: int) -> None:
        """Have an array be its first elements along its first axis alone, or as many as it has."""
        at, array = self._places[number], self._arrays[number]
        self._frame[at + SHAPE] = count
        self._frame[at + SIZE] = count * (array.strides[0] // array.itemsize)

    def put(self, number: int, array: Any) -> None:
        """Have another array of the same type and shape in the place of one."""
        self._arrays[number] = array
        self._frame[self._places[number] + DATA] = array.ctypes.data


def arrays_in(arguments: Any) -> Iterator[Any]:
    """All arrays of nested tuples, in their order."""
    for item in arguments:
        if isinstance(item, tuple):
            yield from arrays_in(item)
        else:
            yield item


def _caller(compiled: Any) -> Any:
    """A function of the address of a frame, which calls such a kernel with what the frame has."""
    returned, kinds = compiled.fndesc.restype, compiled.fndesc.argtypes
    kernel = compiled.target_context.call_conv.get_function_type(returned, kinds)
    signature = str(kernel)
    if signature not in _CALLERS:
        with global_compiler_lock:
            library = compiled.library.codegen.create_library("bound")
            name, whole = f"call_bound_{len(_CALLERS)}", ir.IntType(64)
            module = library.create_ir_module(name)
            function = ir.Function(module, ir.FunctionType(whole, [whole.as_pointer()]), name)
            build = ir.IRBuilder(function.append_basic_block())
            numbers = [build.load(build.gep(function.args[0], [whole(k)])) for k in range(FIRST + len(kernel.args) - 2)]
            room = [build.alloca(kind.pointee) for kind in kernel.args[:2]]  # what it returns, what it raises
            given = [
                build.inttoptr(number, kind) if isinstance(kind, ir.PointerType) else number
                for number, kind in zip(numbers[FIRST:], kernel.args[2:], strict=True)
            ]
            build.call(build.inttoptr(numbers[0], kernel.as_pointer()), [*room, *given])
            build.ret(build.load(room[0]))
            library.add_ir_module(module)
            library.finalize()
        found = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.get_pointer_to_function(name))
        _CALLERS[signature] = library, found
    return _CALLERS[signature][1]
