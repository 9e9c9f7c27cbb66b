"""Collision shapes and things to look at of a compiled MJCF model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.arrays import Array, Ints
from stickslip.errors import InputError, MissingDependencyError
from stickslip.geometry.rotation import matrix, multiply
from stickslip.geometry.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Mesh, Shape, Sphere, placed
from stickslip.geometry.unit_surfaces import box, capsule, cylinder, sphere
from stickslip.names import counted
from stickslip.robots.mjcf_links import pass_through
from stickslip.robots.mjcf_model import CompiledModel, quaternion
from stickslip.robots.records import LinkShape, Visual

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)
"""The compiler's codes (mjtGeom)."""
SEEN_GROUPS = (0, 1, 2)
"""Groups that the format's own viewer shows at the start; collision shapes of robots are often in group 3."""
MOST_HFIELD = 512 * 512
"""Points of a height field that becomes a mesh."""
GROUP_BITS = 31
SOFT = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
"""solref and solimp of contacts where a file says nothing."""
GREY = (0.5, 0.5, 0.5, 1.0)
"""Colour of a geom where a file says nothing: that of its material then counts."""


@dataclass
class Shapes:
    """Shapes and visuals of all bodies by number; 0 is the world."""

    shapes: dict[int, list[LinkShape]] = field(default_factory=dict)
    visuals: dict[int, list[Visual]] = field(default_factory=dict)


def read_shapes(
    model: CompiledModel, excluded: frozenset[tuple[str, str]], exact_meshes: bool, convex_pieces: bool
) -> Shapes:
    """All geoms: those that can touch something as shapes, those that can be seen as visuals."""
    m, found = model.m, Shapes()
    bits = _group_bits(model, excluded)
    looks: dict[int, list[int]] = {}
    for g in range(m.ngeom):
        body, touches = int(m.geom_bodyid[g]), bool(bits[g, 0] or bits[g, 1])
        if touches:
            for pose, shape in _shapes(model, g, exact_meshes, convex_pieces):
                of = 0 if isinstance(shape, HalfSpace) else body
                found.shapes.setdefault(of, []).append(_link_shape(model, g, shape, pose, bits[g]))
        if m.geom_group[g] in SEEN_GROUPS and _colour(model, g)[3] > 0.0 and m.geom_type[g] != PLANE:
            looks.setdefault(body, []).append(g)
    for body, geoms in looks.items():
        # where all that is seen are shapes as they are, the shapes themselves are the picture
        own = [g for g in geoms if not bits[g].any() or m.geom_type[g] in (MESH, SDF, HFIELD, ELLIPSOID)]
        if own:
            found.visuals[body] = [_visual(model, g) for g in geoms]
    _note_contacts(model, bits)
    return found


# ---- who touches whom ----------------------------------------------------------------------------------------


def _group_bits(model: CompiledModel, excluded: frozenset[tuple[str, str]]) -> np.ndarray:
    """(ngeom, 2) group and mask of each geom, with further bits for contact pairs that the file's do not let touch.

    Pairs with one geom in common share a bit: it is in the mask of that geom and in the groups of all others.
    """
    m = model.m
    bits = np.stack([m.geom_contype, m.geom_conaffinity], axis=1).astype(np.int64)
    used = int(np.bitwise_or.reduce(bits, axis=None)) if bits.size else 0
    free = [1 << k for k in range(GROUP_BITS) if not used >> k & 1]
    wanted: dict[int, tuple[int, int]] = {}
    often: dict[int, int] = {}
    for p in range(m.npair if model.contacts else 0):
        a, b = int(m.pair_geom1[p]), int(m.pair_geom2[p])
        body_a, body_b = sorted((int(m.geom_bodyid[a]), int(m.geom_bodyid[b])))
        if pass_through(model, body_a, body_b, excluded):
            model.warn("pair", p, "contact", "it is not simulated: its links pass through each other")
        elif not (bits[a, 0] & bits[b, 1] or bits[b, 0] & bits[a, 1]):
            wanted[p] = a, b
            often[a], often[b] = often.get(a, 0) + 1, often.get(b, 0) + 1
        own = np.maximum(m.geom_friction[a], m.geom_friction[b])
        if m.pair_dim[p] >= 3 and not np.isclose(m.pair_friction[p, 0], own[0]):
            said = f"{m.pair_friction[p, 0]:g}"
            model.warn("pair", p, "contact", f"its friction of {said} does not count; that of its geoms does")
        if m.pair_dim[p] == 1 and own[0] > 0.0:
            model.warn("pair", p, "contact", "it has no friction (condim 1), which does not count; its geoms' does")
        if m.pair_adhesion[p] != 0.0:
            model.warn("pair", p, "contact", "it does not stick (adhesion)")
    shared: dict[int, int] = {}
    for p, (a, b) in wanted.items():
        centre, other = (a, b) if often[a] >= often[b] else (b, a)
        if centre not in shared:
            if not free:
                model.warn("pair", p, "contact", "it is not simulated: no bits of groups are left for it")
                continue
            shared[centre] = free.pop(0)
        bits[centre, 1] |= shared[centre]
        bits[other, 0] |= shared[centre]
    return bits


def _note_contacts(model: CompiledModel, bits: np.ndarray) -> None:
    """What contacts of the file have and ours have not."""
    m, report = model.m, model.report
    solid = np.flatnonzero(bits.any(axis=1))
    if not len(solid):
        return

    def note(which: np.ndarray, text: str) -> None:
        if which[solid].any():
            report.notes.append(f"{counted(int(which[solid].sum()), 'geom')}: {text}")

    note((m.geom_condim >= 6) & (m.geom_friction[:, 2] > 0.0), "rolling friction (condim 6) is not simulated")
    note(m.geom_condim == 1, "among each other they touch with their friction, not without any (condim 1)")
    note(m.geom_priority != 0, "priority does not decide whose friction counts")
    note((m.geom_margin != 0.0) | (m.geom_gap != 0.0), "margin and gap have no meaning here")
    stiff = np.any(m.geom_solref != SOFT[0], axis=1) | np.any(m.geom_solimp != SOFT[1], axis=1)
    note(stiff, "solref and solimp have no meaning here: contacts are rigid")
    note(m.geom_type == ELLIPSOID, "an ellipsoid touches as the hull of 266 of its points")
    for g in solid.tolist():
        if np.any(m.geom_surfacevel[g]):
            model.warn("geom", g, "", "its surface does not move (surfacevel)")
        if m.geom_adhesion[g] != 0.0:
            model.warn("geom", g, "", "it does not stick (adhesion)")


def _link_shape(model: CompiledModel, g: int, shape: Shape, pose: tuple[Array, Array], bits: np.ndarray) -> LinkShape:
    """A collision shape with its friction, groups and colour."""
    m = model.m
    slide, spin = float(m.geom_friction[g, 0]), float(m.geom_friction[g, 1])
    dimensions = int(m.geom_condim[g])
    red, green, blue, _ = _colour(model, g)
    return LinkShape(
        placed(shape, *pose), slide, spin if dimensions >= 4 else 0.0, int(bits[0]), int(bits[1]),
        (red, green, blue), model.names["geom"][g],
    )  # fmt: skip


def _colour(model: CompiledModel, g: int) -> tuple[float, float, float, float]:
    """Red, green, blue and opacity: a geom's own where it has one, else its material's."""
    m = model.m
    own = tuple(float(part) for part in m.geom_rgba[g])
    if own == GREY and m.geom_matid[g] >= 0:
        own = tuple(float(part) for part in m.mat_rgba[m.geom_matid[g]])
    red, green, blue, opacity = np.clip(own, 0.0, 1.0).tolist()
    return red, green, blue, opacity


# ---- shapes --------------------------------------------------------------------------------------------------


def _shapes(
    model: CompiledModel, g: int, exact_meshes: bool, convex_pieces: bool
) -> list[tuple[tuple[Array, Array], Shape]]:
    """Shapes of one geom with their poses in the frame of its link, that of a plane in the world."""
    m = model.m
    kind, (a, b, c) = int(m.geom_type[g]), (float(value) for value in m.geom_size[g])
    pose = np.array(m.geom_pos[g]), np.array(quaternion(m.geom_quat[g]))
    if kind == PLANE:
        return [(_in_world(model, int(m.geom_bodyid[g]), *pose), HalfSpace())]
    if kind == SPHERE:
        return [(pose, Sphere(a))]
    if kind == CAPSULE:
        return [(pose, Capsule(a, 2.0 * b))]
    if kind == CYLINDER:
        return [(pose, Cylinder(a, 2.0 * b))]
    if kind == BOX:
        return [(pose, Box((2.0 * a, 2.0 * b, 2.0 * c)))]
    if kind == ELLIPSOID:
        return [(pose, Hull(sphere()[0] * (a, b, c)))]
    if kind == MESH:
        return [(pose, shape) for shape in _mesh_shapes(model, g, exact_meshes, convex_pieces)]
    if kind == HFIELD:
        return [(pose, shape) for shape in _height_field(model, g)]
    model.warn("geom", g, "sdf" if kind == SDF else f"type {kind}", "it touches nothing")
    return []


def _in_world(model: CompiledModel, body: int, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Pose in the world of something on a body that is fixed to it."""
    m = model.m
    while body:
        turn = quaternion(m.body_quat[body])
        position, rotation = m.body_pos[body] + matrix(turn) @ position, multiply(turn, rotation)
        body = int(m.body_parentid[body])
    return position, rotation


def _mesh_shapes(model: CompiledModel, g: int, exact_meshes: bool, convex_pieces: bool) -> list[Shape]:
    """A mesh as its convex hull, as it is, or cut into convex pieces."""
    mesh = int(model.m.geom_dataid[g])
    vertices, triangles = mesh_of(model, mesh)
    if convex_pieces:
        return [Hull(points) for points in _pieces(vertices, triangles)]
    if exact_meshes:
        try:
            return [Mesh(vertices, triangles, model.element("mesh", mesh))]
        except InputError as error:
            model.warn("geom", g, "mesh", f"it touches as its convex hull, since it bounds no solid: {error}")
    return [Hull(_hull_points(model, mesh, vertices))]


def mesh_of(model: CompiledModel, mesh: int) -> tuple[Array, Ints]:
    """Vertices (n, 3) [m] and triangles of a mesh in the frame of its geoms."""
    m = model.m
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    start, faces = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
    vertices = np.array(m.mesh_vert[first : first + count], dtype=np.float64)
    return vertices, np.array(m.mesh_face[start : start + faces], dtype=np.int32)


def _hull_points(model: CompiledModel, mesh: int, vertices: Array) -> Array:
    """Vertices of the convex hull that the compiler has made of a mesh, or of ours where it has made none."""
    m, start = model.m, int(model.m.mesh_graphadr[mesh])
    if start < 0:
        from scipy.spatial import ConvexHull  # costs 0.1 s to import, and few models come here

        return vertices[np.sort(ConvexHull(vertices).vertices)]
    count = int(m.mesh_graph[start])
    first = start + 2 + count  # numbers of vertices and faces, where the edges of each vertex start, then vertices
    return vertices[np.sort(m.mesh_graph[first : first + count])]


def _pieces(vertices: Array, triangles: Ints) -> list[Array]:
    """Convex pieces (n, 3) [m] that fill a mesh, by CoACD."""
    try:
        import coacd
    except ImportError:
        raise MissingDependencyError(
            "convex pieces need the package coacd; install it with: pip install 'stickslip[decomposition]'"
        ) from None
    coacd.set_log_level("error")
    found: list[Any] = coacd.run_coacd(coacd.Mesh(vertices, triangles), seed=0)
    return [np.array(points, dtype=np.float64) for points, _ in found]


def _height_field(model: CompiledModel, g: int) -> list[Shape]:
    """A height field as a closed mesh down to its base."""
    m = model.m
    h = int(m.geom_dataid[g])
    if int(m.hfield_nrow[h]) * int(m.hfield_ncol[h]) > MOST_HFIELD:
        size = f"{m.hfield_nrow[h]} x {m.hfield_ncol[h]}"
        model.warn("geom", g, "hfield", f"it touches nothing: it has {size} points; {MOST_HFIELD:,} at most are taken")
        return []
    vertices, triangles = height_field_mesh(model, h)
    try:
        return [Mesh(vertices, triangles, f"height field of {model.element('geom', g)}")]
    except InputError as error:
        model.warn("geom", g, "hfield", f"it touches nothing, since it bounds no solid: {error}")
        return []


def height_field_mesh(model: CompiledModel, h: int) -> tuple[Array, Ints]:
    """Closed surface of a height field: the surface itself, sides, and a flat base."""
    m = model.m
    rows, columns, start = int(m.hfield_nrow[h]), int(m.hfield_ncol[h]), int(m.hfield_adr[h])
    x_half, y_half, top, base = (float(value) for value in m.hfield_size[h])
    height = top * np.array(m.hfield_data[start : start + rows * columns], dtype=np.float64)
    y, x = np.meshgrid(np.linspace(-y_half, y_half, rows), np.linspace(-x_half, x_half, columns), indexing="ij")
    upper = np.column_stack([x.ravel(), y.ravel(), height])
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = number[:-1, :-1].ravel(), number[:-1, 1:].ravel(), number[1:, 1:].ravel(), number[1:, :-1].ravel()
    surface = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    # its rim, counter-clockwise seen from above, then the same points at the base, and their middle
    rim = np.concatenate([number[0, :-1], number[:-1, -1], number[-1, :0:-1], number[:0:-1, 0]])
    lower = upper[rim] * (1.0, 1.0, 0.0) - (0.0, 0.0, base)
    below = len(upper) + np.arange(len(rim))
    after, below_after, middle = np.roll(rim, -1), np.roll(below, -1), len(upper) + len(rim)
    sides = np.concatenate([np.stack([rim, below, below_after], 1), np.stack([rim, below_after, after], 1)])
    floor = np.stack([np.full(len(rim), middle), below_after, below], 1)
    vertices = np.concatenate([upper, lower, [[0.0, 0.0, -base]]])
    return vertices, np.concatenate([surface, sides, floor]).astype(np.int32)


# ---- things to look at ---------------------------------------------------------------------------------------


def _visual(model: CompiledModel, g: int) -> Visual:
    """A geom as triangles in the frame of its link."""
    m = model.m
    kind, size = int(m.geom_type[g]), m.geom_size[g]
    if kind in (MESH, SDF):
        vertices, triangles = mesh_of(model, int(m.geom_dataid[g]))
    elif kind == HFIELD:
        vertices, triangles = height_field_mesh(model, int(m.geom_dataid[g]))
    elif kind == BOX:
        vertices, triangles = box()
        vertices = vertices * size
    elif kind == CAPSULE:
        vertices, triangles = capsule(float(size[1] / size[0]))
        vertices = vertices * size[0]
    elif kind == CYLINDER:
        vertices, triangles = cylinder()
        vertices = vertices * size[[0, 0, 1]]
    else:
        vertices, triangles = sphere()
        vertices = vertices * (size if kind == ELLIPSOID else size[0])
    turn = matrix(quaternion(m.geom_quat[g]))
    return Visual(vertices @ turn.T + m.geom_pos[g], triangles, _colour(model, g))
