"""Pictures of the frames of a recording, from one place and with one scale of colours and forces for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, LongInts
from stickslip.errors import InputError
from stickslip.model.model import Model
from stickslip.names import shown, visible
from stickslip.view.frame import Frame, recorded_frame, spread
from stickslip.view.marks import crowd_size
from stickslip.view.picture.camera import Camera, Pose, body_position, frame_poses
from stickslip.view.picture.key import ColourKey, ForceKey, draw_key
from stickslip.view.picture.picture import Easel, check_pose, draw, easel, round_length, without_visuals
from stickslip.view.picture.see_through import see_through
from stickslip.view.picture.wall_panes import wall_room
from stickslip.view.soft_colours import QUANTITIES, least_range, recorded_values, value_colours, value_limits

if TYPE_CHECKING:
    from stickslip.io.recording import Recording
    from stickslip.view.picture.contact_marks import ArrowScale

POSES = 32
"""Most frames that decide where the camera of a film stands."""
USUAL = 0.9
"""The longest arrow stands for the largest force of a frame of which this share of all frames has a smaller one: a
single impact would make all others invisible."""


@dataclass(frozen=True)
class Look:
    """How pictures look: size, place of the camera and what is shown."""

    width: int = 1280
    height: int = 720
    samples: int = 2
    """Rays per side of a pixel at edges; from 3 on, more rays to sun and sky too."""
    azimuth: float = -60.0
    """[deg] direction of the eye, from +x towards +y."""
    elevation: float = 18.0
    """[deg] of the eye above the horizon."""
    zoom: float = 1.0
    follow: int | None = None
    """Body that stays in the middle: a rigid one, or after those a soft one."""
    colour_by: str | None = None
    """Quantity of view/soft_colours that colours of soft bodies show."""
    contacts: bool = False
    """Whether contact forces are drawn as arrows."""
    joints: bool = False
    """Whether joints are drawn as bars."""
    collision: bool = False
    """Whether collision shapes are drawn where a body has visuals."""
    key: bool = True
    """Whether colours, forces and joints are explained in the lower left corner, from picture_key.NARROWEST on."""


class Shots:
    """Draws frames of a recording; what does not change between them is made once."""

    def __init__(self, recording: Recording, look: Look, frames: Sequence[int]) -> None:
        """``frames``: those that camera and scales are made for."""
        self.recording, self.look = recording, look
        model = without_visuals(recording.model) if look.collision else recording.model
        if look.colour_by is not None and look.colour_by not in QUANTITIES:
            raise InputError(f"colour by {look.colour_by!r} is unknown; it must be one of {', '.join(QUANTITIES)}")
        if look.colour_by is not None and not model.soft.count:
            raise InputError(f"colour by {look.colour_by}: {recording.path} has no soft bodies; leave the option out")
        few = np.unique(np.asarray(frames)[spread(len(frames), POSES)])
        poses: list[Pose] = [(recording.q[int(i)], recording.node_position[int(i)]) for i in few]
        for q, nodes in poses:
            check_pose(model, q, nodes)
        self._easel: Easel = easel(model, look.width, look.height, look.samples)
        size = (look.width, look.height)
        self._camera = frame_poses(model, poses, *size, look.azimuth, look.elevation, look.zoom, look.follow)
        self._start = poses[0]
        self._glass = see_through(model, poses, self._camera) if look.follow is None else None
        self._room = wall_room(model, poses)
        unique = np.unique(np.asarray(frames))
        self._limits = self._value_limits(unique) if look.colour_by is not None else (0.0, 0.0)
        self._arrows = self._arrow_scale(unique) if look.contacts else None
        self._key = self._explained()

    def picture(self, number: int) -> NDArray[np.uint8]:
        """Picture (height, width, 3) of a frame, sRGB."""
        frame, look, model = recorded_frame(self.recording, number), self.look, self.recording.model
        check_pose(model, frame.q, frame.nodes)
        paint = None
        if look.colour_by is not None:
            paint = value_colours(self._values(number), self._limits)
        drawn = draw(
            self._easel,
            self.camera(frame),
            frame.q,
            frame.nodes,
            paint,
            self._glass,
            frame.contacts if look.contacts else None,
            frame.joint_broken if look.joints else None,
            self._arrows,
            self._room,
        )
        return draw_key(drawn, *self._key) if look.key else drawn

    def camera(self, frame: Frame) -> Camera:
        """The camera of a frame: the same for all, or moved with the body that it follows."""
        if self.look.follow is None:
            return self._camera
        model = self.recording.model
        way = body_position(model, (frame.q, frame.nodes), self.look.follow)
        return replace(self._camera, eye=self._camera.eye + way - body_position(model, self._start, self.look.follow))

    def _explained(self) -> tuple[ColourKey | None, ForceKey | None, bool]:
        """What the key says, the same for all frames."""
        look, colours, forces = self.look, None, None
        if look.colour_by is not None:
            colours = ColourKey(look.colour_by, QUANTITIES[look.colour_by], self._limits)
        if self._arrows is not None:
            from stickslip.view.picture.contact_marks import HEAD, HEAD_RADIUS, arrow_shape  # holds kernels

            force = round_length(self._arrows.force)
            long, thick = arrow_shape(look.width, look.height, self._arrows.size)
            head = 0.5 * HEAD * thick, HEAD_RADIUS * thick
            forces = ForceKey(force, long * force / self._arrows.force, thick, head)
        return colours, forces, look.joints and bool(self.recording.model.joint_names)

    def _values(self, number: int) -> Array:
        """One number (nn,) a node of the quantity that colours show."""
        return recorded_values(self.recording, self.look.colour_by or "speed", number)

    def _value_limits(self, frames: LongInts) -> tuple[float, float]:
        """What the first and the last colour stand for, over all frames."""
        least = least_range(self.recording.model.soft, self.look.colour_by or "speed")
        return value_limits(np.array([value_limits(self._values(int(i))) for i in frames]).ravel(), least)

    def _arrow_scale(self, frames: LongInts) -> ArrowScale | None:
        """Of the force of the longest arrow and the usual number of contacts; None where there are no forces."""
        from stickslip.view.picture.contact_marks import ArrowScale  # holds kernels

        forces = (np.linalg.norm(self.recording.contacts(int(i)).force, axis=1) for i in frames)
        largest, count = np.array([(force.max(initial=0.0), len(force)) for force in forces]).T
        if not (largest > 0.0).any():
            return None
        usual = float(np.median(count[count > 0.0]))
        return ArrowScale(float(np.quantile(largest[largest > 0.0], USUAL)), crowd_size(usual))


def find_body(model: Model, name: str) -> int:
    """Number of a rigid body, or body_count + that of a soft one, by its name or number."""
    names = (*model.body_names, *model.soft.names)
    if not isinstance(name, str):
        raise InputError(f"body {shown(name)} is no name; give the name of a body, or its number as a text")
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    some = ", ".join(map(visible, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(f"body {shown(name)} does not exist; give one of {some}, or a number below {len(names)}")
