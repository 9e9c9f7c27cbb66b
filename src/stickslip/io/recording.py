"""Reading recordings; io/recorder.py writes them and describes the file."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip import checks
from stickslip.arrays import Array, Bools, Ints, LongInts
from stickslip.errors import FileError, InputError
from stickslip.io.contact_frames import ContactReader
from stickslip.io.contact_frames import RecordedContacts as RecordedContacts  # noqa: PLC0414
from stickslip.io.frame_array import FrameArray
from stickslip.io.model_group import read_model
from stickslip.io.number_table import CERTIFICATE, ENERGY, TIMINGS, read_numbers
from stickslip.io.recorder import FORMAT, VERSION
from stickslip.io.recorder import Recorder as Recorder  # noqa: PLC0414  (both ends of a recording in one place)
from stickslip.io.recording_file import RecordingFile
from stickslip.io.robot_frames import RecordedRobot, read_robots
from stickslip.io.soft_frames import ELEMENT_FIELDS, SOFT, read_elements
from stickslip.io.state_group import read_state
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.names import shown, visible
from stickslip.reading_state import ElementReport, body_elements
from stickslip.scene.body import handle_fits
from stickslip.scene.soft_body import SoftBody

VERSIONS = (1, 2, VERSION)
"""Versions that can be read."""
KINDS = {"time": "f", "iterations": "iu", "loaded": "b"}
"""Kinds of numbers that a frame has one of."""
UNIT_ERROR = 1e-3
"""Rotations whose length differs from 1 by more were never written by a run."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording of n frames; arrays of bodies, nodes, joints and contacts stay in the file and are read by frame.

    The file is open until :meth:`close`, the end of a ``with`` block, or the end of the recording's life.
    """

    path: Path
    complete: bool
    """Whether the run ended; False where it was cut off or still goes on."""
    stickslip_version: str
    scene: str
    parameters: dict[str, Any]
    solver: str
    solver_options: dict[str, Any]
    stepping: dict[str, Any]
    every: int
    """Steps from one frame to the next."""
    state_digest: str | None
    """Digest of ``final_state``, as the stickslip that wrote the file computed it."""
    model: Model
    """The model without its prescribed motions, which are functions."""
    has_motion: Bools
    """(nb,) which bodies had one."""
    time: Array
    """(n,) [s]"""
    q: FrameArray
    """(n, nb, 7) [m] and (w, x, y, z): State.body_pose."""
    v: FrameArray
    """(n, nb, 6) [m/s] and [rad/s]: State.body_velocity."""
    force: FrameArray
    """(n, nb, 6) [N] and [N m] of the user."""
    node_position: FrameArray
    """(n, nn, 3) [m] of the nodes of soft bodies."""
    node_velocity: FrameArray
    """(n, nn, 3) [m/s]"""
    node_force: FrameArray
    """(n, nn, 3) [N] of the user."""
    joint_broken: FrameArray
    """(n, nj) whether a joint is broken; False in files from before it was recorded."""
    joint_impulse: FrameArray
    """(n, rows of joints) [N s or N m s] as in State; not a number in files from before it was recorded."""
    contact_offset: LongInts
    """(n + 1,)"""
    iterations: Ints
    """(n,)"""
    certificate: dict[str, NDArray[Any]]
    """(n,) per entry of Certificate, without energy."""
    energy: dict[str, Array]
    """(n,) [J] per entry of EnergyLedger."""
    timings: dict[str, Array]
    """(n,) [s] per stage."""
    loaded: Bools
    """(n,) whether kernels were compiled, or loaded from the cache, during the step, which its timings then include;
    False in files from before it was recorded."""
    final_state: State | None
    """With which the run can go on bit for bit; None unless the recording is complete."""
    final_control: Control | None
    """What the user applied in the last step; ``sim.restore(recording.final_state, recording.final_control)``."""
    robots: tuple[RecordedRobot, ...]
    """Joints of robots; none in files from before they were recorded."""
    file: RecordingFile
    contact_reader: ContactReader

    def __len__(self) -> int:
        return len(self.time)

    def play(self, width: int = 720, height: int = 460, fps: float = 30.0) -> Any:
        """The recording in the cell of a notebook, width x height pixels, playing without a network."""
        return import_module("stickslip.view.inline").player_of(self, width, height, fps)

    def __repr__(self) -> str:
        ended = "" if self.complete else ", not complete"
        return f"Recording({self.scene!r}, {len(self)} frames, {self.model!r}, solver {self.solver}{ended})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a small table; ``play()`` shows the run."""
        return str(import_module("stickslip.view.notebook").recording_html(self))

    def close(self) -> None:
        """Close the file; arrays that are in it can no longer be read."""
        self.file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def contacts(self, frame: int) -> RecordedContacts:
        """Contacts of a frame, read from the file; negative frames count from the end."""
        return self.contact_reader.read(self._number(frame))

    def elements(
        self, frame: int, body: SoftBody | None = None, fields: Collection[str] = tuple(ELEMENT_FIELDS)
    ) -> ElementReport:
        """Strain, stress and energy of elements in a frame, read from the file, where they have single precision.

        Those of one soft body in the order of its mesh, or all in the order of ``model.soft``. ``fields``: names of
        those to read, of strain, stress, von_mises and energy; the others have no rows then.
        """
        number, soft = self._number(frame), self.model.soft
        if body is not None and not (isinstance(body, SoftBody) and handle_fits(body, soft.names)):
            known = visible(", ".join(soft.names))
            raise InputError(f"recording {visible(self.path)}: soft body {shown(body)} is none of {known}")
        for field in checks.sequence("elements", "fields", fields, f"a list of {', '.join(ELEMENT_FIELDS)} is needed"):
            checks.choice("elements", "field", field, ELEMENT_FIELDS)
        with self.file.opened() as file:
            if f"{SOFT}/elements" not in file:
                raise InputError(
                    f"recording {self.path}: it has no elements; record a scene with soft bodies, and with "
                    "elements=True"
                )
            index = None if body is None else body_elements(soft, body.index)
            return read_elements(file[f"{SOFT}/elements"], number, fields, index)

    def _number(self, frame: int) -> int:
        """A frame from the start."""
        frame = checks.whole("recording", "frame", frame, -checks.MOST)
        if not -len(self) <= frame < len(self):
            raise InputError(f"recording {self.path}: frame {frame} does not exist; it has {len(self)} frames")
        return frame % len(self)


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording; a file that is missing, damaged or something else raises a FileError.

    FILE.h5.partial holds the frames of a run that was cut off or still goes on; they are those that were whole when it
    was opened.
    """
    file = RecordingFile(checks.path("recording", path))
    try:
        return _checked(file)
    except BaseException:
        file.close()
        raise


def _checked(recording_file: RecordingFile) -> Recording:
    """A recording whose arrays fit one another."""
    path = recording_file.path
    with recording_file.opened() as file:
        version = _check_format(file, path)
        mark = recording_file.mark
        frames = len(file["time"]) if mark is None else mark[0]  # a tool that copies HDF5 leaves the mark behind
        complete = version == 1 or (bool(file["complete"][()]) and not recording_file.cut_off)
        return _read(file, recording_file, complete, frames)


def _check_format(file: h5py.File, path: Path) -> int:
    """The version of a recording."""
    if file.attrs.get("format") != FORMAT:
        raise FileError(
            f"file {path} is HDF5, but not a recording of stickslip; its attribute 'format' is not {FORMAT!r}"
        )
    version = _whole(file.attrs, "version")
    if version not in VERSIONS:
        known = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        raise FileError(f"recording {path} has version {version}; this stickslip reads versions {known}")
    return version


def _whole(attributes: h5py.AttributeManager, name: str) -> int:
    """A whole number among the attributes."""
    value = attributes.get(name)
    if not isinstance(value, int | np.integer):
        raise ValueError(f"its attribute {name!r} is {value!r}; a whole number is needed")
    return int(value)


def _options(attributes: h5py.AttributeManager, name: str) -> dict[str, Any]:
    """Options among the attributes, which are JSON."""
    found = json.loads(attributes[name])
    if not isinstance(found, dict):
        raise ValueError(f"its attribute {name!r} holds no options")
    return found


def _plausible(path: Path, name: str, rows: Array) -> None:
    """Raise a FileError where numbers cannot be those of a run: HDF5 itself does not notice bytes that have changed."""
    if not np.isfinite(rows).all():
        raise FileError(f"recording {path} is damaged: {name} has an entry that is not a finite number")
    if name != "q" or rows.shape[-1:] != (7,):  # not whole poses
        return
    with np.errstate(over="ignore"):
        length = np.linalg.norm(rows[..., 3:], axis=-1)
    if (np.abs(length - 1.0) > UNIT_ERROR).any():
        raise FileError(f"recording {path} is damaged: q has a rotation whose length is not 1")


def _read(file: h5py.File, recording_file: RecordingFile, complete: bool, frames: int) -> Recording:
    attributes, path = file.attrs, recording_file.path
    model, has_motion = read_model(file["model"])

    def array(
        name: str, shape: tuple[int, ...], missing: NDArray[Any] | None = None, row_name: str | None = None
    ) -> FrameArray:
        """An array (n, *shape), or what stands for it where older files lack it."""
        stored = file[name] if missing is None or name in file else missing
        rows = file[row_name][:frames] if row_name is not None and row_name in file else None
        if rows is not None:
            least = int(rows.max(initial=-1)) + 1
            fits = stored.shape[0] >= least
        else:
            least = frames
            fits = stored.shape[0] == least or (stored.shape[0] > least and not complete)
        if rows is not None and (rows.dtype.kind != "i" or (rows < 0).any()):
            raise ValueError(f"{row_name} has no numbers of rows")
        if stored.dtype.kind not in ("b" if name == "joint_broken" else "f"):
            raise ValueError(f"{name} holds {stored.dtype}")
        if not fits or stored.shape[1:] != shape or (rows is not None and rows.shape != (frames,)):
            last = name.rsplit("/", maxsplit=1)[-1]
            raise FileError(
                f"recording {path} is damaged: {last} has shape {stored.shape}; it should have {(least, *shape)}"
            )
        check = partial(_plausible, path, name) if missing is None or SOFT in name else None
        return FrameArray(recording_file, stored, frames, rows, check)

    def numbers(name: str) -> NDArray[Any]:
        found = np.asarray(file[name][:frames])
        if found.dtype.kind not in KINDS[name] or found.ndim != 1:
            raise ValueError(f"{name} holds {found.dtype} of shape {found.shape}")
        if len(found) != frames or (complete and len(file[name]) != frames):
            raise FileError(f"recording {path} is damaged: {name} has {len(file[name])} rows; it should have {frames}")
        return found

    _plausible(path, "time", numbers("time"))
    bodies, nodes, joints = model.body_count, model.soft.node_count, model.joints
    none = None if SOFT in file else np.broadcast_to(0.0, (frames, 0, 3))
    state, control, digest = read_state(file, model.layout) if complete else (None, None, None)
    stepping, every = _options(attributes, "stepping"), _whole(attributes, "every")
    dt = stepping["dt"]
    if not isinstance(dt, int | float) or not 0.0 < dt < np.inf or every < 1:
        raise ValueError(f"its step is {dt!r} s, and every is {every}; both must be positive")
    contacts = ContactReader(recording_file, frames, float(dt), model)
    certificate = file["certificate"]
    return Recording(
        path=path,
        complete=complete,
        stickslip_version=visible(attributes["stickslip_version"]),
        scene=visible(attributes["scene"]),
        parameters=_options(attributes, "parameters"),
        solver=visible(attributes["solver"]),
        solver_options=_options(attributes, "solver_options"),
        stepping=stepping,
        every=every,
        state_digest=digest,
        model=model,
        has_motion=has_motion,
        time=numbers("time"),
        q=array("q", (bodies, 7)),
        v=array("v", (bodies, 6)),
        force=array("force", (bodies, 6), row_name="force_row"),
        node_position=array(f"{SOFT}/node_position", (nodes, 3), none),
        node_velocity=array(f"{SOFT}/node_velocity", (nodes, 3), none),
        node_force=array(f"{SOFT}/node_force", (nodes, 3), none, f"{SOFT}/node_force_row"),
        joint_broken=array("joint_broken", (joints.count,), np.broadcast_to(False, (frames, joints.count))),
        joint_impulse=array("joint_impulse", (joints.row_count,), np.broadcast_to(np.nan, (frames, joints.row_count))),
        contact_offset=contacts.offset,
        iterations=numbers("iterations"),
        certificate=read_numbers(certificate, CERTIFICATE, frames),
        energy=read_numbers(file["energy"] if "energy" in file else certificate["energy"], ENERGY, frames),
        timings=read_numbers(file["timings"], TIMINGS, frames),
        loaded=numbers("loaded") if "loaded" in file else np.zeros(frames, dtype=bool),
        final_state=state,
        final_control=control,
        robots=read_robots(file, array),
        file=recording_file,
        contact_reader=contacts,
    )
