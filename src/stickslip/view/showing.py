"""A simulation of one's own on the live page: ``stickslip.show(sim)``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from stickslip import checks
from stickslip.errors import InputError
from stickslip.names import shown
from stickslip.scene.scene import Scene
from stickslip.scenes.metrics import Values
from stickslip.scenes.own_scene import run_of_simulation
from stickslip.simulation import Simulation, StepResult

if TYPE_CHECKING:
    from stickslip.view.live.page import LivePage


class EachStep:
    """Metrics that measure nothing and let a function of a user see every step."""

    def __init__(self, told: Callable[[Simulation], None] | None) -> None:
        self.told = told

    def observe(self, sim: Simulation, result: StepResult) -> None:
        """A step was taken."""
        if self.told is not None:
            self.told(sim)

    def values(self) -> Values:
        """Nothing."""
        return {}


def show(
    what: Simulation | Scene,
    *,
    each_step: Callable[[Simulation], None] | None = None,
    port: int = 0,
    browser: bool = True,
    wait: bool = True,
) -> LivePage:
    """Open a simulation, or a scene at steps of 2 ms, on the live page; needs the extra ``view``.

    The page runs the simulation from where it is: let nobody else step it meanwhile. each_step: a function of the
    simulation that is called after every step, such as a controller. port 0: the next that is free from 8080 on.
    wait: serve until Ctrl-C; False returns the page at once, which ``page.close()`` ends.

    >>> page = stickslip.show(sim, browser=False, wait=False)      # doctest: +SKIP
    >>> print(page.url)                                            # doctest: +SKIP
    """
    sim = Simulation(what, dt=0.002) if isinstance(what, Scene) else what
    if not isinstance(sim, Simulation):
        raise InputError(f"show: {shown(what)} cannot be shown; a stickslip.Simulation or Scene is needed")
    if each_step is not None:
        checks.function("show", "each_step", each_step, "a function of the simulation")
    from stickslip.view.live.page import serve_scene

    page = serve_scene(run_of_simulation(sim, EachStep(each_step)), port=port, open_browser=browser)
    if not wait:
        return page
    print(f"{page.url} (Ctrl-C ends it)")
    with page, contextlib.suppress(KeyboardInterrupt):
        page.wait()
    return page
