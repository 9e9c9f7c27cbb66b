"""A scene that runs while somebody watches: a thread steps it at the pace of time and takes commands between steps."""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.certify.certificate import Certificate
from stickslip.errors import InputError, StickslipError
from stickslip.hands import Hands
from stickslip.scene.robots import Robot
from stickslip.scenes.running import Run
from stickslip.view.frame import Frame, live_frame
from stickslip.view.live.robot_drives import RobotSnapshot
from stickslip.view.live.simulation import LiveSimulation
from stickslip.view.soft_colours import QUANTITIES, node_values

FRAME_INTERVAL = 1.0 / 30.0
"""[s] between snapshots while it runs."""
CATCH_UP = 0.05
"""[s] by which a run may be late and still make up for it; what is more is lost, so that it does not race after a slow
step."""
RATE_WINDOW = 1.0
"""[s] over which rates are measured."""
CLOSING = 10.0
"""[s] that closing waits for the step under way; a longer one ends with the program."""
LATEST_ONLY = ("friction", "gravity", "dt", "speed", "pull", "colours", "drive", "robot", "target", "grip")
"""Commands of which only the last counts where several wait: those of sliders and of the mouse; what follows a colon
says of which slider."""
QUIET = ("pull", "release", "watch", "colours", "robot")
"""Commands after which a message still stands."""
TRYING = ("solver", "friction")
"""Commands that may take a step in kernels that were never used before."""


@dataclass(frozen=True, eq=False)
class LiveSnapshot:
    """What a run shows at a moment; nothing in it changes."""

    number: int
    """Rises from one snapshot to the next."""
    frame: Frame
    certificate: Certificate | None
    """Of the last step; None before the first."""
    history: Array
    """(k, 2) iteration and residual of the solver in the last step."""
    solver: str
    """That the next step is to be made with."""
    step_solver: str
    """That the last step was made with; empty before the first."""
    method: str
    """Which methods did the work in the last step, where the solver chooses."""
    dt: float
    """[s]"""
    friction: float | None
    """Coefficient of all pairs; None: the scene's own."""
    gravity: tuple[float, float, float]
    """[m/s^2]"""
    courses: Array
    """(n, len(COLUMNS)) numbers of the last steps, oldest first (simulation.py)."""
    steps: int
    """Steps since the start, of which ``courses`` has the last."""
    step_ms: float
    """Mean wall time of a step over the last second; NaN before the first."""
    rate: float
    """Simulated over wall time in the last second; NaN where it does not run."""
    paused: bool
    message: str
    """Why a change was refused or the run stopped; empty otherwise."""
    spring: tuple[Array, Array] | None
    """(3,), (3,) [m] the ends of the spring that pulls: at the body, at the mouse."""
    quantity: str | None
    """Of soft_colours.QUANTITIES, that ``node_values`` have; it may no longer be the one that is asked for."""
    node_values: Array | None
    """(nn,) numbers of the quantity."""
    robot: RobotSnapshot | None
    """That which is watched."""
    script: bool | None
    """Whether the scene's script drives it; None: it has none."""


class LiveRun:
    """Steps a prepared run in a thread of its own. All methods may be called from any thread and return at once;
    commands are taken between steps, in their order.

    It starts paused, and it steps only while it is watched.
    """

    def __init__(self, run: Run) -> None:
        self._live = LiveSimulation(run)
        self._changed = threading.Condition()
        self._commands: deque[tuple[str, Callable[[], None]]] = deque()
        self._given = self._taken = 0
        self._closed = False
        self._playing, self._watched = False, True
        self._speed = 1.0
        self._message = ""
        self._quantity: str | None = None
        self._certificate: Certificate | None = None
        self._history, self._step_solver, self._method = np.zeros((0, 2)), "", ""
        self._stepped: set[str] = set()
        self._next = time.perf_counter()
        self._recent: deque[tuple[float, float, float]] = deque()
        self._busy_since: float | None = None
        self._compiling = False
        self._published = 0.0
        self._snapshot = self._make_snapshot(0)
        self._thread = threading.Thread(target=self._work, name="stickslip live run", daemon=True)
        self._thread.start()

    # ---- reading -------------------------------------------------------------------------------------------

    def snapshot(self) -> LiveSnapshot:
        """The latest one."""
        return self._snapshot

    def next_snapshot(self, after: int, timeout: float) -> LiveSnapshot | None:
        """The latest snapshot as soon as its number is above ``after``; None if that takes longer than timeout [s]."""
        with self._changed:
            found = self._changed.wait_for(lambda: self._snapshot.number > after or self._closed, timeout)
            return self._snapshot if found and self._snapshot.number > after else None

    def settled(self, timeout: float = 60.0) -> LiveSnapshot:
        """The snapshot after all commands given so far were taken."""
        with self._changed:
            given = self._given
            done = self._changed.wait_for(lambda: self._closed or self._taken >= given, timeout)
        if not done:
            raise TimeoutError(f"the live run has not taken its commands in {timeout} s")
        return self._snapshot

    @property
    def busy_seconds(self) -> float:
        """[s] for which the step or the change under way has lasted; zero where there is none."""
        since = self._busy_since
        return 0.0 if since is None else time.perf_counter() - since

    @property
    def may_compile(self) -> bool:
        """Whether the step or the change under way is the first with a solver, for which kernels may be compiled."""
        return self._compiling

    @property
    def own_gravity(self) -> tuple[float, float, float]:
        """[m/s^2] of the scene as it was made."""
        x, y, z = self._live.own_gravity.tolist()
        return x, y, z

    @property
    def robots(self) -> dict[str, Robot]:
        """Robots of the scene by name."""
        return self._live.robots

    @property
    def hands(self) -> dict[str, Hands]:
        """Frames of each robot that can be led, and its grippers."""
        return {name: each.found for name, each in self._live.operated.items()}

    @property
    def step_sizes(self) -> tuple[float, float]:
        """[s] the least and the largest step size that is allowed."""
        return self._live.step_sizes

    # ---- commands ------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Run on."""
        self._give("play", self._play)

    def pause(self) -> None:
        """Stop after the step under way."""
        self._give("pause", self._pause)

    def step_once(self) -> None:
        """Take one step, and stop."""
        self._give("step", self._step_once)

    def reset(self) -> None:
        """Back to the start of the scene, with the current settings."""
        self._give("reset", self._reset)

    def watch(self, watched: bool) -> None:
        """Whether somebody looks; while nobody does, nothing moves."""
        self._give("watch", lambda: self._set_watched(watched))

    def set_speed(self, speed: float) -> None:
        """Simulated over wall time that is not to be exceeded."""
        self._give("speed", lambda: self._set_speed(speed))

    def set_friction(self, friction: float | None) -> None:
        """One coefficient for all pairs of materials, or None: the scene's own."""
        self._give("friction", lambda: self._live.set_friction(friction))

    def set_gravity(self, gravity: ArrayLike) -> None:
        """(3,) [m/s^2]"""
        self._give("gravity", lambda: self._live.set_gravity(gravity))

    def set_solver(self, name: str) -> None:
        """A solver by its name on the command line."""
        self._give("solver", lambda: self._live.set_solver(name))

    def set_dt(self, dt: float) -> None:
        """Step size [s]."""
        self._give("dt", lambda: self._set_dt(dt))

    def grab(self, body: int, point: ArrayLike) -> None:
        """Tie a spring to a world point (3,) [m] of a body (rigid, or body count + soft body)."""
        self._give("grab", lambda: self._live.grab(body, point))

    def pull(self, target: ArrayLike) -> None:
        """Move the free end of the spring to a world point (3,) [m]."""
        self._give("pull", lambda: self._live.pull(target))

    def release(self) -> None:
        """Untie the spring."""
        self._give("release", self._live.release)

    def colour_by(self, quantity: str | None) -> None:
        """A quantity of soft bodies (soft_colours.QUANTITIES) that snapshots are to have the values of."""
        self._give("colours", lambda: self._set_quantity(quantity))

    def watch_robot(self, name: str, joint: str = "") -> None:
        """A robot that snapshots are to tell of, and the joint of it whose course is kept."""
        self._give("robot", lambda: self._live.watch_robot(name, joint))

    def set_actuator(self, robot: str, actuator: str, control: float) -> None:
        """Tell an actuator of a robot what to do from now on."""
        self._give(f"drive:{robot}/{actuator}", lambda: self._live.set_actuator(robot, actuator, control))

    def set_target(
        self, robot: str, frame: str, position: ArrayLike, rotation: ArrayLike | None = None
    ) -> None:  # fmt: skip
        """Lead a frame of a robot (RobotSnapshot.hands) to a pose: position (3,) [m], rotation (w, x, y, z) or as it
        is. The scene's script ends; so it does with all commands to a robot."""
        self._give(f"target:{robot}/{frame}", lambda: self._live.set_target(robot, frame, position, rotation))

    def drop_target(self, robot: str, frame: str) -> None:
        """Lead a frame no longer; drives hold it."""
        self._give("drop", lambda: self._live.drop_target(robot, frame))

    def set_grip(self, robot: str, gripper: str, share: float) -> None:
        """Close a gripper of a robot (RobotSnapshot.grips) to a share, from 0 (open) to 1 (closed)."""
        self._give(f"grip:{robot}/{gripper}", lambda: self._live.set_grip(robot, gripper, share))

    def set_script(self, on: bool) -> None:
        """Whether the script of the scene drives it."""
        self._give("script", lambda: self._live.set_script(on))

    def take_posture(self, robot: str, keyframe: str | None = None) -> None:
        """Put a robot into a posture of its file, or, where None, into that of its start."""
        self._give("posture", lambda: self._live.take_posture(robot, keyframe))

    def close(self) -> None:
        """End the thread, after the step under way."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(CLOSING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _give(self, kind: str, command: Callable[[], None]) -> None:
        with self._changed:
            if kind.partition(":")[0] in LATEST_ONLY and self._commands and self._commands[-1][0] == kind:
                self._commands[-1] = (kind, command)
            else:
                self._commands.append((kind, command))
                self._given += 1
            self._changed.notify_all()

    # ---- in the thread -------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                command = self._commands.popleft() if self._commands else None
                if command is None and (wait := self._due()) != 0.0:
                    self._changed.wait(wait)
                    continue
            self._compiling = self._live.sim.solver.name not in self._stepped
            if command is not None and command[0] in TRYING:
                self._compiling = True
            self._busy_since = time.perf_counter()
            if command is not None:
                self._obey(*command)
            else:
                self._step()
            self._busy_since = None
            answered = command is not None and command[0] != "pull"
            if answered or self._due() is None or time.perf_counter() - self._published >= FRAME_INTERVAL:
                self._publish()
            if command is not None:
                with self._changed:
                    self._taken += 1
                    self._changed.notify_all()

    def _due(self) -> float | None:
        """Seconds to the next step; None where none is to be taken."""
        if not (self._playing and self._watched):
            return None
        return max(0.0, self._next - time.perf_counter())

    def _obey(self, kind: str, command: Callable[[], None]) -> None:
        """Carry out a command; one that does not work leaves a message and changes nothing."""
        if kind not in QUIET:
            self._message = ""
        try:
            command()
        except StickslipError as error:
            self._message = f"refused: {error}"
        except Exception as error:  # a run that somebody watches goes on
            traceback.print_exc()
            self._message = f"refused: {type(error).__name__}: {error}"

    def _step(self) -> None:
        start = time.perf_counter()
        try:
            result = self._live.step()
        except StickslipError as error:
            self._stop(str(error))
            return
        except Exception as error:  # a run that somebody watches can still be reset
            traceback.print_exc()
            self._stop(f"{type(error).__name__}: {error}")
            return
        now, dt = time.perf_counter(), self._live.sim.stepping.dt
        self._certificate, self._step_solver = result.certificate, self._live.sim.solver.name
        self._stepped.add(self._step_solver)
        self._history, self._method = result.solution.history.reshape(-1, 2), result.solution.method
        self._next = max(self._next + dt / self._speed, now - CATCH_UP)
        self._recent.append((now, dt, now - start))
        while len(self._recent) > 2 and now - self._recent[0][0] > RATE_WINDOW:
            self._recent.popleft()

    def _stop(self, message: str) -> None:
        self._playing = False
        self._message = message

    def _play(self) -> None:
        self._playing = True
        self._set_pace()

    def _pause(self) -> None:
        self._playing = False

    def _step_once(self) -> None:
        self._playing = False
        self._step()

    def _reset(self) -> None:
        self._live.reset()
        self._certificate, self._history = None, np.zeros((0, 2))
        self._step_solver = self._method = ""
        self._set_pace()

    def _set_dt(self, dt: float) -> None:
        self._live.set_dt(dt)
        self._recent.clear()  # times of steps of another size say nothing about these

    def _set_watched(self, watched: bool) -> None:
        self._watched = watched
        self._set_pace()

    def _set_speed(self, speed: float) -> None:
        if not (math.isfinite(speed) and speed > 0.0):
            raise InputError(f"speed is {speed}; it must be positive and finite")
        self._speed = speed
        self._set_pace()

    def _set_pace(self) -> None:
        """Count time from now on."""
        self._next = time.perf_counter()
        self._recent.clear()

    def _set_quantity(self, quantity: str | None) -> None:
        if quantity is not None and quantity not in QUANTITIES:
            raise InputError(f"colour by {quantity!r} is unknown; it must be one of {', '.join(QUANTITIES)}")
        self._quantity = quantity

    def _publish(self) -> None:
        try:
            snapshot = self._make_snapshot(self._snapshot.number + 1)
        except Exception as error:  # such as a quantity that is not finite
            traceback.print_exc()
            self._stop(f"{type(error).__name__}: {error}")
            return
        with self._changed:
            self._snapshot, self._published = snapshot, time.perf_counter()
            self._changed.notify_all()

    def _make_snapshot(self, number: int) -> LiveSnapshot:
        live, sim = self._live, self._live.sim
        frame, spring = live_frame(sim), live.spring
        x, y, z = sim.model.gravity.tolist()
        steps = [seconds for _, _, seconds in self._recent]
        return LiveSnapshot(
            number=number,
            frame=frame,
            certificate=self._certificate,
            history=self._history,
            solver=sim.solver.name,
            step_solver=self._step_solver,
            method=self._method,
            dt=sim.stepping.dt,
            friction=live.friction,
            gravity=(x, y, z),
            courses=live.courses.table(),
            steps=live.courses.steps,
            step_ms=1e3 * float(np.mean(steps)) if steps else math.nan,
            rate=self._rate() if self._playing and self._watched else math.nan,
            paused=not self._playing,
            message=self._message,
            spring=None if spring is None else (spring.held_point(sim.state), spring.target),
            quantity=self._quantity,
            node_values=self._node_values(frame),
            robot=live.robot_snapshot(),
            script=live.script.on if live.script.exists else None,
        )

    def _rate(self) -> float:
        """Simulated over wall time, between the first and the last step of those that are remembered."""
        if len(self._recent) < 2:
            return math.nan
        wall = self._recent[-1][0] - self._recent[0][0]
        return sum(dt for _, dt, _ in list(self._recent)[1:]) / max(wall, 1e-9)

    def _node_values(self, frame: Frame) -> Array | None:
        sim = self._live.sim
        if self._quantity is None or not sim.model.soft.count:
            return None
        from stickslip.reading_state import element_report

        report = None if self._quantity == "speed" else element_report(sim.model, sim.state, sim.stepping)
        return node_values(sim.model.soft, self._quantity, report, frame.node_speed)
