"""``stickslip report``: one page that needs nothing else, whatever the recording is."""

import base64
import json
import re
from contextlib import suppress
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import stickslip
from stickslip.cli import main
from stickslip.io.recording import Recorder, read_recording
from stickslip.simulation import Simulation
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.view.course import course_of_recording
from stickslip.view.report.facts import report_facts
from stickslip.view.report.page import write_report
from stickslip.view.report.plots import PLOTS

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")

NASTY = "<script>alert('x')</script> & \"brick\""


def record(path: Path, sim: Simulation, steps: int = 12, name: str = "boxes", every: int = 1) -> Path:
    with Recorder(path, sim, name, {"friction": 0.5, "title": NASTY}, every) as recorder:
        sim.run(steps, recorder)
    return path


def boxes(name: str = "box", **options: object) -> Simulation:
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), name=name)
    scene.add_sphere(0.1, (0.3, 0, 0.3))
    return Simulation(scene, dt=0.005, **options)


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return record(tmp_path_factory.mktemp("report") / "boxes.h5", boxes())


def outside_references(page: str) -> list[str]:
    """Addresses that a browser might load: all but data and the names of XML's vocabularies."""
    pictures = [base64.b64decode(code).decode() for code in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)]
    found = []
    for text in (page, *pictures):
        plain = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
        found += re.findall(r"(?:https?:|//)[^\s\"')]+", re.sub(r"data:image/[^\"]+", "", plain))
        found += re.findall(r"<(?:script|link|iframe|object|embed)\b", plain)
        found += [name for name in re.findall(r'(?:src|href)="([^"]*)"', plain) if not name.startswith(("data:", "#"))]
    return found


def test_a_page_needs_nothing_else(capsys, recording):
    assert main(["report", str(recording), "--pictures", "2"]) == 0
    out = capsys.readouterr().out
    page = recording.with_name("boxes.report.html")
    text = page.read_text(encoding="utf-8")
    assert out.splitlines() == ["Every step converged, and there is nothing to warn of.", f"written to {page}"]
    assert outside_references(text) == []
    assert "default-src 'none'" in text
    assert text.count("data:image/png") == 2
    assert text.count("data:image/svg+xml") == len(PLOTS)
    for words in ("No warnings", "t = 0.06 s", "Time of a step", "Energy at the end", "max_iterations", "recovery"):
        assert words in text
    assert read_recording(recording).state_digest in text
    assert stickslip.__version__ in text


def test_the_same_facts_as_json(capsys, recording):
    assert main(["report", str(recording), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    read = read_recording(recording)
    assert (facts["frames"], facts["steps"], facts["every"], facts["complete"]) == (12, 12, 1, True)
    assert facts["verdict"] == "Every step converged, and there is nothing to warn of."
    assert facts["warnings"] == []
    assert facts["solver"]["name"] == "auto"
    assert facts["solver"]["law"] == "exact"
    assert facts["parameters"]["title"] == NASTY
    assert facts["contacts_max"] == read.certificate["contacts"].max()
    worst = facts["worst"]["natural_residual"]
    assert worst["value"] == read.certificate["natural_residual"].max()
    assert worst["time_s"] == pytest.approx(read.time[read.certificate["natural_residual"].argmax()])
    assert facts["worst"]["penetration"]["unit"] == "mm"
    assert facts["energy_flows_J"]["friction"] == pytest.approx(read.energy["friction"].sum())


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_frames_have_a_page(tmp_path, steps):
    file = record(tmp_path / "few.h5", boxes(), steps=steps)
    facts = write_report(read_recording(file), tmp_path / "page.html", pictures=0)
    assert sum(facts["stages_ms"].values()) > 0.0
    assert facts["ms_per_step_median"] > 0.0


def test_time_of_steps_that_compiled_is_not_that_of_the_simulation(tmp_path):
    """Kernels may be compiled in any step, such as the first with contacts; the recording knows in which."""
    read = read_recording(record(tmp_path / "run.h5", boxes(), steps=6))
    seconds, loaded = np.array([9.0, 0.01, 0.02, 30.0, 0.03, 0.02]), np.array([True, False, False, True, False, False])
    course = replace(course_of_recording(read), timings={"solve": seconds}, loaded=loaded)
    facts = report_facts(read, course)
    assert facts["ms_per_step_median"] == pytest.approx(20.0)
    assert facts["realtime_rate"] == pytest.approx(0.005 / 0.02)
    assert facts["stages_ms"] == {"solve": pytest.approx(20.0)}
    unknown = report_facts(read, replace(course, loaded=np.zeros(6, dtype=bool)))
    assert unknown["realtime_rate"] == pytest.approx(0.005 / np.mean(seconds[1:]))


def test_names_of_others_are_only_text(tmp_path):
    sim = boxes(NASTY, solver=ProxGaussSeidel(max_iterations=1, tolerance=1e-15, subspace=0))
    sim.set_velocity(stickslip.Body(1, NASTY), (0, 0, -30))
    file = record(tmp_path / "a<b>&.h5", sim, name=NASTY)
    write_report(read_recording(file), tmp_path / "page.html", pictures=1)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert NASTY in unescape(text)
    assert "a<b>&.h5" in unescape(text)
    assert outside_references(text) == []


def test_a_recording_that_was_cut_off_or_is_empty(capsys, tmp_path):
    sim = boxes()
    with suppress(KeyboardInterrupt), Recorder(tmp_path / "cut.h5", sim, "cut") as recorder:
        sim.run(5, recorder)
        raise KeyboardInterrupt
    assert main(["report", str(tmp_path / "cut.h5.partial"), "--pictures", "1"]) == 0
    text = (tmp_path / "cut.report.html").read_text(encoding="utf-8")
    assert "without the end of the run" in text
    assert "cut off, or still goes on" in text
    record(tmp_path / "none.h5", boxes(), steps=0)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "none.h5")]) == 0
    assert "nothing to judge" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "none.h5"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 0


def test_sparse_recordings_say_what_they_leave_out(tmp_path):
    file = record(tmp_path / "run.h5", boxes(), steps=20, every=4)
    facts = write_report(read_recording(file), tmp_path / "page.html", pictures=0)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (facts["frames"], facts["steps"]) == (5, 20)
    assert "Only every 4th step was recorded" in text
    assert "No warnings" in text
    assert "5, every 4th step" in text
    assert "data:image/png" not in text


@pytest.mark.parametrize(("scene", "settings", "words"), [
    ("soft-ball", {"divisions": 1}, "1 rigid, 1 soft"),
    ("chain", {"links": 5}, "joints"),
    ("spin-down", {}, "solver, exact law"),
])  # fmt: skip
def test_all_kinds_of_scenes_have_a_page(tmp_path, scene, settings, words):
    from stickslip.scenes.running import prepare

    sim = prepare(scene, settings=settings).sim
    file = record(tmp_path / "run.h5", sim, steps=4, name=scene)
    write_report(read_recording(file), tmp_path / "page.html", pictures=1)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert words in text
    assert "data:image/png" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nowhere.h5",), "does not exist"),
        (("FILE", "--pictures", "-1"), "pictures is -1"),
        (("FILE", "--out", "page.pdf"), ".html"),
        (("FILE", "--out", "nowhere/page.html"), "page.html"),
    ],
)
def test_bad_input_is_one_line(capsys, recording, arguments, word):
    code = main(["report", *(str(recording) if text == "FILE" else text for text in arguments), ])  # fmt: skip
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    assert word in captured.err


def test_the_page_in_a_browser(page, recording, tmp_path):
    """It opens from a file, every picture is there, nothing is asked of the network, and it fits a phone."""
    write_report(read_recording(recording), tmp_path / "page.html", pictures=2)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    pictures = page.locator("img")
    assert pictures.count() == 2 + len(PLOTS)
    for number in range(pictures.count()):
        assert pictures.nth(number).evaluate("image => image.complete && image.naturalWidth") > 100
    assert page.locator("h1").inner_text() == "boxes"
    assert page.locator(".verdict").inner_text().startswith("Every step converged")
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_pictures_of_a_strip_differ_and_keep_their_camera(recording):
    from stickslip.view.picture.strip import picture_strip, strip_frames

    assert strip_frames(12, 6) == [0, 2, 4, 7, 9, 11]
    assert strip_frames(3, 6) == [0, 1, 2]
    assert strip_frames(5, 1) == [4]
    (start, first), (end, last) = picture_strip(read_recording(recording), 2)
    assert (start, end) == (pytest.approx(0.005), pytest.approx(0.06))
    changed = np.abs(first.astype(int) - last).max(axis=2) > 40
    assert 0.001 < changed.mean() < 0.2  # the falling ball and its shadow, not the floor
