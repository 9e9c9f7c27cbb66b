"""``stickslip compare``: tables, JSON, the picture, exit codes, one line for bad input."""

import json
import re

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.cli.compare_plots import draw_simulations
from stickslip.contact.problem import from_delassus
from stickslip.experiments.scene_comparison import SceneComparison, SceneRow
from stickslip.io.problem_file import save_problem
from stickslip.scenes.running import Tally, prepare
from stickslip.view.course import course_of_rows, course_row
from stickslip.view.report.plots import PLOTS

ROW_FIELDS = {
    "problem", "solver", "law", "contacts", "status", "solved", "iterations", "seconds", "residual", "residual_scaled",
}  # fmt: skip

SCENE_ROW_FIELDS = {
    "scene", "solver", "law", "status", "note", "solved", "steps", "steps_asked", "ms_per_step_median",
    "cpu_ms_per_step_median", "iterations_mean", "iterations_max", "converged_fraction", "certificate", "metrics",
}  # fmt: skip
CERTIFICATE_FIELDS = {
    "natural_residual_max", "penetration_max_mm", "velocity_violation_max_m_per_s", "cone_violation_max_N",
    "momentum_relative", "energy_gain_J",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two problems and a file that is not one."""
    place = tmp_path_factory.mktemp("problems")
    save_problem(from_delassus(np.eye(3), [-1.0, 0.3, 0.0], [0.5]), place / "one.npz")
    half = np.random.default_rng(0).normal(size=(12, 12))
    save_problem(from_delassus(half @ half.T + 0.1 * np.eye(12), -np.ones(12), [0.5] * 4), place / "four.npz")
    (place / "notes.txt").write_text("no problem")
    return place


def output(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_folder_as_json_with_a_picture(capsys, folder, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "profile.svg"
    code, out, err = output(capsys, "compare", folder, "--solvers", "prox-gs,pgs", "--json", "--plot", picture)
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found.keys() >= {"problems", "solvers", "rows", "profile"}
    assert [name.rpartition("/")[2] for name in found["problems"]] == ["four.npz", "one.npz"]
    assert found["solvers"] == ["prox-gs", "pgs"]
    assert len(found["rows"]) == 4
    assert all(row.keys() >= ROW_FIELDS for row in found["rows"])
    assert found["rows"][0]["solved"]
    assert found["profile"]["solved"]["prox-gs"][-1] == 1.0
    assert len(found["profile"]["tau"]) == len(found["profile"]["solved"]["pgs"])
    assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert list(tmp_path.iterdir()) == [picture]


def test_tables_for_people_and_strict(capsys, folder):
    starved = ("compare", folder / "four.npz", "--solvers", "prox-gs", "--max-iterations", "1", "--tolerance", "1e-12")
    code, out, _ = output(capsys, *starved, "--cpu")
    assert code == 0
    assert "CPU ms" in out
    assert "max-iterations" in out
    assert "tau inf" in out
    assert output(capsys, *starved, "--strict")[0] == 1


def test_problems_of_a_scene(capsys):
    code, out, _ = output(
        capsys, "compare", "box-slide", "--steps", "6", "--every", "3", "--solvers", "prox-gs", "--json",
        "--set", "friction=0.3",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["problems"] == ["box-slide@3", "box-slide@6"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nowhere",), "no scene"),
        (("nowhere.npz",), "does not exist"),
        (("FOLDER/notes.txt",), "notes.txt"),
        (("FOLDER/one.npz", "--solvers", "magic"), "magic"),
        (("FOLDER/one.npz", "--solvers", ","), "empty"),
        (("FOLDER/one.npz", "--solvers", "pgs,pgs"), "twice"),
        (("FOLDER/one.npz", "--plot", "FOLDER/p.jpeg"), "jpeg"),
        (("FOLDER/one.npz", "--plot", "FOLDER/none/p.png"), "p.png"),
        (("FOLDER/one.npz", "--time-limit", "0"), "time-limit"),
        (("FOLDER/one.npz", "--set", "friction=1"), "scenes"),
        (("box-slide", "--every", "0"), "every"),
        (("EMPTY",), "no problem files"),
        (("box-slide", "--time", "1"), "simulate"),
        (("box-slide", "--markdown"), "simulate"),
        (("box-slide", "--simulate", "--plot", "p.jpeg"), "jpeg"),
        (("box-slide", "--simulate", "--plot", "nowhere/p.html"), "p.html"),
        (("box-slide", "--simulate", "--every", "2"), "every"),
        (("box-slide", "--simulate", "--own-law"), "own-law"),
        (("box-slide", "--simulate", "--json", "--markdown"), "both"),
        (("box-slide", "--simulate", "--steps", "2", "--time", "1"), "both"),
        (("box-slide", "--simulate", "--time-limit", "0"), "time-limit"),
        (("box-slide", "--simulate", "--set", "colour=1"), "colour"),
        (("box-slide", "--simulate", "--set", "wall.torsion=0"), "wall.torsion"),
        (("box-slide", "--simulate", "--set", "solver.facets=4", "--solvers", "pgs,nsgs"), "facets"),
        (("box-slide", "--simulate", "--solvers", "magic"), "magic"),
        (("box-slide", "box-slide", "--simulate"), "twice"),
        (("FOLDER/one.npz", "--simulate"), "no scene"),
    ],
)
def test_bad_input_is_one_line(capsys, folder, tmp_path, arguments, word):
    texts = [text.replace("FOLDER", str(folder)).replace("EMPTY", str(tmp_path)) for text in arguments]
    code, out, err = output(capsys, "compare", *texts)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert word in err


def test_every_solver_simulates_the_scene_itself(capsys):
    """The same runs as those of ``stickslip run``, though each is made in a process of its own."""
    settings = ("--steps", "3", "--set", "friction=0.3", "--json")
    special = ("--set", "box-slide.edge=0.1", "--set", "solver.subspace=3")
    code, out, err = output(
        capsys, "compare", "box-slide", "--simulate", "--solvers", "prox-gs,pgs", *settings, *special
    )  # fmt: skip
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found.keys() == {"scenes", "solvers", "rows", "settings"}
    assert (found["scenes"], found["solvers"]) == (["box-slide"], ["prox-gs", "pgs"])
    assert [(row["solver"], row["law"]) for row in found["rows"]] == [("prox-gs", "exact"), ("pgs", "box")]
    for row in found["rows"]:
        assert row.keys() >= SCENE_ROW_FIELDS
        assert row["certificate"].keys() >= CERTIFICATE_FIELDS
        assert (row["status"], row["steps"], row["steps_asked"], row["solved"]) == ("finished", 3, 3, True)
        assert row["ms_per_step_median"] > 0.0
        special = ("--set", "edge=0.1", *(("--set", "solver.subspace=3") if row["solver"] == "prox-gs" else ()))
        alone = json.loads(output(capsys, "run", "box-slide", "--solver", row["solver"], *settings, *special)[1])
        assert row["state_hash"] == alone["state_hash"]


def test_a_solver_that_refuses_a_scene_has_a_row_and_a_footnote(capsys):
    arguments = ("compare", "spin-down", "--simulate", "--steps", "3", "--solvers", "prox-gs,lcp", "--markdown")
    code, out, _ = output(capsys, *arguments)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "### spin-down"
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert len({line.count("|") for line in table}) == 1
    assert "| finished |" in table[2]
    assert table[3].startswith("| lcp | pyramid | refused (1) | - |")
    assert any(line.startswith("(1) contact 0 has 4 rows") for line in lines)


def test_a_run_that_takes_too_long_says_how_far_it_came(capsys):
    arguments = ("compare", "heavy-stack", "--simulate", "--steps", "1000000", "--solvers", "prox-gs")
    code, out, _ = output(capsys, *arguments, "--time-limit", "0.5", "--strict", "--json")
    (row,) = json.loads(out)["rows"]
    assert code == 1  # strict
    assert row["status"] == "time-limit"
    assert 0 < row["steps"] < 1000000
    assert row["certificate"]["penetration_max_mm"] < 1e-3


def test_tables_of_scenes_for_people(capsys):
    code, out, _ = output(
        capsys, "compare", "box-slide", "--simulate", "--time", "0.02", "--solvers", "prox-gs", "--cpu",
        "--set", "solver.max_iterations=1", "--tolerance", "1e-14", "--strict",
    )  # fmt: skip
    assert code == 1  # strict: no step can converge
    assert "2 steps of 10 ms" in out
    assert "CPU ms" in out
    assert "position" in out
    assert "error" in out


def test_courses_of_all_solvers_on_one_page(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "solvers.html"
    code, out, err = output(
        capsys, "compare", "box-slide", "--simulate", "--steps", "3", "--solvers", "prox-gs,pgs", "--json",
        "--plot", file,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "course" not in json.loads(out)["rows"][0]
    assert list(tmp_path.iterdir()) == [file]
    text = file.read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml") == len(PLOTS) + 1  # and the legend
    assert all(words in text for words in ("<h2>box-slide</h2>", "lines of prox-gs, pgs", "default-src 'none'"))


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_courses_of_several_scenes_in_one_picture(tmp_path, ending):
    pytest.importorskip("matplotlib")
    scenes, solvers = ("box-slide", "box-slope"), ("prox-gs", "pgs", "lcp")
    rows = []
    for scene in scenes:
        tally = Tally(prepare(scene))
        notes = [course_row(tally.step()) for _ in range(3)]
        for solver in solvers:
            course = course_of_rows(solver, [] if solver == "lcp" else notes)
            status = "refused" if solver == "lcp" else "finished"
            rows.append(SceneRow(scene, solver, "exact", status, "", 3, 1.0, 1.0, tally.summary(), course))
    file = tmp_path / f"solvers{ending}"
    draw_simulations(SceneComparison(scenes, solvers, tuple(rows), {}), file)
    data = file.read_bytes()
    if ending == ".png":
        assert data.startswith(b"\x89PNG")
        return
    comments = re.findall(r"<!-- (.*?) -->", data.decode())  # what Matplotlib writes beside the outlines of letters
    assert comments.count("prox-gs") == comments.count("pgs") == 2 * len(scenes)  # the legend, and the bars of times
    for scene in scenes:
        assert sum(scene in text and "without lcp, which took no step" in text for text in comments) == 1
