"""Reading FCLIB, the HDF5 form in which collections of contact problems are exchanged.

    /fclib_local     spacedim, W[, V, R], vectors/q, mu[, s], info/title, description, math_info
    /fclib_global    spacedim, M, H[, G], vectors/f, w, mu[, b], info/...
    /solution        r[, l], u[, v]
    /guesses         number_of_guesses, 1/r[, l], u[, v], 2/...
    /stickslip       the problem in our own form, where we wrote the file (io/fclib_own.py)

Local: u = W r + V l + q, 0 = V^T r + R l + s. Global: M v = H r + G l + f, u = H^T v + w, 0 = G^T v + b. Rows of a
contact are (normal, t1, t2) as ours; l are bilateral impulses.

A matrix is a group with m, n, nz, p, i, x: nz = -1 compressed columns, -2 compressed rows, else the number of triplets
with rows in i and columns in p, as CSparse has them and as every file of Siconos is written. (fclib.h says it the other
way round; a file that only fits so is read so.) u and v follow from the impulses, so they are not read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.io.definiteness import examine
from stickslip.io.fclib_own import read_own_group
from stickslip.io.global_form import GlobalParts, from_global
from stickslip.io.hdf5_reading import open_checked
from stickslip.io.local_form import from_local, joints_of
from stickslip.io.sparse_parts import compressed, friction, triplets, vector
from stickslip.io.stored_problem import ProblemFile, contacts_and_joints
from stickslip.linalg.block_rows import rows_of
from stickslip.reading import reading

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COMPRESSED = {-1: "csc", -2: "csr"}
"""Values of nz that say how a matrix is stored."""


def read_fclib(path: str | os.PathLike[str]) -> ProblemFile:
    """Contents of a local or global problem; an InputError names the field that is wrong, a FileError the file."""
    file = Path(path)
    with reading(file, "problem file", "a contact problem in FCLIB's form"), open_checked(file) as opened:
        return _contents(opened)


def _contents(file: h5py.File) -> ProblemFile:
    rolling = [name for name in file if name.startswith("fclib") and "rolling" in name]
    if rolling:
        raise InputError(f"/{rolling[0]} is a problem with rolling friction; stickslip reads Coulomb friction")
    kinds = [name for name in READERS if name in file]
    if not kinds:
        if file.attrs.get("format") == "stickslip-recording":
            raise InputError("it is the recording of a run; run --dump-problem STEP FILE saves the problem of a step")
        found = ", ".join(f"/{name}" for name in list(file)[:6]) or "nothing"
        raise InputError(f"the group /fclib_local or /fclib_global is missing; the file has {found}")
    main = _group(file, kinds[0])
    own, warnings = read_own_group(file, main)
    if own is None:
        problem, about_it = READERS[kinds[0]](main)
        warnings += about_it
    else:
        problem = own
    rows, joint_rows = (rows_of(problem.J, blocks.astype(np.int32)) for blocks in contacts_and_joints(problem, "FCLIB"))
    guesses = []
    if "guesses" in file:
        group = _group(file, "guesses")
        count = _whole(group, "number_of_guesses")
        if count < 0:
            raise InputError(f"guesses/number_of_guesses is {count}; it must be zero or more")
        for k in range(count):
            guesses.append(_impulses(_group(group, str(k + 1)), rows, joint_rows))
    solution = _impulses(_group(file, "solution"), rows, joint_rows) if "solution" in file else None
    title, description = (_text(main, name) for name in ("title", "description"))
    return ProblemFile(problem, tuple(guesses), solution, title, description, tuple(warnings))


def _local(group: h5py.Group) -> tuple[ContactProblem, list[str]]:
    from scipy.sparse import block_array, csr_array

    _require_space(group)
    W = _square(group, "W")
    vectors = _vectors(group)
    size = W.shape[0]
    mu = friction(_name(vectors, "mu"), _dataset(vectors, "mu"), size, _name(group, "W"))
    q = vector(_name(vectors, "q"), _dataset(vectors, "q"), size)
    joints = None
    if "V" in group or "R" in group:
        V, R = _matrix(group, "V"), _square(group, "R")
        if V.shape != (size, R.shape[0]):
            raise InputError(f"{_name(group, 'V')} has shape {V.shape}; W and R need {(size, R.shape[0])}")
        q = np.concatenate([q, vector(_name(vectors, "s"), _dataset(vectors, "s"), R.shape[0])])
        W, joints = csr_array(block_array([[W, V], [V.T, R]], format="csr")), joints_of(R)
    W.sort_indices()
    warnings = examine(W, _name(group, "W"))
    return from_local(W, q, mu, joints), warnings


def _global(group: h5py.Group) -> tuple[ContactProblem, list[str]]:
    _require_space(group)
    M, H = _square(group, "M"), _matrix(group, "H")
    vectors = _vectors(group)
    size, rows = H.shape
    if M.shape[0] != size:
        raise InputError(f"{_name(group, 'H')} has {size} rows; M has {M.shape[0]}")
    mu = friction(_name(vectors, "mu"), _dataset(vectors, "mu"), rows, f"{_name(group, 'H')}^T")
    f = vector(_name(vectors, "f"), _dataset(vectors, "f"), size)
    w = vector(_name(vectors, "w"), _dataset(vectors, "w"), rows)
    G, b = None, np.zeros(0)
    if "G" in group:
        G = _matrix(group, "G")
        if G.shape[0] != size:
            raise InputError(f"{_name(group, 'G')} has {G.shape[0]} rows; M has {size}")
        b = vector(_name(vectors, "b"), _dataset(vectors, "b"), G.shape[1])
    try:
        return from_global(GlobalParts(M, H, f, w, mu, G, b))
    except InputError as error:  # what is said about M gets the name of its group
        raise InputError(f"{group.name}/{error}") from None


READERS = {"fclib_global": _global, "fclib_local": _local}
"""Groups of a problem, and who reads them; the first that a file has counts."""


def _vectors(group: h5py.Group) -> h5py.Group:
    vectors = _group(group, "vectors")
    if "mu_r" in vectors:
        raise InputError(f"{_name(vectors, 'mu_r')}: a problem with rolling friction; stickslip reads Coulomb friction")
    return vectors


def _require_space(group: h5py.Group) -> None:
    dimension = _whole(group, "spacedim")
    if dimension != 3:
        kind = {2: "a plane problem", 5: "a problem with rolling friction"}.get(dimension, "unknown")
        raise InputError(
            f"{_name(group, 'spacedim')} is {dimension}, {kind}; stickslip reads Coulomb friction in space, spacedim 3"
        )


def _impulses(group: h5py.Group, rows: NDArray[np.intp], joint_rows: NDArray[np.intp]) -> Array:
    """Impulses (m,) of a solution or a guess: r of the rows of contacts, l of bilateral ones."""
    lam = np.zeros(len(rows) + len(joint_rows))
    lam[rows] = vector(_name(group, "r"), _dataset(group, "r"), len(rows))
    if len(joint_rows):
        lam[joint_rows] = vector(_name(group, "l"), _dataset(group, "l"), len(joint_rows))
    return lam


def _matrix(parent: h5py.Group, name: str) -> csr_array:
    """Matrix in the group ``name``, by rows."""
    group = _group(parent, name)
    path = _name(parent, name)
    shape = np.array([_whole(group, "m"), _whole(group, "n")])
    nz = _whole(group, "nz")
    p, i, x = (_dataset(group, part) for part in ("p", "i", "x"))
    if nz in COMPRESSED:
        return compressed(path, COMPRESSED[nz], x, i, p, shape)
    if nz < 0:
        raise InputError(f"{path}/nz is {nz}; -1, -2 or a number of triplets is needed")
    if min(len(p), len(i), len(x)) < nz:
        raise InputError(f"{path} has {min(len(p), len(i), len(x))} of {nz} triplets")
    row, column = i[:nz], p[:nz]
    fits = [(a < shape[0]).all() and (b < shape[1]).all() for a, b in ((row, column), (column, row))]
    if fits == [False, True]:
        row, column = column, row
    return triplets(path, x[:nz], row, column, shape)


def _square(parent: h5py.Group, name: str) -> csr_array:
    matrix = _matrix(parent, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{_name(parent, name)} has shape {matrix.shape}; it must be square")
    return matrix


def _name(group: h5py.Group, item: str) -> str:
    return f"{group.name.rstrip('/')}/{item}"


def _group(parent: h5py.Group, name: str) -> h5py.Group:
    item = parent.get(name)
    if not isinstance(item, h5py.Group):
        raise InputError(f"the group {_name(parent, name)} is missing")
    return item


def _dataset(group: h5py.Group, name: str) -> NDArray[Any]:
    item = group.get(name)
    if not isinstance(item, h5py.Dataset):
        raise InputError(f"the dataset {_name(group, name)} is missing")
    return np.atleast_1d(item[()])


def _whole(group: h5py.Group, name: str) -> int:
    values = _dataset(group, name)
    if values.size != 1 or values.dtype.kind not in "iu":
        raise InputError(f"{_name(group, name)} is no whole number")
    return int(values.reshape(-1)[0])


def _text(group: h5py.Group, name: str) -> str:
    """A text of /info, stripped; collections have some in Latin-1."""
    item = group["info"].get(name) if isinstance(group.get("info"), h5py.Group) else None
    if not isinstance(item, h5py.Dataset) or item.shape != ():
        return ""
    raw = item[()]
    if not isinstance(raw, bytes):
        return str(raw).strip()
    try:
        return raw.decode().strip()
    except UnicodeDecodeError:
        return raw.decode("latin-1").strip()
