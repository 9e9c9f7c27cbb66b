"""Ways to damage a file: any bytes, texts, HDF5 files and archives of arrays, each by what it knows of them."""

from __future__ import annotations

import functools
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

Chance = np.random.Generator
WORDS = (
    b"-1", b"0", b"1", b"2147483647", b"4294967296", b"99999999999999999999", b"-9223372036854775808", b"nan", b"inf",
    b"1e400", b"", b"x", b"1.5", b"0x10", b"100000000", b"500000000", b"\xff\xfe", b"\0",
)  # fmt: skip
"""What numbers in a text are replaced by."""
NUMBERS = (np.nan, np.inf, -np.inf, -1, 0, 1, 1e300, 1e-300, 2**31 - 1, -(2**31), 2**53, 1000)


# ---- any bytes -----------------------------------------------------------------------------------------------


def flip_bits(data: bytes, rng: Chance) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(data: bytes, rng: Chance) -> bytes:
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 17))
    new = rng.bytes(size) if rng.random() < 0.5 else bytes([int(rng.choice([0, 255, 127, 128]))]) * size
    return data[:at] + new + data[at + size :]


def truncate(data: bytes, rng: Chance) -> bytes:
    return data[: int(rng.integers(len(data)))]


def insert(data: bytes, rng: Chance) -> bytes:
    at = int(rng.integers(len(data)))
    return data[:at] + rng.bytes(int(rng.integers(1, 33))) + data[at:]


def duplicate(data: bytes, rng: Chance) -> bytes:
    first, last = sorted(rng.integers(len(data), size=2).tolist())
    return data[:last] + data[first:last] + data[last:]


def remove(data: bytes, rng: Chance) -> bytes:
    at = int(rng.integers(len(data)))
    return data[:at] + data[at + int(rng.integers(1, 65)) :]


def count(data: bytes, rng: Chance) -> bytes:
    """A number of four or eight bytes among the first, which are often counts."""
    at = int(rng.integers(min(len(data), 600)))
    form = str(rng.choice(["<i", ">i", "<q", ">q"]))
    value = int(rng.choice([-1, 0, 1, 2**31 - 1, 10**9, 10**8, 65536]))
    new = struct.pack(form, value)
    return data[:at] + new + data[at + len(new) :]


BYTES = (flip_bits, overwrite, truncate, insert, duplicate, remove, count)


# ---- texts ---------------------------------------------------------------------------------------------------


def number(data: bytes, rng: Chance) -> bytes:
    """A number becomes another one, or none; those of the first lines, which are counts, more often."""
    found = list(re.finditer(rb"-?\d[\d.e+-]*", data))
    if not found:
        return flip_bits(data, rng)
    pick = found[int(rng.integers(min(len(found), 12) if rng.random() < 0.5 else len(found)))]
    return data[: pick.start()] + WORDS[int(rng.integers(len(WORDS)))] + data[pick.end() :]


def swap_lines(data: bytes, rng: Chance) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def drop_line(data: bytes, rng: Chance) -> bytes:
    lines = data.split(b"\n")
    del lines[int(rng.integers(len(lines)))]
    return b"\n".join(lines)


def repeat_line(data: bytes, rng: Chance) -> bytes:
    lines = data.split(b"\n")
    i = int(rng.integers(len(lines)))
    return b"\n".join([*lines[:i], *[lines[i]] * int(rng.choice([2, 100])), *lines[i:]])


def long_line(data: bytes, rng: Chance) -> bytes:
    lines = data.split(b"\n")
    i = int(rng.integers(len(lines)))
    lines[i] += (b" 1", b" ", b"x", b"9", b"(", b"<a>")[int(rng.integers(6))] * int(rng.choice([100, 10_000, 100_000]))
    return b"\n".join(lines)


def odd_letters(data: bytes, rng: Chance) -> bytes:
    at = int(rng.integers(len(data)))
    return data[:at] + (b"\0", b"\xff", b"\xc3\x28", b"\r", b"\x1b[31m", "é".encode())[int(rng.integers(6))] + data[at:]


def other_word(data: bytes, rng: Chance) -> bytes:
    """A word becomes another one of the same file."""
    words = list(re.finditer(rb"[A-Za-z_$]\w*", data))
    if not words:
        return flip_bits(data, rng)
    i, j = rng.integers(len(words), size=2)
    return data[: words[i].start()] + words[j][0] + data[words[i].end() :]


TEXT = (number, number, number, swap_lines, drop_line, repeat_line, long_line, odd_letters, other_word)


# ---- HDF5 ----------------------------------------------------------------------------------------------------


@functools.cache
def _places(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all items, and of the attributes of the file."""
    names: list[str] = []
    with h5py.File(io.BytesIO(data), "r") as file:
        file.visit(names.append)
        return tuple(names), tuple(file.attrs)


def hdf5(data: bytes, rng: Chance, scratch: Path) -> bytes:
    """An item or an attribute is deleted or becomes something else."""
    names, attributes = _places(data)
    scratch.write_bytes(data)
    with h5py.File(scratch, "r+") as file:
        for _ in range(int(rng.integers(1, 3))):
            if attributes and rng.random() < 0.15:
                _attribute(file, attributes[int(rng.integers(len(attributes)))], rng)
            else:
                _item(file, names[int(rng.integers(len(names)))], rng)
    return scratch.read_bytes()


def _attribute(file: h5py.File, name: str, rng: Chance) -> None:
    values = (
        None, 1.5, -1, "x", "{}", "[]", '{"dt": NaN}', '{"dt": "x"}', '{"dt": 0}', np.zeros(3), b"\xff\xfe",
        h5py.Empty("f8"), "[" * 3000, np.array(["a", "b"], dtype=object), file.ref, 2**62, np.nan,
    )  # fmt: skip
    value = values[int(rng.integers(len(values)))]
    if name in file.attrs:
        del file.attrs[name]
    if isinstance(value, np.ndarray) and value.dtype == object:
        file.attrs.create(name, list(value), dtype=h5py.string_dtype())
    elif value is not None:
        file.attrs[name] = value


def _item(file: h5py.File, name: str, rng: Chance) -> None:
    item = file.get(name)
    if item is None:
        return
    chosen = int(rng.integers(16))
    if chosen < 6 and isinstance(item, h5py.Dataset) and 0 < (item.size or 0) < 10**6 and item.dtype.kind in "fiub":
        flat = item[()].reshape(-1)
        with np.errstate(all="ignore"):
            for at in rng.integers(len(flat), size=int(rng.integers(1, 4))):
                value = NUMBERS[int(rng.integers(len(NUMBERS)))]
                flat[at] = np.float64(value).astype(flat.dtype)
        item[...] = flat.reshape(item.shape)
        return
    if chosen == 6 and isinstance(item, h5py.Dataset) and item.chunks and item.ndim:
        try:
            item.resize(int(rng.choice([0, 1, 2, 1000, 10**7, 10**12, 2**62])), axis=0)
        except (ValueError, OSError, TypeError, RuntimeError):
            item.resize(0, axis=0)
        return
    shape = item.shape if isinstance(item, h5py.Dataset) else ()
    dtype = item.dtype if isinstance(item, h5py.Dataset) else np.dtype("f8")
    del file[name]
    huge = (int(rng.choice([10**8, 10**10, 10**12])), *shape[1:])
    match chosen:
        case 7:
            file.create_dataset(name, shape, str(rng.choice(["f4", "i8", "u1", "S5", "c16", "?", "f2", "u8"])))
        case 8:
            file.create_dataset(name, data=np.zeros(tuple(int(n) for n in rng.integers(0, 4, size=rng.integers(0, 4)))))
        case 9:
            file.create_dataset(name, huge, dtype, chunks=(64, *(max(1, n) for n in shape[1:])))
        case 10:
            file.create_dataset(name, huge, dtype, chunks=(10**6, *(max(1, n) for n in shape[1:])), compression="gzip")
        case 11:
            file.create_group(name)
        case 12:
            file[name] = h5py.SoftLink(str(rng.choice(["/", "/nowhere", "/" + name, "/time"])))
        case 13:
            file[name] = h5py.ExternalLink(str(rng.choice(["/dev/zero", "nothing.h5", "/dev/tty"])), "/")
        case 14:
            file.create_dataset(name, data=np.array([file.ref], dtype=h5py.ref_dtype))
        case 15:
            file.create_dataset(name, data=["a", "b\x1b[31m", "c" * 10], dtype=h5py.string_dtype())
        case _:
            pass  # deleted


# ---- archives of arrays --------------------------------------------------------------------------------------


@functools.cache
def _zeros() -> tuple[bytes, int]:
    """A packed array of two gigabytes of zeros, and its length unpacked; made of one packed megabyte, many times."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (2**28,)})
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(stream.getvalue()) + packer.flush(zlib.Z_FULL_FLUSH)
    million = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + 2**11 * million + packer.flush(), len(stream.getvalue()) + 2**31


def archive(data: bytes, rng: Chance) -> bytes:
    """Members of an archive are changed one by one."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    name = str(rng.choice(list(members)))
    content = members.pop(name)
    flag: tuple[int, int] | None = None
    match int(rng.integers(10)):
        case 0:
            pass  # it is missing
        case 1:
            members[str(rng.choice(["x.npy", "q", "../q.npy", "\x1b.npy", "mu_r.npy"]))] = content
        case 2:
            members[name] = _other_header(content, rng)
        case 3:
            members[name] = _packed(np.array([{"a": 1}], dtype=object), pickled=True)
        case 4:
            kind = str(rng.choice(["f4", "i8", "u1", "S5", "c16", "?", "U3", "M8[s]", "f2", "V7"]))
            members[name] = _packed(np.zeros(tuple(int(n) for n in rng.integers(0, 4, size=rng.integers(0, 4))), kind))
        case 5:
            members[name] = rng.bytes(int(rng.integers(200)))
        case 6:
            members[name] = BYTES[int(rng.integers(len(BYTES)))](content, rng)
        case 7:
            members[name] = content
            flag = (int(rng.choice([6, 8])), int(rng.integers(1, 256)))
        case _:
            members[name] = _other_values(content, rng)
    stream = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method) as target:
        for key, value in members.items():
            target.writestr(key, value)
    packed = bytearray(stream.getvalue())
    if flag is not None:
        at = packed.find(b"PK\1\2")
        packed[at + 2 + flag[0]] = flag[1]
    return bytes(packed)


def bomb(data: bytes, rng: Chance) -> bytes:
    """An archive whose members are those of another, but one of them becomes two gigabytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    stream = io.BytesIO()
    name = str(rng.choice(list(members)))
    with zipfile.ZipFile(stream, "w") as target:
        for key, value in members.items():
            target.writestr(key, _zeros()[0] if key == name else value)
        info = target.getinfo(name)
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, _zeros()[1]  # as the directory at the end has it
        local = info.header_offset
    packed = bytearray(stream.getvalue())
    packed[local + 8 : local + 10] = struct.pack("<H", zipfile.ZIP_DEFLATED)
    return bytes(packed)


def _packed(array: np.ndarray, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=pickled)
    return stream.getvalue()


def _other_header(content: bytes, rng: Chance) -> bytes:
    """An array whose header promises another shape or type, or is no header."""
    shapes = ("(1000000000,)", "(-1,)", "(2, 3", "(0,)", "('a',)", "(99999999999999,)", "()", "(1,)" * 50, "((" * 40)
    types = ("<f8", "|O", "<i8", "<U1000000", "[('a', '<f8')]", "|V8", "f8, f8", "x")
    shape, kind = shapes[int(rng.integers(len(shapes)))], types[int(rng.integers(len(types)))]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header = header[: int(rng.integers(1, len(header)))] if rng.random() < 0.1 else header
    return (
        b"\x93NUMPY" + bytes([int(rng.choice([1, 1, 2, 3, 9])), 0]) + struct.pack("<H", len(header)) + header + content
    )


def _other_values(content: bytes, rng: Chance) -> bytes:
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except ValueError:
        return content
    if not array.size or array.dtype.kind not in "fiub":
        return content
    flat = array.reshape(-1).copy()
    with np.errstate(all="ignore"):
        for at in rng.integers(len(flat), size=int(rng.integers(1, 4))):
            flat[at] = np.float64(NUMBERS[int(rng.integers(len(NUMBERS)))]).astype(flat.dtype)
    return _packed(flat.reshape(array.shape))


Mutation = Callable[[bytes, Chance], bytes]
