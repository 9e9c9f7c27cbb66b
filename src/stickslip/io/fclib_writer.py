"""Writing FCLIB (its layout: io/fclib.py): W by rows and the other matrices as triplets, as Siconos does.

Problems of soft bodies are in the local form, over impulses alone. What FCLIB has no place for (which numbers are a
block, the inverse of M, measures of errors, ...) is in a group of ours, which holds the whole problem.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.contact.problem import ContactProblem
from stickslip.errors import FileError
from stickslip.files import whole_file
from stickslip.io.fclib_own import OWN_GROUP, contents_digest
from stickslip.io.own_form import problem_arrays
from stickslip.io.stored_problem import ProblemFile, contacts_and_joints
from stickslip.linalg.block_rows import rows_of
from stickslip.linalg.inertia import Inertia
from stickslip.linalg.sparse_blocks import to_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def write_fclib(content: ProblemFile, path: str | os.PathLike[str]) -> None:
    """Write a problem, whole or not at all: the global form where A is known by its blocks, else the local one."""
    whole = content.problem
    contacts, joints = contacts_and_joints(whole, f"{path}: FCLIB")
    if len(contacts) == 0:
        raise FileError(f"{path}: FCLIB cannot express a problem without contacts; save it to an .npz file")
    problem = whole.condensed
    rows, joint_rows = (rows_of(problem.J, blocks.astype(np.int32)) for blocks in (contacts, joints))
    # built in memory: where the disk is full HDF5 fails when the process ends, and not here
    with h5py.File(Path(path).name, "w", driver="core", backing_store=False) as file:
        if problem.A.is_dense:
            main = _write_global(file, problem, problem.A, rows, joint_rows)
        else:
            main = _write_local(file, problem, rows, joint_rows)
        main["vectors"]["mu"] = problem.laws.friction[contacts, 0]
        main["spacedim"] = np.array([3], dtype=np.int32)
        info = main.create_group("info")
        for name, text in (("title", content.title), ("description", content.description), ("math_info", "")):
            info[name] = np.array(text.encode(), dtype=f"S{len(text.encode()) + 1}")  # C needs the zero at the end
        if content.solution is not None:
            _write_impulses(file.create_group("solution"), problem, content.solution, rows, joint_rows)
        if content.guesses:
            group = file.create_group("guesses")
            group["number_of_guesses"] = np.array([len(content.guesses)], dtype=np.int32)
            for k, lam in enumerate(content.guesses):
                _write_impulses(group.create_group(str(k + 1)), problem, lam, rows, joint_rows)
        own = file.create_group(OWN_GROUP)
        for name, value in problem_arrays(whole).items():
            own[name] = np.array(value.encode()) if isinstance(value, str) else value
        own["fclib"] = np.array(contents_digest(main).encode())
        file.flush()
        image = file.id.get_file_image()
    with whole_file(path) as temporary:
        temporary.write_bytes(image)


def _write_global(
    file: h5py.File, problem: ContactProblem, A: Inertia, rows: NDArray[np.intp], joint_rows: NDArray[np.intp]
) -> h5py.Group:
    main = file.create_group("fclib_global")
    vectors = main.create_group("vectors")
    J = to_sparse(problem.J)
    _write_triplets(main, "M", A.dense.matrix())
    _write_triplets(main, "H", J[rows].T)
    vectors["f"] = A.apply(problem.v_free)
    vectors["w"] = problem.bias[rows]
    if len(joint_rows):
        _write_triplets(main, "G", J[joint_rows].T)
        vectors["b"] = problem.bias[joint_rows]
    return main


def _write_local(
    file: h5py.File, problem: ContactProblem, rows: NDArray[np.intp], joint_rows: NDArray[np.intp]
) -> h5py.Group:
    main = file.create_group("fclib_local")
    vectors = main.create_group("vectors")
    W, q = problem.A.delassus(problem.J), problem.free_constraint_velocity
    _write_rows(main, "W", W[rows][:, rows])
    vectors["q"] = q[rows]
    if len(joint_rows):
        _write_rows(main, "V", W[rows][:, joint_rows])
        _write_rows(main, "R", W[joint_rows][:, joint_rows])
        vectors["s"] = q[joint_rows]
    return main


def _write_impulses(
    group: h5py.Group,
    problem: ContactProblem,
    lam: Array,
    rows: NDArray[np.intp],
    joint_rows: NDArray[np.intp],
) -> None:
    v = problem.velocity(lam)
    group["r"] = lam[rows]
    group["u"] = problem.constraint_velocity(v)[rows]
    if len(joint_rows):
        group["l"] = lam[joint_rows]
    if problem.A.is_dense:
        group["v"] = v


def _write_triplets(parent: h5py.Group, name: str, matrix: csr_array) -> None:
    entries = matrix.tocoo()
    _write_matrix(parent, name, matrix.shape, len(entries.data), entries.col, entries.row, entries.data)


def _write_rows(parent: h5py.Group, name: str, matrix: csr_array) -> None:
    matrix = matrix.tocsr()
    matrix.sort_indices()
    _write_matrix(parent, name, matrix.shape, -2, matrix.indptr, matrix.indices, matrix.data)


def _write_matrix(
    parent: h5py.Group,
    name: str,
    shape: tuple[int, int],
    nz: int,
    p: NDArray[np.integer],
    i: NDArray[np.integer],
    x: Array,
) -> None:
    group = parent.create_group(name)
    for item, number in (("m", shape[0]), ("n", shape[1]), ("nz", nz), ("nzmax", len(x))):
        group[item] = np.array([number], dtype=np.int32)
    group["p"], group["i"], group["x"] = p.astype(np.int32), i.astype(np.int32), np.asarray(x, dtype=np.float64)
