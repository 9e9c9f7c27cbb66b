"""What soft bodies add to a recording: where their nodes are, and what their elements feel, frame by frame.

Group ``soft`` of a recording (n frames, nn nodes, nt elements; absent where there are no soft bodies):

    node_position, node_velocity                    (n, nn, 3) as in State
    node_force, node_force_row                      (m, nn, 3), (n,) that of frame f is node_force[node_force_row[f]]
    elements/strain, elements/stress                (n, nt, 6) xx, yy, zz, yz, xz, xy; single precision
    elements/von_mises, elements/energy             (n, nt)

Elements are in the order of ``model/soft/elements``; ``model/soft/element_body`` and ``element_number`` say whose they
are. Meshes are in ``model/soft``: nodes of each body (node_start, x_start), elements and surface triangles.
"""

from __future__ import annotations

from collections.abc import Collection

import h5py
import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array
from stickslip.io.growing_dataset import GrowingDataset
from stickslip.io.number_table import NumberTable
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.reading_state import ElementReport, element_report

SOFT = "soft"
NODE_FIELDS = ("node_position", "node_velocity", "node_force")
ELEMENT_FIELDS: dict[str, tuple[int, ...]] = {"strain": (6,), "stress": (6,), "von_mises": (), "energy": ()}
ROW, COLUMN = np.array([0, 1, 2, 1, 0, 0]), np.array([0, 1, 2, 2, 2, 1])
"""Where the six entries of a symmetric matrix are taken from."""


class SoftFrames:
    """Writes nodes and, where ``elements`` is true, elements of the soft bodies of a model."""

    def __init__(self, file: h5py.File, model: Model, stepping: Stepping, elements: bool) -> None:
        group = file.create_group(SOFT)
        self._model, self._stepping = model, stepping
        self._nodes = {name: GrowingDataset(group, name, (model.soft.node_count, 3), "f8") for name in NODE_FIELDS}
        self._force_row = NumberTable(group, "node_force_row", "i8")
        self._elements: dict[str, GrowingDataset] = {}
        if elements:
            inner, count = group.create_group("elements"), len(model.soft.element_body)
            self._elements = {
                name: GrowingDataset(inner, name, (count, *shape), "f4") for name, shape in ELEMENT_FIELDS.items()
            }

    def append(self, state: State, node_force: Array) -> None:
        """Add one frame, in which the user applied node_force (nn, 3) [N]."""
        self._nodes["node_position"].append(state.node_position[None])
        self._nodes["node_velocity"].append(state.node_velocity[None])
        self._force_row.append(self._nodes["node_force"].append_changed(node_force))
        if self._elements:
            report = element_report(self._model, state, self._stepping)
            for name, dataset in self._elements.items():
                values = getattr(report, name)
                rows = values[:, ROW, COLUMN] if values.ndim == 3 else values
                dataset.append(rows.astype(np.float32)[None])

    @property
    def datasets(self) -> list[GrowingDataset | NumberTable]:
        """All that grows."""
        return [*self._nodes.values(), self._force_row, *self._elements.values()]


def read_elements(
    group: h5py.Group, frame: int, names: Collection[str], index: NDArray[np.intp] | None
) -> ElementReport:
    """Elements in one frame, all or those of the index; fields that are not named are not read and have no rows."""
    values: dict[str, Array] = {}
    for name, shape in ELEMENT_FIELDS.items():
        if name in names:
            if group[name].dtype.kind != "f" or group[name].shape[2:] != shape or group[name].ndim != 2 + len(shape):
                raise ValueError(
                    f"elements/{name} has shape {group[name].shape}; (frames, elements, *{shape}) is needed"
                )
            entries = group[name][frame] if index is None else group[name][frame][index]
            values[name] = _matrices(entries) if shape else entries.astype(np.float64)
        else:
            values[name] = np.zeros((0, 3, 3) if shape else 0)
    return ElementReport(**values)


def _matrices(entries: NDArray[np.float32]) -> Array:
    """Symmetric matrices (k, 3, 3) of their six entries (k, 6)."""
    full = np.empty((len(entries), 3, 3))
    full[:, ROW, COLUMN] = full[:, COLUMN, ROW] = entries
    return full
