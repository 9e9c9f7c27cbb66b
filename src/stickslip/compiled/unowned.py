"""Arrays that a kernel only borrows: nobody counts who holds them.

A kernel that cuts an array into parts, and puts these into tuples for other kernels, counts up and down who holds the
array at each of them, by an atomic instruction. With hundreds of parts in a step of one box that was two thirds of its
time. Who calls the kernel from Python holds its arrays until it returns, so that inside nobody needs to count.
"""

from __future__ import annotations

from typing import Any

from stickslip.jit import numba  # type: ignore[attr-defined]


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value without owners, also within tuples."""
    types = numba.core.types
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        for name in ("meminfo", "parent"):
            field = getattr(array, name)
            setattr(array, name, numba.core.cgutils.get_null_value(field.type))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, item in enumerate(kind):
            part = _without_owner(context, builder, item, builder.extract_value(value, k))
            value = builder.insert_value(value, part, k)
    return value


@numba.extending.intrinsic  # type: ignore[untyped-decorator]
def _unowned(typingctx: Any, value: Any) -> Any:
    """The same arrays, whose owner is whoever called."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _as_it_is(value: Any) -> Any:
    return value


unowned = _as_it_is if numba.config.DISABLE_JIT else _unowned
"""The same arrays, whose owner is whoever called the kernel; arrays of a kernel's own must not be given."""
