"""Records as plain tables and back: what a scene file holds of every dataclass of a scene.

A record is a table of its fields, those at their defaults left out; where a field may hold records of several classes,
``type`` names the class. Long arrays are packed: zlib, base64, little-endian numbers, so that files stay short and
numbers exact.
"""

from __future__ import annotations

import base64
import dataclasses
import sys
import types
import typing
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from stickslip import checks
from stickslip.arrays import Array, Ints
from stickslip.errors import InputError
from stickslip.geometry.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Mesh, Placed, Shape, Sphere
from stickslip.names import shown
from stickslip.robots.records import Connect, Distance, JointEquality, Weld
from stickslip.scene.soft_body import Constant

LONG = 60
"""Numbers of an array that is written as a list; longer ones are packed."""
MOST_BYTES = 1 << 31
"""Bytes of a packed array at most."""
NONE = "none"
"""What stands in a list for None, which TOML does not have."""
UNIT = 1e-12
"""Rotations this close to unit length are taken as they are, to the bit."""
CLASSES: dict[str, type] = {
    "sphere": Sphere, "capsule": Capsule, "box": Box, "cylinder": Cylinder, "hull": Hull, "half-space": HalfSpace,
    "mesh": Mesh, "connect": Connect, "weld": Weld, "distance": Distance, "joint-equality": JointEquality,
}  # fmt: skip
"""Classes that a table names as its type."""
TYPES = {kind: name for name, kind in CLASSES.items()}
ARRAYS_OF: dict[tuple[type, str], Any] = {(Mesh, "vertices"): Array, (Mesh, "triangles"): Ints}
"""Fields whose annotation says less than what they hold."""
DTYPES = {"float64": "<f8", "float32": "<f4", "int32": "<i4", "int64": "<i8", "bool": "|b1"}


# ---- writing -------------------------------------------------------------------------------------------------


def as_data(value: Any, where: str) -> Any:
    """A value as texts, numbers, lists and tables; what a file cannot hold, such as a function, is an InputError."""
    if value is None:
        return NONE
    if isinstance(value, np.ndarray):
        return _array_data(value)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Placed):
        return placed_data(value, where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return record_data(value, where)
    if isinstance(value, set | frozenset):
        return [as_data(item, where) for item in sorted(value)]
    if isinstance(value, tuple | list):
        return [as_data(item, where) for item in value]
    if callable(value):
        raise InputError(
            f"{where} is a function of Python, which a scene file cannot hold; share the file of Python that builds "
            "the scene in its place (stickslip run my.py)"
        )
    raise InputError(f"{where} is {shown(value)}, which a scene file cannot hold")


def record_data(record: Any, where: str, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a record that are not at their defaults."""
    table: dict[str, Any] = {"type": TYPES[type(record)]} if type(record) in TYPES else {}
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        if not item.init or item.name in leave_out or value is None or same(value, _default(item)):
            continue
        table[item.name] = as_data(value, f"{where}: {item.name}")
    return table


def placed_data(part: Placed, where: str) -> dict[str, Any]:
    """A shape with its pose as one table."""
    table = record_data(part.shape, where)
    for name, value, usual in (("position", part.position, np.zeros(3)), ("rotation", part.rotation, ONE)):
        if not same(value, usual):
            table[name] = as_data(value, where)
    return table


ONE = np.array([1.0, 0.0, 0.0, 0.0])


def same(value: Any, usual: Any) -> bool:
    """Whether two values are the same to the bit."""
    if isinstance(value, np.ndarray) or isinstance(usual, np.ndarray):
        return (
            isinstance(value, np.ndarray) and isinstance(usual, np.ndarray)
            and value.dtype == usual.dtype and value.shape == usual.shape and value.tobytes() == usual.tobytes()
        )  # fmt: skip
    return type(value) is type(usual) and repr(value) == repr(usual)


def _array_data(value: np.ndarray[Any, Any]) -> Any:
    if value.size <= LONG and value.size:
        return value.tolist()
    data = np.ascontiguousarray(value).astype(DTYPES[value.dtype.name], copy=False)
    packed = base64.b64encode(zlib.compress(data.tobytes(), 6)).decode()
    return {"dtype": value.dtype.name, "shape": list(value.shape), "zlib": packed}


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default is not dataclasses.MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not dataclasses.MISSING else dataclasses.MISSING


# ---- reading -------------------------------------------------------------------------------------------------


def record_of(made: type, table: Any, where: str, /, **given: Any) -> Any:
    """A record of a class from its table; ``given`` are fields that are known already."""
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {shown(table)}; a table is needed")
    hints, values = hints_of(made), dict(given)
    rest = {key: value for key, value in table.items() if key != "type" and key not in given}
    for item in dataclasses.fields(made):
        if item.name in values or not item.init:
            continue
        if item.name in rest:
            hint = ARRAYS_OF.get((made, item.name), hints[item.name])
            values[item.name] = value_of(hint, rest.pop(item.name), f"{where}: {item.name}")
        elif _default(item) is dataclasses.MISSING:
            if type(None) not in get_args(hints[item.name]):
                raise InputError(f"{where}: {item.name} is missing; the file must say it")
            values[item.name] = None
    refuse_rest(rest, where, [item.name for item in dataclasses.fields(made) if item.init])
    return made(**values)


def refuse_rest(rest: Mapping[str, Any], where: str, known: list[str]) -> None:
    """Raise an InputError where a table has keys that nobody reads."""
    from stickslip.keywords import known_names

    for key in rest:
        raise InputError(f"{where}: {shown(key)} is unknown; {known_names(key, known)}")


def placed_of(table: Any, where: str) -> Placed:
    """A shape with its pose."""
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {shown(table)}; a table with type, size and so on is needed")
    own = {key: value for key, value in table.items() if key not in ("position", "rotation")}
    position = checks.vector(where, "position", table.get("position", (0.0, 0.0, 0.0)))
    return Placed(
        value_of(Shape, own, where), position, rotation_of(where, table.get("rotation", (1.0, 0.0, 0.0, 0.0)))
    )


def rotation_of(where: str, value: Any, what: str = "rotation") -> Array:
    """(w, x, y, z): as it is where it has unit length, else made to."""
    given = checks.vector(where, what, value, 4)
    if abs(float(np.linalg.norm(given)) - 1.0) <= UNIT:
        return given
    return checks.unit_quaternion(where, value, what)


def value_of(hint: Any, data: Any, where: str) -> Any:
    """A value of an annotated type from what a file holds."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(options, data, where)
    if origin is Literal:
        return checks.choice(where, "value", data, options)
    if origin is np.ndarray:
        return _array_of(np.dtype(get_args(options[1])[0]), data, where)
    if origin in (tuple, list, frozenset, set):
        items = checks.sequence(where, "value", data, "a list is needed")
        if origin is tuple and options[-1] is not ...:
            if len(items) != len(options):
                raise InputError(f"{where} is {shown(data)}; a list of {len(options)} is needed")
            return tuple(value_of(option, item, where) for option, item in zip(options, items, strict=True))
        return origin(value_of(options[0], item, f"{where}, number {k}") for k, item in enumerate(items))
    if origin is Callable and isinstance(data, int | float):
        return Constant(checks.finite(where, "value", data))
    if hint in SCALARS:
        return SCALARS[hint](where, data)
    if hint is Placed:
        return placed_of(data, where)
    if dataclasses.is_dataclass(hint):
        return record_of(typing.cast("type", hint), data, where)
    raise InputError(f"{where} is a function of Python, which a scene file cannot hold; it has {shown(data)}")


def _number(where: str, data: Any) -> float:
    return checks.any_number(where, "value", data)


SCALARS: dict[Any, Callable[[str, Any], Any]] = {
    float: _number,
    int: lambda where, data: checks.whole(where, "value", data, -checks.MOST),
    bool: lambda where, data: checks.boolean(where, "value", data),
    str: lambda where, data: checks.text(where, "value", data),
}


def _one_of(options: tuple[Any, ...], data: Any, where: str) -> Any:
    """The first of several types that takes the data; a table that names its type is of that class."""
    if data == NONE and type(None) in options:
        return None
    if isinstance(data, Mapping) and "type" in data:
        kind = CLASSES.get(str(data["type"]))
        if kind not in options:
            known = ", ".join(TYPES[each] for each in options if each in TYPES)
            raise InputError(f"{where}: type is {shown(data['type'])}; known: {known}")
        return record_of(typing.cast("type", kind), data, where)
    wrong = InputError(f"{where} is {shown(data)}, which does not fit")
    for option in options:
        if option is not type(None):
            try:
                return value_of(option, data, where)
            except InputError as error:
                wrong = error
    raise wrong


def _array_of(dtype: np.dtype[Any], data: Any, where: str) -> np.ndarray[Any, Any]:
    found = _unpacked(data, where) if isinstance(data, Mapping) else _listed(dtype, data, where)
    if found.dtype.kind != dtype.kind:
        raise InputError(f"{where} holds {found.dtype}; {dtype} is needed")
    if dtype.kind == "f" and not np.isfinite(found).all():
        raise InputError(f"{where} has an entry that is not finite")
    return np.ascontiguousarray(found, found.dtype if dtype.kind == "f" else dtype)


def _listed(dtype: np.dtype[Any], data: Any, where: str) -> np.ndarray[Any, Any]:
    if dtype.kind == "f":
        found = np.asarray(data, dtype=object)
        return checks.numbers(where, "value", data, tuple([None] * max(1, found.ndim)))
    given = np.asarray(data)
    if given.dtype.kind != dtype.kind:
        raise InputError(f"{where} is {shown(data)}; whole numbers are needed")
    return given.astype(dtype)


def _unpacked(table: Mapping[str, Any], where: str) -> np.ndarray[Any, Any]:
    """An array that was packed."""
    refuse_rest({key: 0 for key in table if key not in ("dtype", "shape", "zlib")}, where, ["dtype", "shape", "zlib"])
    name = checks.choice(where, "dtype", table.get("dtype"), DTYPES)
    shape = value_of(tuple[int, ...], table.get("shape"), f"{where}: shape")
    dtype = np.dtype(DTYPES[name])
    count = 1
    for length in shape:
        count *= checks.whole(where, "length", length)
    size = count * dtype.itemsize
    if size > MOST_BYTES:
        raise InputError(f"{where}: shape {list(shape)} is more than {MOST_BYTES} bytes")
    try:
        machine = zlib.decompressobj()
        data = machine.decompress(
            base64.b64decode(checks.text(where, "zlib", table.get("zlib")), validate=True), size + 1
        )
    except (ValueError, zlib.error) as error:
        raise InputError(f"{where}: its packed numbers are damaged ({error})") from None
    if len(data) != size:
        raise InputError(f"{where}: it has {len(data)} bytes; shape {list(shape)} needs {size}")
    found = np.frombuffer(data, dtype).reshape(shape)
    return found.astype(dtype.newbyteorder("=") if sys.byteorder != "little" else name, copy=True)


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Annotations of the fields of a class."""
    return get_type_hints(kind)
