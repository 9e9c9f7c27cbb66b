"""The command line: exit codes, JSON fields, one line for bad input and no file left behind."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import h5py
import numpy as np
import pytest

import child_process
from stickslip.cli import main
from stickslip.contact.problem import from_delassus
from stickslip.errors import FileError
from stickslip.io.problem_file import save_problem
from stickslip.io.recording import read_recording
from stickslip.scenes.running import Tally, prepare
from stickslip.solvers.protocol import Takes
from stickslip.solvers.registry import SOLVERS, make_solver

RUN_FIELDS = {
    "scene", "solver", "law", "dt", "steps", "bodies", "dofs", "contacts_mean", "contacts_max", "ms_per_step",
    "realtime_rate", "iterations_mean", "converged_fraction", "state_hash", "certificate", "metrics", "unread_hints",
}  # fmt: skip
CERTIFICATE_FIELDS = {
    "momentum_relative", "penetration_max_mm", "natural_residual_max", "cone_violation_max_N", "energy_gain_J",
}  # fmt: skip
SOLVE_FIELDS = {
    "problem", "solver", "contacts", "converged", "status", "iterations", "seconds", "residual", "residual_scaled",
}  # fmt: skip
SOLVE_EXTRAS = {
    "law", "method", "residual_law", "cpu_seconds", "signorini_m_per_s", "cone_N_s", "dissipation_J",
    "consistency_m_per_s", "open", "stick", "slip",
}  # fmt: skip


@pytest.fixture
def problem_file(tmp_path):
    """One contact pressed together with 1 m/s against a unit mass, slipping sideways."""
    path = tmp_path / "one.npz"
    save_problem(from_delassus(np.eye(3), [-1.0, 0.3, 0.0], [0.5]), path)
    return path


def output(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_run_prints_the_fields_that_scripts_rely_on(capsys):
    code, out, err = output(capsys, "run", "box-slide", "--steps", "5", "--json")
    found = json.loads(out)
    assert code == 0
    assert err == ""
    assert found.keys() >= RUN_FIELDS
    assert found["certificate"].keys() >= CERTIFICATE_FIELDS
    assert found["metrics"].keys() == {"position_error_mm", "x_error_mm", "y_error_mm", "z_error_mm"}
    assert (found["scene"], found["solver"], found["law"]) == ("box-slide", "cond", "exact")
    assert (found["dt"], found["steps"], found["bodies"], found["dofs"]) == (0.01, 5, 2, 6)
    assert found["converged_fraction"] == 1.0


def test_run_is_deterministic_and_settings_matter(capsys):
    def digest(*more):
        return json.loads(output(capsys, "run", "box-slide", "--steps", "5", "--json", *more)[1])["state_hash"]

    assert digest() == digest()
    assert digest("--set", "friction=0.1") != digest()
    assert digest("--set", "stepping.scheme=moreau") != digest()


def test_run_steps_many_worlds_of_a_scene(capsys):
    arguments = "run", "box-slope", "--steps", "4", "--worlds", "3", "--threads", "2"
    found = json.loads(output(capsys, *arguments, "--json")[1])
    assert (found["worlds"], found["steps"], found["threads"], found["driver"]) == (3, 4, 2, "compiled")
    assert found["world_steps_per_second"] > 0.0
    assert found["converged_fraction"] == 1.0
    assert 0.0 < found["certificate"]["momentum_relative"] < 1e-6
    assert "3 worlds, 4 steps" in output(capsys, *arguments)[1]
    text = output(capsys, "run", "box-slide", "--steps", "2", "--worlds", "2")[1]
    assert "python driver (the solver is 'cond'" in text


def test_run_takes_files_that_build_scenes_and_files_of_robots(capsys, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "import stickslip\n\ndef build(height=0.1):\n    scene = stickslip.Scene()\n    scene.add_half_space()\n"
        "    scene.add_box((0.2, 0.2, 0.2), (0, 0, height))\n    return scene\n\nother = 3\n"
    )
    low = json.loads(output(capsys, "run", own, "--steps", "3", "--json")[1])
    high = json.loads(output(capsys, "run", f"{own}:build", "--steps", "3", "--json", "--set", "height=0.5")[1])
    assert (low["scene"], low["contacts_max"], high["contacts_max"]) == ("own", 4, 0)
    code, _, err = output(capsys, "run", f"{own}:other")
    assert (code, "it has no function 'other'; those that it has: build" in err) == (2, True)
    code, _, err = output(capsys, "run", own, "--set", "width=1")
    assert (code, "parameter 'width' is unknown" in err) == (2, True)
    robot = tmp_path / "arm.urdf"
    robot.write_text(
        '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" '
        'type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    found = json.loads(output(capsys, "run", robot, "--steps", "3", "--dt", "0.01", "--json")[1])
    assert (found["scene"], found["dofs"], found["dt"]) == ("arm", 1, 0.01)


def test_run_takes_time_and_dt(capsys):
    out = output(capsys, "run", "box-slide", "--time", "0.1", "--dt", "0.005", "--json")[1]
    assert json.loads(out)["steps"] == 20


def test_steps_that_compile_do_not_count_as_slow(monkeypatch):
    """Kernels may be compiled in any step, such as the first with contacts."""
    tally = Tally(prepare("box-slide"))
    counts = iter([0, 5, 5, 5, 5, 8, 8, 8])  # before and after each step
    monkeypatch.setattr("stickslip.jit.compiled_count", lambda: next(counts))
    for _ in range(4):
        tally.step()
    assert tally.loaded == [True, False, True, False]
    tally.seconds = [9.0, 0.02, 30.0, 0.04]
    found = tally.summary()
    assert (found.first_step_ms, found.ms_per_step) == (9000.0, pytest.approx(30.0))
    assert found.ms_per_step_median == pytest.approx(30.0)
    assert found.realtime_rate == pytest.approx(0.01 / 0.03)
    tally.loaded = [True] * 4  # nothing else to tell
    assert tally.summary().ms_per_step == pytest.approx(1e3 * (0.02 + 30.0 + 0.04) / 3)


def test_summary_for_people(capsys):
    code, out, _ = output(capsys, "run", "box-slide", "--steps", "3")
    assert code == 0
    assert "Every step converged." in out
    assert "position_error_mm" in out
    # the report's ledger has another number, in which losses of some steps offset the gains of others
    assert "gained by discretisation, losses not counted" in out


def test_strict_fails_where_a_step_did_not_converge(capsys):
    starved = ("run", "heavy-stack", "--steps", "2", "--set", "solver.max_iterations=1", "--json")
    assert output(capsys, *starved)[0] == 0
    code, out, _ = output(capsys, *starved, "--strict")
    assert code == 1
    assert json.loads(out)["converged_fraction"] < 1.0


def test_recording_and_problem_dump(capsys, tmp_path):
    recording, problem = tmp_path / "slide.h5", tmp_path / "step.npz"
    code, out, _ = output(
        capsys, "run", "box-slide", "--steps", "4", "--out", recording, "--dump-problem", "3", problem, "--json"
    )
    assert code == 0
    with read_recording(recording) as recorded:
        assert recorded.state_digest == json.loads(out)["state_hash"]
    code, out, _ = output(capsys, "solve", problem, "--json")
    assert code == 0
    assert json.loads(out)["contacts"] == 4


def test_render_draws_the_frame_that_is_asked_for(capsys, tmp_path):
    image = pytest.importorskip("PIL.Image")
    recording = tmp_path / "slide.h5"
    assert main(["run", "box-slide", "--time", "1", "--out", str(recording), "--json"]) == 0
    pictures = []
    for name, options in (("last", ()), ("first", ("--frame", "0")), ("end", ("--time", "1.0"))):
        code, _, err = output(capsys, "render", recording, tmp_path / f"{name}.png", "--width", "64", *options)
        assert (code, err) == (0, "")
        with image.open(tmp_path / f"{name}.png") as picture:
            assert picture.size == (64, 36)
            pictures.append(np.asarray(picture))
    assert np.array_equal(pictures[0], pictures[2])
    assert not np.array_equal(pictures[0], pictures[1])
    assert output(capsys, "render", recording, tmp_path / "no.png", "--frame", "100")[0] == 2
    assert not (tmp_path / "no.png").exists()


def test_solve_prints_one_object_a_problem(capsys, problem_file):
    code, out, _ = output(capsys, "solve", problem_file, problem_file, "--tolerance", "1e-12", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert all(set(row) >= SOLVE_FIELDS | SOLVE_EXTRAS for row in rows)
    assert rows[0]["converged"]
    assert rows[0]["residual_scaled"] < 1e-11
    assert rows[0]["problem"] == str(problem_file)


def test_solve_strict_fails_without_convergence(capsys, tmp_path):
    path = tmp_path / "coupled.npz"
    half = np.random.default_rng(0).normal(size=(12, 12))
    save_problem(from_delassus(half @ half.T + 0.1 * np.eye(12), -np.ones(12), [0.5] * 4), path)
    starved = ("solve", path, "--tolerance", "1e-12", "--max-iterations", "1", "--json")
    assert output(capsys, *starved)[0] == 0
    code, out, _ = output(capsys, *starved, "--strict")
    assert code == 1
    assert not json.loads(out)["converged"]


def test_lists(capsys):
    code, out, _ = output(capsys, "list", "--json")
    found = json.loads(out)
    assert code == 0
    assert {"demo", "box-slope", "rolling"} <= {row["name"] for row in found["scenes"]}
    assert "prox-gs" in {row["name"] for row in found["solvers"]}
    rows = {row["name"]: row for row in found["solvers"]}
    assert {name: row["law"] for name, row in rows.items()} == {name: make_solver(name).takes.law for name in SOLVERS}
    assert rows["cond"]["factors"] == "none"
    assert rows["cond"]["friction_sets"] == ["disc", "ellipse", "box"]
    assert all({item.name for item in fields(Takes)} <= set(row) for row in rows.values())
    assert rows["auto"]["settings"]["subspace_limit"] == 1500
    assert rows["auto"]["summary"] == "Chooses a method by structure and switches when it stalls."
    assert "linearise: own-steps" in output(capsys, "list", "solvers")[1]
    assert "truth" in {row["name"] for row in found["experiments"]}
    assert "box-slope" in output(capsys, "list", "scenes")[1]


def test_doctor_finds_this_machine_healthy(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE_DIR", str(tmp_path))  # the home folder may be one that cannot be written
    code, out, _ = output(capsys, "doctor", "--json")
    assert code == 0
    assert json.loads(out)["ok"]


def test_doctor_reports_a_cache_that_cannot_be_written(capsys, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("STICKSLIP_CACHE_DIR", str(file / "cache"))
    code, out, _ = output(capsys, "doctor", "--json")
    bad = [check["name"] for check in json.loads(out)["checks"] if not check["ok"]]
    assert code == 1
    assert bad == ["cache"]


def test_truth_of_one_quick_test(capsys):
    code, out, _ = output(
        capsys, "truth", "--engines", "stickslip", "--tests", "slide", "--quick", "--json", "--strict"
    )
    assert code == 0
    assert json.loads(out)["rows"][0]["ok"]


@pytest.mark.parametrize("command", ["", "list", "run", "solve", "truth", "render", "warmup", "doctor"])
def test_every_command_has_help(capsys, command):
    code, out, _ = output(capsys, *command.split(), "--help")
    assert code == 0
    assert "Usage" in out


def test_version(capsys):
    assert output(capsys, "--version")[1].startswith("stickslip ")


def test_help_is_quick_and_compiles_nothing():
    program = (
        "import sys; from stickslip.cli import main; code = main(['--help']);"
        "sys.exit(code or any(name in sys.modules for name in ('numpy', 'numba', 'h5py', 'scipy')))"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, "help loads modules that only computations need"
    assert time.perf_counter() - start < 5.0  # 0.3 s on an idle machine


# ---- bad input: one line, exit code 2, no file ---------------------------------------------------------------

SLIDE = ["run", "box-slide", "--steps", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "no-such-scene"], "scene 'no-such-scene' is unknown; known: demo"),
        ([*SLIDE, "--solver", "magic"], "solver 'magic' is unknown; known: auto"),
        ([*SLIDE, "--set", "colour=red"], "parameter 'colour' is unknown; known: friction"),
        ([*SLIDE, "--set", "solver.speed=9"], "'speed' is unknown; known: tolerance"),
        ([*SLIDE, "--set", "friction"], "write KEY=VALUE"),
        ([*SLIDE, "--set", "friction=1", "--set", "friction=2"], "given twice"),
        ([*SLIDE, "--set", "friction=nan"], "friction"),
        ([*SLIDE, "--set", "force=inf"], "force"),
        ([*SLIDE, "--set", "mass=0"], "mass"),
        ([*SLIDE, "--set", "mass=-1"], "mass"),
        ([*SLIDE, "--set", "solver.tolerance=-1"], "tolerance"),
        ([*SLIDE, "--dt", "0"], "dt"),
        ([*SLIDE, "--dt", "-0.01"], "dt"),
        ([*SLIDE, "--dt", "nan"], "dt"),
        ([*SLIDE, "--time", "1"], "both steps and time"),
        (["run", "box-slide", "--steps", "0"], "at least 1"),
        ([*SLIDE, "--worlds", "0"], "worlds is 0"),
        ([*SLIDE, "--worlds", "2", "--out", "OUT/a.h5"], "out is given with worlds"),
        ([*SLIDE, "--threads", "2"], "threads is given without worlds"),
        (["run", "OUT/absent.py"], "does not exist"),
        (["run", "box-slide", "--steps", "many"], "--steps"),
        (["run", "box-slide", "--time", "-1"], "positive"),
        ([*SLIDE, "--every", "0", "--out", "OUT/a.h5"], "every is 0"),
        ([*SLIDE, "--out", "OUT/missing/a.h5"], "cannot write"),
        ([*SLIDE, "--out", "OUT"], "folder"),
        ([*SLIDE, "--dump-problem", "3", "OUT/a.npz"], "step 3"),
        ([*SLIDE, "--frobnicate"], "frobnicate"),
        (["frobnicate"], "frobnicate"),
        (["run"], "SCENE"),
        (["list", "dogs"], "dogs"),
        (["solve", "OUT/absent.npz"], "does not exist"),
        (["solve", "OUT/absent.npz", "--criterion", "best"], "best"),
        (["truth", "--engines", "unreal"], "engine 'unreal' is unknown"),
        (["truth", "--solvers", "magic"], "solver 'magic' is unknown"),
        (["truth", "--tests", "iq", "--engines", "stickslip"], "'iq' is unknown"),
        (["render", "OUT/absent.h5", "OUT/a.png"], "does not exist"),
        (["render", "OUT/absent.h5", "OUT/a.tiff"], "it must be one of .png, .gif, .mp4, .html"),
        (["render", "OUT/absent.h5", "OUT/a.gif", "--frame", "3"], "frame does not apply to a GIF film"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, tmp_path, arguments, message):
    code, out, err = output(capsys, *(text.replace("OUT", str(tmp_path)) for text in arguments))
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["text", "other-hdf5", "truncated"])
def test_render_refuses_files_that_are_no_recordings(capsys, tmp_path, content):
    path = tmp_path / "run.h5"
    if content == "text":
        path.write_text("not HDF5 at all")
    elif content == "other-hdf5":
        with h5py.File(path, "w") as file:
            file["x"] = 1.0
    else:
        assert main([*SLIDE, "--json", "--out", str(path)]) == 0
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    capsys.readouterr()
    code, _, err = output(capsys, "render", path, tmp_path / "out.png")
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out.png").exists()


def test_solve_refuses_a_file_that_is_no_problem(capsys, tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"PK but not really")
    code, _, err = output(capsys, "solve", path)
    assert code == 2
    assert err.count("\n") == 1


def test_a_run_that_diverges_exits_with_1_and_leaves_its_frames(capsys, tmp_path, monkeypatch):
    from stickslip.errors import DivergenceError
    from stickslip.simulation import Simulation

    step = Simulation.step

    def diverge_at_two(sim):
        if sim.state.steps == 2:
            raise DivergenceError("step to t = 0.03 s: body 'box' got velocity [nan]")
        return step(sim)

    monkeypatch.setattr(Simulation, "step", diverge_at_two)
    code, out, err = output(capsys, "run", "box-slide", "--steps", "5", "--out", tmp_path / "a.h5", "--json")
    assert code == 1
    assert out == ""
    assert err.startswith("error: step to t = 0.03 s: body 'box'")
    assert err.endswith(f"; {tmp_path / 'a.h5.partial'} holds the first 2 frames\n")
    assert err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.h5.partial"]


@pytest.mark.parametrize(("number", "frames"), [(signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGHUP, 0)])
def test_a_run_that_is_stopped_leaves_its_frames(tmp_path: Path, number: signal.Signals, frames: int) -> None:
    every = "1" if frames else "100000000"
    options = ["--time", "600", "--out", str(tmp_path / "run.h5"), "--every", every]
    partial = tmp_path / "run.h5.partial"
    with child_process.start("-m", "stickslip", "run", "wall", *options) as process:
        for _ in range(600):  # until the recording is there and has frames
            if process.poll() is not None or (partial.is_file() and _frames(partial) >= frames):
                break
            time.sleep(0.1)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    last = errors.strip().splitlines()[-1]
    assert process.returncode == 128 + number
    assert last.startswith("error: ")
    if frames:
        kept = _frames(partial)
        assert kept >= frames
        assert last.endswith(f"; {partial} holds the first {kept} frames")
        assert [file.name for file in tmp_path.iterdir()] == ["run.h5.partial"]
    else:
        assert list(tmp_path.iterdir()) == []


def _frames(path: Path) -> int:
    try:
        with read_recording(path) as recording:
            return len(recording)
    except FileError:  # not yet
        return -1


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk: frames until then stay, if there are any."""
    for blocks, kept in ((2500, True), (200, False)):
        limit = f'ulimit -f {blocks}; exec "$0" -m stickslip run wall --steps 200 --out "$1"'
        done = subprocess.run(
            ["bash", "-c", limit, sys.executable, str(tmp_path / "run.h5")], capture_output=True, text=True, check=False
        )
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 2
        assert "cannot write recording" in last
        assert "Traceback" not in done.stderr
        if kept:
            count = _frames(tmp_path / "run.h5.partial")
            assert count > 0
            assert last.endswith(f"run.h5.partial holds the first {count} frames")
        else:  # nothing but the frames of the run before, which were moved aside
            assert [file.name for file in tmp_path.iterdir()] == ["run.h5.partial-1"]
