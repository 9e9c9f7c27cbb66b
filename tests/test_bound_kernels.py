"""Kernels that are bound to their arguments read what those hold at each call; steps by them can be copied."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from stickslip import Simulation
from stickslip.bound_kernels import CAN_BIND, BoundKernel
from stickslip.compiled.bound_driver import BoundDriver
from stickslip.jit import KERNELS, bare_kernel, inner_kernel, kernel
from stickslip.warmup import stacked

pytestmark = pytest.mark.skipif(not CAN_BIND, reason="kernels are not compiled, or say where they leave arrays")


@bare_kernel
def gather(some, matrix, marks, out):
    """Sums into out; returns how many numbers there were, or less than zero."""
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for x in some[0]:
        out[0] += x
    for x in some[1]:
        out[1] += x
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[2] += matrix[i, j]
    return -1 if marks[0] else some[0].shape[0] + some[1].shape[0] + matrix.size


def test_it_reads_what_its_arguments_hold_at_each_call() -> None:
    x, whole, matrix, marks, out = np.ones(3), np.arange(4), np.full((5, 2), 0.5), np.zeros(1, np.bool_), np.empty(3)
    bound = BoundKernel(gather, (x, whole), matrix, marks, out)
    assert (bound(), out.tolist()) == (17, [3.0, 6.0, 5.0])
    x[1], whole[3] = 5.0, -1
    assert (bound(), out.tolist()) == (17, [7.0, 2.0, 5.0])
    assert list(bound.numbers(0)) == [0, 1]
    (number,) = bound.numbers(1)
    bound.cut(number, 2)
    bound.cut(0, 0)
    assert (bound(), out.tolist()) == (8, [0.0, 2.0, 2.0])
    bound.cut(number, 5)
    bound.put(number, np.full((5, 2), 2.0))  # kept by it alone
    assert (bound(), out.tolist()) == (14, [0.0, 2.0, 20.0])
    marks[0] = True
    assert bound() == -1


def test_a_certificate_that_is_asked_for_later_is_that_of_its_step() -> None:
    """Steps are not measured until somebody asks; those of which it is known that somebody will are, at once."""
    scene = stacked("box", "sphere")
    plain, fast = (Simulation(scene, 0.004, driver=driver) for driver in ("python", "compiled"))
    wanted = [plain.step().certificate for _ in range(6)]
    found = [fast.step() for _ in range(6)]
    driver = fast.compiled
    assert isinstance(driver, BoundDriver)
    assert driver.handed is not None
    assert driver.handed.had[2] is False
    assert [found[k].certificate for k in (4, 0, 2)] == [wanted[k] for k in (4, 0, 2)]
    fast.restore(found[4].state)
    assert fast.step().certificate == wanted[5]
    assert driver.handed.had[2] is True
    fast.step()
    fast.step()
    assert driver.handed.had[2] is False
    other = copy.deepcopy(fast)
    assert other.step().state.digest() == fast.step().state.digest()


@inner_kernel
def half(x):
    return 0.5 * x


@kernel
def root(x):
    return half(x) ** 0.5


@kernel
def roots(x):
    return root(x) + root(4.0 * x)


def test_what_only_kernels_call_has_no_machine_code() -> None:
    """It is optimised in those that call it; what Python or an address leads to has its own."""
    assert roots(8.0) == 6.0
    assert root(8.0) == 2.0
    found = {
        (each.py_func.__name__, overload.library.is_part)
        for each in KERNELS
        if getattr(each, "py_func", None) in (half.py_func, root.py_func, roots.py_func)
        for overload in each.overloads.values()
    }
    # kernels that come from the cache need no parts: these are there or not, but never with code of their own
    assert found - {("half", True), ("root", True)} == {("root", False), ("roots", False)}
