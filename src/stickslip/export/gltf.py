"""Recordings as animated glTF 2.0 in one binary file (.glb), which browsers, Blender and game engines open.

Rigid bodies are nodes whose translation and rotation are animated; soft bodies are meshes with a morph target a frame.
glTF's y axis is up: a node above all turns ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError, MissingDependencyError
from stickslip.export.surfaces import Surface, surfaces_of
from stickslip.files import whole_file
from stickslip.io.recording import Recording
from stickslip.view.picture.traced_scene import linear
from stickslip.view.player.data import continuous_quaternions
from stickslip.view.visual_meshes import with_creases

FLOAT, UNSIGNED = 5126, 5125
ARRAYS, ELEMENTS = 34962, 34963
TYPES = {(): "SCALAR", (3,): "VEC3", (4,): "VEC4"}
MOST_TARGETS = 300
"""Frames of a soft body: each is a morph target, and each has a weight in every frame."""


class _Buffer:
    """The binary part of a file, and who has which bytes of it."""

    def __init__(self, gltf: Any, lib: Any) -> None:
        self.gltf, self.lib, self.data = gltf, lib, bytearray()

    def add(self, values: NDArray[Any], target: int | None = None) -> int:
        """An accessor of float32 or uint32 values (n,), (n, 3) or (n, 4); its number."""
        kind = UNSIGNED if values.dtype.kind in "iu" else FLOAT
        stored = np.ascontiguousarray(values, dtype=np.uint32 if kind == UNSIGNED else np.float32)
        view = self.lib.BufferView(buffer=0, byteOffset=len(self.data), byteLength=stored.nbytes, target=target)
        self.data += stored.tobytes()
        self.gltf.bufferViews.append(view)
        low, high = stored.min(axis=0), stored.max(axis=0)
        self.gltf.accessors.append(
            self.lib.Accessor(
                bufferView=len(self.gltf.bufferViews) - 1, componentType=kind, count=len(stored),
                type=TYPES[stored.shape[1:]], min=np.atleast_1d(low).tolist(), max=np.atleast_1d(high).tolist(),
            )
        )  # fmt: skip
        return len(self.gltf.accessors) - 1


def write_glb(recording: Recording, out: Path, frames: Sequence[int], told: Callable[[int], None]) -> None:
    """All frames as one animation in real time."""
    try:
        import pygltflib as lib
    except ImportError as error:
        raise MissingDependencyError("glTF needs pygltflib; pip install 'stickslip[export]'") from error
    surfaces = surfaces_of(recording, frames)
    if len(frames) > MOST_TARGETS and any(each.nodes is not None for each in surfaces):
        raise InputError(
            f"export: {len(frames)} frames of soft bodies; a glTF file has {MOST_TARGETS} at most: give a larger every"
        )
    gltf = lib.GLTF2(
        asset=lib.Asset(version="2.0", generator="stickslip"), scene=0, scenes=[lib.Scene(nodes=[0])],
        nodes=[lib.Node(name="z-up", rotation=[-sqrt(0.5), 0.0, 0.0, sqrt(0.5)], children=[])],
    )  # fmt: skip
    buffer = _Buffer(gltf, lib)
    time = buffer.add(recording.time[np.asarray(frames)] - recording.time[frames[0]])
    animation = lib.Animation(name="run", samplers=[], channels=[])
    pose = np.stack([recording.q[frame] for frame in frames])
    turns = continuous_quaternions(pose[:, :, 3:])
    for k, surface in enumerate(surfaces):
        node = lib.Node(name=surface.name, mesh=len(gltf.meshes))
        targets: list[int] = []
        if surface.nodes is None:
            vertices, faces, normals = with_creases(surface.vertices, surface.faces)
        else:
            vertices, faces, normals = surface.vertices, surface.faces, None
            at = np.stack([recording.node_position[frame][surface.nodes] for frame in frames]) - vertices
            targets = [buffer.add(each, ARRAYS) for each in at]
        gltf.meshes.append(_mesh(lib, buffer, surface, vertices, faces, normals, targets))
        gltf.nodes.append(node)
        number = len(gltf.nodes) - 1
        gltf.nodes[0].children.append(number)
        if targets:
            weights = buffer.add(np.eye(len(frames), dtype=np.float32).reshape(-1))
            _animate(lib, animation, number, "weights", time, weights)
        elif surface.body >= 0:
            q, turn = pose[:, surface.body], turns[:, surface.body]
            node.translation, node.rotation = q[0, :3].tolist(), turn[0, [1, 2, 3, 0]].tolist()
            if len(frames) > 1 and np.ptp(q, axis=0).any():
                _animate(lib, animation, number, "translation", time, buffer.add(q[:, :3]))
                _animate(lib, animation, number, "rotation", time, buffer.add(turn[:, [1, 2, 3, 0]]))
        told(round((k + 1) / len(surfaces) * (len(frames) - 1)))
    if animation.channels:
        gltf.animations.append(animation)
    gltf.buffers.append(lib.Buffer(byteLength=len(buffer.data)))
    gltf.set_binary_blob(bytes(buffer.data))
    with whole_file(out) as temporary:
        gltf.save_binary(str(temporary))


def _mesh(
    lib: Any, buffer: _Buffer, surface: Surface, vertices: NDArray[Any], faces: NDArray[Any],
    normals: NDArray[Any] | None, targets: list[int],
) -> Any:  # fmt: skip
    """A mesh with a material of its own."""
    colour = [*linear(surface.colour).tolist(), 1.0]
    buffer.gltf.materials.append(
        lib.Material(
            name=surface.name, doubleSided=surface.nodes is not None,
            pbrMetallicRoughness=lib.PbrMetallicRoughness(
                baseColorFactor=colour, metallicFactor=0.0, roughnessFactor=0.7
            ),
        )
    )  # fmt: skip
    attributes = lib.Attributes(POSITION=buffer.add(vertices, ARRAYS))
    if normals is not None:
        attributes.NORMAL = buffer.add(normals, ARRAYS)
    primitive = lib.Primitive(
        attributes=attributes, indices=buffer.add(faces.reshape(-1), ELEMENTS),
        material=len(buffer.gltf.materials) - 1, targets=[lib.Attributes(POSITION=each) for each in targets],
    )  # fmt: skip
    weights = [1.0, *[0.0] * (len(targets) - 1)] if targets else []
    return lib.Mesh(name=surface.name, primitives=[primitive], weights=weights)


def _animate(lib: Any, animation: Any, node: int, path: str, time: int, values: int) -> None:
    """A channel: ``path`` of a node follows values at times."""
    animation.samplers.append(lib.AnimationSampler(input=time, output=values, interpolation="LINEAR"))
    target = lib.AnimationChannelTarget(node=node, path=path)
    animation.channels.append(lib.AnimationChannel(sampler=len(animation.samplers) - 1, target=target))
