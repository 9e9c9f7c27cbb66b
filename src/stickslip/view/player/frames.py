"""What the page of a recording shows, as blocks: geometry once, then poses, soft nodes, contacts of played frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip import checks
from stickslip.arrays import Array, Ints, LongInts
from stickslip.errors import InputError
from stickslip.geometry.rotation import matrix
from stickslip.model.model import Model
from stickslip.model.shape_meshes import Instances, half_spaces, shape_instances
from stickslip.view.frame import contacts_on_moving, spread
from stickslip.view.marks import crowd_size
from stickslip.view.picture.camera import FIELD_OF_VIEW, Pose, framed_balls, look_at
from stickslip.view.picture.outlines import body_balls
from stickslip.view.picture.traced_scene import STEEPEST_GROUND, body_colours
from stickslip.view.picture.wall_panes import wall_panes, wall_room
from stickslip.view.player.data import Block, continuous_quaternions, float_block, integer_block, rounded, time_block
from stickslip.view.soft_colours import QUANTITIES, least_range, recorded_values, value_limits
from stickslip.view.visual_meshes import covered_shapes, visual_meshes

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

Progress = Callable[[int, int], None]

COARSEST, FINEST, OF_BODY = 2.0**-15, 2.0**-18, 2.0**-9
"""Steps of positions: a share of the bodies' radius, between two shares of the scene's size."""
VISUAL_LEVELS = 4095
"""Steps of vertices of visuals, along the longest side of their mesh."""
TURN = 2.0**-14
"""Step of the entries of quaternions."""
FORCE_LEVELS = 2047
"""Levels of components of forces, from zero to the largest; their square roots are rounded, so that small ones keep
their direction beside an impact."""
CONTACT_BUDGET = 400_000
"""Contacts of all played frames together; of frames with many only the largest forces are kept."""
POSES = 32
"""Most frames that decide what the page frames."""
ASPECTS = 12
"""Widths of pages for which the balls that reach the edges are looked for."""
AZIMUTH, ELEVATION = np.deg2rad(-60.0), np.deg2rad(18.0)
"""[rad] direction in which the page opens, as in player_camera.js."""
STRAY = 6.0
"""Bodies farther from the middle than this many times the 90th percentile do not count for the scene's size."""


class Packed(NamedTuple):
    """Facts for the head of the page's data, and blocks."""

    facts: dict[str, Any]
    blocks: dict[str, Block]


def played_frames(time: Array, fps: float, start: float | None, end: float | None) -> LongInts:
    """Numbers of the recorded frames nearest to the times of a film of ``fps`` frames a second, each once.

    start, end [s]: the part to play; None: from the first frame, to the last.
    """
    if not 0.0 < checks.finite("player", "fps", fps) <= 1000.0:
        raise InputError(f"player: fps is {fps}; it must be above 0 and at most 1000")
    if not len(time):
        raise InputError("player: the recording has no frames; record at least one step")
    first = float(time[0]) if start is None else max(checks.finite("player", "start", start), float(time[0]))
    last = float(time[-1]) if end is None else min(checks.finite("player", "end", end), float(time[-1]))
    if first > last:
        raise InputError(
            f"player: start {first:g} s is after the end {last:g} s; the recording has {time[0]:g} s to {time[-1]:g} s"
        )
    wanted = np.append(first + np.arange(int((last - first) * fps + 1e-6) + 1) / fps, last)
    after = np.clip(np.searchsorted(time, wanted), 1, max(1, len(time) - 1))
    before = after - 1
    after = np.minimum(after, len(time) - 1)
    return np.unique(np.where(wanted - time[before] <= time[after] - wanted, before, after))


def scene_size(model: Model, balls: Array, q: Array, nodes: Array) -> float:
    """[m] diagonal of the box around the paths q (n, nb, 7) and nodes (n, nn, 3), bodies that flew away left out.

    balls (nb, 4): as body_balls gives.
    """
    finite = np.flatnonzero(balls[:, 3] > 0.0)
    moving = finite[model.body_dynamic[finite]]
    shown = moving if len(moving) else finite
    lower, upper = [np.zeros((0, 3))], [np.zeros((0, 3))]
    if len(shown):
        path, reach = np.nan_to_num(q[:, shown, :3]), balls[shown, 3:]
        lower.append(path.min(axis=0) - reach)
        upper.append(path.max(axis=0) + reach)
    if nodes.shape[1]:
        x = np.nan_to_num(nodes)
        lower.append(x.min(axis=(0, 1))[None])
        upper.append(x.max(axis=(0, 1))[None])
    low, high = np.concatenate(lower), np.concatenate(upper)
    if not len(low):
        return 1.0
    far = np.maximum(np.abs(low - np.median(low, axis=0)), np.abs(high - np.median(high, axis=0))).max(axis=1)
    kept = far <= STRAY * np.quantile(far, 0.9) + 1e-9
    return max(float(np.linalg.norm(high[kept].max(axis=0) - low[kept].min(axis=0))), 1e-6)


def framed_places(model: Model, poses: Sequence[Pose]) -> list[list[float]]:
    """Balls [x, y, z, radius] [m], few of them, that the page frames: all places over time, chosen as films do.

    Kept are those that reach an edge of the view in which the page opens, for some width of it, and those that are
    farthest along x, y and z: what throws shadows.
    """
    centre, radius = framed_balls(model, poses)
    flat = np.cos(ELEVATION)
    axes = look_at((flat * np.cos(AZIMUTH), flat * np.sin(AZIMUTH), np.sin(ELEVATION)), (0.0, 0.0, 0.0)).axes
    kept: set[int] = set()
    for half in np.linspace(0.0, np.tan(0.5 * FIELD_OF_VIEW), ASPECTS):
        for across in (*axes[:2], *-axes[:2]):
            kept.add(int((centre @ (across - half * axes[2]) + radius * np.hypot(1.0, half)).argmax()))
    for along in (*np.eye(3), *-np.eye(3), axes[2], -axes[2]):
        kept.add(int((centre @ along + radius).argmax()))
    chosen = sorted(kept)
    rows = np.column_stack([centre[chosen], radius[chosen]]).astype(np.float32)
    return [[float(x) for x in row] for row in rows]


def few_poses(recording: Recording, frames: LongInts) -> list[Pose]:
    """Poses of at most POSES of the frames, the first and the last among them."""
    few = frames[spread(len(frames), POSES)].tolist()
    soft, none = recording.model.soft.count, np.zeros((0, 3))
    return [(np.nan_to_num(recording.q[k]), np.nan_to_num(recording.node_position[k]) if soft else none) for k in few]


def walls(model: Model, poses: Sequence[Pose]) -> list[dict[str, Any]]:
    """Steep half-spaces as the page draws them: the body, and corners [m] of a convex polygon in its frame."""
    room = wall_room(model, poses)
    found: list[dict[str, Any]] = []
    for shape, corners in [] if room is None else wall_panes(model, poses[0][0], room):
        body = int(model.shape_body[shape])
        q = poses[0][0][body]
        own = ((corners - q[:3]) @ matrix(q[3:])).astype(np.float32)
        found.append({"body": body, "corners": [[float(x) for x in corner] for corner in own]})
    return found


def geometry(model: Model) -> Packed:
    """Triangles of shapes, instances and where they are on their bodies, half-spaces, joints, colours."""
    groups = _drawn_groups(model)
    facts: list[dict[str, Any]] = []
    for group in groups:
        style = group.name.split("-")[0]
        count = len(group.vertices), len(group.faces), len(group.shapes)
        facts.append({"style": style, "vertices": count[0], "faces": count[1], "instances": count[2]})
    shapes = np.concatenate([np.zeros(0, np.int32), *(group.shapes for group in groups)])
    visuals, visual_blocks = _visuals(model)
    planes = half_spaces(model)
    place = np.concatenate([model.shape_position, model.shape_rotation], axis=1)
    joints = model.joints
    blocks = {
        "vertices": float_block(np.concatenate([np.zeros((0, 3)), *(group.vertices for group in groups)])),
        "faces": integer_block(np.concatenate([np.zeros((0, 3), np.int32), *(group.faces for group in groups)])),
        "shape_body": integer_block(model.shape_body[shapes]),
        "shape_place": float_block(place[shapes]),
        "shape_scale": float_block(np.concatenate([np.zeros((0, 3)), *(group.scales for group in groups)])),
        "plane_body": integer_block(model.shape_body[planes]),
        "plane_place": float_block(place[planes]),
        "colours": integer_block(np.rint(255.0 * body_colours(model)).astype(np.int32)),
        "joint_body": integer_block(np.stack([joints.body_a, joints.body_b], axis=1)),
        "joint_anchor": float_block(np.concatenate([joints.anchor_a, joints.anchor_b], axis=1)),
        "soft_faces": integer_block(np.searchsorted(model.soft.surface.nodes, model.soft.surface.triangles)),
        "soft_face_body": integer_block(model.soft.surface.triangle_body),
    }
    return Packed({"groups": facts, "steepest": STEEPEST_GROUND, "visuals": visuals}, {**blocks, **visual_blocks})


def _drawn_groups(model: Model) -> list[Instances]:
    """Shapes in whose place no visuals are drawn."""
    drawn, found = ~covered_shapes(model), list[Instances]()
    for group in shape_instances(model):
        own = drawn[group.shapes]
        if own.any():
            found.append(group._replace(shapes=group.shapes[own], scales=group.scales[own]))
    return found


def _visuals(model: Model) -> tuple[list[dict[str, Any]], dict[str, Block]]:
    """Visuals: body, colour and sizes of each; vertices of all, rounded to a share of the size of their mesh, faces."""
    facts: list[dict[str, Any]] = []
    vertices, faces = [np.zeros((0, 3), np.int32)], [np.zeros((0, 3), np.int32)]
    world = model.body_count + model.soft.count
    for mesh in visual_meshes(model):
        low = mesh.vertices.min(axis=0)
        step = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-9) / VISUAL_LEVELS
        points, own = _in_order_of_faces(np.rint((mesh.vertices - low) / step).astype(np.int32), mesh.faces)
        vertices.append(points)
        faces.append(own)
        facts.append({
            "body": mesh.body if mesh.body >= 0 else world, "vertices": len(points), "faces": len(own),
            "low": low.tolist(), "step": step, "colour": mesh.colour.tolist(),
        })  # fmt: skip
    return facts, {
        "visual_vertices": integer_block(np.concatenate(vertices)),
        "visual_faces": integer_block(np.concatenate(faces)),
    }


def _in_order_of_faces(vertices: Ints, faces: Ints) -> tuple[Ints, Ints]:
    """The mesh with its vertices in the order in which faces name them: neighbours then differ little."""
    used, first, own = np.unique(faces, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(used), np.int32)
    place[order] = np.arange(len(used), dtype=np.int32)
    return vertices[used[order]], place[own].reshape(-1, 3)


def motion(recording: Recording, frames: LongInts, colour_by: str | None, progress: Progress) -> Packed:
    """Poses of bodies and joints, soft nodes with their colour values, of k frames."""
    model, soft = recording.model, recording.model.soft
    if colour_by is not None:
        checks.choice("player", "colour_by", colour_by, QUANTITIES)
    if colour_by is not None and not soft.count:
        raise InputError(f"player: colour by {colour_by!r} needs soft bodies; {recording.path} has none")
    shown, count = soft.surface.nodes, len(frames)
    q, x = np.empty((count, model.body_count, 7)), np.empty((count, len(shown), 3))
    broken = np.zeros((count, len(model.joint_names)), dtype=bool)
    values = np.zeros((count, len(shown) if colour_by else 0))
    for k, f in enumerate(frames.tolist()):
        q[k] = recording.q[f]
        if soft.count:
            x[k] = recording.node_position[f][shown]
        if len(model.joint_names):
            broken[k] = recording.joint_broken[f]
        if colour_by is not None:
            values[k] = recorded_values(recording, colour_by, f)[shown]
        progress(k + 1, count)
    balls = body_balls(model)
    size = scene_size(model, balls, q, x)
    radius = balls[model.body_dynamic & (balls[:, 3] > 0.0), 3]
    step = float(np.clip(OF_BODY * np.median(radius) if len(radius) else 0.0, FINEST * size, COARSEST * size))
    low, high = value_limits(np.nan_to_num(values), least_range(soft, colour_by) if colour_by else 0.0)
    level = np.rint(255.0 * np.clip((np.nan_to_num(values) - low) / max(high - low, 1e-300), 0.0, 1.0))
    turns = continuous_quaternions(q[:, :, 3:])
    facts: dict[str, Any] = {
        "size": size,
        "position_step": step,
        "turn_step": TURN,
        "node_step": COARSEST * size,
        "colour_by": colour_by,
        "unit": QUANTITIES[colour_by] if colour_by else "",
        "limits": [low, high],
    }
    blocks = {
        "time": time_block(recording.time[frames]),
        "position": integer_block(_columns(rounded(q[:, :, :3], step)), step),
        "turn": integer_block(_columns(rounded(turns, TURN)), TURN),
        "nodes": integer_block(_columns(rounded(x, COARSEST * size)), COARSEST * size),
        "node_level": integer_block(level.astype(np.int32)),
        "joint_broken": integer_block(broken.astype(np.int32)),
    }
    return Packed(facts, blocks)


def contact_marks(recording: Recording, frames: LongInts, size: float, progress: Progress) -> Packed:
    """Contacts of k frames: rows in the order of pairs of bodies, then of time, so that neighbours are alike."""
    counts = np.diff(recording.contact_offset)[frames]
    most = _cap(counts)
    rows: list[Array] = [np.zeros((0, 11))]
    for k, f in enumerate(frames.tolist()):
        stored = recording.contacts(f)
        found = contacts_on_moving(recording.model, stored, np.nan_to_num(stored.force))
        pair = found.body_a.astype(np.int64) << 32 | found.body_b
        order = np.argsort(pair, kind="stable")
        first = np.searchsorted(pair[order], pair[order])
        which = np.empty(len(pair))
        which[order] = np.arange(len(pair)) - first
        table = np.column_stack([
            found.body_a, found.body_b, which, np.full(len(pair), k), np.nan_to_num(found.point), found.force,
            found.status,
        ])  # fmt: skip
        if len(table) > most:
            strength = np.linalg.norm(found.force, axis=1)
            table = table[np.sort(np.argsort(-strength, kind="stable")[:most])]
        rows.append(table)
        progress(k + 1, len(frames))
    table = np.concatenate(rows)
    table = table[np.lexsort((table[:, 3], table[:, 2], table[:, 1], table[:, 0]))]
    force = table[:, 7:10]
    largest = float(np.abs(force).max(initial=0.0)) or 1.0
    strength = np.linalg.norm(force, axis=1)
    step = COARSEST * size
    facts = {
        "contact_step": step,
        "largest_force": largest,
        "force_levels": FORCE_LEVELS,
        "usual_force": float(np.quantile(strength[strength > 0.0], 0.95)) if (strength > 0.0).any() else 0.0,
        "mark_size": crowd_size(float(np.median(counts[counts > 0])) if (counts > 0).any() else 0.0),
        "contacts_most": int(counts.max(initial=0)),
        "contacts_kept": most if (counts > most).any() else None,
    }
    level = np.sign(force) * np.rint(FORCE_LEVELS * np.sqrt(np.abs(force) / largest))
    blocks = {
        "contact_frame": integer_block(table[:, 3].astype(np.int32)),
        "contact_point": integer_block(np.rint(np.clip(table[:, 4:7] / step, -(2**30), 2**30)).astype(np.int32), step),
        "contact_force": integer_block(level.astype(np.int32)),
        "contact_status": integer_block(table[:, 10].astype(np.int32)),
    }
    return Packed(facts, blocks)


def _cap(counts: LongInts) -> int:
    """The largest number of contacts a frame with which all frames together stay within the budget."""
    if counts.sum() <= CONTACT_BUDGET:
        return int(counts.max(initial=0))
    low, high = 1, int(counts.max())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() <= CONTACT_BUDGET else (low, middle)
    return low


def _columns(table: Ints) -> Ints:
    """(n, k, 3 or 4) as (n, 3 k or 4 k): first entries of all, then second ones, so that neighbours are alike."""
    return np.ascontiguousarray(table.transpose(0, 2, 1)).reshape(len(table), -1)
