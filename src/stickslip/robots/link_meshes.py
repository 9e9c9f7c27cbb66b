"""Meshes of links: surfaces with colours to look at, and hulls, exact meshes or convex pieces to touch."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, Ints
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.geometry.mesh_file import read_mesh
from stickslip.geometry.shapes import Hull, Mesh, Shape
from stickslip.reading import reading, regular_file
from stickslip.robots.disk_cache import Arrays, cached, digest
from stickslip.robots.hull_cache import convex_pieces, hull_points

Colour = tuple[float, float, float, float]
SMALL_FILE = 100_000
"""STL files below this size [bytes] are read faster than looked for in the cache."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one colour; None: the file says nothing of it."""

    vertices: Array
    """(n, 3) [m], or in units of the file before scaling"""
    triangles: Ints
    """(k, 3)"""
    colour: Colour | None = None


@dataclass
class LinkMeshes:
    """The meshes of one robot: each file is read once, whatever number of links show it."""

    exact: bool = False
    """Whether shapes are the meshes themselves, where they are closed."""
    pieces: bool = False
    """Whether shapes are convex pieces of meshes."""
    _surfaces: dict[Path, list[Surface]] = field(default_factory=dict)
    _shapes: dict[tuple[Path, tuple[float, ...]], tuple[list[Shape], str]] = field(default_factory=dict)

    def surfaces(self, file: Path, scale: tuple[float, ...]) -> list[Surface]:
        """What a file shows, scaled along the axes."""
        if file not in self._surfaces:
            self._surfaces[file] = read_surfaces(file)
        return [scaled(surface, scale) for surface in self._surfaces[file]]

    def shapes(self, file: Path, scale: tuple[float, ...]) -> tuple[list[Shape], str]:
        """Collision shapes of a file, and what could not be had as asked for, or ""."""
        key = file, scale
        if key not in self._shapes:
            self._shapes[key] = self._made(self.surfaces(file, scale))
        return self._shapes[key]

    def _made(self, surfaces: list[Surface]) -> tuple[list[Shape], str]:
        starts = np.cumsum([0, *(len(surface.vertices) for surface in surfaces)])
        vertices = np.concatenate([surface.vertices for surface in surfaces])
        triangles = np.concatenate([surface.triangles + start for surface, start in zip(surfaces, starts)])
        if self.exact:
            try:
                return [Mesh(vertices, triangles.astype(np.int32))], ""
            except InputError as error:
                lack = f"its surface bounds no solid ({error}); its convex hull is used"
                return [Hull(hull_points(vertices))], lack
        if self.pieces:
            return [Hull(points) for points in convex_pieces(vertices, triangles.astype(np.int32))], ""
        return [Hull(hull_points(vertices))], ""


def scaled(surface: Surface, scale: tuple[float, ...]) -> Surface:
    """A surface scaled along the axes; an odd number of negative factors turns its triangles round."""
    if scale == (1.0, 1.0, 1.0):
        return surface
    triangles = surface.triangles if np.prod(np.sign(scale)) > 0 else np.ascontiguousarray(surface.triangles[:, ::-1])
    return Surface(surface.vertices * np.array(scale), triangles, surface.colour)


def read_surfaces(file: Path) -> list[Surface]:
    """All surfaces of an STL, OBJ, PLY, OFF or DAE file, in metres or units of the file; whatever case its ending has.

    All but small STL files are kept on disk as arrays: importing the other readers takes half a second.
    """
    regular_file(file, "mesh file", "the path of a mesh")
    if file.suffix.lower() == ".stl" and file.stat().st_size < SMALL_FILE:
        return _read(file)
    kept = cached(f"surfaces-{digest(file.suffix.lower().encode(), file.read_bytes())}", lambda: _arrays(_read(file)))
    try:
        return _surfaces(kept)
    except KeyError:  # an archive of something else
        return _read(file)


def _arrays(surfaces: list[Surface]) -> Arrays:
    """Surfaces as arrays for the cache; a colour without numbers is none."""
    found: dict[str, NDArray[Any]] = {}
    for k, surface in enumerate(surfaces):
        found[f"vertices-{k}"], found[f"triangles-{k}"] = surface.vertices, surface.triangles
        found[f"colour-{k}"] = np.array(surface.colour or (), np.float64)
    return found


def _surfaces(arrays: Arrays) -> list[Surface]:
    found = []
    for k in range(len(arrays) // 3):
        colour = arrays[f"colour-{k}"].tolist()
        rgba = (colour[0], colour[1], colour[2], colour[3]) if len(colour) == 4 else None
        found.append(Surface(arrays[f"vertices-{k}"], arrays[f"triangles-{k}"], rgba))
    return found


def _read(file: Path) -> list[Surface]:
    """The surfaces of a file as it is now.

    Binary STL is read here: few lines, and importing trimesh takes longer than a robot of them.
    """
    ending = file.suffix.lower()
    if ending == ".dae":
        return _read_collada(file)
    if ending == ".stl":
        found = _read_binary_stl(file)
        if found is not None:
            return [found]
    return [Surface(*read_mesh(file))]


def _read_binary_stl(file: Path) -> Surface | None:
    """None where it is not a binary STL file: its size follows from the number of triangles, which is how one tells."""
    data = regular_file(file, "mesh file", "the path of an STL file").read_bytes()
    count = int.from_bytes(data[80:84], "little") if len(data) > 84 else 0
    if count == 0 or len(data) < 84 + 50 * count or (data[:5] == b"solid" and len(data) != 84 + 50 * count):
        return None
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
    corners = np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3)
    if not np.isfinite(corners).all():
        raise FileError(f"mesh file {file} cannot be read: a corner of a triangle is not finite")
    return Surface(*_merged(corners))


def _merged(corners: NDArray[np.float32]) -> tuple[Array, Ints]:
    """Vertices and triangles of corners (3 k, 3): equal ones are one vertex.

    Sorting one number for each corner, a mixture of its bits, is ten times as fast as sorting the corners.
    """
    plain = np.ascontiguousarray(corners + np.float32(0.0))  # of the two zeros one is left
    bits = plain.view(np.uint32).astype(np.uint64)
    mixed = np.zeros(len(bits), np.uint64)
    for k in range(3):
        mixed = (mixed ^ bits[:, k]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(plain[first][inverse], plain):  # different corners with one mixture
        first = inverse = np.arange(len(plain))
    return plain[first].astype(np.float64), inverse.reshape(-1, 3).astype(np.int32)


def _read_collada(file: Path) -> list[Surface]:
    """Surfaces of a COLLADA file with the colours of their materials, by pycollada (extra ``mesh``).

    The unit of the file is applied, its upward axis is not: so do the programs that robots are described for. Not by
    trimesh, which asks pycollada, too: importing it takes as long as reading a whole robot.
    """
    regular_file(file, "mesh file", "the path of a DAE file")
    try:
        import collada
    except ImportError:
        raise MissingDependencyError(
            f"reading the mesh file {file} needs pycollada; install it with: pip install 'stickslip[mesh]'"
        ) from None
    surfaces = []
    with reading(file, "mesh file", "a mesh in the form of COLLADA"), np.errstate(all="ignore"):
        data = file.read_bytes()
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ValueError("it declares a document type or entities")
        scene = collada.Collada(BytesIO(data), ignore=[collada.common.DaeError])
        if scene.errors:  # a picture that is not there takes its material with it, and that the geometry
            data = _without_lost_materials(data, {material.id for material in scene.materials})
            scene = collada.Collada(BytesIO(data), ignore=[collada.common.DaeError])
        unit = scene.assetInfo.unitmeter or 1.0
        for geometry in scene.scene.objects("geometry") if scene.scene is not None else ():
            mirrored = np.linalg.det(geometry.matrix[:3, :3]) < 0.0
            for part in geometry.primitives():
                if hasattr(part, "triangleset"):
                    part = part.triangleset()  # polygons
                corners = getattr(part, "vertex_index", None)
                if corners is None or not len(corners) or np.shape(corners)[1:] != (3,):
                    continue  # lines
                used, inverse = np.unique(corners, return_inverse=True)
                triangles = inverse.reshape(-1, 3).astype(np.int32)
                triangles = np.ascontiguousarray(triangles[:, ::-1]) if mirrored else triangles
                vertices = unit * np.asarray(part.vertex, np.float64)[used]
                surfaces.append(Surface(vertices, triangles, _diffuse(geometry, part)))
        if not surfaces:
            raise ValueError("it has no triangles")
        if not all(np.isfinite(surface.vertices).all() for surface in surfaces):
            raise ValueError("a vertex is not finite")
    return surfaces


def _without_lost_materials(data: bytes, known: set[str]) -> bytes:
    """A COLLADA file whose geometries are bound to known materials alone."""
    root = ElementTree.fromstring(data)
    for owner in root.iter():
        for bound in [child for child in owner if child.tag.endswith("}bind_material")]:
            targets = [str(each.get("target", ""))[1:] for each in bound.iter() if "instance_material" in each.tag]
            if not known.issuperset(targets):
                owner.remove(bound)
    return ElementTree.tostring(root)


def _diffuse(geometry: Any, part: Any) -> Colour | None:
    """Colour of the material of a part of a COLLADA geometry; None where it is a picture, or nothing is said."""
    node = geometry.materialnodebysymbol.get(part.original.material)
    effect = None if node is None or node.target is None else node.target.effect
    diffuse = getattr(effect, "diffuse", None)
    if not isinstance(diffuse, tuple) or len(diffuse) != 4:
        return None
    red, green, blue = (min(max(float(x), 0.0), 1.0) for x in diffuse[:3])
    return red, green, blue, 1.0
