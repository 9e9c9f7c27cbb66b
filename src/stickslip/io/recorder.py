"""Writing recordings: what a run did, in one HDF5 file that can be read while it grows and after a kill.

Layout of version 3 (n frames, nb bodies, nj joints):

    attributes            format, version, stickslip_version, scene, parameters, solver, solver_options, stepping
                          (the last four but the name as JSON), gravity, every
    user block            a line: how many frames are whole (io/commit_mark.py)
    complete              whether the run ended; then final_state and state_digest are there
    model/                every field of Model; has_motion in the place of the motions, which are functions
    time, iterations      (n,)
    loaded                (n,) whether kernels were compiled or loaded during the step, which its timings then include
    q, v                  (n, nb, 7), (n, nb, 6) State.body_pose and body_velocity, after each recorded step
    force, force_row      (m, nb, 6), (n,) Control.body_force in frame f is force[force_row[f]]
    joint_broken, joint_impulse                 (n, nj), (n, rows) where there are joints
    certificate, energy, timings                (n,) records with a field for each number
    contacts/...          io/contact_frames.py
    soft/...              nodes and elements of soft bodies: io/soft_frames.py
    robots/...            joints of robots: io/robot_frames.py
    final_state/...       every array of State and, as control_..., of Control, so that a run can go on bit for bit
    state_digest

Version 2 had the arrays of State in final_state by the names of their parts, with q (nb, 7) and v (nb, 6), and what is
in Control now among them. Version 1 had a force for every frame, a dataset for each number, friction and torsion for
every contact, no joints, and could not be read before it was whole.

A file is written as FILE.partial, in HDF5's single-writer-multiple-readers mode, in which its structure is sound at all
times. About every second all that waits is written and flushed, and only then the mark says so: whatever a kill leaves
half written belongs to frames that do not count.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from operator import attrgetter
from types import TracebackType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

import stickslip
from stickslip import checks, jit
from stickslip.arrays import Array
from stickslip.bodies.registry import frame_poses, frame_velocities
from stickslip.errors import FileError, InputError
from stickslip.files import PARTIAL
from stickslip.io import commit_mark
from stickslip.io.contact_frames import ContactWriter
from stickslip.io.growing_dataset import GrowingDataset
from stickslip.io.model_group import write_model
from stickslip.io.number_table import CERTIFICATE, ENERGY, TIMINGS, NumberTable, record_type
from stickslip.io.partial_file import partial_file
from stickslip.io.robot_frames import RobotFrames
from stickslip.io.soft_frames import SoftFrames
from stickslip.io.state_group import create_state, write_state
from stickslip.model.model import Model
from stickslip.model.state import DTYPES, State
from stickslip.reading_robots import robots_of
from stickslip.simulation import Simulation, StepResult

FORMAT, VERSION = "stickslip-recording", 3
TABLES: dict[str, Any] = {
    "time": "f8", "iterations": "i4", "force_row": "i8", "certificate": record_type(CERTIFICATE),
    "energy": record_type(ENERGY), "timings": record_type(TIMINGS), "loaded": "?",
}  # fmt: skip
"""Numbers of every frame and their types."""
ROWS: dict[str, Callable[[Model, State], NDArray[Any]]] = {
    "q": frame_poses, "v": frame_velocities, "joint_broken": lambda _, state: state.joint_broken,
    "joint_impulse": lambda _, state: state.joint_impulse,
}  # fmt: skip
"""Which rows of a state each array of frames has."""
_CERTIFICATE_ROW, _ENERGY_ROW = attrgetter(*CERTIFICATE), attrgetter(*ENERGY)
COMMIT_SECONDS = 1.0
"""Most time [s] that a frame waits to be safe from a kill, as long as steps are shorter."""


class Recorder:
    """Writes every ``every``-th step, and the last one, of a simulation to a file.

    Use it as a context manager and call it with each result: ``with Recorder(...) as record: sim.run(100, record)``.
    The file is called FILE.partial until the block ends. After an exception it keeps that name, with the frames until
    then, and the exception has a note that says so; a kill costs the frames of about a second.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        simulation: Simulation,
        scene_name: str = "",
        parameters: dict[str, Any] | None = None,
        every: int = 1,
        elements: bool = True,
    ) -> None:
        """``parameters``: what the scene was made with, for the record; numbers, texts and lists of them.

        elements: whether strain, stress and energy of every element of soft bodies are recorded, 56 bytes each a frame.
        """
        checks.instance("recorder", "simulation", simulation, Simulation, "a stickslip.Simulation is needed")
        self.path, self.simulation = checks.path("recorder", path), simulation
        self.every = checks.whole("recorder", "every", every, 1)
        self.elements = checks.boolean("recorder", "elements", elements)
        self.frames = 0
        """Frames taken so far; those of the last second may still wait to be written."""
        described = {} if parameters is None else parameters
        checks.instance("recorder", "parameters", described, dict, "a dictionary is needed")
        named = checks.text("recorder", "scene_name", scene_name)
        self._attributes = _attributes(simulation, named, described, self.every)
        self._stack = ExitStack()
        self._steps = 0
        self._kernels, self._loaded = jit.compiled_count(), False
        self._last: StepResult | None = None
        self._last_commit = 0.0
        self._failed = False  # HDF5 failed to write: it must not be asked again

    def __enter__(self) -> Recorder:
        """Create the file and write the model; an unwritable place raises a FileError here."""
        with ExitStack() as stack:
            self._partial = stack.enter_context(partial_file(self.path))
            self._mark = os.open(self._partial, os.O_WRONLY)
            stack.callback(os.close, self._mark)
            with self._own_errors():
                # partial_file holds the lock; HDF5's own would hinder readers
                self._file = h5py.File(
                    self._partial, "w", libver=("v110", "latest"), locking=False, userblock_size=commit_mark.BYTES
                )
                stack.callback(self._close)
                self._create()
                self._commit()
                self._file.swmr_mode = True  # from here on nothing can be created, only grow
            self._stack = stack.pop_all()
        return self

    def __call__(self, result: StepResult) -> None:
        """Take note of one step."""
        checks.instance("recorder", "result", result, StepResult, "what Simulation.step returned is needed")
        self._steps += 1
        self._last = result
        known, self._kernels = self._kernels, jit.compiled_count()
        self._loaded = self._kernels > known
        if self._steps % self.every == 0:
            with self._own_errors():
                self._record(result)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the file and give it its name; after an error it keeps the frames until then under the other."""
        with self._own_errors():
            if kind is None:
                with self._stack:
                    self._finish()
            else:
                self._stack.__exit__(kind, error, trace)

    def _close(self) -> None:
        with self._own_errors():
            try:
                if self.frames > PARTIAL[self._partial] and not self._failed:
                    self._commit()
            finally:
                self._file.close()
            if not self._failed:
                commit_mark.write_mark(self._mark, self.frames, self._partial.stat().st_size)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Turn what h5py raises when the disk is full or gone into a FileError."""
        try:
            yield
        except (OSError, RuntimeError) as failure:
            if isinstance(failure, FileError):
                raise
            self._failed = True
            error = FileError(f"cannot write recording {self.path}; is the disk full? {str(failure).splitlines()[0]}")
            error.unsafe_exit = True
            raise error from None

    def _create(self) -> None:
        """Everything that the file will ever hold, still empty."""
        file, model = self._file, self.simulation.model
        file.attrs.update(self._attributes)
        write_model(file.create_group("model"), model)
        self._complete = file.create_dataset("complete", data=False)
        bodies, joints = model.body_count, model.joints
        rows: dict[str, tuple[int, ...]] = {"q": (bodies, 7), "v": (bodies, 6)}
        if joints.count:
            rows |= {"joint_broken": (joints.count,), "joint_impulse": (joints.row_count,)}
        self._states = {name: GrowingDataset(file, name, shape, DTYPES.get(name, "f8")) for name, shape in rows.items()}
        self._force = GrowingDataset(file, "force", (bodies, 6), "f8")
        self._tables = [NumberTable(file, name, dtype) for name, dtype in TABLES.items()]
        self._contacts = ContactWriter(file, model)
        self._soft = None
        if model.soft.count:
            self._soft = SoftFrames(file, model, self.simulation.stepping, self.elements)
        self._robots = RobotFrames(file, model) if robots_of(model) else None
        create_state(file, self.simulation.state, self.simulation.control)

    def _frame_forces(self, result: StepResult) -> Array:
        """Forces (nb, 6) of the user on frames; those on frames of other kinds are not told by frame."""
        force, model = result.control.body_force, self.simulation.model
        return np.concatenate([force, np.zeros((model.body_count - len(force), 6))]) if model.others else force

    def _record(self, result: StepResult) -> None:
        """Append one frame."""
        state, certificate, timings = result.state, result.certificate, result.timings
        for name, dataset in self._states.items():
            dataset.append(ROWS[name](self.simulation.model, state)[None])
        self._contacts.append(result)
        if self._soft is not None:
            self._soft.append(state, result.control.node_force)
        if self._robots is not None:
            self._robots.append(state, result.control)
        rows = (
            state.time,
            result.solution.iterations,
            self._force.append_changed(self._frame_forces(result)),
            _CERTIFICATE_ROW(certificate),
            _ENERGY_ROW(certificate.energy),
            tuple(timings.get(name, np.nan) for name in TIMINGS),
            self._loaded,
        )
        for table, row in zip(self._tables, rows, strict=True):
            table.append(row)
        self.frames += 1
        if time.monotonic() - self._last_commit >= COMMIT_SECONDS:
            self._commit()

    def _commit(self) -> None:
        """Write all that waits, and say so when it is in the file."""
        soft = () if self._soft is None else self._soft.datasets
        robots = () if self._robots is None else self._robots.datasets
        for dataset in (*self._states.values(), self._force, *self._tables, *self._contacts.datasets, *soft, *robots):
            dataset.write()
        self._file.flush()
        commit_mark.write_mark(self._mark, self.frames, self._partial.stat().st_size if self.frames else 0)
        PARTIAL[self._partial] = self.frames
        self._last_commit = time.monotonic() if self.frames else -np.inf  # the first frame does not wait

    def _finish(self) -> None:
        if self._last is not None and self._steps % self.every:
            self._record(self._last)
        self._commit()
        end = self.simulation if self._last is None else self._last
        write_state(self._file, end.state, end.control)
        self._file.flush()
        self._complete[()] = True


def _attributes(
    simulation: Simulation, scene_name: str, parameters: dict[str, Any], every: int
) -> dict[str, str | int | Array]:
    """Attributes of the file, checked before anything is written."""
    try:
        described = json.dumps(parameters)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"recorder: parameters cannot be stored as JSON: {error}") from None
    return {
        "format": FORMAT,
        "version": VERSION,
        "stickslip_version": stickslip.__version__,
        "scene": scene_name,
        "parameters": described,
        "solver": simulation.solver.name,
        "solver_options": json.dumps(_options(simulation.solver)),
        "stepping": json.dumps(_options(simulation.stepping)),
        "gravity": simulation.model.gravity,
        "every": every,
    }


def _options(options: object) -> dict[str, Any]:
    """Fields of a dataclass of options as plain values; what JSON does not know is stored as text."""
    if not is_dataclass(options):
        return {}
    values = {item.name: getattr(options, item.name) for item in fields(options) if item.init}
    plain = (bool, int, float, str, type(None))
    return {name: value if isinstance(value, plain) else repr(value) for name, value in values.items()}
