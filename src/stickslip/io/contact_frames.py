"""Contacts in a recording: those of all frames one after another, a dataset per column.

Group ``contacts`` of a recording (n frames, k contacts in total):

    offset                (n + 1,) the contacts of frame f are the rows offset[f]:offset[f + 1] of
    body_a, body_b, point, normal, gap, impulse, status, slip              (k, ...) as in RecordedContacts
    node_a, node_b, weight_a, weight_b                                     (k, 3) where there are soft bodies
    friction_offset, friction, torsion_offset, torsion                     likewise, but a single row of a frame stands
                                                                           for all its contacts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints, LongInts
from stickslip.certify.contact_report import STATUS_NAMES, contacts_of
from stickslip.io.growing_dataset import GrowingDataset
from stickslip.io.recording_file import RecordingFile
from stickslip.model.model import Model
from stickslip.simulation import StepResult

GROUP = "contacts"
COLUMNS: dict[str, tuple[tuple[int, ...], str, str]] = {
    "body_a": ((), "i4", "i4"),
    "body_b": ((), "i4", "i4"),
    "point": ((3,), "f8", "f8"),
    "normal": ((3,), "f8", "f8"),
    "gap": ((), "f8", "f8"),
    "impulse": ((3,), "f8", "f8"),
    "torsion": ((), "f8", "f8"),
    "friction": ((3,), "f8", "f8"),
    "status": ((), "i1", "i4"),
}
"""Shape of a row, type in the file, type in memory."""
UNIFORM = ("torsion", "friction")
"""Columns that are often the same for all contacts; a frame then has one row."""
SOFT_COLUMNS: dict[str, tuple[tuple[int, ...], str, str]] = {
    "node_a": ((3,), "i4", "i4"),
    "node_b": ((3,), "i4", "i4"),
    "weight_a": ((3,), "f8", "f8"),
    "weight_b": ((3,), "f8", "f8"),
}
"""Columns of contacts in a scene with soft bodies: which nodes take part, -1 beyond; of rigid bodies none do."""
SLIP: dict[str, tuple[tuple[int, ...], str, str]] = {"slip": ((3,), "f4", "f8")}
"""A column that files of versions before 0.2 do not have; in single precision, which is more than it is known to."""
NO_NODE = {"i4": -1, "f8": 0.0}
"""What those columns hold where there is no node."""
CHUNK_ROWS = 32
"""Most rows of contacts in a chunk for each body: about as many as ten frames of a pile have."""


@dataclass(frozen=True, eq=False)
class RecordedContacts:
    """k contacts of one frame; the normal points from body a to body b, impulse and force act on body b."""

    body_a: Ints
    """(k,) rigid body, or Model.body_count + soft body; contacts of soft bodies come last in each piece of a step."""
    body_b: Ints
    point: Array
    """(k, 3) [m] world."""
    normal: Array
    """(k, 3) unit, world."""
    gap: Array
    """(k,) [m]"""
    impulse: Array
    """(k, 3) [N s] world."""
    torsion: Array
    """(k,) [N m s] about the normal."""
    friction: Array
    """(k, 3) coefficients along two tangents and about the normal [m]."""
    status: Ints
    """(k,) codes of contact_report.STATUS_NAMES."""
    node_a: Ints
    """(k, 3) nodes of a soft body a that take part, -1 beyond; all -1 where it is rigid."""
    node_b: Ints
    weight_a: Array
    """(k, 3) their barycentric weights, zero beyond."""
    weight_b: Array
    dt: float
    """[s] step size."""
    slip: Array | None = None
    """(k, 3) [m/s] tangential velocity of body b relative to a, world; None in recordings of versions before 0.2."""

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def on_body(self) -> Ints:
        """(k,) bodies on which ``force`` acts, as in the report of live contacts: those of side b."""
        return self.body_b

    @property
    def from_body(self) -> Ints:
        """(k,) bodies that push: those of side a."""
        return self.body_a

    @property
    def slip_velocity(self) -> Array | None:
        """The same as ``slip``."""
        return self.slip

    @property
    def status_names(self) -> list[str]:
        """open, stick or slip of each contact."""
        return [STATUS_NAMES[code] for code in self.status]

    @property
    def force(self) -> Array:
        """(k, 3) [N] mean force over the step on body b, world."""
        return self.impulse / self.dt


class ContactWriter:
    """Writes the contacts of steps."""

    def __init__(self, file: h5py.File, model: Model) -> None:
        soft, bodies = bool(model.soft.count), model.body_count + model.soft.count
        group, rows = file.create_group(GROUP), max(256, CHUNK_ROWS * bodies)
        self._soft, self._torsion = soft, model.contact_rows > 3
        names = ("offset", *map(_offset, UNIFORM))
        self._offsets = {name: GrowingDataset(group, name, (), "i8", 512) for name in names}
        self._columns = {
            name: GrowingDataset(group, name, shape, stored, rows)
            for name, (shape, stored, _) in {**COLUMNS, **SLIP, **(SOFT_COLUMNS if soft else {})}.items()
        }
        self._append_offsets()

    @property
    def datasets(self) -> list[GrowingDataset]:
        """All that grows."""
        return [*self._offsets.values(), *self._columns.values()]

    def append(self, result: StepResult) -> None:
        """Add the contacts of one step."""
        found = contacts_of(result)
        for name in ("body_a", "body_b", "point", "normal", "gap", "status", "slip"):
            self._columns[name].append(getattr(found, name))
        self._columns["impulse"].append(found.impulse[:, :3])
        torsion = found.impulse[:, 3]
        self._columns["torsion"].append_uniform(torsion if self._torsion else torsion[:1])  # all zero without it
        self._columns["friction"].append_uniform(found.friction)
        if self._soft:
            for name in SOFT_COLUMNS:
                self._columns[name].append(getattr(found, name))
        self._append_offsets()

    def _append_offsets(self) -> None:
        for name, column in (("offset", "gap"), *((_offset(name), name) for name in UNIFORM)):
            self._offsets[name].append(np.array([len(self._columns[column])]))


class ContactReader:
    """Reads the contacts of n frames; files of version 1 have a row of every column for every contact."""

    def __init__(self, recording_file: RecordingFile, frames: int, dt: float, model: Model) -> None:
        self._file, self._dt = recording_file, dt
        self._most = {"body": model.body_count + model.soft.count, "node": model.soft.node_count}
        with recording_file.opened() as file:
            group = file[GROUP]
            names = [name for name in (*COLUMNS, *SOFT_COLUMNS, *SLIP) if name in group or name in COLUMNS]
            self._columns = {name: group[name] for name in names}
            self._offsets = {
                name: group[_offset(name) if _offset(name) in group else "offset"][: frames + 1]
                for name in self._columns
            }
            self.offset: LongInts = self._offsets["gap"]
            for name, offsets in self._offsets.items():
                self._check(name, offsets, frames)

    def _check(self, name: str, offsets: NDArray[Any], frames: int) -> None:
        """Raise a ValueError unless a column has its shape and type, and its rows are those of the frames."""
        column, (shape, stored, _) = self._columns[name], {**COLUMNS, **SOFT_COLUMNS, **SLIP}[name]
        if column.shape[1:] != shape or column.dtype.kind != stored[0]:
            raise ValueError(
                f"contacts/{name} has rows {column.shape[1:]} of {column.dtype}; {shape} of {stored} needed"
            )
        if offsets.dtype.kind != "i" or offsets.shape != (frames + 1,):
            raise ValueError(
                f"contacts/{_offset(name)} has shape {offsets.shape}; ({frames + 1},) whole numbers needed"
            )
        counts = np.diff(offsets)
        if (offsets < 0).any() or (counts < 0).any() or offsets[-1] > len(column):
            raise ValueError(f"contacts/offset does not fit its {len(column)} rows of contacts/{name}")
        if ((counts != np.diff(self.offset)) & (counts != 1)).any():
            raise ValueError(f"contacts/{name} has neither one row nor one for each contact in a frame")

    def read(self, frame: int) -> RecordedContacts:
        """Contacts of a frame from the start."""
        count = int(self.offset[frame + 1] - self.offset[frame])
        columns: dict[str, Any] = {}
        with self._file.opened():
            for name, (shape, _, kept) in {**COLUMNS, **SOFT_COLUMNS, **SLIP}.items():
                if name not in self._columns:
                    if name in SLIP:
                        continue
                    columns[name] = np.full((count, *shape), NO_NODE[kept], kept)
                    continue
                first, last = self._offsets[name][frame : frame + 2]
                rows = self._columns[name][first:last].astype(kept, copy=False)
                most = self._most.get(name[:4])
                if most is not None and ((rows < -1) | (rows >= most)).any():
                    raise ValueError(f"contacts/{name} has a number outside -1 to {most - 1} in frame {frame}")
                columns[name] = rows if len(rows) == count else np.repeat(rows, count, axis=0)
        return RecordedContacts(dt=self._dt, **columns)


def _offset(column: str) -> str:
    """Name of the offsets of a column that has its own."""
    return f"{column}_offset"
