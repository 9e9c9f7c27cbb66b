"""Problems in files: bit for bit in our own form, and the same residual as the reference in the collections' forms."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.errors import FileError, InputError, ProblemWarning
from stickslip.io.problem_file import load_file, load_problem, problem_files, save_delassus, save_problem
from stickslip.simulation import Simulation
from stickslip.solvers.registry import make_solver

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "fc3d"
FILES = sorted(DATA.glob("*.npz"))
LOCAL = [file for file in FILES if "W_data" in np.load(file).files]
GLOBAL = [file for file in FILES if "M_data" in np.load(file).files]
needs_data = pytest.mark.skipif(not FILES, reason=f"no problems in {DATA}; set STICKSLIP_DATA to the data folder")


def arrays_of(problem):
    A = problem.A.dense if problem.A.given is None else problem.A.given
    yield from zip(A._fields, A, strict=True)
    yield from zip(problem.J._fields, problem.J, strict=True)
    yield from zip(problem.laws._fields, problem.laws, strict=True)
    yield from (("v_free", problem.v_free), ("bias", problem.bias))


@pytest.fixture(scope="module")
def problem_of_a_step():
    scene = stickslip.Scene()
    scene.add_half_space()
    for k in range(3):
        scene.add_sphere(0.1, (0.15 * k, 0.01 * k, 0.1), velocity=(1, 0, -1))
    return Simulation(scene).step().problem


@pytest.mark.parametrize("given", [False, True])
def test_a_problem_comes_back_bit_for_bit(tmp_path, problem_of_a_step, given):
    problem = problem_of_a_step
    if given:
        problem = from_delassus(np.diag([1.0, 2.0, 3.0]), [-1.0, 0.1, 1 / 3], [0.7])
    save_problem(problem, tmp_path / "problem.npz")
    again = load_problem(tmp_path / "problem.npz")
    assert again.A.is_given == given
    assert again.A.is_dense != given
    for (name, ours), (_, theirs) in zip(arrays_of(problem), arrays_of(again), strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name
    lam = np.linspace(-1, 1, problem.row_count)
    assert residual(problem, lam) == residual(again, lam)


def test_solution_guesses_and_texts_are_kept(tmp_path, problem_of_a_step):
    problem = problem_of_a_step
    lam = np.linspace(0, 1, problem.row_count)
    save_problem(problem, tmp_path / "a.npz", lam, [2 * lam, 3 * lam], "three balls", "on a floor\n")
    content = load_file(tmp_path / "a.npz")
    assert np.array_equal(content.solution, lam)
    assert [np.array_equal(guess, k * lam) for guess, k in zip(content.guesses, (2, 3), strict=True)] == [True, True]
    assert (content.title, content.description) == ("three balls", "on a floor\n")
    save_problem(problem, tmp_path / "b.npz")
    content = load_file(tmp_path / "b.npz")
    assert (content.solution, content.guesses, content.title, content.warnings) == (None, (), "", ())
    for wrong, words in ((lam[1:], "has shape"), (np.nan * lam, r"is \[nan .*; every entry must be a finite number")):
        with pytest.raises(InputError, match=f"solution {words}"):
            save_problem(problem, tmp_path / "c.npz", wrong)
        with pytest.raises(InputError, match=f"guess 1 {words}"):
            save_problem(problem, tmp_path / "c.npz", guesses=[wrong])
    assert not (tmp_path / "c.npz").exists()


def test_folders_are_their_problem_files_in_order(tmp_path):
    for name in ("b.npz", "a.hdf5", "c.h5", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    other = Path("z.npz")
    assert problem_files([other, tmp_path]) == [other, *(tmp_path / name for name in ("a.hdf5", "b.npz", "c.h5"))]
    with pytest.raises(FileError, match="no problem files"):
        problem_files([tmp_path / "empty"])


def test_bad_files_are_refused_in_one_line(tmp_path, problem_of_a_step):
    save_problem(problem_of_a_step, tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    good = dict(np.load(tmp_path / "good.npz"))
    np.savez(tmp_path / "later.npz", **(good | {"version": 99}))
    np.savez(tmp_path / "hole.npz", **{name: value for name, value in good.items() if name != "bias"})
    np.savez(tmp_path / "nan.npz", **(good | {"bias": np.nan * good["bias"]}))
    np.savez(tmp_path / "index.npz", **(good | {"J.entry_column": good["J.entry_column"] + 99}))
    np.savez(tmp_path / "types.npz", **(good | {"J.data": good["J.data"].astype(np.float32)}))
    np.savez(tmp_path / "sizes.npz", **(good | {"J.row_start": good["J.row_start"] * 2}))
    np.savez(tmp_path / "inertia.npz", **(good | {"A.dense.data": -good["A.dense.data"]}))
    np.savez(tmp_path / "inverse.npz", **(good | {"A.dense.inverse": 2 * good["A.dense.inverse"]}))
    np.savez(tmp_path / "guess.npz", **(good | {"guesses": np.zeros((1, 2))}))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    for name, message in (
        ("missing.npz", "does not exist"),
        ("text.npz", "is text"),
        ("empty.npz", "is empty"),
        ("cut.npz", "not an .npz file or is damaged"),
        ("array.npz", "not an .npz file or is damaged"),
        ("other.npz", "holds x; a problem has"),
        ("later.npz", "version 99; this stickslip reads versions 1 to 2; a newer stickslip wrote it"),
        ("hole.npz", "array 'bias' is missing"),
        ("nan.npz", "bias has the entry nan"),
        ("index.npz", "entry_column has an index outside"),
        ("types.npz", "J.data holds float32; float64 is needed"),
        ("sizes.npz", "J.data_start does not give"),
        ("inertia.npz", "A is indefinite"),
        ("inverse.npz", "A.dense.inverse is not the inverse of A"),
        ("guess.npz", r"guesses\[0\] has 2 entries"),
    ):
        with pytest.raises(FileError, match=message) as caught:
            load_problem(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


def test_an_unwritable_place_is_refused(tmp_path, problem_of_a_step):
    with pytest.raises(FileError, match="cannot write"):
        save_problem(problem_of_a_step, tmp_path / "missing" / "problem.npz")
    with pytest.raises(InputError, match="momentum is NoneType"):
        save_problem(replace(problem_of_a_step, momentum=None), tmp_path / "problem.npz")
    assert list(tmp_path.iterdir()) == []


# ---- the collections' forms ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    specification = importlib.util.spec_from_file_location("check_residual", DATA / "check_residual.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def assert_same_residual(reference, W, q, mu, problem, lam):
    ours, theirs = residual(problem, lam), reference.natural_map(W, q, mu, lam)
    # near a solution the terms of u = W lam + q cancel: what remains agrees to the rounding of the terms
    rounding = 1e-15 * (1.0 + np.linalg.norm(abs(W) @ abs(lam)) / np.linalg.norm(q))
    assert ours.scaled == pytest.approx(theirs["rel_scaled"], rel=1e-12, abs=rounding)
    assert ours.siconos == pytest.approx(theirs["rel"], rel=1e-12, abs=rounding)


@needs_data
@pytest.mark.parametrize("file", LOCAL, ids=lambda file: file.stem)
def test_residuals_are_those_of_the_reference(reference, file):
    W, q, mu = reference.load(file)
    problem = load_file(file).problem
    rng = np.random.default_rng(7)
    size = np.linalg.norm(q) / abs(W.diagonal()).mean()
    for _ in range(3):
        assert_same_residual(reference, W, q, mu, problem, size * rng.normal(size=len(q)))
    assert_same_residual(reference, W, q, mu, problem, np.zeros(len(q)))
    if len(mu) <= 60:
        solution = make_solver("prox-gs", max_iterations=200).solve(problem)
        assert_same_residual(reference, W, q, mu, problem, solution.lam)


@needs_data
@pytest.mark.parametrize("file", GLOBAL, ids=lambda file: file.stem)
def test_global_problems_are_their_condensed_form(reference, file):
    condensed = file.with_name(f"{file.stem}__local.npz")
    if not condensed.exists():
        condensed = file.with_name(f"{file.stem}-condensed.npz")
    # that file was condensed by others from rounded text (its entry in index.json says 3.5e-7)
    tolerance = 1e-6 if condensed.stem.endswith("-condensed") else 1e-9
    W, q, _ = reference.load(condensed)
    problem = load_file(file).problem
    scale = abs(W).max()
    assert abs(problem.A.delassus(problem.J) - W).max() <= tolerance * scale
    assert np.abs(problem.constraint_velocity(problem.v_free) - q).max() <= tolerance * np.abs(q).max()


@needs_data
def test_rigid_bodies_stay_blocks_and_finite_elements_are_condensed():
    assert load_problem(DATA / "Box_Stacks-i0122-82-5.npz").A.is_dense
    assert load_problem(DATA / "spheres-in-a-box-98-i10000-256-10.npz").A.is_dense
    assert load_file(DATA / "CubeH8.npz").problem.A.is_given


@needs_data
def test_files_that_are_not_quite_right_are_solved_with_a_warning_that_says_by_how_much():
    with pytest.warns(ProblemWarning, match=r"Capsules-i125-1213.npz: W is not symmetric.* 1.3e-03 of max"):
        load_problem(DATA / "Capsules-i125-1213.npz")
    with pytest.warns(ProblemWarning, match=r"W is indefinite, its smallest eigenvalue is -3.4e-08 of its largest"):
        load_problem(DATA / "Confeti-ex13-4contact-Fc3D-SBM.npz")
    assert load_file(DATA / "KaplasTower-i1061-4.npz").warnings == ()
    assert "1.6e-01" in load_file(DATA / "LMGC_GlobalFrictionContactProblem00046__local.npz").warnings[0]


@needs_data
def test_the_collections_form_comes_back(tmp_path):
    problem = load_problem(DATA / "Box_Stacks-i0122-82-5.npz")
    save_delassus(problem, tmp_path / "local.npz")
    again = load_problem(tmp_path / "local.npz")
    assert abs(problem.A.delassus(problem.J) - again.A.delassus(again.J)).max() == 0.0
    assert np.array_equal(problem.free_constraint_velocity, again.free_constraint_velocity)
    assert np.array_equal(problem.laws.friction, again.laws.friction)
    save_delassus(again, tmp_path / "again.npz")
    first, second = (dict(np.load(tmp_path / name)) for name in ("local.npz", "again.npz"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


# ---- problems of soft bodies, and older files ----------------------------------------------------------------


@pytest.fixture(scope="module")
def soft_problem():
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.4)
    scene.add_sphere(0.05, (0.6, 0, 0.0499), friction=0.4)
    material = stickslip.elastic(2e5, 0.3)
    for k in range(2):
        scene.add_soft(stickslip.tet_generators.box((0.1, 0.1, 0.1), 2), material, (0.3 * k, 0, 0.0499), friction=0.4)
    return Simulation(scene, dt=0.005).step().problem


def test_bad_soft_bodies_are_refused_in_one_line(tmp_path, soft_problem):
    save_problem(soft_problem, tmp_path / "good.npz")
    good = dict(np.load(tmp_path / "good.npz"))
    nodes, entries = len(good["A.sparse.pattern.diagonal"]), len(good["A.sparse.pattern.indices"])
    diagonal, last = good["A.sparse.pattern.diagonal"], good["A.sparse.last"]
    negative, lopsided = good["A.sparse.data"].copy(), good["A.sparse.data"].copy()
    negative[diagonal[4]] *= -1.0
    lopsided[diagonal[4] - 1, 0, 1] += 1e-3 * np.abs(negative).max()
    joined = good["A.sparse.pattern.indices"].copy()
    joined[-1] = 0
    for array, value, message in (
        ("A.sparse.data", negative, f"A is indefinite: its block at unknown {6 + 3 * 4}"),
        ("A.sparse.data", lopsided, "A is not symmetric"),
        ("A.sparse.data", good["A.sparse.data"][1:].copy(), rf"A.sparse.data has shape \({entries - 1}, 3, 3\)"),
        ("A.sparse.data", np.nan * good["A.sparse.data"], "A has the entry nan"),
        ("A.dense.inverse", 2.0 * good["A.dense.inverse"], "A.dense.inverse is not the inverse"),
        ("A.dense.data", -good["A.dense.data"], "A is indefinite"),
        (
            "A.sparse.pattern.indptr",
            good["A.sparse.pattern.indptr"] + np.int32(1),
            "pattern.indptr does not divide",
        ),
        ("A.sparse.pattern.indptr", np.zeros(0, np.int32), "A.sparse.pattern.indptr has shape"),
        (
            "A.sparse.pattern.indices",
            good["A.sparse.pattern.indices"] + np.int32(1),
            "pattern.indices has an index",
        ),
        ("A.sparse.pattern.indices", joined, "A.sparse.pattern is not symmetric with rising columns"),
        ("A.sparse.pattern.diagonal", diagonal[::-1].copy(), "does not say where"),
        ("A.sparse.part_start", np.array([0, 3, nodes], np.int32), "joins nodes of different parts"),
        ("A.sparse.part_start", np.array([0, nodes + 9], np.int32), "A.sparse.part_start does not divide"),
        ("A.sparse.part_start", np.array([0, 0, nodes], np.int32), "a part without nodes"),
        ("A.sparse.last", last + np.int32(nodes), "A.sparse.last has nodes of part 0 that do not rise"),
        ("A.sparse.last", last[:-1].copy(), "A.sparse.last_start does not divide A.sparse.last into 2 parts"),
        ("A.sparse.last_start", np.zeros(0, np.int32), "A.sparse.last_start does not divide"),
        ("A.given.data", np.zeros(3), "the array 'A.given.indices' is missing"),
        ("scale.momentum", good["scale.momentum"][1:].copy(), "scale.momentum has shape"),
        ("scale.rounding", np.zeros(3), "scale.rounding has shape"),
        ("scale.speed", np.zeros(3), "scale.speed is an array"),
        ("keys", good["keys"].astype(np.float64), "keys holds float64; int64 is needed"),
        ("scale.masses.given.data", np.zeros(3), "'scale.masses.given.indices' is missing"),
    ):
        np.savez(tmp_path / "bad.npz", **(good | {array: value}))
        with pytest.raises(FileError, match=message) as caught:
            load_problem(tmp_path / "bad.npz")
        assert "\n" not in str(caught.value)


def test_masses_that_do_not_fit_are_refused(tmp_path, problem_of_a_step):
    problem = problem_of_a_step
    save_problem(problem, tmp_path / "good.npz")
    good = dict(np.load(tmp_path / "good.npz"))
    masses = {f"scale.masses.dense.{name}": array for name, array in problem.A.dense._asdict().items()}
    for change, message in (
        ({}, ""),
        (
            {"scale.masses.dense.start": masses["scale.masses.dense.start"] * 2},
            "masses.dense.start does not divide",
        ),
        (
            {"scale.masses.dense.data": np.full_like(masses["scale.masses.dense.data"], np.inf)},
            "masses has the entry",
        ),
        ({"scale.masses.dense.data": -masses["scale.masses.dense.data"]}, "scale.masses is indefinite"),
    ):
        np.savez(tmp_path / "a.npz", **(good | masses | change))
        if not message:
            assert load_problem(tmp_path / "a.npz").scale.masses is not None
            continue
        with pytest.raises(FileError, match=message):
            load_problem(tmp_path / "a.npz")
    other = from_delassus(np.eye(3), [-1.0, 0.0, 0.0], [0.3])
    with pytest.raises(InputError, match=r"scale\.masses is of another kind than A"):
        replace(other, scale=other.scale._replace(masses=problem.A)).checked()


def test_factors_that_would_take_all_memory_are_refused(tmp_path, soft_problem, monkeypatch):
    monkeypatch.setattr("stickslip.io.inertia_arrays.ROOM", 0)
    monkeypatch.setattr("stickslip.io.inertia_arrays.SHARE", 1e-3)
    save_problem(soft_problem, tmp_path / "a.npz")
    with pytest.raises(FileError, match=r"A.sparse would take .* MB once it is factorised"):
        load_problem(tmp_path / "a.npz")


def test_files_of_version_1_are_read(tmp_path, problem_of_a_step):
    problem = problem_of_a_step
    save_problem(problem, tmp_path / "new.npz", np.ones(problem.row_count), title="old")
    new = dict(np.load(tmp_path / "new.npz"))
    kept = ("format", "bias", "step", "solution", "title")
    old = {name: value for name, value in new.items() if name.startswith(("J.", "laws.")) or name in kept}
    old |= {f"A.{name}": array for name, array in problem.A.dense._asdict().items()} | {"inertia": "BlockDiagonal"}
    for absent in ((), ("laws.bound",)):
        oldest = {name: value for name, value in old.items() if name not in absent}
        np.savez(tmp_path / "old.npz", **oldest, version=1, v_free=problem.v_free)
        content = load_file(tmp_path / "old.npz")
        assert (content.title, content.solution.tolist()) == ("old", [1.0] * problem.row_count)
        for (name, ours), (_, theirs) in zip(arrays_of(problem), arrays_of(content.problem), strict=True):
            assert ours.tobytes() == theirs.tobytes(), name
        assert content.problem.step == problem.step
        assert content.problem.keys is None
    np.savez(tmp_path / "old.npz", **old, version=1)
    with pytest.raises(FileError, match="the array 'v_free' is missing"):
        load_problem(tmp_path / "old.npz")
    np.savez(tmp_path / "old.npz", **(old | {"inertia": "Anything"}), version=1, v_free=problem.v_free)
    with pytest.raises(FileError, match="inertia is 'Anything'; BlockDiagonal or GivenInverse is needed"):
        load_problem(tmp_path / "old.npz")
