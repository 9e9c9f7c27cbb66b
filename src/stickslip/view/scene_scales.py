"""What is small and what is large in a recorded scene: sizes, weights, speeds, by which errors are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.geometry.rotation import matrix
from stickslip.model.model import Model
from stickslip.names import visible
from stickslip.view.picture.outlines import body_balls

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

LIFT = 1e-3
"""Height over the size of a body: lifting all bodies by it is energy that does not count as motion."""
STANDARD_GRAVITY = 9.81
"""[m/s^2] by which forces are judged where a scene has no gravity: as on a table."""


@dataclass(frozen=True, eq=False)
class SceneScales:
    """Scales of a scene with n bodies, soft ones after the rigid ones; "usual" means the median of what moves."""

    size: Array
    """(n,) [m] diameter of a ball that holds the body, wherever its origin is; infinite for half-spaces."""
    moves: Bools
    """(n,) whether the solver moves the body."""
    length: float
    """[m] size of a usual body."""
    weight: float
    """[N] weight of a usual body."""
    speed: float
    """[m/s] that gravity gives in a step."""
    power: float
    """[W] of gravity on a usual body at that speed."""
    energy: float
    """[J] that lifting all bodies by a thousandth of their size takes."""
    middle: Array
    """(3,) [m] of the scene at its start."""
    extent: float
    """[m] of the scene at its start, half-spaces left out."""
    usual_speed: float
    """[m/s] of a fall through the scene, or of the fastest body at the start."""
    springs: bool
    """Whether some contacts are springs, which need overlap."""

    def places(self, recording: Recording, frame: int) -> Array:
        """(n, 3) [m] middles of all bodies in a frame."""
        model = recording.model
        return _all_bodies(model, recording.q[frame][:, :3], recording.node_position[frame])

    def speeds(self, recording: Recording, frame: int) -> Array:
        """(n,) [m/s] of all bodies in a frame."""
        return np.linalg.norm(
            _all_bodies(recording.model, recording.v[frame][:, :3], recording.node_velocity[frame]), axis=1
        )


def scene_scales(recording: Recording) -> SceneScales:
    """Scales of the scene of a recording, from its model."""
    model, dt = recording.model, float(recording.stepping["dt"])
    soft = model.soft
    nodes = [soft.x_start[soft.node_body == k] for k in range(soft.count)]
    widths = [2.0 * float(np.linalg.norm(x - 0.5 * (x.min(axis=0) + x.max(axis=0)), axis=1).max()) for x in nodes]
    balls = body_balls(model)
    size = np.concatenate([np.where(balls[:, 3] > 0.0, 2.0 * balls[:, 3], np.inf), widths])
    moves = np.concatenate([model.body_dynamic, np.ones(soft.count, dtype=bool)])
    mass = np.concatenate([model.mass, [float(soft.mass[soft.node_body == k].sum()) for k in range(soft.count)]])
    gravity = float(np.linalg.norm(model.gravity)) or STANDARD_GRAVITY
    own = moves & np.isfinite(size)
    length = float(np.median(size[own])) if own.any() else 1.0
    weight = gravity * float(np.median(mass[moves])) if moves.any() else gravity
    turned = np.array([matrix(q[3:]) @ ball[:3] for q, ball in zip(model.pose_start, balls, strict=True)]).reshape(
        -1, 3
    )
    places = _all_bodies(model, model.pose_start[:, :3] + turned, soft.x_start)
    seen = np.isfinite(size)
    reach = 0.5 * size[seen, None]
    low = (places[seen] - reach).min(axis=0) if seen.any() else np.zeros(3)
    high = (places[seen] + reach).max(axis=0) if seen.any() else np.ones(3)
    extent = float(np.linalg.norm(high - low))
    started = np.linalg.norm(_all_bodies(model, model.v_start[:, :3], soft.v_start), axis=1).max(initial=0.0)
    pairs = model.pairs.compliance
    return SceneScales(
        size=size,
        moves=moves,
        length=length,
        weight=weight,
        speed=gravity * dt,
        power=weight * gravity * dt,
        energy=LIFT * gravity * float((mass[own] * size[own]).sum()),
        middle=0.5 * (low + high),
        extent=extent,
        usual_speed=max(float(np.sqrt(2.0 * gravity * extent)), float(started)),
        springs=bool(pairs[:, :, 0].any()),
    )


def body_name(model: Model, number: int) -> str:
    """The name of a body as contacts number them: soft ones after the rigid ones."""
    rigid = model.body_count
    return visible(model.body_names[number] if number < rigid else model.soft.names[number - rigid])


def _all_bodies(model: Model, rigid: Array, nodes: Array) -> Array:
    """Values (n, 3) of rigid bodies, and means over the nodes (nn, 3) of each soft one."""
    soft = model.soft
    if not soft.count:
        return np.asarray(rigid)
    count = np.bincount(soft.node_body, minlength=soft.count)
    sums = np.stack([np.bincount(soft.node_body, nodes[:, k], soft.count) for k in range(3)], axis=1)
    return np.concatenate([rigid, sums / np.maximum(count, 1)[:, None]])
