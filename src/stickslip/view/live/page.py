"""The page of a scene that runs live: the view, the controls, the plots, and the mouse that pulls bodies."""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stickslip.bodies.registry import frame_poses
from stickslip.scenes.running import Run
from stickslip.view.live.controls import SHORTCUTS, LiveControls
from stickslip.view.live.plots import INTERVAL, LivePlots
from stickslip.view.live.robot_panel import RobotPanel
from stickslip.view.live.run import FRAME_INTERVAL, LiveRun, LiveSnapshot
from stickslip.view.picture.camera import landed
from stickslip.view.soft_colours import QUANTITIES
from stickslip.view.web.display_panel import display_panel
from stickslip.view.web.guarded_server import LOOPBACK, guarded_server, page_url, stop_server
from stickslip.view.web.viewer_scene import Grab, ViewerScene

if TYPE_CHECKING:
    import viser

STATUS_INTERVAL = 0.1
"""[s] between updates of the status line."""
CONTROLS_WIDTH, PLOTS_WIDTH = 324, 340
"""[px]"""


class LivePage:
    """A running page. The scene starts when the first browser opens it, and stands still while none is there."""

    def __init__(self, prepared: Run, host: str, port: int) -> None:
        self.run = LiveRun(prepared)
        try:
            self.server: viser.ViserServer = guarded_server(host, port)
        except BaseException:
            self.run.close()
            raise
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._show, name="stickslip live page", daemon=True)
        try:
            self._build(prepared)
        except BaseException:
            self.run.close()
            stop_server(self.server)
            raise
        self._thread.start()

    def _build(self, prepared: Run) -> None:
        """What the page shows, and who listens to it."""
        sim, gui = prepared.sim, self.server.gui
        self.run.watch(False)
        self.run.play()
        start = frame_poses(sim.model, sim.state), sim.state.node_position
        self.scene = ViewerScene(self.server, sim.model, *start, landed(sim.model, start))
        self.controls = LiveControls(self.server, self.run, sim)
        self.panel = display_panel(self.server, self.scene, sim.model, list(QUANTITIES), SHORTCUTS)
        beside = gui.add_panel()
        self.robots: RobotPanel | None = None
        if self.run.robots:
            tab = beside.add_tab("Robot", icon="robot")
            self.robots = RobotPanel(self.server, self.scene, self.run, self.run.robots, tab)
        with beside.add_tab("Plots", icon="chart-line"):
            self.plots = LivePlots(self.server)
        gui.main_panel.dock_left()
        gui.main_panel.set_width(CONTROLS_WIDTH)
        beside.dock_right()
        beside.set_width(PLOTS_WIDTH)
        gui.set_panel_label(prepared.entry.name)
        self.panel.on_change(lambda: self.run.colour_by(self.panel.quantity))
        self.scene.on_drag(self._drag)
        self.server.on_client_connect(lambda _: self.run.watch(True))
        self.server.on_client_disconnect(self._left)

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        return page_url(self.server)

    def wait(self) -> None:
        """Serve until it is closed."""
        while not self._closed.wait(1.0):
            pass

    def close(self) -> None:
        """Stop the run and the server."""
        if self._closed.is_set():
            return
        self._closed.set()
        self.run.close()
        self._thread.join()
        stop_server(self.server)

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _left(self, client: viser.ClientHandle) -> None:
        others = [other for other in self.server.get_clients() if other != client.client_id]
        if not others:
            self.run.release()
            self.run.watch(False)

    def _drag(self, grab: Grab) -> None:
        if self.robots is not None and self.robots.gizmo.held:
            self.run.release()  # the mouse has hold of the target frame, which is drawn over bodies
            return
        if grab.phase == "start":
            self.run.grab(grab.body, grab.point)
        self.run.pull(grab.target)
        if grab.phase == "end":
            self.run.release()

    def _show(self) -> None:
        """Show snapshots as they come, 30 a second at most; status and plots less often."""
        shown = plotted = steps = -1
        status_at = plots_at = 0.0
        while not self._closed.is_set():
            start = time.perf_counter()
            snapshot = self.run.next_snapshot(shown, INTERVAL)
            latest = snapshot or self.run.snapshot()
            with self._going_on():
                if snapshot is not None:
                    if snapshot.steps < steps:  # it was reset
                        self.panel.restart_scales()
                    steps = snapshot.steps
                    self._show_frame(snapshot)
                    shown = snapshot.number
                if start - status_at >= STATUS_INTERVAL:
                    status_at = start
                    self.controls.show(latest)
                    if self.robots is not None:
                        self.robots.show(latest)
                if start - plots_at >= INTERVAL and latest.number != plotted:
                    plots_at, plotted = start, latest.number
                    self.plots.show(latest)
                    if self.robots is not None:
                        self.robots.plot(latest)
                    self.panel.refresh()
            self._closed.wait(max(0.0, FRAME_INTERVAL - (time.perf_counter() - start)))

    def _show_frame(self, snapshot: LiveSnapshot) -> None:
        values, quantity, colours = snapshot.node_values, snapshot.quantity, None
        if values is not None and quantity is not None and self.panel.quantity is not None:
            colours = self.panel.colours(quantity, values)
        with self.server.atomic():
            self.scene.show(snapshot.frame, colours)
            self.scene.draw_spring(*(snapshot.spring or (None, None)))
            if self.robots is not None:
                self.robots.show_frame(snapshot)

    @contextlib.contextmanager
    def _going_on(self) -> Any:
        """What goes wrong with one frame does not stop the next."""
        try:
            yield
        except Exception:
            if not self._closed.is_set():
                traceback.print_exc()


def serve_scene(
    prepared: Run,
    host: str = LOOPBACK,
    port: int = 0,
    open_browser: bool = False,
    opener: Callable[[str], object] = webbrowser.open,
) -> LivePage:
    """Serve a prepared scene as a live page; port 0 takes the next free one. Call close() when done."""
    page = LivePage(prepared, host, port)
    if open_browser:
        opener(page.url)
    return page
