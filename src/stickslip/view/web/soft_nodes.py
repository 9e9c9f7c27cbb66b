"""Soft bodies in the viewer's page: plain meshes of their colour, or one mesh with a colour at every node."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.model.model import Model
from stickslip.view.picture.traced_scene import body_colours, linear

if TYPE_CHECKING:
    import viser

_FLOAT, _BYTE, _WORD = 5126, 5121, 5125
"""glTF's codes of component types."""
_LINEAR = np.round(255.0 * linear(np.arange(256) / 255.0)).astype(np.uint8)
"""Bytes of linear light of bytes of sRGB."""
SETTLE = 0.06
"""[s] within which a page has read a painted mesh."""
BOX = 1e6
"""Half edge of the box that a glTF file says its vertices are in; pages find a tight one themselves."""


class SoftNodes:
    """The surfaces of all soft bodies of a model, as nodes under ``root``."""

    def __init__(self, server: viser.ViserServer, model: Model, nodes: Array, unit: float, root: str) -> None:
        """Nodes of soft bodies at (nn, 3) [m]; unit: lengths of the page per metre."""
        surface = model.soft.surface
        self._model, self._unit = model, unit
        self._drawn = surface.nodes
        number = np.full(model.soft.node_count, -1, np.int32)
        number[self._drawn] = np.arange(len(self._drawn), dtype=np.int32)
        triangles = number[surface.triangles]
        self._plain: list[tuple[Any, Ints]] = []
        colours = body_colours(model)[model.body_count :]
        for s in range(model.soft.count):
            own = surface.triangles[surface.triangle_body == s]
            used, faces = np.unique(own, return_inverse=True)
            node = server.scene.add_mesh_simple(
                f"{root}/soft-{s}", unit * nodes[used], faces.reshape(-1, 3), color=tuple(colours[s].tolist())
            )
            self._plain.append((node, used))
        self._painted: list[Any] = []
        self._grips = False
        self._server, self._pending = server, False
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        if model.soft.count:
            self._file = PaintedMesh(len(self._drawn), triangles)
            # as an array and not as bytes: those viser would compress, which takes longer than all the rest
            for k in range(2):
                self._painted.append(server.scene.add_glb(f"{root}/painted-{k}", self._file.data, visible=False))

    @property
    def count(self) -> int:
        """Nodes in the page."""
        return len(self._plain) + len(self._painted)

    def show(self, nodes: Array, colours: Array | None) -> None:
        """Move the surfaces to nodes (nn, 3) [m], painted with colours (nn, 3) sRGB 0..1 or plain."""
        if not self._plain:
            return
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if colours is None or self._grips:
                for node, used in self._plain:
                    node.vertices = self._unit * nodes[used]
            if colours is None:
                self._pending = False
                for node, _ in self._plain:
                    node.visible, node.opacity = True, None
                for painted in self._painted:
                    painted.visible = False
                return
            self._swap()
            self._file.paint(self._unit * nodes[self._drawn], colours[self._drawn])
            self._painted[1].glb_data = self._file.data
            self._pending = True
            self._timer = threading.Timer(SETTLE, self._swap)
            self._timer.daemon = True
            self._timer.start()

    def _swap(self) -> None:
        """Show the painted mesh that was sent last.

        Pages take a moment to read one and show nothing meanwhile: so it is read while it is hidden, and shown with the
        next frame, or a little later if none comes.
        """
        with self._lock:
            if not self._pending or self._server.get_event_loop().is_closed():
                return
            self._pending = False
            self._painted.reverse()
            with self._server.atomic():
                self._painted[0].visible = True
                self._painted[1].visible = False
                for node, _ in self._plain:
                    node.visible, node.opacity = self._grips, 0.0

    def moving(self) -> list[tuple[Any, Callable[[int | None, Array], int]]]:
        """Nodes that can be dragged from now on, with what says which body was pointed at.

        The mouse holds on to plain meshes, which are there unseen while painted ones are shown: pages let go of a node
        that is hidden, as each painted one is after a frame.
        """
        self._grips = True
        return [(node, partial(self._own, self._model.body_count + s)) for s, (node, _) in enumerate(self._plain)]

    @staticmethod
    def _own(body: int, _instance: int | None, _point: Array) -> int:
        return body


def glb_header(vertices: int, triangles: int) -> bytes:
    """The head of a binary glTF with positions, colours and triangles, in this order."""
    lengths = (12 * vertices, 4 * vertices, 12 * triangles)
    start = np.cumsum([0, *lengths])
    # normals: pages compute them, but only shade smoothly where a file has some; so they get a copy of the positions
    places = [*zip(start, lengths, strict=False), (0, lengths[0])]
    views = [{"buffer": 0, "byteOffset": int(a), "byteLength": n} for a, n in places]
    text = json.dumps({
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{
            "attributes": {"POSITION": 0, "COLOR_0": 1, "NORMAL": 3}, "indices": 2, "material": 0,
        }]}],
        "materials": [{"pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.7}}],
        "buffers": [{"byteLength": int(start[-1])}],
        "bufferViews": views,
        "accessors": [
            {
                "bufferView": 0, "componentType": _FLOAT, "count": vertices, "type": "VEC3",
                "min": [-BOX] * 3, "max": [BOX] * 3,
            },
            {"bufferView": 1, "componentType": _BYTE, "normalized": True, "count": vertices, "type": "VEC4"},
            {"bufferView": 2, "componentType": _WORD, "count": 3 * triangles, "type": "SCALAR"},
            {"bufferView": 3, "componentType": _FLOAT, "count": vertices, "type": "VEC3"},
        ],
    }).encode()  # fmt: skip
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + int(start[-1])
    words = np.array([0x46546C67, 2, total, len(text), 0x4E4F534A], "<u4").tobytes()
    return words + text + np.array([start[-1], 0x004E4942], "<u4").tobytes()


class PaintedMesh:
    """A binary glTF in memory, whose vertices and colours change."""

    def __init__(self, vertices: int, triangles: Ints) -> None:
        """A file for so many vertices, all at the origin, and triangles (nf, 3)."""
        header = glb_header(vertices, len(triangles))
        content = np.zeros(16 * vertices, np.uint8)
        self.data = np.concatenate([
            np.frombuffer(header, np.uint8), content, triangles.astype("<u4").reshape(-1).view(np.uint8)
        ])  # fmt: skip
        """The file, bytes (n,)."""
        end = len(header) + 12 * vertices
        self._vertices = self.data[len(header) : end].view("<f4").reshape(-1, 3)
        self._colours = self.data[end : end + 4 * vertices].reshape(-1, 4)
        self._colours[:] = 255

    def paint(self, vertices: Array, colours: Array) -> None:
        """Put vertices (nv, 3) and their sRGB colours (nv, 3) 0..1 into the file."""
        self._vertices[:] = vertices
        self._colours[:, :3] = _LINEAR[(255.0 * colours + 0.5).astype(np.uint8)]
