"""The page of a recording: the view, a time line, the certificate of the shown frame, and plots."""

from __future__ import annotations

import html
import os
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import FileError, InputError
from stickslip.names import visible
from stickslip.view.frame import recorded_frame, spread
from stickslip.view.playback.clock import SPEEDS, PlaybackClock
from stickslip.view.playback.plots import PlaybackPlots
from stickslip.view.soft_colours import QUANTITIES, least_range, recorded_values, value_limits
from stickslip.view.web.display_panel import add_key, display_panel, framed, with_unit
from stickslip.view.web.guarded_server import LOOPBACK, guarded_server, page_url, stop_server
from stickslip.view.web.joint_table import JointRow, joints_html
from stickslip.view.web.run_charts import NOTHING
from stickslip.view.web.viewer_scene import ViewerScene

if TYPE_CHECKING:
    import viser

    from stickslip.io.recording import Recording

FRAME_INTERVAL = 1.0 / 30.0
"""[s] between shown frames, at least."""
TEXT_INTERVAL, PLOT_INTERVAL = 0.1, 0.25
"""[s] between updates of the numbers and of the plots while it plays."""
FRAMED = 5
"""Frames, from the first to the last, that the view is chosen to hold."""
SCALED = 20
"""Frames, from the first to the last, by which the scales of force arrows and of colours are chosen."""
CONTROLS_WIDTH, PLOTS_WIDTH = 300, 320
"""[px]"""
SHORTCUTS = (
    ("space", "play, pause"),
    ("N", "one frame on"),
    ("B", "one frame back"),
    ("home, end", "first, last frame"),
    ("page up, page down", "faster, slower"),
    ("O", "loop: on, off"),
)


class PlaybackPage:
    """A running page of one recording."""

    def __init__(self, recording: Recording, host: str, port: int) -> None:
        if len(recording) == 0:
            raise FileError(f"recording {recording.path} has no frame yet; wait until the run has made a step")
        self.recording = recording
        self.server: viser.ViserServer = guarded_server(host, port)
        self.clock = PlaybackClock(recording.time)
        model = recording.model
        first, *later = ((recording.q[k], recording.node_position[k]) for k in spread(len(recording), FRAMED))
        self.scene = ViewerScene(self.server, model, *first, later)
        scale = force_scale(recording)
        if scale is not None:
            self.scene.fix_scale(*scale)
        self._controls()
        self.panel = display_panel(self.server, self.scene, model, self._quantities(), SHORTCUTS, live=False)
        self.panel.on_change(self._show_again)
        gui = self.server.gui
        beside = gui.add_panel()
        with beside.add_tab("Plots", icon="chart-line"):
            self.plots = PlaybackPlots(self.server, recording)
        gui.main_panel.dock_left()
        gui.main_panel.set_width(CONTROLS_WIDTH)
        beside.dock_right()
        beside.set_width(PLOTS_WIDTH)
        name = recording.scene or visible(Path(recording.path).name)
        gui.set_panel_label(f"{name}{'' if recording.complete else ' (incomplete)'}")
        self._scaled: set[str] = set()
        self._scrubbed = False
        self._shown = -1
        self.frames_shown = 0
        """Since the page was made."""
        self._state: tuple[bool, float] | None = None
        self._written = self._plotted = (-1, -1.0)
        self._again = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._play, name="stickslip playback", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        return page_url(self.server)

    @property
    def frame(self) -> int:
        """The frame that is shown."""
        return self._shown

    def wait(self) -> None:
        """Serve until it is closed."""
        while not self._closed.wait(1.0):
            pass

    def close(self) -> None:
        """Stop playing and serving, and close the recording."""
        if not self._closed.is_set():
            self._closed.set()
            self._thread.join()
            stop_server(self.server)
            self.recording.close()

    def __enter__(self) -> PlaybackPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- showing -----------------------------------------------------------------------------------------------

    def show(self, number: int) -> None:
        """Read a frame and show it; numbers and plots follow in their own time."""
        frame = recorded_frame(self.recording, number)
        self.scene.show(frame, self._colours(number))
        self._shown = number
        self.frames_shown += 1

    def update(self, due: int) -> None:
        """Show a frame unless it is shown already; its numbers and plots not more often than they can be read."""
        now, playing, speed = time.perf_counter(), self.clock.playing, self.clock.speed
        if due != self._shown or self._again.is_set():
            self._again.clear()
            self.show(due)
        if self._state != (playing, speed):
            self._state = playing, speed
            self._show_state(playing, speed)
        if self._written[0] != due and (not playing or now - self._written[1] >= TEXT_INTERVAL):
            self._written = due, now
            self._show_numbers(due)
            self.panel.refresh()
        if self._plotted[0] != due and (not playing or now - self._plotted[1] >= PLOT_INTERVAL):
            self._plotted = due, now
            self.plots.show(due)

    def _play(self) -> None:
        """Show the frame that is due, 30 times a second at most; what cannot be shown in time is left out."""
        while not self._closed.is_set():
            start = time.perf_counter()
            try:
                self.update(self.clock.frame)
            except Exception:
                if not self._closed.is_set():
                    traceback.print_exc()
                    self.clock.pause()
                    self._shown = self.clock.frame  # a frame that cannot be read is not tried again
            self._closed.wait(max(0.001, FRAME_INTERVAL - (time.perf_counter() - start)))

    def _colours(self, number: int) -> Array | None:
        quantity = self.panel.quantity
        if quantity is None or self.recording.model.soft.count == 0:
            return None
        if quantity not in self._scaled:  # one scale for all frames, like that of forces
            self._scaled.add(quantity)
            sampled = [recorded_values(self.recording, quantity, k) for k in spread(len(self.recording), SCALED)]
            least = least_range(self.recording.model.soft, quantity)
            self.panel.hold_limits(quantity, value_limits(np.concatenate(sampled), least))
        return self.panel.colours(quantity, recorded_values(self.recording, quantity, number))

    def _quantities(self) -> list[str]:
        """What soft bodies can show: without recorded elements only the speed."""
        if self.recording.model.soft.count == 0:
            return []
        try:
            self.recording.elements(0, fields=())
        except InputError:
            return ["speed"]
        return list(QUANTITIES)

    def _show_again(self) -> None:
        self._again.set()

    # ---- controls ----------------------------------------------------------------------------------------------

    def _controls(self) -> None:
        gui, clock = self.server.gui, self.clock
        last = len(self.recording) - 1
        self._heading = gui.add_html(framed(heading(self.recording)))
        with gui.add_folder("Play"):
            self._when = gui.add_html("")
            self._slider = gui.add_slider("Frame", 0, max(last, 1), 1, 0, disabled=last == 0)
            self._button = gui.add_button("Play", icon="player-play", hint="Key: space")
            steps = gui.add_button_group("Step", ("|◀", "◀", "▶", "▶|"), hint="Keys: home, B, N, end")
            self._speed = gui.add_dropdown(
                "Speed", tuple(speed_text(s) for s in SPEEDS), initial_value=speed_text(1.0),
                hint="Keys: page up, page down",
            )  # fmt: skip
            loop = gui.add_checkbox("Loop", False, hint="Key: O")
        with gui.add_folder("Certificate of this frame"):
            self._numbers = gui.add_html("")
        self._robots = {robot.name: robot for robot in self.recording.robots}
        with gui.add_folder("Joints of a robot", visible=bool(self._robots)):
            self._robot = gui.add_dropdown("Robot", tuple(self._robots) or ("",))
            self._robot.visible = len(self._robots) > 1
            self._joints = gui.add_html("")
        self._robot.on_update(lambda _: self._show_joints(max(self._shown, 0)))
        moves: dict[str, Callable[[], None]] = {
            "|◀": lambda: self._jump(0), "◀": lambda: clock.step(-1), "▶": lambda: clock.step(1),
            "▶|": lambda: self._jump(last),
        }  # fmt: skip
        self._slider.on_update(self._scrub)
        self._button.on_click(lambda _: clock.toggle())
        steps.on_click(lambda _: moves[str(steps.value)]())
        self._speed.on_update(lambda _: self._set_speed())
        loop.on_update(lambda _: setattr(clock, "loop", bool(loop.value)))
        keys: tuple[tuple[str, str, Callable[[], None]], ...] = (
            ("space", "Play, pause", clock.toggle),
            ("N", "One frame on", moves["▶"]),
            ("B", "One frame back", moves["◀"]),
            ("home", "First frame", moves["|◀"]),
            ("end", "Last frame", moves["▶|"]),
            ("pageup", "Faster", lambda: clock.faster(1)),
            ("pagedown", "Slower", lambda: clock.faster(-1)),
            ("O", "Loop: on, off", lambda: setattr(loop, "value", not loop.value)),
        )
        for key, label, action in keys:
            add_key(self.server, key, label, action)

    def _jump(self, frame: int) -> None:
        self.clock.pause()
        self.clock.seek(frame)

    def _scrub(self, event: Any) -> None:
        if event.client is not None:  # else it is this page that moved the slider
            self._scrubbed, self._written = True, (-1, -1.0)
            self._jump(int(event.target.value))

    def _set_speed(self) -> None:
        chosen = next(s for s in SPEEDS if speed_text(s) == self._speed.value)
        if chosen != self.clock.speed:
            self.clock.speed = chosen

    def _show_state(self, playing: bool, speed: float) -> None:
        self._button.label = "Pause" if playing else "Play"
        self._button.icon = "player-pause" if playing else "player-play"
        if speed in SPEEDS:
            self._speed.value = speed_text(speed)

    def _show_numbers(self, number: int) -> None:
        recording = self.recording
        with self.server.atomic():
            if len(recording) > 1:
                if self._scrubbed:  # its page may have heard of an older place after the click: tell it once more
                    self._scrubbed = False
                    self._slider.value = number - 1 if number else 1
                self._slider.value = number
            self._when.content = framed(
                f"<b>t = {recording.time[number]:.4g} s</b> of {recording.time[-1]:.4g} s, "
                f"frame {number} of {len(recording) - 1}"
            )
            self._numbers.content = framed(certificate_text(recording, number))
            self._show_joints(number)

    def _show_joints(self, number: int) -> None:
        if self._robots:
            robot = self._robots[str(self._robot.value)]
            position, effort = robot.position[number], robot.effort[number]
            rows = (JointRow(j.name, j.kind, position[j.position], effort[j.velocity]) for j in robot.joints)
            self._joints.content = joints_html(tuple(rows))


def serve_recording(
    path: str | os.PathLike[str],
    host: str = LOOPBACK,
    port: int = 0,
    open_browser: bool = False,
    opener: Callable[[str], object] = webbrowser.open,
) -> PlaybackPage:
    """Serve a recording as a page; port 0 takes the next free one. Call close() when done."""
    from stickslip.io.recording import read_recording

    recording = read_recording(path)
    try:
        page = PlaybackPage(recording, host, port)
    except BaseException:
        recording.close()
        raise
    if open_browser:
        opener(page.url)
    return page


def force_scale(recording: Recording) -> tuple[float, int] | None:
    """The 95th percentile [N] of contact forces and the usual number of contacts, of SCALED frames; None: no force."""
    sizes = [np.linalg.norm(recording.contacts(k).force, axis=1) for k in spread(len(recording), SCALED)]
    force = np.concatenate(sizes)
    if not (force > 0.0).any():
        return None
    count = np.median([len(size) for size in sizes if len(size)])
    return float(np.percentile(force[force > 0.0], 95.0)), int(count)


def heading(recording: Recording) -> str:
    """What is played, and whether it is whole."""
    dt = 1e3 * float(recording.stepping["dt"])
    facts = (recording.scene, recording.solver, f"steps of {dt:g} ms")
    text = f"{visible(Path(recording.path).name)}: {', '.join(fact for fact in facts if fact)}"
    if recording.complete:
        return html.escape(text)
    note = "incomplete: the run was cut off, or still goes on"
    return f"{html.escape(text)}<div style='color:#c92a2a'><b>{note}</b></div>"


def certificate_text(recording: Recording, number: int) -> str:
    """The certificate of a frame in words and numbers."""
    entry = {name: values[number] for name, values in recording.certificate.items()}
    converged = bool(entry["converged"])
    verdict = "converged" if converged else html.escape(str(entry["status"]))
    rows = (
        ("contact law", f"{digits(entry['natural_residual'])} residual"),
        ("momentum", f"{digits(entry['momentum_relative'])} of it lost"),
        ("overlap", with_unit(float(entry["penetration"]), "m") if entry["penetration"] > NOTHING else "none"),
        ("contacts", f"{int(entry['contacts'])}"),
        ("iterations", f"{int(recording.iterations[number])}"),
    )
    cells = "".join(f"<tr><td style='padding-right:10px'>{name}</td><td>{value}</td></tr>" for name, value in rows)
    colour = "#2b8a3e" if converged else "#c92a2a"
    return f"<b style='color:{colour}'>{verdict}</b><table>{cells}</table>"


def digits(value: float) -> str:
    """A small number in two digits."""
    return f"{float(value):.1e}" if value else "0"


def speed_text(speed: float) -> str:
    """A speed as it is chosen."""
    return f"{speed:g} x"
