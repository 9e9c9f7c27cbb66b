"""A page in the browser that shows states as they come, in real time."""

from __future__ import annotations

import sys
import time
import webbrowser
from typing import TYPE_CHECKING

import numpy as np

from stickslip.bodies.registry import frame_poses
from stickslip.view.frame import NO_CONTACTS, Frame
from stickslip.view.picture.camera import landed
from stickslip.view.web.guarded_server import guarded_server, page_url, stop_server
from stickslip.view.web.viewer_scene import ViewerScene

if TYPE_CHECKING:
    from stickslip.model.model import Model
    from stickslip.model.state import State

LATE = 0.2
"""[s] by which pictures may be behind before the clock starts anew."""


class Window:
    """The page; where no browser opens, its address on stderr does."""

    def __init__(self, model: Model, state: State, title: str) -> None:
        self.model, self.server = model, guarded_server()
        start = frame_poses(model, state), state.node_position
        self.scene = ViewerScene(self.server, model, *start, landed(model, start))
        self.server.gui.set_panel_label(title)
        self.begun = (0.0, 0.0)
        print(f"{title}: {page_url(self.server)}", file=sys.stderr)
        webbrowser.open(page_url(self.server))

    def show(self, state: State, now: float) -> None:
        """Show a state, not before its time has come; ``now`` [s] of time.perf_counter."""
        clock, simulated = self.begun
        due = clock + (state.time - simulated)
        if state.time < simulated or now > due + LATE or clock == 0.0:
            self.begun = now, state.time
        elif due > now:
            time.sleep(due - now)
        q, x = frame_poses(self.model, state), state.node_position
        speed = np.linalg.norm(state.node_velocity, axis=1)
        self.scene.show(Frame(state.time, q, x, speed, NO_CONTACTS, state.joint_broken))

    def close(self) -> None:
        """Close the port."""
        stop_server(self.server)
