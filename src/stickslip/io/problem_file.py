"""Contact problems in files: our own ``.npz``, FCLIB's HDF5, and the ``.npz`` of collections.

Own form: every field of :class:`ContactProblem` bit for bit (io/own_form.py).

Local form: u = W r + q, W in CSR as W_data, W_indices, W_indptr, W_shape (io/local_form.py).

Global form: M v = q + H r, u = H^T v + b, M and H in CSC (io/global_form.py).

FCLIB: io/fclib.py. Which form a file has is told by its content; which one is written, by its ending.
"""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip import checks
from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import FileError, InputError, ProblemWarning
from stickslip.files import whole_file
from stickslip.io.definiteness import examine
from stickslip.io.global_form import GlobalParts, from_global
from stickslip.io.local_form import from_local
from stickslip.io.own_form import own_arrays, read_own
from stickslip.io.sparse_parts import array_of, compressed, friction, vector
from stickslip.io.stored_problem import ProblemFile, contacts_and_joints, impulses
from stickslip.linalg.block_rows import rows_of
from stickslip.reading import read_arrays, reading, regular_file

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OWN_ENDINGS, FCLIB_ENDINGS = (".npz",), (".hdf5", ".h5")
ROLLING = ("mu_r", "mur", "mu_rolling")
"""Names that coefficients of rolling friction go by."""
HDF5, HDF5_STARTS = b"\x89HDF\r\n\x1a\n", (0, 512, 1024, 2048)
"""First bytes of an HDF5 file, and where they may be: before them is room for those who made it."""


# ---- writing -------------------------------------------------------------------------------------------------


def save_problem(
    problem: ContactProblem,
    path: str | os.PathLike[str],
    solution: Array | None = None,
    guesses: Sequence[Array] = (),
    title: str = "",
    description: str = "",
) -> None:
    """Write a problem, whole or not at all: ``.npz`` our own form; ``.hdf5`` or ``.h5`` FCLIB, with ours beside it.

    Both come back bit for bit. Others read FCLIB, where problems of soft bodies are over impulses alone.
    ``solution`` and ``guesses`` are impulses (m,). What FCLIB cannot express raises a FileError that names it.
    """
    ending = check_problem_path(path)
    title, description = (
        checks.text("problem file", *item) for item in (("title", title), ("description", description))
    )
    checks.instance("problem file", "problem", problem, ContactProblem, "a stickslip.ContactProblem is needed")
    problem.checked()
    guesses = checks.sequence("problem file", "guesses", guesses, "a list of impulses is needed")
    found = None if solution is None else impulses("solution", solution, problem)
    tried = tuple(impulses(f"guess {k + 1}", lam, problem) for k, lam in enumerate(guesses))
    content = ProblemFile(problem, tried, found, title, description)
    if ending in FCLIB_ENDINGS:
        from stickslip.io.fclib_writer import write_fclib

        write_fclib(content, path)
    else:
        _write_arrays(path, own_arrays(content))


def check_problem_path(path: str | os.PathLike[str]) -> str:
    """The ending of a file to be written; another one than those we write, or a missing folder, raises a FileError."""
    target = checks.path("problem file", path)
    ending = target.suffix.lower()
    if ending not in (*OWN_ENDINGS, *FCLIB_ENDINGS):
        raise FileError(f"cannot write {target}: problems are saved as .npz (our own form) or .hdf5 (FCLIB)")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    return ending


def save_delassus(problem: ContactProblem, path: str | os.PathLike[str]) -> None:
    """Write the local form of a problem with contacts alone to an ``.npz`` file, as collections do."""
    path = checks.path("problem file", path)
    checks.instance("problem file", "problem", problem, ContactProblem, "a stickslip.ContactProblem is needed")
    contacts, joints = contacts_and_joints(problem, f"{path}: the form W, q, mu")
    if len(joints):
        raise FileError(f"{path}: the form W, q, mu cannot express the bilateral block {joints[0]}")
    rows = rows_of(problem.J, contacts.astype(np.int32))
    W = problem.A.delassus(problem.J)[rows][:, rows].tocsr()
    W.sort_indices()
    arrays = {"W_data": W.data, "W_indices": W.indices, "W_indptr": W.indptr, "W_shape": np.array(W.shape)}
    q, mu = problem.free_constraint_velocity[rows], problem.laws.friction[contacts, 0]
    _write_arrays(path, {**arrays, "q": q, "mu": mu})


def _write_arrays(path: str | os.PathLike[str], arrays: dict[str, Any]) -> None:
    with whole_file(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, **arrays)


# ---- reading -------------------------------------------------------------------------------------------------


def problem_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The files, and in the place of each folder the problem files in it, in the order of their names."""
    found: list[Path] = []
    for path in (checks.path("problem file", each) for each in paths):
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in sorted(path.iterdir()) if file.suffix.lower() in (*OWN_ENDINGS, *FCLIB_ENDINGS)]
        if not inside:
            raise FileError(f"folder {path} has no problem files (.npz, .hdf5 or .h5)")
        found += inside
    return found


def load_problem(path: str | os.PathLike[str]) -> ContactProblem:
    """Read a problem of any form, with a ProblemWarning for each thing that is not quite as it should be."""
    content = load_file(path)
    for text in content.warnings:
        warnings.warn(text, ProblemWarning, stacklevel=2)
    return content.problem


def load_file(path: str | os.PathLike[str]) -> ProblemFile:
    """Read a problem and what was stored with it; a FileError names the file and the field that is wrong."""
    file = regular_file(path, "problem file", "an .npz or .hdf5 file with a contact problem")
    try:
        with reading(file, "problem file", "a contact problem"):
            content = _read(file)
    except InputError as error:
        text = str(error).splitlines()[0].removeprefix("problem: ")
        raise FileError(f"problem file {file}: {text}") from None
    prefixed = tuple(f"problem file {file}: {text}" for text in content.warnings)
    return replace(content, warnings=prefixed)


def _read(file: Path) -> ProblemFile:
    with open(file, "rb") as stream:
        first = stream.read(4096)
    if any(first[start : start + len(HDF5)] == HDF5 for start in HDF5_STARTS):
        from stickslip.io.fclib import read_fclib

        return read_fclib(file)
    if not zipfile.is_zipfile(file):
        raise FileError(f"problem file {file} {_what_it_is(first)}; problems are .npz archives or HDF5 (FCLIB) files")
    return _contents(read_arrays(file, "problem file", "an .npz file"))


def _what_it_is(first: bytes) -> str:
    """What a file that is neither zip nor HDF5 seems to be."""
    try:
        words = first.decode("utf-8").split()[:3]
    except UnicodeDecodeError:
        return "is not an .npz file or is damaged"
    if any(ord(letter) < 32 for word in words for letter in word):
        return "is not an .npz file or is damaged"
    if len(words) == 3 and all(word.isdigit() for word in words) and words[0] in ("2", "3", "5"):
        rolling = " with rolling friction" if words[0] == "5" else ""
        return f"is text, a problem{rolling} in the .dat form of Siconos by the looks of it"
    return "is text"


def _contents(data: dict[str, NDArray[Any]]) -> ProblemFile:
    """The problem in the arrays of an archive, by the names that it has."""
    rolling = [name for name in ROLLING if name in data]
    if rolling:
        raise InputError(f"{rolling[0]}: a problem with rolling friction; stickslip reads Coulomb friction")
    if "format" in data:
        return read_own(data)
    if "W_data" in data:
        W = _sparse(data, "W", "csr")
        if W.shape[0] != W.shape[1]:
            raise InputError(f"W has shape {W.shape}; it must be square")
        mu = friction("mu", array_of(data, "mu"), W.shape[0], "W")
        q = vector("q", array_of(data, "q"), W.shape[0])
        found = examine(W)
        return ProblemFile(from_local(W, q, mu), warnings=tuple(found))
    if "M_data" in data:
        M, H = _sparse(data, "M", "csc"), _sparse(data, "H", "csc")
        if M.shape[0] != M.shape[1]:
            raise InputError(f"M has shape {M.shape}; it must be square")
        if H.shape[0] != M.shape[0]:
            raise InputError(f"H has {H.shape[0]} rows; M has {M.shape[0]}")
        mu = friction("mu", array_of(data, "mu"), H.shape[1], "H^T")
        f, w = vector("q", array_of(data, "q"), H.shape[0]), vector("b", array_of(data, "b"), H.shape[1])
        problem, found = from_global(GlobalParts(M, H, f, w, mu))
        return ProblemFile(problem, warnings=tuple(found))
    names = ", ".join(sorted(data)[:6]) or "nothing"
    raise InputError(f"it holds {names}; a problem has the arrays of save_problem, or W, q, mu, or M, H, q, b, mu")


def _sparse(data: dict[str, NDArray[Any]], name: str, form: str) -> csr_array:
    values, index, start, shape = (array_of(data, f"{name}_{part}") for part in ("data", "indices", "indptr", "shape"))
    return compressed(name, form, values, index, start, shape)
