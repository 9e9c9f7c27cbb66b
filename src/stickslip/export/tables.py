"""Numbers of a recording as tables: columns of equal length, written as CSV, Parquet or NPZ.

Units are those of the recording: m, kg, s, N, J, rad; positions of bodies are those of their centres of mass, rotations
(w, x, y, z).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.certify.contact_report import STATUS_NAMES
from stickslip.errors import InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.io.recording import Recording

Columns = dict[str, NDArray[Any]]
AXES = ("x", "y", "z")
TURN = ("qw", "qx", "qy", "qz")
ROWS_AT_ONCE = 100_000
"""Rows that are written at once: tables of long runs need not fit into memory."""


def steps(recording: Recording, frames: Sequence[int]) -> Iterator[Columns]:
    """A row a frame: time, iterations, contacts, the certificate, energies and seconds of stages."""
    chosen = np.asarray(frames, dtype=np.int64)
    yield {
        "frame": chosen,
        "time": recording.time[chosen],
        "iterations": recording.iterations[chosen],
        **{name: values[chosen] for name, values in recording.certificate.items()},
        **{f"energy_{name}": values[chosen] for name, values in recording.energy.items()},
        **{f"seconds_{name}": values[chosen] for name, values in recording.timings.items()},
    }


def bodies(recording: Recording, frames: Sequence[int]) -> Iterator[Columns]:
    """A row a frame and rigid body: pose, velocities, force of the user."""
    names = np.array(recording.model.body_names, dtype=np.str_)
    for frame in frames:
        q, v, force = recording.q[frame], recording.v[frame], recording.force[frame]
        yield {
            **_at(recording, frame, len(names)),
            "body": names,
            **_parts("", AXES, q[:, :3]),
            **_parts("", TURN, q[:, 3:]),
            **_parts("v", AXES, v[:, :3]),
            **_parts("w", AXES, v[:, 3:]),
            **_parts("force_", AXES, force[:, :3]),
            **_parts("torque_", AXES, force[:, 3:]),
        }


def nodes(recording: Recording, frames: Sequence[int]) -> Iterator[Columns]:
    """A row a frame and node of a soft body: position and velocity."""
    soft = recording.model.soft
    owner = np.array(soft.names, dtype=np.str_)[soft.node_body] if soft.count else np.zeros(0, dtype=np.str_)
    number = np.arange(soft.node_count) - soft.node_start[soft.node_body] if soft.count else np.zeros(0, np.int64)
    for frame in frames:
        yield {
            **_at(recording, frame, soft.node_count),
            "body": owner,
            "node": number,
            **_parts("", AXES, recording.node_position[frame]),
            **_parts("v", AXES, recording.node_velocity[frame]),
        }


def contacts(recording: Recording, frames: Sequence[int]) -> Iterator[Columns]:
    """A row a frame and contact; the normal points from body a to body b, on which the force acts.

    Slip is the tangential velocity [m/s] of b relative to a; not a number in recordings of versions before 0.2.
    """
    model = recording.model
    names = np.array([*model.body_names, *model.soft.names], dtype=np.str_)
    words = np.array(STATUS_NAMES, dtype=np.str_)
    for frame in frames:
        found = recording.contacts(frame)
        slip = np.full((len(found), 3), np.nan) if found.slip is None else found.slip
        yield {
            **_at(recording, frame, len(found)),
            "body_a": names[found.body_a],
            "body_b": names[found.body_b],
            **_parts("", AXES, found.point),
            **_parts("normal_", AXES, found.normal),
            "gap": found.gap,
            **_parts("force_", AXES, found.force),
            "torsion": found.torsion / found.dt,
            **_parts("slip_", AXES, slip),
            "status": words[found.status],
        }


def joints(recording: Recording, frames: Sequence[int]) -> Iterator[Columns]:
    """A row a frame and joint of a robot with one coordinate: position, velocity, effort."""
    singles = [
        (robot, joint) for robot in recording.robots for joint in robot.joints
        if joint.position.stop - joint.position.start == 1
    ]  # fmt: skip
    robot_names = np.array([robot.name for robot, _ in singles], dtype=np.str_)
    joint_names = np.array([joint.name for _, joint in singles], dtype=np.str_)
    for frame in frames:
        rows = {id(robot): (robot.position[frame], robot.velocity[frame], robot.effort[frame])
                for robot in recording.robots}  # fmt: skip
        yield {
            **_at(recording, frame, len(singles)),
            "robot": robot_names,
            "joint": joint_names,
            "position": np.array([rows[id(r)][0][j.position.start] for r, j in singles], dtype=np.float64),
            "velocity": np.array([rows[id(r)][1][j.velocity.start] for r, j in singles], dtype=np.float64),
            "effort": np.array([rows[id(r)][2][j.velocity.start] for r, j in singles], dtype=np.float64),
        }


TABLES: dict[str, Callable[[Recording, Sequence[int]], Iterator[Columns]]] = {
    "steps": steps,
    "bodies": bodies,
    "contacts": contacts,
    "joints": joints,
    "nodes": nodes,
}
"""Tables by the names that users give; each yields columns of some rows at a time."""


def table_named(name: str) -> Callable[[Recording, Sequence[int]], Iterator[Columns]]:
    """A table by its name."""
    if name not in TABLES:
        raise InputError(f"export: table {name!r} is unknown; it must be one of {', '.join(TABLES)}")
    return TABLES[name]


def write_csv(recording: Recording, out: Path, frames: Sequence[int], table: str, told: Callable[[int], None]) -> None:
    """One table as text; numbers are written so that they are read back bit for bit."""
    with whole_file(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for k, columns in enumerate(table_named(table)(recording, frames)):
            if k == 0:
                writer.writerow(columns)
            writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
            told(k)


def write_parquet(
    recording: Recording, out: Path, frames: Sequence[int], table: str, told: Callable[[int], None]
) -> None:
    """One table as Apache Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet needs pyarrow; pip install 'stickslip[export]'") from error
    with whole_file(out) as temporary:
        writer = None
        try:
            for columns in _together(table_named(table)(recording, frames), told):
                part = pyarrow.table({name: pyarrow.array(values.tolist()) if values.dtype.kind == "U" else values
                                      for name, values in columns.items()})  # fmt: skip
                writer = writer or pyarrow.parquet.ParquetWriter(temporary, part.schema)
                writer.write_table(part)
        finally:
            if writer is not None:
                writer.close()


def write_npz(recording: Recording, out: Path, frames: Sequence[int], table: str, told: Callable[[int], None]) -> None:
    """Arrays with a leading axis of frames, of all tables whose rows are the same in every frame, as NumPy reads them.

    ``time`` (n,), ``q`` (n, nb, 7), ``v`` (n, nb, 6), ``body_names``, ``node_position`` (n, nn, 3), joints of robots,
    and ``certificate_*``, ``energy_*`` (n,); contacts of all frames one after the other, with ``contact_offset``.
    """
    chosen, model = np.asarray(frames, dtype=np.int64), recording.model
    found: Columns = {"frame": chosen, "time": recording.time[chosen]}
    found["body_names"] = np.array(model.body_names, dtype=np.str_)
    for name, values in recording.certificate.items():
        found[f"certificate_{name}"] = values[chosen]
    for name, values in recording.energy.items():
        found[f"energy_{name}"] = values[chosen]
    for name in ("q", "v", "node_position", "node_velocity"):
        found[name] = np.stack([getattr(recording, name)[frame] for frame in frames])
    for robot in recording.robots:
        for name in ("position", "velocity", "effort"):
            found[f"{robot.name}/{name}"] = np.stack([getattr(robot, name)[frame] for frame in frames])
        found[f"{robot.name}/joints"] = np.array([joint.name for joint in robot.joints], dtype=np.str_)
    parts = list(contacts(recording, frames))
    found["contact_offset"] = np.cumsum([0, *(len(part["gap"]) for part in parts)])
    for name in parts[0]:
        found[f"contact_{name}"] = np.concatenate([part[name] for part in parts])
    told(len(frames) - 1)
    with whole_file(out) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **found)


def _at(recording: Recording, frame: int, rows: int) -> Columns:
    """The first columns of every row of a frame."""
    return {"frame": np.full(rows, frame, dtype=np.int64), "time": np.full(rows, recording.time[frame])}


def _parts(prefix: str, names: Iterable[str], values: NDArray[Any]) -> Columns:
    """A column each of an array (rows, k)."""
    return {f"{prefix}{name}": values[:, k] for k, name in enumerate(names)}


def _together(parts: Iterator[Columns], told: Callable[[int], None]) -> Iterator[Columns]:
    """The same rows, about ROWS_AT_ONCE at a time."""
    waiting: list[Columns] = []
    rows = 0
    for k, columns in enumerate(parts):
        waiting.append(columns)
        rows += len(next(iter(columns.values())))
        told(k)
        if rows >= ROWS_AT_ONCE:
            yield _joined(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
