"""The tutorial notebooks run from top to bottom, and what cells end with shows itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stickslip import Scene, Simulation
from stickslip.io.recording import Recorder, read_recording

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_six() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra docs)")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (extra docs)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (extra docs)")
    pytest.importorskip("PIL", reason="pillow is not installed (extra view)")
    source = Path(__file__).resolve().parent.parent / "src"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # what they print is not kept in the repository
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ()) if output.output_type == "error"]
    assert shown == []


def test_pictures_recordings_and_contacts_show_themselves(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    scene = Scene()
    scene.add_half_space()
    box = scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1))
    sim = Simulation(scene)
    with Recorder(tmp_path / "run.h5", sim, scene_name="a box") as record:
        sim.run(3, record)
    picture = sim.picture(64, 36)
    assert picture.pixels.shape == (36, 64, 3)
    assert picture._repr_png_().startswith(b"\x89PNG")
    picture.save(tmp_path / "now.png")
    assert (tmp_path / "now.png").read_bytes() == picture._repr_png_()
    assert repr(sim.contacts(box)).startswith("ContactReport(4 contacts: 4 stick")
    with read_recording(tmp_path / "run.h5") as recording:
        assert len(repr(recording)) < 200
        assert "3" in recording._repr_html_()
        assert recording.play(fps=10)._repr_html_().startswith("<iframe srcdoc=")
        live, kept = sim.contacts(), recording.contacts(2)
        assert kept.status_names == live.status_names
        assert kept.on_body.tolist() == live.on_body.tolist()
        assert kept.slip is not None
        assert kept.slip == pytest.approx(live.slip, abs=1e-7)
        assert kept.force == pytest.approx(live.force)
