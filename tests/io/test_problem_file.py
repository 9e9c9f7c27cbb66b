"""Problems in files: bit for bit in our own form, and the same residual as the reference in the collections' forms."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip
from stickslip.contact import delassus
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.errors import FileError
from stickslip.io.problem_file import load_problem, save_problem
from stickslip.linalg.inertia import BlockDiagonal, GivenInverse
from stickslip.simulation import Simulation
from stickslip.solvers.registry import make_solver

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "fc3d"
FILES = sorted(DATA.glob("*.npz"))
LOCAL = [file for file in FILES if "W_data" in np.load(file).files]
GLOBAL = [file for file in FILES if "M_data" in np.load(file).files]
needs_data = pytest.mark.skipif(not FILES, reason=f"no problems in {DATA}; set STICKSLIP_DATA to the data folder")


def arrays_of(problem):
    yield from zip(problem.A._fields, problem.A, strict=True)
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


@pytest.mark.parametrize("kind", [BlockDiagonal, GivenInverse])
def test_a_problem_comes_back_bit_for_bit(tmp_path, problem_of_a_step, kind):
    problem = problem_of_a_step
    if kind is GivenInverse:
        problem = from_delassus(np.diag([1.0, 2.0, 3.0]), [-1.0, 0.1, 1 / 3], [0.7])
    save_problem(problem, tmp_path / "problem.npz")
    again = load_problem(tmp_path / "problem.npz")
    assert type(again.A) is kind
    for (name, ours), (_, theirs) in zip(arrays_of(problem), arrays_of(again), strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name
    lam = np.linspace(-1, 1, problem.row_count)
    assert residual(problem, lam) == residual(again, lam)


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
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    for name, message in (
        ("missing.npz", "does not exist"),
        ("text.npz", "not an .npz file or is damaged"),
        ("empty.npz", "not an .npz file or is damaged"),
        ("cut.npz", "not an .npz file or is damaged"),
        ("array.npz", "not an .npz file or is damaged"),
        ("other.npz", "holds x; a problem has"),
        ("later.npz", "version 99"),
        ("hole.npz", "array 'bias' is missing"),
        ("nan.npz", "bias has the entry nan"),
        ("index.npz", "entry_column has an index outside"),
    ):
        with pytest.raises(FileError, match=message) as caught:
            load_problem(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


def test_an_unwritable_place_is_refused(tmp_path, problem_of_a_step):
    with pytest.raises(FileError, match="cannot write"):
        save_problem(problem_of_a_step, tmp_path / "missing" / "problem.npz")
    with pytest.raises(AttributeError):
        save_problem(replace(problem_of_a_step, A=None), tmp_path / "problem.npz")
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
    problem = load_problem(file)
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
    problem = load_problem(file)
    scale = abs(W).max()
    assert abs(delassus.assemble(problem.J, problem.A) - W).max() <= tolerance * scale
    assert np.abs(problem.constraint_velocity(problem.v_free) - q).max() <= tolerance * np.abs(q).max()


@needs_data
def test_rigid_bodies_stay_blocks_and_finite_elements_are_condensed():
    assert isinstance(load_problem(DATA / "Box_Stacks-i0122-82-5.npz").A, BlockDiagonal)
    assert isinstance(load_problem(DATA / "spheres-in-a-box-98-i10000-256-10.npz").A, BlockDiagonal)
    assert isinstance(load_problem(DATA / "CubeH8.npz").A, GivenInverse)
