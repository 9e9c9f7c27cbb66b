"""Attack on the readers: damaged files of every format, opened and used as people do.

A case takes a small valid file (file_bases.py), damages it (file_mutations.py) and opens it by the public reader; what
the reader accepts is used. It must end with an error of stickslip or with none, in 10 s and 1 GB.
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import file_mutations as mutations
from file_bases import bases, rigid, soft
from outcome import Outcome

from stickslip import Scene, Simulation, State, elastic
from stickslip.cli import main
from stickslip.errors import StickslipError
from stickslip.geometry.tet_files import read_tet_mesh
from stickslip.io.problem_file import load_file
from stickslip.io.recording import read_recording
from stickslip.model.model import compile_scene
from stickslip.solvers.registry import make_solver
from stickslip.view.course import course_of_recording
from stickslip.view.report.facts import report_facts

SECONDS, MEGABYTES = 10.0, 1024.0
"""Most time and memory of a case."""
BUSY = 6.0
"""A busy machine may take so many times as long."""
COMPANION = {"volume-a.node": "volume-a.ele", "volume-a.ele": "volume-a.node"}
_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the process ends."""
DEEP = 0.25
"""Share of the accepted files with which something costly is done."""
BOMBS = 0.002
"""Share of archives that unpack to gigabytes; they take time to write."""


def attack(seed: int, index: int) -> Outcome:
    """One damaged file."""
    rng = np.random.default_rng([seed, index])
    outcome = Outcome(failures=list(_warmed()) if index == 0 else [])
    _warmed()
    name = str(rng.choice(list(bases())))
    kind = name.partition("-")[0]
    folder = _folder()
    try:
        data = _damaged(name, rng, folder)
    except Exception as error:  # the damage of one kind stood in the way of that of another
        outcome.counts[f"not made: {type(error).__name__}"] += 1
        return outcome
    file = folder / name
    file.write_bytes(data)
    if name in COMPANION:
        (folder / COMPANION[name]).write_bytes(bases()[COMPANION[name]])
    outcome.counts["files"] += 1
    outcome.counts[f"files: {kind}"] += 1
    start, processor, memory = time.monotonic(), time.process_time(), _peak()
    where = f"{name} ({len(data)} bytes)"
    try:
        with warnings.catch_warnings(), _quiet():
            warnings.simplefilter("ignore")
            outcome.counts[USES[kind](file, rng)] += 1
    except StickslipError:
        outcome.counts["refused"] += 1
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)
        own = [f"{Path(line.filename).name}:{line.lineno}" for line in place if "stickslip" in line.filename]
        outcome.fail("raw exception", f"{where}: {type(error).__name__}: {error} at {' '.join(own[-3:])}")
    seconds, megabytes = time.process_time() - processor, (_peak() - memory) / 1024.0
    waited = time.monotonic() - start
    if seconds > SECONDS or waited > BUSY * SECONDS:
        outcome.fail("too slow", f"{where}: {seconds:.1f} s of the processor, {waited:.1f} s in all")
    if megabytes > MEGABYTES:
        outcome.fail("too much memory", f"{where}: {megabytes:.0f} MB")
    return outcome


@cache
def _warmed() -> tuple[str, ...]:
    """Use every file before it is damaged, so that kernels are there when time counts; says which are refused."""
    wrong = []
    for name, data in bases().items():
        file = _folder() / name
        file.write_bytes(data)
        if name in COMPANION:
            (_folder() / COMPANION[name]).write_bytes(bases()[COMPANION[name]])
        kind = name.partition("-")[0]
        commands = COMMANDS.get(kind, ())
        try:
            with warnings.catch_warnings(), _quiet():
                warnings.simplefilter("ignore")
                for chance in range(6):
                    USES[kind](file, np.random.default_rng(chance))
                for command in commands:
                    if _command([word.format(file) for word in command]) != "read":
                        wrong.append(f"valid file: {name} is refused by {command[0]}")
        except Exception as error:
            wrong.append(f"valid file: {name} is not read: {type(error).__name__}: {error}")
    return tuple(wrong)


def _peak() -> int:
    """Most memory [kB] that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@cache
def _folder() -> Path:
    """A folder for the files of this process."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="stickslip-attack-"))
    return Path(_KEPT[-1].name)


@contextlib.contextmanager
def _quiet():
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        np.errstate(all="ignore"),
    ):
        yield


def _damaged(name: str, rng: np.random.Generator, folder: Path) -> bytes:
    """The contents of a file, damaged in one way or in several."""
    data = bases()[name]
    ending = name.rpartition(".")[2]
    if rng.random() < 0.02:  # another format under this name
        data = bases()[str(rng.choice(list(bases())))]
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if not data:
            return data
        if ending in ("h5", "hdf5") and rng.random() < 0.7:
            with contextlib.suppress(OSError, KeyError, RuntimeError):  # it is too damaged already
                data = mutations.hdf5(data, rng, folder / "scratch.h5")
        elif ending == "npz" and rng.random() < 0.7 and data[:2] == b"PK":
            if rng.random() < BOMBS:
                return mutations.bomb(data, rng)
            data = mutations.archive(data, rng)
        elif ending not in ("h5", "hdf5", "npz", "partial", "stl") and rng.random() < 0.7:
            data = mutations.TEXT[int(rng.integers(len(mutations.TEXT)))](data, rng)
        else:
            data = mutations.BYTES[int(rng.integers(len(mutations.BYTES)))](data, rng)
    return data


# ---- what people do with files: each returns what is counted -------------------------------------------------------


def _use_recording(file: Path, rng: np.random.Generator) -> str:
    if rng.random() < 0.07:
        return _some_command("recording", file, rng)
    with read_recording(file) as recording:
        for frame in range(min(len(recording), 5)):
            contacts = recording.contacts(frame)
            assert len(contacts.force) == len(contacts)
            for array in (recording.q, recording.v, recording.force, recording.node_position, recording.joint_impulse):
                array[frame]
            if recording.model.soft.count and "soft/elements" in recording.file._file:
                recording.elements(frame)
        np.asarray(recording.q)
        np.asarray(recording.node_velocity)
        if rng.random() < DEEP:
            report_facts(recording, course_of_recording(recording))
        if recording.final_state is not None:
            sim = simulation("soft" if recording.model.soft.count else "rigid")
            sim.restore(recording.final_state)
    return "read"


@cache
def simulation(name: str) -> Simulation:
    """A simulation of the scene of a recording."""
    return rigid() if name == "rigid" else soft()


def _use_state(file: Path, rng: np.random.Generator) -> str:
    state = State.load(file)
    state.digest()
    sim = simulation("soft" if "soft" in file.name else "rigid")
    sim.restore(state)
    if rng.random() < DEEP:
        sim.step()
    return "read"


def _use_problem(file: Path, rng: np.random.Generator) -> str:
    if rng.random() < 0.07:
        return _some_command("problem", file, rng)
    content = load_file(file)
    guess = content.guesses[0] if content.guesses else None
    solver = "nsgs" if rng.random() < 0.7 else "auto"
    make_solver(solver, max_iterations=20).solve(content.problem, guess)
    return "read"


def _use_surface(file: Path, rng: np.random.Generator) -> str:
    scene = Scene()
    if rng.random() < 0.7:
        scene.add_mesh(file=file)
    else:
        scene.add_hull(file=file)
    compile_scene(scene)
    return "read"


def _use_volume(file: Path, rng: np.random.Generator) -> str:
    mesh = read_tet_mesh(file, drop_unused=bool(rng.random() < 0.5))
    if rng.random() < DEEP:
        scene = Scene()
        scene.add_soft(mesh, elastic(1e5, 0.3))
        compile_scene(scene)
    return "read"


def _some_command(kind: str, file: Path, rng: np.random.Generator) -> str:
    command = COMMANDS[kind][int(rng.integers(len(COMMANDS[kind])))]
    return _command([word.format(file) for word in command])


def _command(arguments: list[str]) -> str:
    """Run a command; its errors are one line and a code."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(arguments)
    if code not in (0, 1, 2) or said.getvalue().count("\n") > 20:
        raise RuntimeError(f"{arguments[0]} ended with {code} and said {said.getvalue()[:200]!r}")
    return "read" if code < 2 else "refused"


COMMANDS = {
    "recording": (
        ("report", "{}", "--json"),
        ("render", "{}", "{}.png", "--width", "48", "--samples", "1"), ("render", "{}", "{}.html"),
    ),
    "problem": (("solve", "{}", "--json", "--solver", "nsgs", "--max-iterations", "20"),),
}  # fmt: skip
"""Commands that are given a file, in whose name it stands for ``{}``."""
USES: dict[str, Callable[[Path, np.random.Generator], str]] = {
    "recording": _use_recording, "state": _use_state, "problem": _use_problem, "surface": _use_surface,
    "volume": _use_volume,
}  # fmt: skip
