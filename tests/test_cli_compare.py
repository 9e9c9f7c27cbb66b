"""``stickslip compare``: tables, JSON, the picture, exit codes, one line for bad input."""

import json

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.contact.problem import from_delassus
from stickslip.io.problem_file import save_problem

ROW_FIELDS = {
    "problem", "solver", "law", "contacts", "status", "solved", "iterations", "seconds", "residual", "residual_scaled",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two problems and a file that is none."""
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
    ],
)
def test_bad_input_is_one_line(capsys, folder, tmp_path, arguments, word):
    texts = [text.replace("FOLDER", str(folder)).replace("EMPTY", str(tmp_path)) for text in arguments]
    code, out, err = output(capsys, "compare", *texts)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert word in err
