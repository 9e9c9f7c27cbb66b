"""Writing recordings: what a run did, in one HDF5 file that is whole or absent.

Layout of version 1 (n frames, nb bodies; contacts of all frames one after another, k in total):

    attributes            format, version, stickslip_version, scene, parameters, solver, solver_options, stepping
                          (the last four but the name as JSON), gravity, every, state_digest
    model/                every field of Model; has_motion in the place of the motions, which are functions
    time, q, v, force     (n,), (n, nb, 7), (n, nb, 6), (n, nb, 6) as in State, after each recorded step
    contacts/offset       (n + 1,) the contacts of frame f are the rows offset[f]:offset[f + 1] of
    contacts/...          body_a, body_b, point, normal, gap, impulse (world, on body b), torsion, friction, status;
                          with soft bodies, which are numbered after the rigid ones, also node_a, node_b, weight_a,
                          weight_b as in SoftContacts
    soft/...              nodes and elements of soft bodies: io/soft_frames.py
    certificate/...       one dataset (n,) per number, energy/... likewise
    iterations            (n,)
    timings/...           one dataset (n,) per stage [s]
    final_state/...       every field of State, so that a run can go on bit for bit
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

import stickslip
from stickslip.certificate import Certificate, EnergyLedger
from stickslip.contact_report import contacts_of
from stickslip.errors import FileError, InputError
from stickslip.files import whole_file
from stickslip.io.growing_dataset import GrowingDataset
from stickslip.io.model_group import write_model
from stickslip.io.soft_frames import SoftFrames
from stickslip.simulation import Simulation, StepResult
from stickslip.state import State

FORMAT, VERSION = "stickslip-recording", 1
CERTIFICATE = tuple(item.name for item in fields(Certificate) if item.name != "energy")
ENERGY = tuple(item.name for item in fields(EnergyLedger))
_CERTIFICATE_ROW, _ENERGY_ROW = attrgetter(*CERTIFICATE), attrgetter(*ENERGY)
TIMINGS = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
SCALARS = (
    *(f"certificate/{name}" for name in CERTIFICATE),
    *(f"certificate/energy/{name}" for name in ENERGY),
    *(f"timings/{name}" for name in TIMINGS),
)
SCALAR_TYPES = {"contacts": "i4", "iterations": "i4", "converged": "?", "status": "S16"}
"""Types of the certificate's entries that are not floats."""
CONTACT_COLUMNS: dict[str, tuple[tuple[int, ...], str]] = {
    "body_a": ((), "i4"),
    "body_b": ((), "i4"),
    "point": ((3,), "f8"),
    "normal": ((3,), "f8"),
    "gap": ((), "f8"),
    "impulse": ((3,), "f8"),
    "torsion": ((), "f8"),
    "friction": ((3,), "f8"),
    "status": ((), "i4"),
}
SOFT_COLUMNS: dict[str, tuple[tuple[int, ...], str]] = {
    "node_a": ((3,), "i4"),
    "node_b": ((3,), "i4"),
    "weight_a": ((3,), "f8"),
    "weight_b": ((3,), "f8"),
}
"""Columns of contacts in a scene with soft bodies: which nodes take part, -1 beyond; of rigid bodies none do."""
NO_NODE = {"i4": -1, "f8": 0.0}
"""What those columns hold where there is no node."""
SCALAR_ROWS = 4096
"""Frames whose numbers (certificate, timings) are turned into arrays together."""


class Recorder:
    """Writes every ``every``-th step, and the last one, of a simulation to a file.

    Use it as a context manager and call it with each result: ``with Recorder(...) as record: sim.run(100, record)``.
    An exception inside the block leaves no file behind.
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
        if every < 1:
            raise InputError(f"recorder: every is {every}; it must be 1 or more")
        self.path, self.simulation, self.every, self.elements = Path(path), simulation, int(every), elements
        self._attributes = _attributes(simulation, scene_name, parameters or {}, self.every)
        self._stack = ExitStack()
        self._steps = 0
        self._offset = [0]
        self._last: StepResult | None = None
        self._scalars: list[tuple[Any, ...]] = []

    def __enter__(self) -> Recorder:
        """Create the temporary file and write the model; an unwritable place raises a FileError here."""
        with ExitStack() as stack:
            temporary = stack.enter_context(whole_file(self.path))
            self._file = stack.enter_context(h5py.File(temporary, "w"))
            self._file.attrs.update(self._attributes)
            write_model(self._file.create_group("model"), self.simulation.model)
            bodies = self.simulation.model.body_count
            rows = {"time": (), "q": (bodies, 7), "v": (bodies, 6), "force": (bodies, 6), "iterations": ()}
            integers = {"iterations": "i4"}
            self._frames = {
                name: GrowingDataset(self._file, name, shape, integers.get(name, "f8")) for name, shape in rows.items()
            }
            model = self.simulation.model
            columns = {**CONTACT_COLUMNS, **(SOFT_COLUMNS if model.soft.count else {})}
            group = self._file.create_group("contacts")
            self._contacts = {
                name: GrowingDataset(group, name, shape, dtype) for name, (shape, dtype) in columns.items()
            }
            self._soft = None
            if model.soft.count:
                self._soft = SoftFrames(self._file, model, self.simulation.stepping, self.elements)
            self._numbers = [
                GrowingDataset(self._file, name, (), SCALAR_TYPES.get(name.split("/")[-1], "f8")) for name in SCALARS
            ]
            self._stack = stack.pop_all()
        return self

    def __call__(self, result: StepResult) -> None:
        """Take note of one step."""
        self._steps += 1
        self._last = result
        if self._steps % self.every == 0:
            with self._own_errors():
                self._record(result)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the file and give it its name, or remove it after an error."""
        with self._own_errors():
            if kind is None:
                with self._stack:
                    self._finish()
            else:
                self._stack.__exit__(kind, error, trace)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Turn what h5py raises when the disk is full or gone into a FileError."""
        try:
            yield
        except (OSError, RuntimeError) as failure:
            if isinstance(failure, FileError):
                raise
            error = FileError(f"cannot write recording {self.path}; is the disk full? {str(failure).splitlines()[0]}")
            error.unsafe_exit = True
            raise error from None

    def _record(self, result: StepResult) -> None:
        """Append one frame. Arrays are kept by reference: a step never changes those of an earlier one."""
        state, contacts, certificate = result.state, contacts_of(result), result.certificate
        for name in ("q", "v", "force"):
            self._frames[name].append(getattr(state, name)[None])
        columns: tuple[NDArray[Any], ...] = (
            contacts.body_a, contacts.body_b, contacts.point, contacts.normal, contacts.gap,
            contacts.impulse[:, :3], contacts.impulse[:, 3], contacts.friction, contacts.status,
        )  # fmt: skip
        for name, column in zip(CONTACT_COLUMNS, columns, strict=True):
            self._contacts[name].append(column)
        self._offset.append(self._offset[-1] + len(contacts.gap))
        if self._soft is not None:
            self._soft.append(state)
            for name, (_, dtype) in SOFT_COLUMNS.items():
                self._contacts[name].append(np.full((len(result.contacts), 3), NO_NODE[dtype]))
                self._contacts[name].append(getattr(result.soft_contacts, name))
        self._scalars.append(
            (
                state.time,
                result.solution.iterations,
                *_CERTIFICATE_ROW(certificate),
                *_ENERGY_ROW(certificate.energy),
                *(result.timings.get(name, np.nan) for name in TIMINGS),
            )
        )
        if len(self._scalars) >= SCALAR_ROWS:
            self._flush_scalars()

    def _flush_scalars(self) -> None:
        datasets = [self._frames["time"], self._frames["iterations"], *self._numbers]
        for dataset, column in zip(datasets, zip(*self._scalars, strict=True), strict=False):
            dataset.append(np.array([x.encode() for x in column] if isinstance(column[0], str) else column))
        self._scalars = []

    def _finish(self) -> None:
        if self._last is not None and self._steps % self.every:
            self._record(self._last)
        self._flush_scalars()
        for dataset in (*self._frames.values(), *self._contacts.values(), *self._numbers):
            dataset.finish()
        if self._soft is not None:
            self._soft.finish()
        self._file["contacts"].create_dataset("offset", data=np.array(self._offset, dtype=np.int64))
        state = self.simulation.state if self._last is None else self._last.state
        group = self._file.create_group("final_state")
        for item in fields(State):
            group.create_dataset(item.name, data=getattr(state, item.name))
        self._file.attrs["state_digest"] = state.digest()


def _attributes(
    simulation: Simulation, scene_name: str, parameters: dict[str, Any], every: int
) -> dict[str, str | int | NDArray[np.float64]]:
    """Attributes of the file, checked before anything is written."""
    try:
        described = json.dumps(parameters)
    except (TypeError, ValueError) as error:
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
    values = {item.name: getattr(options, item.name) for item in fields(options)}
    plain = (bool, int, float, str, type(None))
    return {name: value if isinstance(value, plain) else repr(value) for name, value in values.items()}
