"""Recordings for other programs: an independent reader opens each file again and finds what the recording says."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stickslip import FileError, InputError, Scene, Simulation
from stickslip.cli import main
from stickslip.export.formats import FORMATS, export
from stickslip.geometry.rotation import matrix
from stickslip.geometry.tet_generators import box
from stickslip.io.recorder import Recorder
from stickslip.io.recording import Recording, read_recording
from stickslip.scene.soft_body import elastic

FRAMES = 5


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box that turns in flight, a soft box on the ground; their names have a space and a letter beyond ASCII."""
    scene = Scene()
    scene.add_half_space(name="ground")
    scene.add_box((0.1, 0.2, 0.3), (1, 0, 1), name="the box", velocity=(1, 0, 0), angular_velocity=(0, 0, 3))
    scene.add_soft(box((0.3, 0.3, 0.3), 2), elastic(1e5, 0.3), (0, 0, 0.149), name="gelée")
    sim = Simulation(scene, dt=0.01)
    path = tmp_path_factory.mktemp("export") / "run.h5"
    with Recorder(path, sim, "test") as record:
        sim.run(FRAMES, record)
    return path


@pytest.fixture
def recording(file: Path) -> Iterator[Recording]:
    with read_recording(file) as opened:
        yield opened


def test_csv_of_steps_is_read_back_bit_for_bit(recording: Recording, tmp_path: Path) -> None:
    assert export(recording, tmp_path / "a.csv") == FRAMES
    with (tmp_path / "a.csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert [float(row["time"]) for row in rows] == recording.time.tolist()
    assert [float(row["penetration"]) for row in rows] == recording.certificate["penetration"].tolist()
    assert [float(row["energy_elastic"]) for row in rows] == recording.energy["elastic"].tolist()


def test_csv_of_bodies_nodes_and_contacts(recording: Recording, tmp_path: Path) -> None:
    for table in ("bodies", "nodes", "contacts", "joints"):
        export(recording, tmp_path / f"{table}.csv", table=table, every=2)
    read = {}
    for table in ("bodies", "nodes", "contacts"):
        with (tmp_path / f"{table}.csv").open(newline="", encoding="utf-8") as text:
            read[table] = list(csv.DictReader(text))
    assert [row["body"] for row in read["bodies"]] == ["ground", "the box"] * 3
    assert float(read["bodies"][-1]["x"]) == recording.q[4][1, 0]
    assert float(read["nodes"][-1]["z"]) == recording.node_position[4][-1, 2]
    last = [row for row in read["contacts"] if row["frame"] == "4"]
    found = recording.contacts(4)
    assert len(last) == len(found) > 0
    assert {row["body_a"] for row in last} | {row["body_b"] for row in last} == {"ground", "gelée"}
    assert [float(row["force_z"]) for row in last] == found.force[:, 2].tolist()


def test_parquet_of_contacts(recording: Recording, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(recording, tmp_path / "a.parquet", table="contacts")
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert len(table["gap"]) == int(recording.contact_offset[-1])
    assert table["gap"][-1] == recording.contacts(-1).gap[-1]
    assert set(table["status"]) <= {"open", "stick", "slip"}


def test_npz_has_arrays_of_frames(recording: Recording, tmp_path: Path) -> None:
    export(recording, tmp_path / "a.npz", start=0.02)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as data:
        assert data["time"].tolist() == recording.time[1:].tolist()
        assert np.array_equal(data["q"], recording.q[1:])
        assert np.array_equal(data["node_position"], recording.node_position[1:])
        first, last = data["contact_offset"][-2:]
        assert np.array_equal(data["contact_force_z"][first:last], recording.contacts(-1).force[:, 2])


def test_paraview_series_has_stress_and_contact_forces(recording: Recording, tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio")
    export(recording, tmp_path / "run.pvd", every=2)
    entries = ElementTree.parse(tmp_path / "run.pvd").findall(".//DataSet")
    assert [float(entry.attrib["timestep"]) for entry in entries] == recording.time[::2].tolist()
    mesh = meshio.read(tmp_path / entries[-1].attrib["file"])
    parts = {block.type: k for k, block in enumerate(mesh.cells)}
    soft, found = recording.model.soft, recording.contacts(4)
    tets = mesh.cells[parts["tetra"]].data
    assert np.array_equal(mesh.points[tets], recording.node_position[4][soft.elements.nodes])
    assert np.array_equal(mesh.cell_data["von_mises"][parts["tetra"]], recording.elements(4).von_mises)
    at = mesh.cells[parts["vertex"]].data[:, 0]
    assert np.array_equal(mesh.point_data["contact_force"][at], found.force)
    assert np.array_equal(mesh.points[at], found.point)
    box_cells = mesh.cell_data["body"][parts["triangle"]] == 1
    corners = mesh.points[np.unique(mesh.cells[parts["triangle"]].data[box_cells])]
    pose = recording.q[4][1]
    own = (corners - pose[:3]) @ matrix(pose[3:])
    assert np.allclose(np.abs(own), [0.05, 0.1, 0.15], atol=1e-14)


def test_gltf_places_bodies_as_the_recording(recording: Recording, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("pygltflib")
    export(recording, tmp_path / "a.glb")
    scene = trimesh.load(tmp_path / "a.glb")
    up = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # ours to glTF's axes
    transform, _ = scene.graph["the box"]
    pose = recording.q[0][1]
    assert np.allclose(transform[:3, 3], up @ pose[:3], atol=1e-6)
    assert np.allclose(transform[:3, :3], up @ matrix(pose[3:]), atol=1e-6)
    text = (tmp_path / "a.glb").read_bytes()
    head = json.loads(text[20 : 20 + int.from_bytes(text[12:16], "little")])
    paths = [channel["target"]["path"] for channel in head["animations"][0]["channels"]]
    assert sorted(paths) == ["rotation", "translation", "weights"]
    soft = next(mesh for mesh in head["meshes"] if mesh["name"] == "gelée")
    assert len(soft["primitives"][0]["targets"]) == FRAMES


def test_usd_has_samples_of_poses_and_points(recording: Recording, tmp_path: Path) -> None:
    usd = pytest.importorskip("pxr.Usd")
    geometry = pytest.importorskip("pxr.UsdGeom")
    for ending in ("usda", "usd"):
        export(recording, tmp_path / f"a.{ending}")
        stage = usd.Stage.Open(str(tmp_path / f"a.{ending}"))
        assert geometry.GetStageUpAxis(stage) == "Z"
        end = stage.GetEndTimeCode()
        assert end == pytest.approx(1000 * recording.time[-1])
        box_mesh = geometry.Xformable(stage.GetPrimAtPath("/run/the_box"))
        moved = np.array(box_mesh.ComputeLocalToWorldTransform(end))
        pose = recording.q[-1][1]
        assert np.allclose(moved[3, :3], pose[:3], atol=1e-12)
        assert np.allclose(moved[:3, :3].T, matrix(pose[3:]), atol=1e-12)
        points = np.array(geometry.Mesh(stage.GetPrimAtPath("/run/gel_e")).GetPointsAttr().Get(end))
        surface = np.unique(recording.model.soft.surface.triangles)
        assert np.allclose(points, recording.node_position[-1][surface], atol=1e-6)


def test_obj_has_an_object_a_body(recording: Recording, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    export(recording, tmp_path / "run.obj", every=4)
    names = sorted(item.name for item in (tmp_path / "run").iterdir())
    assert names == ["000000.obj", "000004.obj"]
    scene = trimesh.load_scene(tmp_path / "run" / "000004.obj", split_objects=True, group_material=False)
    volumes = {name: mesh.volume for name, mesh in scene.geometry.items()}
    assert volumes["the_box"] == pytest.approx(0.1 * 0.2 * 0.3, rel=1e-6)
    assert np.allclose(scene.geometry["the_box"].centroid, recording.q[4][1, :3], atol=1e-6)


def test_a_folder_of_other_files_is_left_alone(recording: Recording, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="holds other files"):
        export(recording, tmp_path / "run.obj")
    assert [item.name for item in tmp_path.iterdir()] == ["run"]


def test_bad_requests_name_what_is_right(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"ends with '.stl'.*\.csv"):
        export(file, tmp_path / "a.stl")
    with pytest.raises(InputError, match="table 'forces' is unknown; it must be one of steps, bodies"):
        export(file, tmp_path / "a.csv", table="forces")
    with pytest.raises(InputError, match=r"tables are \.csv and \.parquet"):
        export(file, tmp_path / "a.npz", table="bodies")
    with pytest.raises(InputError, match="every is 0"):
        export(file, tmp_path / "a.csv", every=0)
    with pytest.raises(InputError, match=r"no frame of .* is between 3 and inf s; it has 0\.01 to 0\.05 s"):
        export(file, tmp_path / "a.csv", start=3.0)
    assert main(["export", str(file), str(tmp_path / "a.csv"), "--every", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 1
    assert [item.name for item in tmp_path.iterdir()] == ["a.csv"]


def test_every_format_has_a_writer_and_a_line_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "--help"])
    shown = capsys.readouterr().out
    assert [ending for ending in FORMATS if ending not in shown] == []
