"""Reading recordings; io/recorder.py writes them and describes the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.errors import FileError, InputError
from stickslip.io.model_group import read_model
from stickslip.io.recorder import (
    CERTIFICATE,
    CONTACT_COLUMNS,
    ENERGY,
    FORMAT,
    NO_NODE,
    SOFT_COLUMNS,
    TIMINGS,
    VERSION,
)
from stickslip.io.recorder import Recorder as Recorder  # noqa: PLC0414  (both ends of a recording in one place)
from stickslip.io.soft_frames import NODE_FIELDS, read_elements, read_nodes
from stickslip.model import Model
from stickslip.soft_description import SoftBody
from stickslip.soft_reading import ElementReport, body_elements
from stickslip.state import LATER_FIELDS, State

LATER = "gliding_gap"
"""Entry of certificates that older recordings lack; read as not a number."""


@dataclass(frozen=True, eq=False)
class RecordedContacts:
    """k contacts of one frame; the normal points from body a to body b, impulse and force act on body b."""

    body_a: NDArray[np.int32]
    """(k,) rigid body, or Model.body_count + soft body; contacts of soft bodies come last."""
    body_b: NDArray[np.int32]
    point: NDArray[np.float64]
    """(k, 3) [m] world."""
    normal: NDArray[np.float64]
    """(k, 3) unit, world."""
    gap: NDArray[np.float64]
    """(k,) [m]"""
    impulse: NDArray[np.float64]
    """(k, 3) [N s] world."""
    torsion: NDArray[np.float64]
    """(k,) [N m s] about the normal."""
    friction: NDArray[np.float64]
    """(k, 3) coefficients along two tangents and about the normal [m]."""
    status: NDArray[np.int32]
    """(k,) codes of contact_report.STATUS_NAMES."""
    node_a: NDArray[np.int32]
    """(k, 3) nodes of a soft body a that take part, -1 beyond; all -1 where it is rigid."""
    node_b: NDArray[np.int32]
    weight_a: NDArray[np.float64]
    """(k, 3) their barycentric weights, zero beyond."""
    weight_b: NDArray[np.float64]
    dt: float
    """[s] step size."""

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def force(self) -> NDArray[np.float64]:
        """(k, 3) [N] mean force over the step on body b, world."""
        return self.impulse / self.dt


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording of n frames; contacts stay in the file and are read frame by frame."""

    path: Path
    stickslip_version: str
    scene: str
    parameters: dict[str, Any]
    solver: str
    solver_options: dict[str, Any]
    stepping: dict[str, Any]
    every: int
    """Steps from one frame to the next."""
    state_digest: str
    """Digest of ``final_state``."""
    model: Model
    """The model without its prescribed motions, which are functions."""
    has_motion: NDArray[np.bool_]
    """(nb,) which bodies had one."""
    time: NDArray[np.float64]
    """(n,) [s]"""
    q: NDArray[np.float64]
    """(n, nb, 7) [m] and (w, x, y, z)."""
    v: NDArray[np.float64]
    """(n, nb, 6) [m/s] and [rad/s]."""
    force: NDArray[np.float64]
    """(n, nb, 6) [N] and [N m] of the user."""
    node_position: NDArray[np.float64]
    """(n, nn, 3) [m] of the nodes of soft bodies."""
    node_velocity: NDArray[np.float64]
    """(n, nn, 3) [m/s]"""
    node_force: NDArray[np.float64]
    """(n, nn, 3) [N] of the user."""
    contact_offset: NDArray[np.int64]
    """(n + 1,)"""
    iterations: NDArray[np.int32]
    """(n,)"""
    certificate: dict[str, NDArray[Any]]
    """(n,) per entry of Certificate, without energy."""
    energy: dict[str, NDArray[np.float64]]
    """(n,) [J] per entry of EnergyLedger."""
    timings: dict[str, NDArray[np.float64]]
    """(n,) [s] per stage."""
    final_state: State

    def __len__(self) -> int:
        return len(self.time)

    def contacts(self, frame: int) -> RecordedContacts:
        """Contacts of a frame, read from the file; negative frames count from the end."""
        number = self._number(frame)
        first, last = self.contact_offset[number], self.contact_offset[number + 1]
        with _opened(self.path) as file:
            columns = {name: file[f"contacts/{name}"][first:last] for name in CONTACT_COLUMNS}
            for name, (shape, dtype) in SOFT_COLUMNS.items():
                stored = f"contacts/{name}" in file
                none = np.full((last - first, *shape), NO_NODE[dtype], dtype)
                columns[name] = file[f"contacts/{name}"][first:last] if stored else none
        return RecordedContacts(dt=float(self.stepping["dt"]), **columns)

    def elements(self, frame: int, body: SoftBody | None = None) -> ElementReport:
        """Strain, stress and energy of elements in a frame, read from the file, where they have single precision.

        Those of one soft body in the order of its mesh, or all in the order of ``model.soft``.
        """
        number, soft = self._number(frame), self.model.soft
        if body is not None and not (0 <= body.index < soft.count and soft.names[body.index] == body.name):
            raise InputError(f"recording {self.path}: soft body {body.name!r} is none of {', '.join(soft.names)}")
        with _opened(self.path) as file:
            report = read_elements(file, number)
        if report is None:
            raise InputError(
                f"recording {self.path}: it has no elements; record a scene with soft bodies, and with elements=True"
            )
        return report if body is None else report.take(body_elements(soft, body.index))

    def _number(self, frame: int) -> int:
        """A frame from the start."""
        if not -len(self) <= frame < len(self):
            raise InputError(f"recording {self.path}: frame {frame} does not exist; it has {len(self)} frames")
        return frame % len(self)


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; a file that is missing, damaged or something else raises a FileError."""
    file_name = Path(path)
    with _opened(file_name) as file:
        recording, stored = _read(file, file_name), len(file["contacts/gap"])
    frames, bodies = len(recording.time), recording.model.body_count
    nodes = recording.model.soft.node_count
    for name, shape in (
        *((name, (frames, nodes, 3)) for name in NODE_FIELDS),
        ("q", (frames, bodies, 7)),
        ("v", (frames, bodies, 6)),
        ("force", (frames, bodies, 6)),
        ("contact_offset", (frames + 1,)),
        ("iterations", (frames,)),
    ):
        found = getattr(recording, name).shape
        if found != shape:
            raise FileError(f"recording {file_name} is damaged: {name} has shape {found}; it should have {shape}")
    if (np.diff(recording.contact_offset) < 0).any() or recording.contact_offset[-1] != stored:
        raise FileError(f"recording {file_name} is damaged: contacts/offset does not fit its {stored} contacts")
    return recording


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    """Open a recording and turn whatever goes wrong while reading it into a FileError of one line."""
    if not path.is_file():
        raise FileError(f"recording {path} does not exist; give a file that a recorded run wrote")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        reason = "is truncated" if "truncated" in str(error) else "cannot be read as HDF5, so it is no recording"
        raise FileError(f"file {path} {reason}; give a file that a recorded run wrote") from None
    with file:
        _check_format(file, path)
        try:
            yield file
        except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
            text = str(error.args[0] if error.args else error).splitlines()[0]
            raise FileError(f"recording {path} is damaged: {text}") from None


def _check_format(file: h5py.File, path: Path) -> None:
    if file.attrs.get("format") != FORMAT:
        raise FileError(
            f"file {path} is HDF5, but not a recording of stickslip; its attribute 'format' is not {FORMAT!r}"
        )
    version = int(file.attrs.get("version", -1))
    if version != VERSION:
        raise FileError(f"recording {path} has version {version}; this stickslip reads version {VERSION}")


def _read(file: h5py.File, path: Path) -> Recording:
    attributes = file.attrs
    model, has_motion = read_model(file["model"])
    certificate = {name: file[f"certificate/{name}"][()] for name in CERTIFICATE if name != LATER}
    stored = file["certificate"]
    certificate[LATER] = stored[LATER][()] if LATER in stored else np.full(len(stored["contacts"]), np.nan)
    certificate["status"] = certificate["status"].astype(str)
    state: dict[str, Any] = {
        item.name: file[f"final_state/{item.name}"][()] for item in fields(State)
        if item.name in file["final_state"] or item.name not in LATER_FIELDS
    }  # fmt: skip
    state["time"], state["steps"] = float(state["time"]), int(state["steps"])
    return Recording(
        path=path,
        stickslip_version=str(attributes["stickslip_version"]),
        scene=str(attributes["scene"]),
        parameters=json.loads(attributes["parameters"]),
        solver=str(attributes["solver"]),
        solver_options=json.loads(attributes["solver_options"]),
        stepping=json.loads(attributes["stepping"]),
        every=int(attributes["every"]),
        state_digest=str(attributes["state_digest"]),
        model=model,
        has_motion=has_motion,
        time=file["time"][()],
        q=file["q"][()],
        v=file["v"][()],
        force=file["force"][()],
        **read_nodes(file, len(file["time"])),
        contact_offset=file["contacts/offset"][()],
        iterations=file["iterations"][()],
        certificate=certificate,
        energy={name: file[f"certificate/energy/{name}"][()] for name in ENERGY},
        timings={name: file[f"timings/{name}"][()] for name in TIMINGS if name in file["timings"]},
        final_state=State(**state),
    )
