"""The panel of a robot in a live page: its hands, sliders for its drives, postures, its joints in numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.names import visible
from stickslip.robots.drive_ranges import drive_range
from stickslip.robots.records import RobotRecord
from stickslip.scene.robots import Robot
from stickslip.view.live.hand_panel import HandPanel
from stickslip.view.live.plots import MOST_POINTS
from stickslip.view.live.robot_drives import RobotSnapshot, single_joints
from stickslip.view.live.run import LiveRun, LiveSnapshot
from stickslip.view.web.display_panel import add_key
from stickslip.view.web.joint_table import joints_html
from stickslip.view.web.target_gizmo import TargetGizmo
from stickslip.view.web.viewer_scene import ViewerScene
from stickslip.view.web.web_charts import add_chart, chart_heading

if TYPE_CHECKING:
    import viser

START = "start"
"""Label of the button that puts a robot back to where it began."""
STEPS = 1000
"""Steps of a slider from one end to the other."""
PATIENCE = 1.0
"""[s] that a slider stays where a page put it, while the run has not taken its command yet."""
COLOURS = ("#1f6fb4", "#d9480f")
NOTHING = (np.arange(2.0), np.zeros(2))


@dataclass
class _Slider:
    """A slider, and what a page has put it to, and when, as long as the run has not answered."""

    node: Any
    actuator: str
    low: float
    high: float
    sent: float = 0.0
    sent_at: float = -np.inf


class RobotPanel:
    """Widgets of the chosen robot, in a tab; all pages share them."""

    def __init__(
        self, server: viser.ViserServer, scene: ViewerScene, run: LiveRun, robots: Mapping[str, Robot], tab: Any
    ) -> None:  # fmt: skip
        """robots: those of the run, at least one; tab: their container in the page."""
        self._server, self._run, self._robots, self._tab = server, run, dict(robots), tab
        self._lock = threading.RLock()
        self.gizmo = TargetGizmo(server, scene, self._move_target)
        self._scripted_at = -np.inf
        self._sliders: list[_Slider] = []
        self._widgets: list[Any] = []
        self._charts: list[Any] = []
        self._table_text = ""
        self._joint_of: dict[str, str] = {}
        self._by_label = {visible(name): name for name in robots}
        with tab:
            self._choice = server.gui.add_dropdown(
                "Robot", tuple(self._by_label), visible=len(robots) > 1, order=0.0, hint="Whose drives are below."
            )
            self._script = server.gui.add_checkbox(
                "Script drives", True, visible=False, order=0.5,
                hint="The scene's own script. It ends when you move something, and runs again after a reset. Key: I",
            )  # fmt: skip
        self._choice.on_update(lambda _: self.choose(self._by_label[str(self._choice.value)]))
        self._script.on_update(self._switch_script)
        driven = [name for name, robot in robots.items() if robot.record.actuators]
        self._choice.value = visible((driven or list(robots))[0])
        self.choose(self._by_label[str(self._choice.value)])
        add_key(server, "T", "Target frame: on, off", self._toggle_frame)
        add_key(server, "O", "Open, close the gripper", self._toggle_gripper)
        add_key(server, "I", "Script: on, off", self.toggle_script)

    def _move_target(self, position: Array, rotation: Array) -> None:
        self.hands.moved(position, rotation)

    def _toggle_frame(self) -> None:
        self.hands.toggle_frame()

    def _toggle_gripper(self) -> None:
        self.hands.toggle_gripper()

    def toggle_script(self) -> None:
        """Let the scene's script drive, or hold."""
        if self._script.visible:
            self._set_script(not self._script.value)

    def _switch_script(self, event: Any) -> None:
        if event.client_id is not None:  # else it was set here
            self._set_script(bool(self._script.value))

    def _set_script(self, on: bool) -> None:
        self._script.value, self._scripted_at = on, time.perf_counter()
        self._run.set_script(on)

    def choose(self, name: str) -> None:
        """Show the drives of a robot."""
        with self._lock, self._server.atomic():
            for widget in self._widgets:
                widget.remove()
            self._robot, self._widgets, self._sliders = self._robots[name], [], []
            with self._tab:
                self._build(self._robot.record)
        self._watch()

    def show(self, snapshot: LiveSnapshot) -> None:
        """Write numbers, and let sliders follow what drives are told elsewhere. Called often."""
        found = snapshot.robot
        with self._lock:
            self._show_script(snapshot.script)
            if found is None or found.name != self._robot.name:
                return
            self._follow(found)
            self.hands.show(found)
            text = joints_html(found.joints)
            if text != self._table_text:
                self._table_text, self._table.content = text, text

    def show_frame(self, snapshot: LiveSnapshot) -> None:
        """Put the target frame where it is. Called for each picture."""
        found = snapshot.robot
        with self._lock:
            if found is not None and found.name == self._robot.name:
                self.hands.show_frame(found)

    def plot(self, snapshot: LiveSnapshot) -> None:
        """Draw the course of the chosen joint."""
        found = snapshot.robot
        with self._lock:
            if found is None or found.name != self._robot.name or not self._charts:
                return
            table = found.course[:: max(1, -(-len(found.course) // MOST_POINTS))]
            for column, chart in enumerate(self._charts, 1):
                chart.data = (table[:, 0], table[:, column]) if len(table) else NOTHING

    # ---- inside ----------------------------------------------------------------------------------------------

    def _build(self, record: RobotRecord) -> None:
        gui, name = self._server.gui, self._robot.name
        postures = {START: None, **{visible(each.name) or f"{k}": each.name for k, each in enumerate(record.keyframes)}}
        buttons = gui.add_button_group(
            "Posture", tuple(postures), order=2.0, hint="Joints and controls of the start, or of a posture of the file."
        )
        buttons.on_click(lambda _: self._run.take_posture(name, postures[str(buttons.value)]))
        self.hands = HandPanel(self._server, self._run, name, self._run.hands[name], self.gizmo)
        drives = gui.add_folder("Drives", order=2.5, visible=bool(record.actuators))
        with drives:
            self._sliders = [self._slider(record, number) for number in range(len(record.actuators))]
        joints = gui.add_folder("Joints", order=3.0)
        with joints:
            self._table, self._table_text = gui.add_html(""), ""
        self._widgets = [*self.hands.widgets, buttons, drives, joints]
        self._charts = []
        names = {visible(joint): joint for joint in single_joints(record)}
        if names:
            course = gui.add_folder("Joint over time", order=4.0)
            with course:
                self._add_course(record, names)
            self._widgets.append(course)

    def _slider(self, record: RobotRecord, number: int) -> _Slider:
        actuator = record.actuators[number]
        low, high, unit = drive_range(record, actuator)
        label = visible(actuator.name) + (f" [{unit}]" if unit else "")
        node = self._server.gui.add_slider(
            label, low, high, (high - low) / STEPS, min(max(0.0, low), high),
            hint=f"{actuator.kind}{f' [{unit}]' if unit else ''}, {low:.4g} to {high:.4g}",
        )  # fmt: skip
        slider = _Slider(node, actuator.name, low, high)
        robot = self._robot.name

        def changed(event: Any) -> None:
            if event.client_id is not None:  # else it was moved here
                slider.sent, slider.sent_at = float(node.value), time.perf_counter()
                self._run.set_actuator(robot, slider.actuator, slider.sent)

        node.on_update(changed)
        return slider

    def _add_course(self, record: RobotRecord, names: dict[str, str]) -> None:
        gui, robot = self._server.gui, self._robot.name
        chosen = self._joint_of.setdefault(robot, next(iter(names.values())))
        choice = gui.add_dropdown("Joint", tuple(names), initial_value=visible(chosen))

        def changed(_: Any) -> None:
            self._joint_of[robot] = names[str(choice.value)]
            self._watch()

        choice.on_update(changed)
        for title, unit, colour in (("Position", "rad or m", COLOURS[0]), ("Effort", "N m or N", COLOURS[1])):
            gui.add_html(chart_heading(title, unit, "time [s]"))
            self._charts.append(add_chart(self._server, NOTHING, "time [s]", [(title.lower(), colour)]))

    def _watch(self) -> None:
        name = self._robot.name
        self._run.watch_robot(name, self._joint_of.get(name, ""))

    def _show_script(self, on: bool | None) -> None:
        """The switch of the script, where there is one."""
        if self._script.visible is (on is None):
            self._script.visible = on is not None
        if on is not None and self._script.value != on and time.perf_counter() - self._scripted_at > PATIENCE:
            self._script.value = on

    def _follow(self, found: RobotSnapshot) -> None:
        now = time.perf_counter()
        for slider, control in zip(self._sliders, found.control, strict=True):
            value = float(min(max(control, slider.low), slider.high))
            if now - slider.sent_at < PATIENCE and abs(value - slider.sent) > 1e-9:
                continue  # the run has not taken it yet
            if abs(float(slider.node.value) - value) > 1e-9 * max(1.0, abs(value)):
                slider.node.value = value
