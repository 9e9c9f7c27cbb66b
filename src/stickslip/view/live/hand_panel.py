"""The panel of the hands of a robot in a live page: a target that a hand follows, grippers, and the script's switch."""

from __future__ import annotations

import html
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.geometry import rotation as rotations
from stickslip.hands import Hands
from stickslip.names import visible
from stickslip.view.live.robot_drives import RobotSnapshot
from stickslip.view.live.run import LiveRun
from stickslip.view.live.teleoperation import HandState
from stickslip.view.web.display_panel import framed
from stickslip.view.web.target_gizmo import TargetGizmo

if TYPE_CHECKING:
    import viser

PATIENCE = 1.0
"""[s] that a widget stays where a page put it, while the run has not taken its command yet."""
TYPING = 0.7
"""[s] after the last key that numbers are taken to be whole."""
CLOSED = 0.5
"""Share from which on a button opens a gripper."""
GOOD, BAD, PLAIN = "#2b8a3e", "#c92a2a", "inherit"
PLACE_HINT = "Where the frame shall be, in the world. Or drag the arrows in the view."
TURN_HINT = "About the fixed axes x (roll), then y (pitch), then z (yaw). Or drag the rings in the view."
NUMBERS = (
    *((name, "m", 0.001, PLACE_HINT) for name in "xyz"),
    *((name, "\N{DEGREE SIGN}", 0.1, TURN_HINT) for name in ("roll", "pitch", "yaw")),
)
"""Fields of a target: label, unit, step, hint."""
DIGITS = (4, 2)
"""Of numbers of a position and of angles."""
DASH = "\N{EN DASH}"


@dataclass
class _GripperWidgets:
    name: str
    button: Any
    slider: Any
    goal: float = 0.0
    sent_at: float = -np.inf


class HandPanel:
    """Widgets for the hands of one robot; all pages share them."""

    def __init__(self, server: viser.ViserServer, run: LiveRun, robot: str, hands: Hands, gizmo: TargetGizmo) -> None:
        """Is to be made in the container that it shall be in."""
        self._run, self._robot, self._hands, self._gizmo = run, robot, hands, gizmo
        self._state: HandState | None = None
        self._typed: dict[int, float] = {}
        self._sent: tuple[Array, Array, float] | None = None
        self._text = ""
        self._by_label = {visible(frame.name): frame for frame in hands.frames}
        self.widgets: list[Any] = []
        """Nodes that go when another robot is shown."""
        self._grippers: list[_GripperWidgets] = []
        gizmo.visible = False
        if hands.frames:
            self._build_target(server.gui)
        if hands.grippers:
            self._build_grippers(server.gui)

    # ---- what pages do ---------------------------------------------------------------------------------------

    def moved(self, position: Array, rotation: Array) -> None:
        """The frame in the view was moved to a pose [m]."""
        if self._hands.frames:
            self._aim(position, rotation)

    def toggle_gripper(self) -> None:
        """Close or open the gripper of the chosen frame."""
        if self._grippers:
            own = self._frame.gripper if self._hands.frames else ""
            chosen = next((each for each in self._grippers if each.name == own), self._grippers[0])
            self._toggle(chosen)

    def toggle_frame(self) -> None:
        """Show or hide the target frame."""
        if self._hands.frames:
            self._shown.value = not self._shown.value

    # ---- what the run says -----------------------------------------------------------------------------------

    def show(self, found: RobotSnapshot) -> None:
        """Let widgets follow the run. Called often."""
        now = time.perf_counter()
        if self._hands.frames:
            self._take_typed(now)
            self._state = next(each for each in found.hands if each.name == self._frame.name)
            self._show_numbers(self._state, now)
        for each in self._grippers:
            goal = found.grips[each.name]
            if now - each.sent_at < PATIENCE and abs(goal - each.goal) > 1e-9:
                continue  # the run has not taken it yet
            self._show_grip(each, goal)

    def show_frame(self, found: RobotSnapshot) -> None:
        """Put the frame in the view where its target is, or else to the hand. Called for each picture."""
        if not self._hands.frames:
            return
        state = next(each for each in found.hands if each.name == self._frame.name)
        if not self._shown.value:
            self._gizmo.visible = False
            return
        at, turn = state.target or (state.position, state.rotation)
        if self._sent is not None and time.perf_counter() - self._sent[2] < PATIENCE:
            told = state.target is not None and np.array_equal(state.target[0], self._sent[0])
            at, turn = (at, turn) if told else self._sent[:2]  # the run has not taken it yet
        self._gizmo.show(at, turn, self._frame.turns)

    # ---- the target ------------------------------------------------------------------------------------------

    @property
    def _frame(self) -> Any:
        return self._by_label[str(self._choice.value)]

    def _build_target(self, gui: Any) -> None:
        folder = gui.add_folder("Target", order=1.0)
        self.widgets.append(folder)
        with folder:
            self._choice = gui.add_dropdown(
                "Frame", tuple(self._by_label), visible=len(self._by_label) > 1,
                hint="Which frame of the robot the arrows in the view, and the numbers below, lead.",
            )  # fmt: skip
            self._words = gui.add_html("")
            self._numbers = [
                gui.add_number(f"{name} [{unit}]", 0.0, step=step, hint=hint) for name, unit, step, hint in NUMBERS
            ]  # fmt: skip
            self._show_rings()
            self._release = gui.add_button(
                "Release target", icon="hand-off", disabled=True,
                hint="The frame goes back to the hand, whose drives hold it where they are.",
            )  # fmt: skip
            self._shown = gui.add_checkbox("Frame in the view", True, hint="Key: T")
        self._choice.on_update(lambda _: self._chosen())
        for k, number in enumerate(self._numbers):
            number.on_update(lambda event, k=k: self._type(k, event))
        self._release.on_click(lambda _: self._let_go())

    def _chosen(self) -> None:
        self._typed, self._sent = {}, None
        self._show_rings()

    def _show_rings(self) -> None:
        for number in self._numbers[3:]:
            number.visible = self._frame.turns

    def _type(self, k: int, event: Any) -> None:
        if event.client_id is not None:  # else it was written here
            self._typed[k] = time.perf_counter()

    def _take_typed(self, now: float) -> None:
        """Give on numbers once they are whole: pages tell of every key."""
        whole = [k for k, at in self._typed.items() if now - at >= TYPING]
        if not whole or self._state is None:
            return
        numbers = numbers_of(*(self._state.target or (self._state.position, self._state.rotation)))
        for k in whole:
            del self._typed[k]
            numbers[k] = float(self._numbers[k].value)
        turn = from_angles(np.radians(numbers[3:]))
        if max(whole) < 3 and self._state.target is not None:
            turn = self._state.target[1]
        self._aim(numbers[:3], turn)

    def _aim(self, position: Array, rotation: Array) -> None:
        frame = self._frame
        self._sent = position, rotation, time.perf_counter()
        self._run.set_target(self._robot, frame.name, position, rotation if frame.turns else None)

    def _let_go(self) -> None:
        self._sent = None
        self._run.drop_target(self._robot, self._frame.name)

    def _show_numbers(self, state: HandState, now: float) -> None:
        text = words_html(state)
        if text != self._text:
            self._text, self._words.content = text, text
        if self._release.disabled is (state.target is not None):
            self._release.disabled = state.target is None
        if self._sent is not None and now - self._sent[2] < PATIENCE:
            return
        new = numbers_of(*(state.target or (state.position, state.rotation)))
        for k, (widget, value) in enumerate(zip(self._numbers, new.tolist(), strict=True)):
            rounded = round(value, DIGITS[k // 3]) + 0.0
            if k not in self._typed and widget.value != rounded:
                widget.value = rounded

    # ---- grippers --------------------------------------------------------------------------------------------

    def _build_grippers(self, gui: Any) -> None:
        folder = gui.add_folder("Gripper", order=1.5)
        self.widgets.append(folder)
        several = len(self._hands.grippers) > 1
        with folder:
            for gripper in self._hands.grippers:
                of = f" {visible(gripper.name)}" if several else ""
                button = gui.add_button(f"Close{of}", hint="Closes or opens the fingers. Key: O")
                slider = gui.add_slider(
                    f"{visible(gripper.name) if several else 'closed'} [%]", 0.0, 100.0, 1.0, 0.0,
                    hint="0: open, 100: closed, as far as nothing is between the fingers.",
                )  # fmt: skip
                each = _GripperWidgets(gripper.name, button, slider)
                self._grippers.append(each)
                button.on_click(lambda _, each=each: self._toggle(each))
                slider.on_update(lambda event, each=each: self._slide(each, event))

    def _toggle(self, each: _GripperWidgets) -> None:
        self._grip(each, 0.0 if each.goal >= CLOSED else 1.0)

    def _slide(self, each: _GripperWidgets, event: Any) -> None:
        if event.client_id is not None:
            self._grip(each, 0.01 * float(each.slider.value))

    def _grip(self, each: _GripperWidgets, share: float) -> None:
        self._show_grip(each, share)
        each.sent_at = time.perf_counter()
        self._run.set_grip(self._robot, each.name, share)

    def _show_grip(self, each: _GripperWidgets, goal: float) -> None:
        each.goal = goal
        verb, _, of = str(each.button.label).partition(" ")
        wanted = "Open" if goal >= CLOSED else "Close"
        if verb != wanted:
            each.button.label = f"{wanted} {of}".rstrip()
        percent = float(round(100.0 * goal))
        if each.slider.value != percent:
            each.slider.value = percent


def words_html(state: HandState) -> str:
    """How far a hand is from its target, and why, as a small table of always the same height."""
    if state.target is None:
        error, words, colour = DASH, "drag the arrows in the view, or type a pose", PLAIN
    else:
        error = f"{1e3 * state.distance:.2f} mm"
        if not np.isnan(state.angle):
            error += f", {np.degrees(state.angle):.2f}\N{DEGREE SIGN}"
        words = state.words
        colour = GOOD if words == "there" else PLAIN if words == "on its way" else BAD
    x, y, z = state.position + 0.0
    rows = (("is at", f"{x:.4f}, {y:.4f}, {z:.4f} m"), ("error", error))
    cells = "".join(
        f"<tr style='white-space:nowrap'><td style='opacity:.65;padding-right:8px'>{name}</td><td>{text}</td></tr>"
        for name, text in rows
    )
    said = f"<div style='height:2.9em;overflow-y:auto;color:{colour}'>{html.escape(words)}</div>"
    return framed(f"<table style='border-spacing:0'>{cells}</table>{said}")


def numbers_of(position: Array, rotation: Array) -> Array:
    """(6,) x, y, z [m], roll, pitch, yaw [deg] of a pose."""
    return np.concatenate([position, np.degrees(angles_of(rotation))])


def angles_of(rotation: Array) -> Array:
    """(3,) [rad] roll, pitch and yaw: turns about the fixed axes x, then y, then z."""
    R = rotations.matrix(rotation)
    across = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], across)
    if across < 1e-9:  # roll and yaw turn about the same axis
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def from_angles(angles: Array) -> Array:
    """(w, x, y, z) of roll, pitch and yaw [rad]."""
    roll, pitch, yaw = (rotations.about_axis(axis, angle) for axis, angle in zip(np.eye(3), angles, strict=True))
    return rotations.multiply(rotations.multiply(yaw, pitch), roll)
