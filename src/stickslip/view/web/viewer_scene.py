"""A model in a web page: its bodies, soft bodies, joints and contacts as nodes of viser's scene, frame by frame."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.model.model import Model
from stickslip.names import visible
from stickslip.view.frame import NO_CONTACTS, Frame
from stickslip.view.picture.camera import FIELD_OF_VIEW, Camera, Pose, frame_poses
from stickslip.view.visual_meshes import covered_shapes
from stickslip.view.web.body_nodes import BodyNodes
from stickslip.view.web.ground_nodes import VIEW_DISTANCE, GroundNodes, add_lights
from stickslip.view.web.mark_nodes import ContactNodes, JointNodes
from stickslip.view.web.soft_nodes import SoftNodes
from stickslip.view.web.visual_nodes import VisualNodes

if TYPE_CHECKING:
    import viser

ROOT = "/scene"
MOST_LABELS, FEW_LABELS, SMALL_LABEL = 60, 12, 0.6
"""Bodies with names beside them: the first ones; from how many on names are small, and how small."""
PHONE_ASPECT, LOWERED = (1.5, 1.9), 0.225
"""Height over width of pages from which on they may be, and surely are, on a phone, whose panel covers the lower 45 %;
and the share of the height by which the scene is then drawn above the middle."""
SEE_THROUGH = 0.35
"""Opacity of bodies where contacts inside are to be seen."""


class Grab(NamedTuple):
    """The mouse takes hold of a body, pulls, or lets go."""

    phase: Literal["start", "update", "end"]
    body: int
    """Rigid body, or Model.body_count + soft body."""
    point: Array
    """(3,) [m] world: where the body was taken hold of."""
    target: Array
    """(3,) [m] world: where the mouse is now, in the plane through ``point`` that faces the camera."""


class ViewerScene:
    """Shows frames of one model to all connected pages."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: Model,
        camera_q: Array,
        camera_nodes: Array,
        later: Sequence[Pose] = (),
    ) -> None:
        """First bodies are at camera_q (nb, 7), nodes at camera_nodes (nn, 3) [m]; that and later poses are framed."""
        self.server, self.model = server, model
        self._lock = threading.RLock()
        self._seen: list[Pose] = [(camera_q, camera_nodes), *later]
        self._frame = Frame(0.0, camera_q, camera_nodes, np.zeros(len(camera_nodes)), NO_CONTACTS, self._no_joints())
        self._colours: Array | None = None
        self._shown = dict.fromkeys(("contacts", "forces", "joints", "shadows"), True)
        self._shown |= dict.fromkeys(("cones", "labels", "see_through", "collision"), False)
        self._follow: int | None = None
        self._held: set[int] = set()
        """Bodies that a mouse has hold of."""
        self._offset = np.zeros(3)
        camera = self._camera(1600, 900)
        self.unit = VIEW_DISTANCE / camera.distance
        """Lengths of the page per metre."""
        with server.atomic():
            self._lamp = add_lights(server)
            self._root = server.scene.add_frame(ROOT, show_axes=False)
            self._ground = GroundNodes(server, model, camera_q, camera, f"{ROOT}/ground")
            covered = covered_shapes(model)
            self._bodies = BodyNodes(server, model, camera_q, self.unit, f"{ROOT}/bodies", ~covered)
            self._visuals = VisualNodes(server, model, camera_q, self.unit, f"{ROOT}/visuals")
            self._hidden = server.scene.add_frame(f"{ROOT}/collision", show_axes=False, visible=False)
            self._covered = BodyNodes(server, model, camera_q, self.unit, f"{ROOT}/collision", covered)
            self._soft = SoftNodes(server, model, camera_nodes, self.unit, f"{ROOT}/soft")
            self._joints = JointNodes(server, model, camera_q, self.unit, f"{ROOT}/joints")
            self._contacts = ContactNodes(server, self.unit, f"{ROOT}/contacts")
            self._spring = server.scene.add_line_segments(
                f"{ROOT}/spring", np.zeros((1, 2, 3)), (230, 120, 0), thickness=4.0, thickness_units="screen",
                visible=False,
            )  # fmt: skip
            self._labels: dict[int, Any] = {}
            self._first_view(camera)
        server.on_client_connect(self._welcome)

    # ---- what is shown -----------------------------------------------------------------------------------------

    def show(self, frame: Frame, colours: Array | None = None) -> None:
        """Show a frame, all of it at once; colours (nn, 3) sRGB 0..1 of the nodes of soft bodies, or their own."""
        with self._lock, self.server.atomic():
            self._frame, self._colours = frame, colours
            self._ground.show(frame.q)
            self._bodies.show(frame.q)
            (self._covered if self.collision else self._visuals).show(frame.q)
            self._soft.show(frame.nodes, colours)
            self._show_marks()
            self._show_labels()
            self._keep_in_view()

    @property
    def node_count(self) -> int:
        """Nodes of the page for rigid and soft bodies."""
        return self._bodies.count + self._visuals.count + self._soft.count

    @property
    def frame(self) -> Frame:
        """What is shown."""
        return self._frame

    @property
    def force_scale(self) -> tuple[float, float]:
        """Length [m] of an arrow and the force [N] that it stands for; no force yet: zero."""
        return self._contacts.arrow_length, self._contacts.reference

    def fix_scale(self, reference: float, count: int) -> None:
        """Draw all frames to one scale: arrows for a force [N], marks of sizes for a number of contacts."""
        self._contacts.fix_scale(reference, count)

    def restart_scale(self) -> None:
        """Choose the scale anew by the coming frames, unless it is fixed."""
        with self._lock:
            self._contacts.restart_scale()
            self._show_marks()

    @property
    def grid(self) -> float | None:
        """[m] from one thin line of the ground to the next; None where there is no ground."""
        return self._ground.cell

    @property
    def contacts(self) -> bool:
        """Whether contact points are drawn."""
        return self._shown["contacts"]

    @contacts.setter
    def contacts(self, visible: bool) -> None:
        self._set("contacts", visible)

    @property
    def forces(self) -> bool:
        """Whether contact forces are drawn as arrows."""
        return self._shown["forces"]

    @forces.setter
    def forces(self, visible: bool) -> None:
        self._set("forces", visible)

    @property
    def cones(self) -> bool:
        """Whether friction cones are drawn."""
        return self._shown["cones"]

    @cones.setter
    def cones(self, visible: bool) -> None:
        self._set("cones", visible)

    @property
    def joints(self) -> bool:
        """Whether joints are drawn."""
        return self._shown["joints"]

    @joints.setter
    def joints(self, visible: bool) -> None:
        self._set("joints", visible)

    @property
    def labels(self) -> bool:
        """Whether the names of bodies are written beside them."""
        return self._shown["labels"]

    @labels.setter
    def labels(self, visible: bool) -> None:
        self._set("labels", visible)

    @property
    def see_through(self) -> bool:
        """Whether bodies are drawn so that contacts between them are seen."""
        return self._shown["see_through"]

    @see_through.setter
    def see_through(self, wanted: bool) -> None:
        with self._lock, self.server.atomic():
            self._shown["see_through"] = wanted
            for nodes in (self._bodies, self._covered, self._visuals):
                nodes.set_opacity(SEE_THROUGH if wanted else None)

    @property
    def collision(self) -> bool:
        """Whether collision shapes are drawn where bodies have visuals."""
        return self._shown["collision"]

    @collision.setter
    def collision(self, wanted: bool) -> None:
        with self._lock, self.server.atomic():
            self._shown["collision"] = wanted
            self._visuals.visible, self._hidden.visible = not wanted, wanted
            (self._covered if wanted else self._visuals).show(self._frame.q)

    @property
    def shadows(self) -> bool:
        """Whether bodies cast shadows; computers without a graphics card draw faster without."""
        return self._shown["shadows"]

    @shadows.setter
    def shadows(self, wanted: bool) -> None:
        self._shown["shadows"] = wanted
        self._lamp.cast_shadow = wanted

    # ---- following and dragging --------------------------------------------------------------------------------

    @property
    def follow(self) -> int | None:
        """The body that stays in the middle of the view: rigid, or body_count + soft; None: the view stays."""
        return self._follow

    @follow.setter
    def follow(self, body: int | None) -> None:
        with self._lock, self.server.atomic():
            self._follow = body
            if body is not None:
                target = self.unit * self.centre(body) + self._offset
                for client in self.server.get_clients().values():
                    move = target - client.camera.look_at
                    client.camera.position = client.camera.position + move
                    client.camera.look_at = target
                self._anchor = target
            self._show_labels()

    def centre(self, body: int) -> Array:
        """(3,) [m] where a rigid body's centre of mass, or the middle of a soft body, is shown to be."""
        if body < self.model.body_count:
            return np.array(self._frame.q[body, :3])
        start = self.model.soft.node_start
        s = body - self.model.body_count
        return np.array(self._frame.nodes[start[s] : start[s + 1]].mean(axis=0))

    def name(self, body: int) -> str:
        """Name of a rigid body, or of body_count + soft body."""
        count = self.model.body_count
        return visible(self.model.body_names[body] if body < count else self.model.soft.names[body - count])

    def reset_view(self) -> None:
        """Show everything again, as at the start, to every page."""
        with self._lock:
            self._follow, self._offset = None, np.zeros(3)
            self._root.position = self._offset
            self._seen = [(self._frame.q, self._frame.nodes)]
            self._show_labels()
        for client in self.server.get_clients().values():
            self._frame_for(client)

    def on_drag(self, callback: Callable[[Grab], None]) -> None:
        """Call back when the mouse drags a body; calls come one after another, on the server's thread."""

        def register(node: Any, body_of: Callable[[int | None, Array], int]) -> None:
            held: dict[int, int] = {}

            async def moved(event: Any) -> None:  # async: these come in their order
                point, target = (self._metres(p) for p in (event.start_position, event.end_position))
                if event.phase == "start" or event.client_id not in held:
                    held[event.client_id] = body_of(event.instance_index, point)
                    self._name_held(held[event.client_id], True)
                callback(Grab(event.phase, held[event.client_id], point, target))
                if event.phase == "end":
                    self._name_held(held.pop(event.client_id), False)

            node.on_drag("left")(moved)

        drawn = self._bodies, self._covered, self._visuals, self._soft
        for node, body_of in (each for nodes in drawn for each in nodes.moving()):
            register(node, body_of)

    def _name_held(self, body: int, held: bool) -> None:
        """Write the name of a body beside it while a mouse has hold of it."""
        with self._lock, self.server.atomic():
            (self._held.add if held else self._held.discard)(body)
            self._show_labels()

    def draw_spring(self, point: Array | None, target: Array | None) -> None:
        """A line from a point (3,) [m] of a body to where the mouse pulls it; None: no line."""
        with self.server.atomic():
            self._spring.visible = point is not None and target is not None
            if point is not None and target is not None:
                self._spring.points = self.unit * np.array([[point, target]])

    # ---- inside ------------------------------------------------------------------------------------------------

    def _set(self, name: str, visible: bool) -> None:
        with self._lock, self.server.atomic():
            self._shown[name] = visible
            self._show_marks()
            self._show_labels()

    def _no_joints(self) -> Bools:
        return np.zeros(len(self.model.joint_names), np.bool_)

    def _show_marks(self) -> None:
        shown = self._shown
        self._contacts.show(self._frame.contacts, shown["contacts"], shown["forces"], shown["cones"])
        self._joints.show(self._frame.q, self._frame.joint_broken, shown["joints"])

    def _show_labels(self) -> None:
        count = self.model.body_count + self.model.soft.count
        wanted = set(range(min(count, MOST_LABELS))) if self._shown["labels"] else set()
        wanted |= self._held | (set() if self._follow is None else {self._follow})
        for body in self._labels.keys() - wanted:
            self._labels.pop(body).remove()
        for body in sorted(wanted):
            at = self.unit * self.centre(body)
            if body in self._labels:
                self._labels[body].position = at
            else:
                small = SMALL_LABEL if len(wanted) > FEW_LABELS else 1.0
                self._labels[body] = self.server.scene.add_label(
                    f"{ROOT}/label-{body}", self.name(body), position=at, font_screen_scale=small
                )

    def _keep_in_view(self) -> None:
        """Move the scene instead of the camera, which stays free to orbit on every page."""
        if self._follow is not None:
            self._offset = self._anchor - self.unit * self.centre(self._follow)
            self._root.position = self._offset

    def _camera(self, width: int, height: int) -> Camera:
        return frame_poses(self.model, self._seen, width, height)

    def _metres(self, page: Any) -> Array:
        """(3,) [m] world of a point of the page."""
        return (np.asarray(page, dtype=np.float64) - self._offset) / self.unit

    def _first_view(self, camera: Camera) -> None:
        initial = self.server.initial_camera
        initial.position, initial.look_at = self._pose(camera, 0.0)
        initial.fov = vertical_angle(16.0 / 9.0)
        initial.near, initial.far = 0.05, 200.0

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Frame the scene in a new page, and again when its size changes, until the user moves the view."""
        size, eye = self._frame_for(client)
        ours = [np.array(self.server.initial_camera.position), eye]

        async def resized(camera: viser.CameraHandle) -> None:
            nonlocal size
            now = camera.image_width, camera.image_height
            # pages also tell of views that they had before ours arrived
            if now != size and any(np.allclose(camera.position, own, atol=1e-3) for own in ours):
                size, eye = self._frame_for(client)
                ours.append(eye)

        client.camera.on_update(resized)

    def _frame_for(self, client: viser.ClientHandle) -> tuple[tuple[int, int], Array]:
        """Frame the scene for the size of a page; returns that size and where its camera is now."""
        size = client.camera.image_width, client.camera.image_height
        width, height = max(size[0], 1), max(size[1], 1)
        below = lowered(height / width)
        seen = (1.0 - 2.0 * below) * height  # what is not under a phone's panel
        camera = self._camera(width, round(seen))
        back = (max(width, height) / max(width, seen) - 1.0) * camera.distance
        camera = replace(camera, eye=camera.eye - back * camera.axes[2], distance=camera.distance + back)
        eye, target = self._pose(camera, below)
        with client.atomic():
            client.camera.fov = vertical_angle(width / height)
            client.camera.position, client.camera.look_at = eye, target
        return size, eye

    def _pose(self, camera: Camera, below: float) -> tuple[Array, Array]:
        """Where a camera stands and looks in the page, lowered by a share of the length that FIELD_OF_VIEW spans."""
        down = 2.0 * below * np.tan(0.5 * FIELD_OF_VIEW) * camera.distance * camera.axes[1]
        eye = camera.eye - down
        return self._offset + self.unit * eye, self._offset + self.unit * (eye + camera.distance * camera.axes[2])


def lowered(aspect: float) -> float:
    """Share of the height of a page by which its camera is lowered; aspect: height over width.

    Windows of laptops with panels at both sides are nearly as narrow, so it begins gently.
    """
    narrow, phone = PHONE_ASPECT
    return LOWERED * float(np.clip((aspect - narrow) / (phone - narrow), 0.0, 1.0))


def vertical_angle(aspect: float) -> float:
    """[rad] over the height of a picture whose longer side has FIELD_OF_VIEW; aspect: width over height."""
    half = np.tan(0.5 * FIELD_OF_VIEW)
    return float(2.0 * np.arctan(half / max(aspect, 1.0)))
