"""Pictures of a recording at evenly spaced times, all from the same place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.view.frame import spread
from stickslip.view.picture.camera import frame_poses
from stickslip.view.picture.picture import check_pose, draw, easel
from stickslip.view.picture.see_through import see_through
from stickslip.view.picture.wall_panes import wall_room

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

WIDTH, HEIGHT = 560, 315
"""Pixels of a picture."""


def picture_strip(recording: Recording, count: int) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Time [s] and picture (h, w, 3) of ``count`` frames, the first and the last among them, drawn one by one."""
    frames = strip_frames(len(recording), count)
    if not frames:
        return
    model = recording.model
    poses = [(recording.q[frame], recording.node_position[frame]) for frame in frames]
    for q, nodes in poses:
        check_pose(model, q, nodes)
    camera = frame_poses(model, poses, WIDTH, HEIGHT)
    sheet, glass, room = easel(model, WIDTH, HEIGHT, 2), see_through(model, poses, camera), wall_room(model, poses)
    for frame, (q, nodes) in zip(frames, poses, strict=True):
        yield float(recording.time[frame]), draw(sheet, camera, q, nodes, glass=glass, room=room)


def strip_frames(frames: int, count: int) -> list[int]:
    """``count`` of the frames, evenly spaced; the last one where only one is wanted."""
    if count < 2:
        return [frames - 1] if count and frames else []
    return spread(frames, count)
