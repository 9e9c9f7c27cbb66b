"""Pictures of worlds of an environment, and a page in the browser that shows the first of them live."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.bodies.registry import frame_poses
from stickslip.learning.task import Moment, Task
from stickslip.worlds.worlds import Worlds

if TYPE_CHECKING:
    from stickslip.model.state import State
    from stickslip.view.picture.camera import Camera
    from stickslip.view.picture.picture import Easel


class Pictures:
    """Draws worlds; modules that draw are loaded at the first picture."""

    def __init__(self, worlds: Worlds, moment: Moment, task: Task, size: tuple[int, int], live: bool) -> None:
        self.worlds, self.moment, self.view, self.size = worlds, moment, task.view, size
        self.live, self.title = live, task.name
        self._easel: Easel | None = None
        self._page: Any = None

    def camera(self, state: State) -> Camera:
        """Where the picture of a state is taken from."""
        from stickslip.view.picture.camera import look_at

        at = np.zeros(3)
        if self.view.follow is not None:
            at[:2] = frame_poses(self.worlds.model, state)[self.moment.body(self.view.follow).index, :2]
        return look_at(at + self.view.eye, at + self.view.target)

    def picture(self, k: int) -> NDArray[np.uint8]:
        """(h, w, 3) of world k, sRGB."""
        return self.picture_of(self.worlds.state(k))

    def picture_of(self, state: State) -> NDArray[np.uint8]:
        """(h, w, 3) of a state."""
        from stickslip.view.picture.picture import draw, easel

        if self._easel is None:
            self._easel = easel(self.worlds.model, *self.size, 2)
        q = frame_poses(self.worlds.model, state)
        return draw(self._easel, self.camera(state), q, state.node_position)

    def show(self) -> None:
        """Show the first world on the page, in real time."""
        from stickslip.learning.window import Window

        state = self.worlds.state(0)
        if self._page is None:
            self._page = Window(self.worlds.model, state, self.title)
        self._page.show(state, time.perf_counter())

    def close(self) -> None:
        """Close the page."""
        if self._page is not None:
            self._page.close()
            self._page = None
