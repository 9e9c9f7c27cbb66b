"""A simulation that can be changed while it runs: friction, gravity, solver, step size, and a spring that pulls."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.certify.certificate import Certificate
from stickslip.checks import not_negative, vector
from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.model.model import FRAME, Model
from stickslip.model.stepping import Stepping
from stickslip.reading_robots import robots_of
from stickslip.scene.materials import NO_AXIS, PairTables
from stickslip.scene.robots import Robot
from stickslip.scenes.running import Run, solver_for
from stickslip.scenes.script_switch import ScriptSwitch
from stickslip.simulation import Simulation, StepResult
from stickslip.solvers.protocol import Solver
from stickslip.view.course import FLOWS
from stickslip.view.live.drag_spring import DragSpring, grab, loaded
from stickslip.view.live.link_spring import LinkSpring, grab_link, link_loaded
from stickslip.view.live.robot_drives import (
    RobotSnapshot,
    joint_now,
    kept_course,
    robot_snapshot,
    single_joints,
)
from stickslip.view.live.teleoperation import Teleoperation, teleoperation

KEPT_STEPS = 6000
"""Steps whose numbers are kept for plots."""
COLUMNS = (
    "time", "residual", "momentum", "overlap", "iterations", "contacts",
    "kinetic", "potential", "elastic", *FLOWS,
)  # fmt: skip
"""What is kept of a step. Time [s]; natural residual, relative momentum error; overlap [m]; counts; energies after the
step [J], the potential one relative to the first step, and sums of the ledger's entries since the start [J]."""
STEP_SIZES = (0.01, 50.0)
"""Least and largest step size, relative to that of the scene."""


class Courses:
    """The numbers of the last steps of a run: a table that forgets its oldest rows."""

    def __init__(self, kept: int = KEPT_STEPS) -> None:
        self._rows = np.zeros((kept, len(COLUMNS)))
        self.clear()

    def clear(self) -> None:
        """Forget all steps."""
        self.steps = 0
        self._sums = dict.fromkeys(FLOWS, 0.0)
        self._mechanical: float | None = None
        self._potential = 0.0

    def new_zero(self) -> None:
        """Potential energies of the coming steps have another zero than those before: gravity has changed."""
        self._mechanical = None if self.steps == 0 else self._last("kinetic", "potential", "elastic")

    def add(self, time: float, certificate: Certificate) -> None:
        """Take note of a step that ended at a time [s]."""
        ledger = certificate.energy
        gain = 0.0
        for name, sign in FLOWS.items():
            value = float(getattr(ledger, name))
            self._sums[name] += value
            gain += sign * value
        if self.steps == 0:
            self._potential = ledger.potential
        elif self._mechanical is not None:  # the books balance: that gives the energy in the old count
            before, self._mechanical = self._mechanical, None
            self._potential = ledger.potential - (before + gain - ledger.kinetic - ledger.elastic)
        self._rows[self.steps % len(self._rows)] = (
            time, certificate.natural_residual, certificate.momentum_relative, certificate.penetration,
            certificate.iterations, certificate.contacts,
            ledger.kinetic, ledger.potential - self._potential, ledger.elastic, *self._sums.values(),
        )  # fmt: skip
        self.steps += 1

    def table(self) -> Array:
        """(n, len(COLUMNS)) of the steps that are kept, oldest first; a copy that cannot be written to."""
        kept = len(self._rows)
        place = self.steps % kept
        rows = self._rows[: self.steps].copy() if self.steps <= kept else np.roll(self._rows, -place, axis=0)
        rows.setflags(write=False)
        return rows

    def _last(self, *names: str) -> float:
        row = self._rows[(self.steps - 1) % len(self._rows)]
        return float(sum(row[COLUMNS.index(name)] for name in names))


class LiveSimulation:
    """A run of a scene whose settings may change between steps. Time and state go on; a change that is refused raises
    an InputError and leaves everything as it was."""

    def __init__(self, run: Run) -> None:
        self.entry, self.parameters, self.sim, self.metrics = run.entry, run.parameters, run.sim, run.metrics
        self.courses = Courses()
        self.spring: DragSpring | LinkSpring | None = None
        self.friction: float | None = None
        """Coefficient of all pairs of materials, or None: the scene's own."""
        self.robots = robots_of(run.sim.model)
        self._watched: tuple[Robot, str] | None = None
        self._course: deque[tuple[float, float, float]] = deque(maxlen=KEPT_STEPS)
        self.operated: dict[str, Teleoperation] = {
            name: teleoperation(run.sim, robot) for name, robot in self.robots.items()
        }
        """What a person tells each robot."""
        self._run = run
        self.script = ScriptSwitch(run)
        self._own, self._own_dt = run.sim.model, run.sim.stepping.dt
        self._start, self._start_control = run.sim.state.copy(), run.sim.control.copy()

    @property
    def own_gravity(self) -> Array:
        """(3,) [m/s^2] of the scene as it was made."""
        return self._own.gravity

    @property
    def step_sizes(self) -> tuple[float, float]:
        """[s] the least and the largest step size that is allowed."""
        least, largest = STEP_SIZES
        return least * self._own_dt, largest * self._own_dt

    def step(self) -> StepResult:
        """Take a step, with the pull of the spring; an error leaves the state before it."""
        sim = self.sim
        for operated in self.operated.values():
            operated.tell(sim)
        control = sim.control
        if self.spring is not None:
            if isinstance(self.spring, LinkSpring):
                sim.control = link_loaded(self.spring, sim.state, control, sim.stepping.dt)
            else:
                sim.control = loaded(self.spring, sim.model, sim.state, control, sim.stepping.dt)
        try:
            result = sim.step()
        finally:
            sim.control = control
        self.script.observe(self.metrics, sim, result)
        self.courses.add(result.state.time, result.certificate)
        if self._watched is not None and self._watched[1]:
            self._course.append((result.state.time, *joint_now(sim, *self._watched)))
        return result

    def reset(self) -> None:
        """Back to the start, with the current settings; nothing is pulled or led any more, and the script runs."""
        for operated in self.operated.values():
            operated.stop()
        self.sim.restore(self._start, self._start_control)
        self.metrics = self.entry.metrics(self.sim, self.parameters)
        self.script = ScriptSwitch(self._run)
        self.courses.clear()
        self._course.clear()
        self.spring = None

    # ---- robots ----------------------------------------------------------------------------------------------

    def watch_robot(self, name: str, joint: str) -> None:
        """Keep the course of a joint (empty: of none) of a robot, and tell of that robot."""
        robot = self._robot(name)
        if joint and joint not in single_joints(robot.record):
            raise unknown(f"robot {name!r}: joint of one degree of freedom", joint, single_joints(robot.record))
        if self._watched is None or (self._watched[0].name, self._watched[1]) != (name, joint):
            self._course.clear()
        self._watched = robot, joint

    def robot_snapshot(self) -> RobotSnapshot | None:
        """The robot that is watched, as it is now."""
        if self._watched is None:
            return None
        robot, joint = self._watched
        return robot_snapshot(self.sim, robot, joint, kept_course(list(self._course)), self.operated[robot.name])

    # ---- a person drives ---------------------------------------------------------------------------------------

    def set_script(self, on: bool) -> None:
        """Let the scene's script drive, or hold where it is now."""
        if on:
            for operated in self.operated.values():
                operated.stop()
            self.script.take_back(self.sim)
        else:
            self._take_over()

    def set_actuator(self, name: str, actuator: str, control: float) -> None:
        """Tell an actuator of a robot what to do from now on."""
        robot = self._robot(name)
        if actuator not in robot.actuator_names:
            raise unknown(f"robot {name!r}: actuator", actuator, robot.actuator_names)
        self._take_over()
        self.operated[name].slid(actuator)
        self.sim.set_control(robot, actuators={actuator: control})

    def set_target(self, name: str, frame: str, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        """Lead a frame of a robot to a pose: position (3,) [m], (w, x, y, z) or None for that of now."""
        self._robot(name)
        self.operated[name].aim(self.sim, frame, position, rotation)
        self._take_over()

    def drop_target(self, name: str, frame: str) -> None:
        """Lead a frame no longer; drives hold it where it is."""
        self._robot(name)
        self.operated[name].let_go(frame)

    def set_grip(self, name: str, gripper: str, share: float) -> None:
        """Close a gripper of a robot to a share, from 0 (open) to 1 (closed)."""
        self._robot(name)
        self.operated[name].grip(self.sim, gripper, share)
        self._take_over()

    def take_posture(self, name: str, keyframe: str | None) -> None:
        """Put a robot into a posture of its file, or, where None, back to its start, with the controls of that."""
        robot, sim = self._robot(name), self.sim
        if keyframe is not None and keyframe not in [each.name for each in robot.record.keyframes]:
            raise unknown(f"robot {name!r}: keyframe", keyframe, [each.name for each in robot.record.keyframes])
        self._take_over()
        self.operated[name].stop()
        start = self._start_control
        force = sim.control.force.copy()
        part = sim.control.layout.v_slice[name]
        force[part] = start.force[part]
        actuators = {**sim.control.actuators, name: start.actuators[name].copy()}
        sim.control = replace(sim.control, force=force, actuators=actuators)
        if keyframe is not None:
            sim.apply_keyframe(robot, keyframe)
        else:
            sim.set_joint_positions(robot, self._start.part_q(name).reshape(-1))
            sim.set_joint_velocities(robot, self._start.part_v(name).reshape(-1))
        self.operated[name].begin(sim)

    def _take_over(self) -> None:
        """The script drives no longer."""
        if self.script.on:
            self.script.hand_over(self.sim)
            if self.script.exists:
                for operated in self.operated.values():
                    operated.begin(self.sim)

    def _robot(self, name: str) -> Robot:
        if name not in self.robots:
            raise unknown("robot", name, list(self.robots))
        return self.robots[name]

    # ---- settings ----------------------------------------------------------------------------------------------

    def set_friction(self, friction: float | None) -> None:
        """One coefficient for all pairs of materials, the same in all directions, or None: those of the scene.

        Torsion keeps its ratio to friction.
        """
        pairs = self._own.pairs
        if friction is not None:
            pairs = with_friction(pairs, not_negative("live run", "friction", friction))
        model = _changed(self.sim.model, pairs=pairs)
        # ellipses or torsion come back, which not every solver takes
        tried = friction is None or model.contact_rows != self.sim.model.contact_rows
        self._continue(model, self.sim.solver, self.sim.stepping, tried)
        self.friction = friction

    def set_gravity(self, gravity: ArrayLike) -> None:
        """(3,) [m/s^2]"""
        model = _changed(self.sim.model, gravity=vector("live run", "gravity", gravity))
        self._continue(model, self.sim.solver, self.sim.stepping)
        self.courses.new_zero()

    def set_solver(self, name: str) -> None:
        """A solver by its name, with the options that the scene has for it; one step is tried with it."""
        self._continue(self.sim.model, solver_for(self.entry, name, {}), self.sim.stepping, tried=True)

    def set_dt(self, dt: float) -> None:
        """Step size [s], within ``step_sizes``."""
        least, largest = self.step_sizes
        if not least * (1.0 - 1e-9) <= dt <= largest * (1.0 + 1e-9):
            raise InputError(
                f"step size dt is {1e3 * dt:.6g} ms; allowed are {1e3 * least:.6g} to {1e3 * largest:.6g} ms, "
                f"that is {STEP_SIZES[0]:g} to {STEP_SIZES[1]:g} times the scene's own"
            )
        self._continue(self.sim.model, self.sim.solver, replace(self.sim.stepping, dt=dt))

    def grab(self, body: int, point: ArrayLike) -> None:
        """Tie a spring to a world point (3,) [m] of a body (rigid, or body count + soft body)."""
        model = self.sim.model
        if not 0 <= body < model.body_count + model.soft.count:
            raise InputError(f"live run: body {body} is grabbed; there are {model.body_count + model.soft.count}")
        at = vector("live run", "point", point)
        link = body < model.body_count and model.body_kind[body] == FRAME
        self.spring = (grab_link if link else grab)(model, self.sim.state, body, at)

    def pull(self, target: ArrayLike) -> None:
        """Move the free end of the spring to a world point (3,) [m]; nothing where there is no spring."""
        if self.spring is not None:
            self.spring = self.spring.pulled_to(vector("live run", "target", target))

    def release(self) -> None:
        """Untie the spring."""
        self.spring = None

    def _continue(self, model: Model, solver: Solver, stepping: Stepping, tried: bool = False) -> None:
        """Go on from the current state with other settings; ``tried``: only if a step with them works."""
        sim = Simulation(model, solver=solver, stepping=stepping)
        if tried:
            sim.restore(self.sim.state, self.sim.control)
            sim.step()
        sim.restore(self.sim.state, self.sim.control)
        sim.last = self.sim.last if stepping.dt == self.sim.stepping.dt else None
        self.sim = sim


def with_friction(pairs: PairTables, friction: float) -> PairTables:
    """Coefficients of pairs with one friction for all; torsion [m] scaled with the change of the mean."""
    table = pairs.friction.copy()
    mean = table[:, :, :2].mean(axis=2)
    table[:, :, 2] *= np.divide(friction, mean, out=np.ones_like(mean), where=mean > 0.0)
    table[:, :, :2] = friction
    return pairs._replace(friction=table, axis=np.full_like(pairs.axis, NO_AXIS))


def _changed(model: Model, pairs: PairTables | None = None, gravity: Array | None = None) -> Model:
    """The model with other coefficients or gravity."""
    others = model.others
    if gravity is not None:
        others = tuple(kind.with_gravity(gravity) if isinstance(kind, TreeBodies) else kind for kind in others)
    return replace(
        model,
        pairs=model.pairs if pairs is None else pairs,
        gravity=model.gravity if gravity is None else gravity,
        others=others,
    )
