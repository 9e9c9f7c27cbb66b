"""FCLIB files: read as Siconos writes them in every storage, and written so that others can read them."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

import stickslip
from stickslip.cli import main
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.laws import BILATERAL, CONTACT, ELASTIC, LIMIT
from stickslip.contact.problem import from_delassus
from stickslip.contact.residual import residual
from stickslip.errors import FileError
from stickslip.io.problem_file import load_file, load_problem, save_problem
from stickslip.linalg.block_rows import to_dense
from stickslip.simulation import Simulation
from stickslip.solvers.registry import make_solver

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("STICKSLIP_DATA", ROOT.parent / "shared" / "data")) / "fc3d"
GLOBAL = [DATA / name for name in ("Box_Stacks-i0122-82-5.npz", "spheres-in-a-box-98-i10000-256-10.npz")]


def put(group, name, value):
    """An integer or a vector as fclib stores it."""
    group[name] = np.array([value], dtype=np.int32) if isinstance(value, int) else value


def put_matrix(parent, name, dense, storage):
    group = parent.create_group(name)
    put(group, "m", dense.shape[0])
    put(group, "n", dense.shape[1])
    if storage in ("csc", "csr"):
        matrix = csc_array(dense) if storage == "csc" else csr_array(dense)
        nz, p, i, x = -1 if storage == "csc" else -2, matrix.indptr, matrix.indices, matrix.data
    else:
        matrix = coo_array(dense)
        nz, p, i, x = int(matrix.nnz), matrix.col, matrix.row, matrix.data
        if storage == "fclib.h":
            p, i = i, p
    put(group, "nz", nz)
    put(group, "nzmax", len(x) + (20 if storage == "triplet" else 0))  # Siconos reserves more than it uses
    group["p"], group["i"], group["x"] = p.astype(np.int32), i.astype(np.int32), x


def write_by_hand(path, kind, matrices, vectors, storage="triplet", spacedim=3):
    with h5py.File(path, "w") as file:
        main = file.create_group(kind)
        put(main, "spacedim", spacedim)
        for name, dense in matrices.items():
            put_matrix(main, name, dense, storage)
        inner = main.create_group("vectors")
        for name, values in vectors.items():
            inner[name] = np.asarray(values, dtype=np.float64)


@pytest.fixture
def local():
    rng = np.random.default_rng(3)
    half = rng.normal(size=(9, 9))
    W = half @ half.T
    W[0:3, 6:9] = W[6:9, 0:3] = 0.0
    W += 9 * np.eye(9)
    return {"W": W}, {"q": rng.normal(size=9), "mu": [0.0, 0.3, 1.5]}


@pytest.fixture
def rigid():
    """Two bodies, two contacts, a hinge of five rows between them."""
    rng = np.random.default_rng(5)
    M = np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3, 5.0, 5.0, 5.0, 0.4, 0.5, 0.6])
    M[3, 4] = M[4, 3] = 0.05
    H, G = rng.normal(size=(12, 6)), rng.normal(size=(12, 5))
    H[6:, :3] = 0.0
    vectors = {"f": rng.normal(size=12), "w": rng.normal(size=6), "mu": [0.4, 0.8], "b": rng.normal(size=5)}
    return {"M": M, "H": H, "G": G}, vectors


@pytest.fixture(scope="module")
def step():
    scene = stickslip.Scene()
    scene.add_half_space()
    for k in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0.03 * k, 0.01 * k, 0.1 + 0.2 * k), mass=1.0 + k, velocity=(0.3, 0, -0.1))
    return Simulation(scene).step()


# ---- reading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["triplet", "csc", "csr"])
def test_local_problems_are_read_in_every_storage(tmp_path, local, storage):
    matrices, vectors = local
    write_by_hand(tmp_path / "a.hdf5", "fclib_local", matrices, vectors, storage)
    problem = load_problem(tmp_path / "a.hdf5")
    assert problem.A.is_given
    assert np.array_equal(problem.A.delassus(problem.J).toarray(), matrices["W"])
    assert np.array_equal(problem.free_constraint_velocity, vectors["q"])
    assert problem.laws.friction[:, 0].tolist() == vectors["mu"]


@pytest.mark.parametrize("storage", ["triplet", "csc", "csr", "fclib.h"])
def test_global_problems_are_read_in_every_storage(tmp_path, rigid, storage):
    """``fclib.h``: rows and columns of triplets as its header has them, told by the shape of H."""
    matrices, vectors = rigid
    M, H = matrices["M"], matrices["H"]
    del matrices["G"], vectors["b"]
    write_by_hand(tmp_path / "a.hdf5", "fclib_global", matrices, vectors, storage)
    problem = load_problem(tmp_path / "a.hdf5")
    assert problem.A.is_dense
    assert np.array_equal(to_dense(problem.J), H.T)
    assert problem.v_free == pytest.approx(np.linalg.solve(M, vectors["f"]), rel=1e-12)
    assert np.array_equal(problem.bias, vectors["w"])
    W = problem.A.delassus(problem.J).toarray()
    assert np.allclose(W, H.T @ np.linalg.solve(M, H), rtol=1e-12, atol=1e-12)


def test_titles_guesses_and_solutions_are_read(tmp_path, local):
    write_by_hand(tmp_path / "a.hdf5", "fclib_local", *local)
    with h5py.File(tmp_path / "a.hdf5", "a") as file:
        info = file["fclib_local"].create_group("info")
        info["title"] = np.bytes_(b"Boxes\0")
        info["description"] = np.bytes_(b"\xa8 in Latin-1")
        put(file.create_group("guesses"), "number_of_guesses", 2)
        for k in (1, 2):
            guess = file["guesses"].create_group(str(k))
            guess["r"], guess["u"] = k * np.ones(9), np.zeros(9)
        file.create_group("solution")["r"] = 7 * np.ones(9)
    content = load_file(tmp_path / "a.hdf5")
    assert content.title == "Boxes"
    assert content.description == "\xa8 in Latin-1"
    assert [guess[0] for guess in content.guesses] == [1.0, 2.0]
    assert content.solution.tolist() == [7.0] * 9


# ---- bilateral rows --------------------------------------------------------------------------------------------


def solved(problem):
    solution = make_solver("prox-gs", tolerance=1e-11, max_iterations=20000).solve(problem)
    assert solution.converged
    return solution


def test_bilateral_rows_of_global_problems(tmp_path, rigid):
    matrices, vectors = rigid
    write_by_hand(tmp_path / "a.hdf5", "fclib_global", matrices, vectors)
    problem = load_problem(tmp_path / "a.hdf5")
    assert problem.laws.law.tolist() == [CONTACT, CONTACT, BILATERAL]
    assert np.diff(problem.J.row_start).tolist() == [3, 3, 5]
    solution = solved(problem)
    r, l, v = solution.lam[:6], solution.lam[6:], solution.v
    assert matrices["M"] @ v == pytest.approx(matrices["H"] @ r + matrices["G"] @ l + vectors["f"], abs=1e-9)
    assert np.abs(matrices["G"].T @ v + vectors["b"]).max() < 1e-8


@pytest.mark.parametrize("extra", [0, 1])
def test_bilateral_rows_of_local_problems(tmp_path, rigid, extra):
    """The condensed problem has the same velocities; ``extra`` rows make its size no multiple of three, or one."""
    matrices, vectors = rigid
    K = np.hstack([matrices["H"], matrices["G"][:, : 5 - 2 * extra]])
    b = vectors["b"][: 5 - 2 * extra]
    W, q = K.T @ np.linalg.solve(matrices["M"], K), K.T @ np.linalg.solve(matrices["M"], vectors["f"])
    parts = {"W": W[:6, :6], "V": W[:6, 6:], "R": W[6:, 6:]}
    values = {"q": q[:6] + vectors["w"], "mu": vectors["mu"], "s": q[6:] + b}
    write_by_hand(tmp_path / "a.hdf5", "fclib_local", parts, values, "csr")
    problem = load_problem(tmp_path / "a.hdf5")
    assert problem.laws.law.tolist() == [CONTACT, CONTACT, BILATERAL]
    assert np.allclose(to_dense(problem.delassus), W)
    lam = solved(problem).lam
    assert np.abs(parts["V"].T @ lam[:6] + parts["R"] @ lam[6:] + values["s"]).max() < 1e-8
    other = {"M": matrices["M"], "H": matrices["H"], "G": K[:, 6:]}
    write_by_hand(tmp_path / "b.hdf5", "fclib_global", other, vectors | {"b": b})
    assert solved(load_problem(tmp_path / "b.hdf5")).lam == pytest.approx(lam, abs=1e-7)
    save_problem(problem, tmp_path / "c.hdf5", lam)
    again = load_file(tmp_path / "c.hdf5")
    assert np.array_equal(again.solution, lam)
    assert np.allclose(to_dense(again.problem.delassus), W)


def test_coupled_mass_matrices_are_condensed_with_their_bilateral_rows(tmp_path, rigid):
    matrices, vectors = rigid
    M = matrices["M"] + 0.01 * np.ones((12, 12))
    M = np.kron(np.eye(2), M) + 1e-3  # 24 unknowns, all coupled
    H, G = np.vstack([matrices["H"]] * 2), np.vstack([matrices["G"], -matrices["G"]])
    values = vectors | {"f": np.tile(vectors["f"], 2)}
    write_by_hand(tmp_path / "a.hdf5", "fclib_global", {"M": M, "H": H, "G": G}, values)
    problem = load_problem(tmp_path / "a.hdf5")
    K = np.hstack([H, G])
    assert problem.A.is_given
    assert np.allclose(to_dense(problem.delassus), K.T @ np.linalg.solve(M, K))
    free = K.T @ np.linalg.solve(M, values["f"]) + np.concatenate([values["w"], values["b"]])
    assert problem.free_constraint_velocity == pytest.approx(free, rel=1e-9)


# ---- commands ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["hdf5", "h5", "npz"])
def test_a_step_of_a_run_is_saved_with_its_solution_and_solved_again(capsys, tmp_path, ending):
    dump, out = tmp_path / f"step.{ending}", tmp_path / "solved.hdf5"
    assert main(["run", "box-slide", "--steps", "4", "--dump-problem", "3", str(dump), "--json"]) == 0
    content = load_file(dump)
    assert content.title == "box-slide, step 3"
    assert len(content.guesses) == 1
    assert residual(content.problem, content.solution).scaled < 1e-7
    assert residual(content.problem, content.guesses[0]).scaled < 0.1  # nearly the same step before
    capsys.readouterr()
    assert main(["solve", str(dump), "--guess", "--tolerance", "1e-10", "--out", str(out), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["converged"]
    again = load_file(out)
    assert residual(again.problem, again.solution).scaled < 1e-9
    assert (again.title, len(again.guesses)) == (content.title, 1)


# ---- writing -------------------------------------------------------------------------------------------------


def dense(group):
    nz, p, i, x = (group[name][()] for name in ("nz", "p", "i", "x"))
    shape = int(group["m"][0]), int(group["n"][0])
    if nz[0] == -2:
        return csr_array((x, i, p), shape=shape).toarray()
    assert nz[0] == len(x) == group["nzmax"][0]
    return coo_array((x, (i, p)), shape=shape).toarray()


def without_our_group(path):
    """As a program writes it that knows FCLIB alone."""
    with h5py.File(path, "r+") as file:
        del file["stickslip"]


def test_a_step_is_written_in_the_global_form(tmp_path, step):
    problem, lam = step.problem, step.solution.lam
    save_problem(problem, tmp_path / "a.hdf5", lam, [0.5 * lam], "three boxes", "stacked")
    with h5py.File(tmp_path / "a.hdf5") as file:
        main, solution = file["fclib_global"], file["solution"]
        M, H = dense(main["M"]), dense(main["H"])
        f, w = main["vectors/f"][()], main["vectors/w"][()]
        r, u, v = (solution[name][()] for name in ("r", "u", "v"))
        assert main["spacedim"][()].tolist() == [3]
        assert main["spacedim"].dtype == np.int32
        assert main["info/title"].dtype == np.dtype("S12")  # with the zero that C needs
        assert file["guesses/number_of_guesses"][()].tolist() == [1]
    assert H.shape == (18, problem.row_count)
    assert M @ v == pytest.approx(H @ r + f, abs=1e-12)
    assert u == pytest.approx(H.T @ v + w, abs=1e-12)
    assert residual(load_problem(tmp_path / "a.hdf5"), lam) == residual(problem, lam)
    without_our_group(tmp_path / "a.hdf5")
    content = load_file(tmp_path / "a.hdf5")
    assert content.warnings == ()
    assert (content.title, content.description) == ("three boxes", "stacked")
    assert np.array_equal(content.solution, lam)
    assert np.array_equal(content.guesses[0], 0.5 * lam)
    ours, theirs = residual(problem, lam), residual(content.problem, lam)
    assert theirs.velocity == pytest.approx(ours.velocity, rel=1e-6, abs=1e-12)
    assert np.array_equal(to_dense(content.problem.J), to_dense(problem.J))


@pytest.mark.skipif(not GLOBAL[0].exists(), reason=f"no problems in {DATA}")
@pytest.mark.parametrize("file", GLOBAL, ids=lambda file: file.stem)
def test_problems_of_collections_come_back_through_fclib(tmp_path, file):
    problem = load_problem(file)
    save_problem(problem, tmp_path / "a.h5")
    without_our_group(tmp_path / "a.h5")
    again = load_problem(tmp_path / "a.h5")
    assert abs(problem.A.delassus(problem.J) - again.A.delassus(again.J)).max() == 0.0
    q = problem.free_constraint_velocity
    assert np.abs(again.free_constraint_velocity - q).max() <= 1e-14 * np.abs(q).max()


def test_a_local_problem_comes_back_bit_for_bit(tmp_path, local):
    problem = from_delassus(local[0]["W"], local[1]["q"], local[1]["mu"])
    save_problem(problem, tmp_path / "a.hdf5", np.arange(9.0))
    with h5py.File(tmp_path / "a.hdf5") as file:
        assert set(file) == {"fclib_local", "solution", "stickslip"}
        assert set(file["solution"]) == {"r", "u"}
        assert file["solution/u"][()] == pytest.approx(local[0]["W"] @ np.arange(9.0) + local[1]["q"], rel=1e-12)
    without_our_group(tmp_path / "a.hdf5")
    again = load_problem(tmp_path / "a.hdf5")
    for ours, theirs in zip(problem.A.given, again.A.given, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(problem.v_free, again.v_free)


def test_bilateral_rows_before_contacts_are_put_behind_them(tmp_path, step):
    """For others; with the group of ours they come back where they were."""
    problem = step.problem
    law = problem.laws.law.copy()
    law[0] = BILATERAL
    mixed = replace(problem, laws=problem.laws._replace(law=law), gap=None)
    lam = np.arange(float(problem.row_count))
    save_problem(mixed, tmp_path / "a.hdf5", lam)
    content = load_file(tmp_path / "a.hdf5")
    assert np.array_equal(content.problem.laws.law, law)
    assert np.array_equal(content.solution, lam)
    without_our_group(tmp_path / "a.hdf5")
    content = load_file(tmp_path / "a.hdf5")
    assert content.problem.laws.law.tolist() == [CONTACT] * (len(law) - 1) + [BILATERAL]
    assert content.solution.tolist() == [*lam[3:], *lam[:3]]
    J = to_dense(problem.J)
    assert np.array_equal(to_dense(content.problem.J), np.vstack([J[3:], J[:3]]))


def test_what_fclib_cannot_express_is_named(tmp_path, step):
    problem, laws = step.problem, step.problem.laws
    first = np.arange(len(laws.law)) == 0
    friction = np.where(first[:, None], [0.1, 0.2, 0.0], laws.friction)
    compliance = np.where(np.arange(problem.row_count) == 1, 0.1, 0.0)
    joint = np.where(first, BILATERAL, laws.law).astype(np.int32)
    for wrong, message in (
        (contact_laws(friction), "block 0, which has the friction set 'ellipse'"),
        (laws._replace(law=np.where(first, LIMIT, laws.law).astype(np.int32)), "the law 'limit'"),
        (laws._replace(law=np.where(first, ELASTIC, laws.law).astype(np.int32)), "the law 'elastic'"),
        (laws._replace(law=joint, compliance=compliance), "has compliance"),
    ):
        with pytest.raises(FileError, match=message) as caught:
            save_problem(replace(problem, laws=wrong, gap=None), tmp_path / "a.hdf5")
        assert "a.hdf5: FCLIB cannot express" in str(caught.value)
        save_problem(replace(problem, laws=wrong, gap=None), tmp_path / "a.npz")
        (tmp_path / "a.npz").unlink()
    scene = stickslip.Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.1), torsion=0.01)
    with pytest.raises(FileError, match="ellipsoid"):
        save_problem(Simulation(scene).step().problem, tmp_path / "a.hdf5")
    with pytest.raises(FileError, match="without contacts"):
        save_problem(from_delassus(np.zeros((0, 0)), [], []), tmp_path / "a.hdf5")
    for path in (tmp_path / "a.txt", tmp_path / "a", tmp_path / "missing" / "a.hdf5"):
        with pytest.raises(FileError, match="cannot write"):
            save_problem(problem, path)
    assert list(tmp_path.iterdir()) == []


# ---- the group of ours ---------------------------------------------------------------------------------------


def test_numbers_that_others_change_count(tmp_path, step):
    problem = step.problem
    save_problem(problem, tmp_path / "a.hdf5", step.solution.lam)
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        file["fclib_global/vectors/mu"][0] = 0.123
    content = load_file(tmp_path / "a.hdf5")
    assert content.problem.laws.friction[0, 0] == 0.123
    assert "/fclib_global was changed after it was saved; /stickslip" in content.warnings[0]
    assert content.problem.keys is None


def test_a_damaged_group_of_ours_is_refused(tmp_path, step):
    for name, values, message in (
        ("J.entry_column", 99, "/stickslip: J.entry_column has an index outside"),
        ("A.dense.inverse", np.nan, "/stickslip: A^-1 has the entry nan"),
        ("version", 3, "/stickslip: it has version 3; this stickslip reads versions 1 to 2; a newer"),
        ("laws.law", LIMIT, "FCLIB cannot express block 0"),
    ):
        save_problem(replace(step.problem, gap=None), tmp_path / "a.hdf5")
        with h5py.File(tmp_path / "a.hdf5", "r+") as file:
            file["stickslip"][name][...] = values
        with pytest.raises(FileError, match=re.escape(message)):
            load_problem(tmp_path / "a.hdf5")
    save_problem(step.problem, tmp_path / "a.hdf5")
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        del file["stickslip/bias"]
    with pytest.raises(FileError, match="the array 'bias' is missing"):
        load_problem(tmp_path / "a.hdf5")
