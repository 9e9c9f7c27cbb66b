"""What is no file, files that ask for more memory than they may, and damaged ones: one error, without delay."""

import os
import struct
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from stickslip import Scene, State
from stickslip.errors import FileError, InputError, StickslipError
from stickslip.geometry.mesh_file import read_mesh
from stickslip.geometry.tet_files import read_tet_mesh
from stickslip.io.problem_file import load_problem
from stickslip.io.recording import read_recording
from stickslip.reading import MOST_ARRAYS, read_arrays

READERS: dict[str, Callable[[Path], Any]] = {
    "a.h5": read_recording, "a.h5.partial": read_recording, "a.npz": State.load, "b.npz": load_problem,
    "b.hdf5": load_problem, "a.obj": read_mesh, "a.stl": read_mesh, "a.ply": read_mesh, "a.vtk": read_tet_mesh,
    "a.vtu": read_tet_mesh, "a.msh": read_tet_mesh, "a.mesh": read_tet_mesh, "a.node": read_tet_mesh,
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    path, read = tmp_path / name, READERS[name]
    with pytest.raises(FileError, match=f"{name} does not exist"):
        read(path)
    path.touch()
    with pytest.raises(FileError, match=f"{name} cannot be read: it is empty"):
        read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match=f"{name} is a folder"):
        read(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(FileError, match=f"{name} is a named pipe and not a regular file"):
        read(path)  # which would wait for a writer


def test_devices_and_paths_that_are_none() -> None:
    with pytest.raises(FileError, match="/dev/null is a device"):
        State.load("/dev/null")
    with pytest.raises(StickslipError, match=r"state file: path is .* no file can have that name"):
        State.load("a\0b")
    with pytest.raises(InputError, match="state file: path is None"):
        State.load(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", READERS)
def test_noise_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(1)
    heads = {
        "npz": b"PK\3\4", "h5": b"\x89HDF\r\n\x1a\n", "hdf5": b"\x89HDF\r\n\x1a\n", "msh": b"$MeshFormat\n",
        "vtk": b"# vtk DataFile Version 3.0\n\n", "vtu": b"<VTKFile>", "ply": b"ply\n", "stl": b"solid ",
    }  # fmt: skip
    for head in (b"", heads.get(name.rpartition(".")[2], b"1 ")):
        (tmp_path / name).write_bytes(head + rng.bytes(300))
        with pytest.raises(FileError, match=name):
            READERS[name](tmp_path / name)


# ---- declared sizes ------------------------------------------------------------------------------------------


def saved_state(path: Path) -> dict[str, np.ndarray]:
    from stickslip.model.model import compile_scene
    from stickslip.model.state import initial_state

    scene = Scene()
    scene.add_sphere(0.1)
    initial_state(compile_scene(scene)).save(path)
    return read_arrays(path, "state file", "a saved state")


def test_an_array_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A hundred kilobytes in the file; nothing of it is unpacked."""
    arrays = saved_state(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                if name == "q":
                    array = np.broadcast_to(0.0, (2**24, 1))
                    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
                    for _ in range(2**7):
                        stream.write(bytes(2**20))
                else:
                    np.lib.format.write_array(stream, array)
    with pytest.raises(FileError, match=r"asks for 128 MB of memory; a file of its size may ask for 9\d MB"):
        State.load(tmp_path / "a.npz")


def test_headers_that_promise_what_is_not_there(tmp_path: Path) -> None:
    saved_state(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }"
        archive.writestr("z.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(FileError, match="z promises 7999999999992 bytes"):
        State.load(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for number in range(MOST_ARRAYS + 1):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(FileError, match="holds 1001 arrays"):
        State.load(tmp_path / "many.npz")


def test_a_damaged_member_of_a_compressed_state(tmp_path: Path) -> None:
    arrays = saved_state(tmp_path / "a.npz")
    with open(tmp_path / "b.npz", "wb") as stream:
        np.savez_compressed(stream, **arrays)
    whole = (tmp_path / "b.npz").read_bytes()
    for at in range(30, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        (tmp_path / "b.npz").write_bytes(damaged)
        try:
            State.load(tmp_path / "b.npz")
        except StickslipError:
            continue


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_declared_shapes_of_hdf5(tmp_path: Path, compression: str | None) -> None:
    """A file of some kilobytes that says it has terabytes."""
    file = tmp_path / "a.hdf5"
    with h5py.File(file, "w") as made:
        group = made.create_group("fclib_local")
        group["spacedim"] = 3
        group.create_dataset("W/x", (10**12,), "f8", chunks=(1000,), compression=compression)
    with pytest.raises(FileError, match="asks for 7629395 MB of memory"):
        load_problem(file)


@pytest.mark.parametrize("kind", ["link", "storage", "chunk"])
def test_hdf5_that_reaches_outside_itself(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "a.hdf5"
    with h5py.File(file, "w") as made:
        if kind == "link":
            made["fclib_local"] = h5py.ExternalLink("/dev/zero", "/")
        elif kind == "storage":
            made.create_dataset("fclib_local/spacedim", (1,), "i4", external=[("/etc/hostname", 0, 4)])
        else:
            made.create_dataset("fclib_local/spacedim", (1,), "i4", chunks=(2**27,), maxshape=(None,))
    with pytest.raises(FileError, match="asks for 1024 MB" if kind == "chunk" else "in another file"):
        load_problem(file)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n900000000\n1 0 0 0\n$EndNodes\n"),
        ("a.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 900000000\n$EndNodes\n"),
        (
            "a.msh",  # the number of a node, for which a table of all numbers up to it was made
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n900000000 0 0 1\n$EndNodes\n"
            "$Elements\n1\n1 4 2 0 1 1 2 3 4\n$EndElements\n",
        ),
        ("a.vtk", "# vtk DataFile Version 3.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 900000000 double\n0 0 0\n"),
        ("a.vtk", "# vtk DataFile Version 3.0\n\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 900000000 double\n0 0 0\n"),
        ("a.mesh", "MeshVersionFormatted 2\nDimension 3\nVertices\n900000000\n0 0 0 0\n"),
        ("a.node", "900000000 3 0 0\n1 0 0 0\n"),
        ("a.ply", "ply\nformat binary_little_endian 1.0\nelement vertex 900000000\nproperty float x\nend_header\n"),
        ("a.stl", "\0" * 80 + "\x7f\x7f\x7f\x7f"),
        ("a.off", "OFF\n900000000 900000000 0\n0 0 0\n"),
    ],
)
def test_counts_of_meshes(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    (tmp_path / "a.ele").write_text("1 4 0\n1 1 2 3 4\n")
    with pytest.raises(FileError, match=name):
        (read_mesh if name.endswith(("ply", "stl", "off")) else read_tet_mesh)(file)


def test_a_compressed_mesh_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    import base64
    import zlib

    block = zlib.compress(bytes(2**27))
    packed = (base64.b64encode(struct.pack("<4I", 1, 2**27, 0, len(block))) + base64.b64encode(block)).decode()
    (tmp_path / "a.vtu").write_text(
        '<VTKFile type="UnstructuredGrid" compressor="vtkZLibDataCompressor"><UnstructuredGrid><Piece>'
        f'<Points><DataArray type="Float64" format="binary">{packed}</DataArray></Points>'
        "</Piece></UnstructuredGrid></VTKFile>"
    )
    with pytest.raises(FileError, match="unpacks to more than"):
        read_tet_mesh(tmp_path / "a.vtu")


def test_reading_goes_on_beside_a_pipe(tmp_path: Path) -> None:
    """A reader in a thread ends, too: nobody waits inside a system call."""
    os.mkfifo(tmp_path / "a.h5")
    ended: list[BaseException] = []

    def read() -> None:
        try:
            read_recording(tmp_path / "a.h5")
        except FileError as error:
            ended.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(30)
    assert ended
