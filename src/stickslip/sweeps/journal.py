"""What is finished of a sweep, on disk: a line a run, so that a sweep that was killed goes on where it was.

Beside the table that a sweep will write stands ``TABLE.runs.jsonl`` while it runs: first what the plan is, then a row a
finished run, each written to the disk before the next. A line that was cut off in the middle does not count.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from stickslip import __version__
from stickslip.errors import FileError
from stickslip.sweeps.one_run import Row
from stickslip.sweeps.plan import Plan

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ENDING = ".runs.jsonl"
FLOAT = "float"
"""Name under which a number stands that JSON does not have."""


class Journal:
    """Rows of finished runs; use as a context. Those of an earlier sweep with the same plan are there already."""

    def __init__(self, table: Path, plan: Plan) -> None:
        self.path = table.with_name(table.name + ENDING)
        self.rows: dict[int, Row] = {}
        self._head = {"sweep": plan.scene, "plan": plan.digest, "version": __version__}
        try:
            self._file: IO[str] = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}; give another folder") from None
        try:
            self._alone()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, row: Row) -> None:
        """Keep a row; it is on the disk when this returns."""
        self.rows[row["run"]] = row
        self._write(row)

    def remove(self) -> None:
        """All is in the table now."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _alone(self) -> None:
        """One sweep at a time writes a table."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(f"{self.path} is written by another sweep that still runs; give another --out") from None
        except OSError:
            pass  # a file system without locks

    def _read(self) -> None:
        """Rows of an earlier sweep; what was cut off is cut away."""
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._file.truncate(len(whole.encode("utf-8")))
        lines = whole.splitlines()
        if not lines:
            self._write(self._head)
            return
        try:
            head, *rows = (json.loads(line, object_hook=_as_it_was) for line in lines)
            known = {name: head[name] for name in self._head}
            self.rows = {int(row["run"]): row for row in rows}
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FileError(f"{self.path} is not what a sweep left behind; remove it, or give another --out") from None
        if known != self._head:
            raise FileError(
                f"{self.path} is of a sweep of {known['sweep']} with other settings, or of another version "
                f"({known['version']}); finish that one, remove the file, or give another --out"
            )

    def _write(self, value: object) -> None:
        self._file.write(json.dumps(_as_json(value), allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _as_json(value: object) -> object:
    """The same for JSON, which has no infinite numbers: settings may be such."""
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT: repr(value)}
    if isinstance(value, Mapping):
        return {name: _as_json(each) for name, each in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list | tuple) else value


def _as_it_was(found: dict[str, object]) -> object:
    return float(str(found[FLOAT])) if found.keys() == {FLOAT} else found
