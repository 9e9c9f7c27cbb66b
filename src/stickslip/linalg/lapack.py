"""Addresses of the BLAS routines that SciPy carries, for kernels to call (jit.call_fortran)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

from stickslip.errors import MissingDependencyError

LOWER, NO, TRANSPOSED, RIGHT, NON_UNIT = ord("L"), ord("N"), ord("T"), ord("R"), ord("N")
"""Characters that the routines take."""


class Routines(NamedTuple):
    """Where the routines stand in memory."""

    dgemm: int
    dsyrk: int
    dtrsm: int


@cache
def routines() -> Routines:
    """Addresses of the routines in this process."""
    from scipy.linalg import cython_blas

    return Routines(*(_address(cython_blas.__pyx_capi__[name]) for name in Routines._fields))


def _address(capsule: object) -> int:
    """The function pointer of a Cython function that takes 32-bit integers."""
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    if b"int *" not in name:
        raise MissingDependencyError(
            f"SciPy's BLAS has the signature {name.decode()!r}; a build with 32-bit integers is needed"
        )
    return int(pointer_of(capsule, name))
