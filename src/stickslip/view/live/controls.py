"""Controls of a live run in the viewer's panel: run, step, reset, friction, gravity, solver, step size, status line."""

from __future__ import annotations

import html
import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.simulation import Simulation
from stickslip.solvers.registry import known_solvers
from stickslip.view.live.run import LiveRun, LiveSnapshot
from stickslip.view.web.display_panel import add_key, framed

if TYPE_CHECKING:
    import viser

SPEEDS = {
    "1/100": 0.01,
    "1/10": 0.1,
    "1/4": 0.25,
    "1/2": 0.5,
    "real time": 1.0,
    "2": 2.0,
    "5": 5.0,
    "as fast as it can": 1e9,
}
"""Labels, and simulated over wall time."""
SHORTCUTS = (
    ("space", "run, pause"),
    ("N", "pause, and take the next step"),
    ("R", "reset to the start; settings stay"),
    ("H", "gravity on, off"),
    ("Z", "zero friction on, off"),
    ("1, 2, 3", "speed: real time, half, a tenth"),
    ("M", "scale arrows and colours anew"),
    ("drag a body", "pull it with a spring"),
    ("T; O; I", "of robots: target frame on, off; open, close the gripper; script on, off"),
)
KEY_SPEEDS = (("1", "real time"), ("2", "1/2"), ("3", "1/10"))
MOST_FRICTION = 1.5
PATIENCE = 2.0
"""[s] of a step after which the status says that it still goes on."""
TYPING = 0.7
"""[s] after the last key that a number is taken to be whole."""
NOTE_LINES = 3
"""Lines of the status that are kept for notes, so that buttons below it stay where they are."""
DASH = "\N{EN DASH}"


class LiveControls:
    """Widgets that command a LiveRun, and a status line; all pages share them."""

    def __init__(self, server: viser.ViserServer, run: LiveRun, sim: Simulation) -> None:
        """sim: the simulation as the run begins with it."""
        self._run = run
        self._playing, self._lock = True, threading.Lock()
        self._typed: dict[str, float] = {}
        self._status_text, self._message = "", ""
        gui = server.gui
        self._status = gui.add_html("", order=0.0)
        with gui.add_folder("Run", order=1.0):
            self._play = gui.add_button("Pause", icon="player-pause", hint="Key: space")
            self._play.on_click(lambda _: self.toggle_play())
            self._single = gui.add_button_group(
                "", ("Step", "Reset"),
                hint="Keys: N, R. Reset goes back to the start; friction, gravity, solver and step size stay as set.",
            )  # fmt: skip
            self._single.on_click(lambda _: self.step() if self._single.value == "Step" else self._run.reset())
            self._speed = gui.add_dropdown(
                "Speed", tuple(SPEEDS), initial_value="real time",
                hint="Simulated over real time. It is never faster; where steps take longer, it is slower.",
            )  # fmt: skip
            self._speed.on_update(lambda _: self._run.set_speed(SPEEDS[self._speed.value]))
        with gui.add_folder("Physics", order=2.0):
            self._own = gui.add_checkbox("Scene's friction", True, hint="The coefficients that the scene gives.")
            self._usual = min(round(float(np.median(sim.model.pairs.friction[:, :, :2])), 2), MOST_FRICTION)
            self._friction = gui.add_slider(
                "Friction", 0.0, MOST_FRICTION, 0.01, self._usual, hint="One coefficient for all pairs of materials."
            )
            self._own.on_update(self._change_own)
            self._friction.on_update(self._change_friction)
            self._gravity = gui.add_vector3("Gravity", run.own_gravity, step=0.01, hint="[m/s\N{SUPERSCRIPT TWO}]")
            self._gravity.on_update(self._change_gravity)
        with gui.add_folder("Method", order=3.0):
            self._solver = gui.add_dropdown("Solver", tuple(known_solvers()), initial_value=sim.solver.name)
            self._solver.on_update(self._change_solver)
            least, largest = (1e3 * size for size in run.step_sizes)
            self._step_size = gui.add_number(
                "Step [ms]", 1e3 * sim.stepping.dt, step=0.01, hint=f"Step size, {least:.6g} to {largest:.6g} ms"
            )
            self._step_size.on_update(self._change_step_size)
        add_key(server, "space", "Run, pause", self.toggle_play)
        add_key(server, "N", "Next step", self.step)
        add_key(server, "R", "Reset", run.reset)
        add_key(server, "H", "Gravity on, off", self.toggle_gravity)
        add_key(server, "Z", "Zero friction on, off", self.toggle_friction)
        for key, label in KEY_SPEEDS:
            add_key(server, key, f"Speed {label}", lambda label=label: setattr(self._speed, "value", label))  # type: ignore[misc]

    # ---- what keys and buttons do --------------------------------------------------------------------------

    def toggle_play(self) -> None:
        """Run, or pause."""
        with self._lock:
            playing = not self._playing
            (self._run.play if playing else self._run.pause)()
            self._show_playing(playing)

    def step(self) -> None:
        """Pause, and take one step."""
        with self._lock:
            self._run.step_once()
            self._show_playing(False)

    def toggle_gravity(self) -> None:
        """No gravity, or that of the scene."""
        off = any(self._gravity.value)
        self._typed.pop("gravity", None)
        self._gravity.value = (0.0, 0.0, 0.0) if off else self._run.own_gravity
        self._run.set_gravity(self._gravity.value)

    def toggle_friction(self) -> None:
        """No friction, or that of the scene."""
        off = bool(self._own.value) or self._friction.value > 0.0
        self._own.value = not off
        self._friction.value = 0.0 if off else self._usual
        self._run.set_friction(0.0 if off else None)

    # ---- what pages change; values that are set here have no client ------------------------------------------

    def _change_own(self, event: Any) -> None:
        if event.client_id is not None:
            self._run.set_friction(None if self._own.value else self._friction.value)

    def _change_friction(self, event: Any) -> None:
        if event.client_id is not None:
            self._own.value = False
            self._run.set_friction(self._friction.value)

    def _change_gravity(self, event: Any) -> None:
        if event.client_id is not None:
            self._typed["gravity"] = time.perf_counter()

    def _change_solver(self, event: Any) -> None:
        if event.client_id is not None:
            self._run.set_solver(self._solver.value)

    def _change_step_size(self, event: Any) -> None:
        if event.client_id is not None:
            self._typed["dt"] = time.perf_counter()

    def _take_typed(self) -> None:
        """Give on what was typed, once it is whole: pages tell of every key."""
        now = time.perf_counter()
        for what in [name for name, at in list(self._typed.items()) if now - at >= TYPING]:
            self._typed.pop(what, None)
            if what == "dt":
                self._run.set_dt(1e-3 * self._step_size.value)
            else:
                self._run.set_gravity(self._gravity.value)

    # ---- what the run says -----------------------------------------------------------------------------------

    def show(self, snapshot: LiveSnapshot) -> None:
        """Write the status; where the run refused or stopped, set the widgets to what it has. Called often."""
        self._take_typed()
        if snapshot.message != self._message:
            self._message = snapshot.message
            if snapshot.message:
                self._show_settings(snapshot)
        text = status_html(snapshot, self._run.busy_seconds, self._run.may_compile)
        if text != self._status_text:
            self._status_text = text
            self._status.content = text

    def _show_settings(self, snapshot: LiveSnapshot) -> None:
        with self._lock:
            self._show_playing(not snapshot.paused)
        self._own.value = snapshot.friction is None
        if snapshot.friction is not None:
            self._friction.value = snapshot.friction
        self._gravity.value = snapshot.gravity
        self._solver.value = snapshot.solver
        self._step_size.value = 1e3 * snapshot.dt

    def _show_playing(self, playing: bool) -> None:
        self._playing = playing
        self._play.label = "Pause" if playing else "Run"
        self._play.icon = "player-pause" if playing else "player-play"


def status_html(snapshot: LiveSnapshot, busy: float, may_compile: bool = False) -> str:
    """Time, pace and certificate of a run as a small table, and notes; its height is always the same.

    busy: [s] that the step or the change under way has taken; may_compile: whether it is the first with a solver.
    """
    cells = "".join(
        f"<tr style='white-space:nowrap'><td style='opacity:.65;padding-right:8px'>{name}</td><td>{text}</td></tr>"
        for name, text in _rows(snapshot)
    )
    notes = "".join(f"<div>{note}</div>" for note in _notes(snapshot, busy, may_compile))
    return framed(
        f"<div style='overflow:hidden'><table style='border-spacing:0'>{cells}</table></div>"
        f"<div style='height:{1.45 * NOTE_LINES:.2f}em;overflow-y:auto'>{notes}</div>"
    )


def _rows(snapshot: LiveSnapshot) -> Sequence[tuple[str, str]]:
    """Names and texts; a dash where there is nothing yet."""
    c = snapshot.certificate
    if snapshot.paused:
        pace = "paused"
    elif math.isnan(snapshot.rate):
        pace = "starting"
    else:
        pace = f"{_short(snapshot.rate)} \N{MULTIPLICATION SIGN} real time"
    solver = iterations = momentum = contacts = DASH
    if c is not None:
        verdict = _coloured(c.status, "#2b8a3e" if c.converged else "#c92a2a")
        solver = f"{html.escape(snapshot.step_solver)}: {verdict}"
        iterations = f"{c.iterations}, residual {_power(c.natural_residual)}"
        momentum = f"relative error {_power(c.momentum_relative)}"
        contacts = f"{c.contacts}, overlap {_short(c.penetration_mm)} mm"
    return (
        ("time", f"{snapshot.frame.time:.3f} s, {pace}"),
        ("step", f"{snapshot.steps}: {_short(snapshot.step_ms)} ms for {_short(1e3 * snapshot.dt)} ms"),
        ("solver", solver),
        ("method", html.escape(snapshot.method) or DASH),
        ("iterations", iterations),
        ("momentum", momentum),
        ("contacts", contacts),
    )


def _notes(snapshot: LiveSnapshot, busy: float, may_compile: bool) -> Sequence[str]:
    """What there is to say beside the numbers, the most important first."""
    notes: list[str] = []
    if snapshot.message:
        notes.append(_coloured(snapshot.message, "#c92a2a"))
    if busy > PATIENCE:
        why = "; kernels may be compiled, the first time" if may_compile else ""
        notes.append(f"working for {busy:.0f} s{why}")
    if snapshot.paused and snapshot.spring is not None:
        notes.append("the spring pulls when it runs: press space")
    if snapshot.step_solver not in ("", snapshot.solver):
        notes.append(f"{html.escape(snapshot.solver)} makes the next step")
    return notes


def _power(value: float) -> str:
    """A small number of two digits; what is below rounding is said to be so."""
    return "below 1e-16" if value < 1e-16 else np.format_float_scientific(value, 1, exp_digits=1)


def _coloured(text: str, colour: str) -> str:
    return f"<span style='color:{colour}'>{html.escape(text)}</span>"


def _short(value: float) -> str:
    """A number of three digits, without an exponent where that is short."""
    if not math.isfinite(value):
        return DASH
    if value == 0.0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}"
    return np.format_float_scientific(value, 1, exp_digits=1)
