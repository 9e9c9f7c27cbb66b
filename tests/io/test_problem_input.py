"""Bad problem files: every one is refused in a line that names the file and the field, before anything is written."""

import h5py
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, diags_array

from stickslip import Scene, Simulation
from stickslip.cli import main
from stickslip.errors import FileError
from stickslip.io.problem_file import load_file, save_problem
from stickslip.linalg.extreme_eigenvalues import extreme_eigenvalues

N = 4
RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(3 * N, 3 * N))
W = HALF @ HALF.T + np.eye(3 * N)
M = np.kron(np.eye(2), np.diag([1.0, 1.0, 1.0, 0.1, 0.2, 0.3]))
H = RNG.normal(size=(12, 3 * N))
COUPLED = M + 0.01  # thirteen and more unknowns in one block: finite elements
LARGE = np.kron(np.eye(2), COUPLED) + 0.001


def sparse(name, dense, form):
    matrix = (csr_array if form == "csr" else csc_array)(dense)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}_{part}": value for part, value in parts.items()}


def local(**changes):
    return sparse("W", W, "csr") | {"q": RNG.normal(size=3 * N), "mu": np.full(N, 0.5)} | changes


def local_W(dense):
    return local(**sparse("W", dense, "csr"))


def global_(**changes):
    arrays = {**sparse("M", M, "csc"), **sparse("H", H, "csc")}
    return arrays | {"q": np.ones(12), "b": np.zeros(3 * N), "mu": np.full(N, 0.5)} | changes


def changed(array, at, value):
    array = np.array(array, dtype=np.float64)
    array[at] = value
    return array


def flipped(dense, share):
    """The matrix with its smallest eigenvalue moved to a negative share of the largest."""
    values, vectors = np.linalg.eigh(dense)
    return vectors @ np.diag([-share * values[-1], *values[1:]]) @ vectors.T


def without(arrays, name):
    return {key: value for key, value in arrays.items() if key != name}


TEXT = b"hello, this is no archive\n"
SICONOS = b"3\n4\n0\n12\n12\n"
BAD_ARCHIVES = {
    "far from symmetric": (local_W(np.triu(W)), "W is not symmetric: max|W - W^T| is 0."),
    "indefinite": (local_W(flipped(W, 0.01)), "W is indefinite: its smallest eigenvalue is -"),
    "negative": (local_W(-W), "W is indefinite"),
    "negative diagonal": (local_W(changed(W, (4, 4), -1.0)), "W is indefinite"),
    "long q": (local(q=np.zeros(3 * N + 1)), "q has 13 entries; 12 are needed"),
    "short mu": (local(mu=np.full(N - 1, 0.5)), "mu has 3 entries; 12 rows of W need 4"),
    "negative mu": (local(mu=np.array([0.5, 0.5, -0.5, 0.5])), "mu is -0.5 at contact 2"),
    "nan in W": (local_W(changed(W, (3, 3), np.nan)), "W has the entry nan"),
    "infinity in q": (local(q=changed(np.zeros(3 * N), 5, np.inf)), "q has the entry inf at 5"),
    "nan in mu": (local(mu=np.full(N, np.nan)), "mu has the entry nan at 0"),
    "words in q": (local(q=np.array(["a"] * 12)), "q holds <U1 and no numbers"),
    "complex q": (local(q=np.zeros(12, dtype=complex)), "q holds complex128"),
    "no mu": (without(local(), "mu"), "the array 'mu' is missing"),
    "no indices": (without(local(), "W_indices"), "the array 'W_indices' is missing"),
    "oblong W": (local_W(W[:, :9]), "W has shape (12, 9); it must be square"),
    "index outside": (local(W_indices=sparse("W", W, "csr")["W_indices"] + 5), "W has the index 12, outside 0 to 11"),
    "index below": (local(W_indices=sparse("W", W, "csr")["W_indices"] - 5), "W has the index -5"),
    "starts": (local(W_indptr=np.arange(5)), "W: its 5 starts do not divide"),
    "shape": (local(W_shape=np.array([12])), "W_shape is [12]"),
    "fractional": (local(W_indices=np.zeros(144)), "the indices of W are float64"),
    "rolling, five rows": (local(mu=np.full(2, 0.5), **sparse("W", W[:10, :10], "csr")), "rolling friction"),
    "rolling, mu_r": (local(mu_r=np.full(N, 0.1)), "mu_r: a problem with rolling friction"),
    "plane": (local(mu=np.full(6, 0.5)), "a plane problem"),
    "H with a wrong number of rows": (global_(**sparse("H", H[:11], "csc")), "H has 11 rows; M has 12"),
    "M indefinite": (
        global_(**sparse("M", changed(M, (6, 6), -1.0), "csc")),
        "M is indefinite: its block at unknown 6",
    ),
    "M singular": (global_(**sparse("M", changed(M, (6, 6), 0.0), "csc")), "M is singular: its block at unknown 6"),
    "M asymmetric": (global_(**sparse("M", changed(M, (0, 1), 0.7), "csc")), "M is not symmetric"),
    "M oblong": (global_(**sparse("M", M[:, :9], "csc")), "M has shape (12, 9)"),
    "M zero": (global_(**sparse("M", 0 * M, "csc")), "M is zero"),
    "global b": (global_(b=np.zeros(3)), "b has 3 entries; 12 are needed"),
    "global q": (global_(q=np.zeros(3)), "q has 3 entries; 12 are needed"),
    "global nan": (global_(**sparse("H", changed(H, (0, 0), np.nan), "csc")), "H has the entry nan"),
    "other arrays": ({"x": np.zeros(3)}, "it holds x; a problem has"),
}
for title, dense, message in (
    ("indefinite", flipped(LARGE, 0.01), "M is indefinite"),
    ("singular", np.ones((24, 24)), "M is singular"),
):
    parts = sparse("M", dense, "csc") | sparse("H", np.vstack([H, H]), "csc") | {"q": np.ones(24)}
    BAD_ARCHIVES[f"coupled M {title}"] = (global_(**parts), message)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """An FCLIB file of each form, with a solution and a guess."""
    folder = tmp_path_factory.mktemp("good")
    np.savez(folder / "local.npz", **local())
    np.savez(folder / "global.npz", **global_())
    for name in ("local", "global"):
        problem = load_file(folder / f"{name}.npz").problem
        lam = np.zeros(problem.row_count)
        save_problem(problem, folder / f"{name}.hdf5", lam, [lam])
    return folder


def refused(capsys, tmp_path, path, *messages):
    """Library and command refuse the file in one line that names it and has the messages; nothing is written."""
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError) as caught:
        load_file(path)
    code = main(["solve", str(path), "--out", str(tmp_path / "out.npz")])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err == f"error: {caught.value}\n"
    assert path.name in err
    for message in messages:
        assert message in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_bad_archives(capsys, tmp_path, case):
    arrays, message = BAD_ARCHIVES[case]
    np.savez(tmp_path / "bad.npz", **arrays)
    refused(capsys, tmp_path, tmp_path / "bad.npz", message)


@pytest.mark.parametrize("ending", ["npz", "hdf5", "h5", "dat"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT, "is text; problems are .npz archives or HDF5 (FCLIB) files"),
        (SICONOS, "is text, a problem in the .dat form of Siconos"),
        (b"5\n4\n0\n20\n20\n", "with rolling friction in the .dat form of Siconos"),
        (b"", "is empty"),
        (b"\x00\x01\x02\xff" * 9, "not an .npz file or is damaged"),
    ],
)
def test_files_of_another_kind_whatever_their_ending(capsys, tmp_path, ending, content, message):
    path = tmp_path / f"bad.{ending}"
    path.write_bytes(content)
    refused(capsys, tmp_path, path, message)


@pytest.mark.parametrize("name", ["local.hdf5", "global.hdf5", "local.npz"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_truncated_files(capsys, tmp_path, good, name, share):
    whole = (good / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    refused(capsys, tmp_path, tmp_path / name, "damaged")


def copied(good, tmp_path, name):
    path = tmp_path / "bad.hdf5"
    path.write_bytes((good / name).read_bytes())
    return path


LOCAL_PARTS = ("W", "vectors", "spacedim", "vectors/q", "vectors/mu", "W/m", "W/n", "W/nz", "W/p", "W/i", "W/x")
GLOBAL_PARTS = ("M", "H", "vectors", "spacedim", "vectors/f", "vectors/w", "vectors/mu", "H/nz", "M/x")
FREE_PARTS = ("guesses/1", "guesses/number_of_guesses", "guesses/1/r", "solution/r")


@pytest.mark.parametrize(
    ("name", "part"),
    [("local", f"fclib_local/{part}") for part in LOCAL_PARTS]
    + [("global", f"fclib_global/{part}") for part in GLOBAL_PARTS]
    + [(name, part) for name in ("local", "global") for part in FREE_PARTS],
)
def test_missing_groups_and_datasets(capsys, tmp_path, good, name, part):
    path = copied(good, tmp_path, f"{name}.hdf5")
    with h5py.File(path, "a") as file:
        del file[part]
    refused(capsys, tmp_path, path, f"/{part} is missing")


def test_other_hdf5_files(capsys, tmp_path):
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        file["x"] = 1.0
    refused(capsys, tmp_path, path, "the group /fclib_local or /fclib_global is missing; the file has /x")
    assert main(["run", "box-slide", "--steps", "1", "--json", "--out", str(path)]) == 0
    capsys.readouterr()
    refused(capsys, tmp_path, path, "it is the recording of a run")


REPLACED = {
    "plane": ("local", "fclib_local/spacedim", [2], "/fclib_local/spacedim is 2, a plane problem"),
    "rolling": ("global", "fclib_global/spacedim", [5], "/fclib_global/spacedim is 5, a problem with rolling friction"),
    "negative mu": (
        "local",
        "fclib_local/vectors/mu",
        [0.1, -1.0, 0, 0],
        "/fclib_local/vectors/mu is -1.0 at contact 1",
    ),
    "nan": ("local", "fclib_local/vectors/q", [np.nan] * 12, "/fclib_local/vectors/q has the entry nan"),
    "length": ("global", "fclib_global/vectors/w", [0.0] * 9, "/fclib_global/vectors/w has 9 entries; 12"),
    "mu": ("global", "fclib_global/vectors/mu", [0.5] * 9, "/fclib_global/vectors/mu has 9 entries"),
    "rows": ("global", "fclib_global/H/m", [18], "/fclib_global/H has 18 rows; M has 12"),
    "columns": ("local", "fclib_local/W/n", [18], "/fclib_local/W has shape (12, 18); it must be square"),
    "storage": ("local", "fclib_local/W/nz", [-3], "/fclib_local/W/nz is -3"),
    "triplets": ("global", "fclib_global/H/nz", [9999], "/fclib_global/H has 144 of 9999 triplets"),
    "index": ("local", "fclib_local/W/i", [99] * 144, "/fclib_local/W has the index 99, outside 0 to 11"),
    "guess": ("local", "guesses/1/r", [0.0], "/guesses/1/r has 1 entries; 12"),
    "solution": ("global", "solution/r", [np.inf] * 12, "/solution/r has the entry inf"),
    "M": ("global", "fclib_global/M/x", [-1.0] * 12, "/fclib_global/M is indefinite"),
    "no number": ("local", "fclib_local/spacedim", [3, 3], "/fclib_local/spacedim is no whole number"),
}


@pytest.mark.parametrize("case", REPLACED)
def test_wrong_values_in_hdf5(capsys, tmp_path, good, case):
    name, part, values, message = REPLACED[case]
    path = copied(good, tmp_path, f"{name}.hdf5")
    with h5py.File(path, "a") as file:
        kind = file[part].dtype
        del file[part]
        file[part] = np.array(values).astype(kind)
    refused(capsys, tmp_path, path, message)


@pytest.mark.parametrize("group", ["fclib_global_rolling", "fclib_local_rolling", "mu_r"])
def test_rolling_friction_is_not_taken_for_coulomb_friction(capsys, tmp_path, good, group):
    path = copied(good, tmp_path, "global.hdf5")
    with h5py.File(path, "a") as file:
        if group == "mu_r":
            file["fclib_global/vectors/mu_r"] = np.full(N, 0.1)
        else:
            file.move("fclib_global", group)
    refused(capsys, tmp_path, path, group, "rolling friction")


def test_slight_faults_are_one_warning_each(capsys, tmp_path):
    near = flipped(W, 1e-7)
    near[0, 1] += 1e-3 * np.abs(near).max()
    np.savez(tmp_path / "near.npz", **local_W(near))
    assert main(["solve", str(tmp_path / "near.npz"), "--json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 1
    assert all(line.startswith(f"warning: problem file {tmp_path / 'near.npz'}: W is ") for line in lines)
    assert "is not symmetric, max|W - W^T| is 1.0e-03 of max|W|; it is solved as it is" in lines[0]
    np.savez(tmp_path / "near.npz", **local_W(flipped(W, 1e-7)))
    assert main(["solve", str(tmp_path / "near.npz"), "--json"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "W is indefinite, its smallest eigenvalue is -1.0e-07 of its largest" in line


def test_a_folder_with_one_bad_file_is_refused_before_any_is_solved(capsys, tmp_path):
    np.savez(tmp_path / "a.npz", **local())
    assert main(["solve", str(tmp_path), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    np.savez(tmp_path / "b.npz", **local(mu=-np.ones(N)))
    assert main(["solve", str(tmp_path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "b.npz: mu is -1.0 at contact 0" in err


@pytest.mark.parametrize("share", [1e-2, 1e-3])
def test_large_indefinite_matrices_are_found_without_a_decomposition(share):
    """A pile of 90 spheres, W of rank 540 at most: one contact's diagonal lowered, or all of them."""
    scene = Scene()
    scene.add_half_space()
    for k in range(90):
        scene.add_sphere(0.1, (0.19 * (k % 6), 0.19 * (k // 6 % 5), 0.099 + 0.19 * (k // 30)))
    problem = Simulation(scene).step().problem
    W = problem.A.delassus(problem.J)
    S = (0.5 * (W + W.T)).tocsr()
    size = S.shape[0]
    assert size > 400
    low, high = extreme_eigenvalues(S)
    exact = np.linalg.eigvalsh(S.toarray())
    assert high == pytest.approx(exact[-1], rel=1e-6)
    assert exact[0] - 1e-12 * high <= low <= 1e-3 * high
    one = np.zeros(size)
    one[size // 2] = share * high
    for lowered in (one, np.full(size, share * high)):
        T = (S - diags_array(lowered)).tocsr()
        assert extreme_eigenvalues(T)[0] == pytest.approx(np.linalg.eigvalsh(T.toarray())[0], rel=0.05)
    assert extreme_eigenvalues(S) == (low, high)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "box-slide", "--steps", "2", "--dump-problem", "2", "OUT/a.txt"], "a.txt: problems are saved as .npz"),
        (["run", "box-slide", "--steps", "2", "--dump-problem", "2", "OUT/no/a.npz"], "does not exist"),
        (["run", "box-slide", "--steps", "2", "--dump-problem", "3", "OUT/a.hdf5"], "step 3 is not among"),
        (["run", "spin-down", "--steps", "2", "--dump-problem", "2", "OUT/a.hdf5"], "no torsional friction"),
        (["solve", "GOOD/local.npz", "GOOD/local.hdf5", "--out", "OUT/a.npz"], "can hold one problem; 2 are given"),
        (["solve", "GOOD/local.npz", "--out", "OUT/a.dat"], "a.dat: problems are saved as .npz"),
        (["solve", "GOOD/local.npz", "--guess"], "local.npz holds no guess"),
        (["solve", "OUT"], "has no problem files"),
    ],
)
def test_bad_commands(capsys, tmp_path, good, arguments, message):
    code = main([text.replace("OUT", str(tmp_path)).replace("GOOD", str(good)) for text in arguments])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []
