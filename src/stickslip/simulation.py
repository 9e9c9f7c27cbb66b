"""The simulation: handles, checks of what people give, the state and what is applied; the step is in step.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from stickslip import changing_robots, changing_state, checks, reading_robots, reading_shapes, reading_state
from stickslip.arrays import Array
from stickslip.bodies.tree import inverse_kinematics
from stickslip.certify.contact_report import ContactReport
from stickslip.certify.run_watch import PUT_ASIDE, SAMPLED, RunSummary, RunWatch
from stickslip.certify.step_result import StepResult
from stickslip.changing_robots import Numbers
from stickslip.closing_loops import with_loops_closed
from stickslip.compiled.choice import driver_for, is_ready
from stickslip.compiled.driver import DRIVERS, FIRST_STEPS, Driver, reason_against
from stickslip.compiled.first_use import first_use
from stickslip.constraints.registry import Tried, elements_as_rows, moves
from stickslip.constraints.starting_overlaps import without_starting_overlaps
from stickslip.errors import InputError
from stickslip.keywords import checks_keywords, unknown
from stickslip.linalg.threads import one_blas_thread
from stickslip.model.control import Control, check_control, control_arrays, control_of, initial_control
from stickslip.model.model import Model, compile_scene
from stickslip.model.state import (
    State,
    check_state,
    initial_state,
    load_arrays,
    save_arrays,
    state_file_arrays,
)
from stickslip.model.stepping import Stepping
from stickslip.names import shown, visible
from stickslip.pieces.deeper import looked_at
from stickslip.pieces.pieces import excess, may_be_deeper, take_in_pieces
from stickslip.pose_follower import ANGULAR_SPEED, SPEED, PoseFollower
from stickslip.reading import reading
from stickslip.reading_state import ElementReport
from stickslip.scene.body import Body
from stickslip.scene.joint import Joint
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody
from stickslip.solvers.protocol import Solver, SolvesProblems
from stickslip.solvers.quality import Quality, solver_options, tries_again
from stickslip.solvers.registry import DEFAULT, as_solver, make_solver
from stickslip.solvers.step_method import step_method
from stickslip.step import STAGES, step
from stickslip.workspace import Workspace

__all__ = ["STAGES", "Simulation", "StepResult"]

READY = nullcontext()
"""What stands in the place of ``first_use`` where nothing need be compiled."""


@checks_keywords()
class Simulation:
    """A scene in motion: holds the model, the current state and the result of the last step."""

    def __init__(
        self,
        scene: Scene | Model,
        dt: float | None = None,
        solver: str | Solver | SolvesProblems | None = None,
        stepping: Stepping | None = None,
        driver: str = "auto",
        *,
        quality: Quality | None = None,
    ) -> None:
        """Compile the scene and start at time zero; ``dt`` [s] takes the place of the one in ``stepping``.

        quality: "fast", "normal" (the default) or "exact", in the place of a solver (solvers/quality.py).
        driver: who takes the steps, with the same bits: "python", "compiled" or "auto" (compiled/driver.DRIVERS).
        """
        if not isinstance(scene, Scene | Model):
            raise InputError(f"simulation: scene is {shown(scene)}; a Scene or a Model is needed")
        if stepping is not None:
            checks.instance("simulation", "stepping", stepping, Stepping, "a stickslip.Stepping is needed")
        self.stepping = stepping or Stepping()
        self.model = scene if isinstance(scene, Model) else compile_scene(scene)
        if solver is not None and quality is not None:
            raise InputError(f"simulation: both solver and quality ({shown(quality)}) are given; give one of them")
        self.quality = quality if solver is not None else quality or "normal"
        """What was asked for in the place of a solver; None where one was."""
        if stepping is None:
            self.stepping = replace(self.stepping, redetect=tries_again(self.quality, len(self.model.dynamic)))
        if dt is not None:
            self.stepping = replace(self.stepping, dt=dt)
        if self.model.others:
            self.model = without_starting_overlaps(self.model, initial_state(self.model), self.stepping)
        if solver is None:
            solver = make_solver(DEFAULT, **solver_options(quality or "normal"))
        self.solver = make_solver(solver) if isinstance(solver, str) else as_solver(solver)
        if self.model.joints.count and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but the scene has joints, which moving "
                "bodies apart would open; it must be 0 (joints hold at position level in every step)"
            )
        if self.model.soft.count and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but the scene has soft bodies; it must be 0"
            )
        if self.model.others and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but the scene has bodies of the kind "
                f"{self.model.others[0].name!r}, which it cannot move; it must be 0"
            )
        if self.model.pairs.compliance[:, :, 0].any() and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but materials of the scene have a "
                "contact_stiffness, whose springs need overlaps; it must be 0"
            )
        as_rows, model = elements_as_rows(self.solver, self.stepping), self.model
        potentials = self.stepping.joints == "potentials"
        self.method = step_method(self.solver, potentials, bool(model.soft.count), as_rows, moves(model))
        # beside solvers, which see to it themselves, only these need dense algebra
        projected = potentials or self.stepping.rule.settles != "nothing"
        dense = model.soft.count or (model.joints.count and projected)
        self.dense_algebra = one_blas_thread if dense else nullcontext
        self.driver = checks.choice("simulation", "driver", driver, DRIVERS)
        self.compiled: Driver | None = None
        """Takes steps where it can."""
        if driver == "compiled":
            against = reason_against(model, self.stepping, self.solver)
            if against:
                raise InputError(f"simulation: driver is 'compiled', but {against}; it must be 'auto' or 'python'")
            self.compiled = driver_for(model, self.stepping, self.solver)
        self.looks = True
        """Whether steps of rigid bodies are looked at where they led, for what certificates say of overlap there."""
        self.steps_here = 0
        """Steps that this object has taken."""
        self.workspace = Workspace()
        """What steps remember; nobody else has it."""
        self.watch = RunWatch(model, enough=self.solver.takes.enough)
        """Warns, and keeps what :meth:`summary` says."""
        self.watch.check_sizes()
        self.state = with_loops_closed(model, initial_state(model))
        self.control = initial_control(model)
        """Forces, targets of drives and efforts of joints, until told otherwise."""
        self.last: StepResult | None = None
        self.before: State | None = None
        """The state before the last step, from which sensors tell accelerations."""

    def step(self) -> StepResult:
        """Advance by one step, in pieces where bodies move further than linearised contacts can carry them."""
        self.steps_here += 1
        if self.steps_here == 1:
            self.watch.check_postures(reading_robots.outside_ranges(self.model, self.state))
        if self.compiled is not None or (self.steps_here == FIRST_STEPS and self.driver == "auto"):
            result = self._compiled_step()
            if result is not None:
                if self.steps_here % SAMPLED == 1:
                    self.watch.see(result)
                else:
                    self.watch.solved += 1
                return result
        with self.dense_algebra():
            result = self._step()
        seen, watch = result.certificate, self.watch
        if seen.converged and seen.penetration <= watch.visible and len(watch.quiet) < PUT_ASIDE:
            watch.quiet.append((result.state.time, seen))
        else:
            watch.see(result)
        return result

    def _compiled_step(self) -> StepResult | None:
        """The step by the compiled driver; None where the Python driver must take it."""
        model, state, control, options, solver = self.model, self.state, self.control, self.stepping, self.solver
        compiled = self.compiled
        if compiled is None or not compiled.serves(model, options, solver):
            self.compiled = compiled = None
            if is_ready(model) and not reason_against(model, options, solver):
                self.compiled = compiled = driver_for(model, options, solver)
        if compiled is None:
            return None
        with first_use() if self.steps_here == 1 and not is_ready(model) else READY:
            result = compiled.take(state, control, lambda: self._take(state, control, options, solver))
        if result is not None:
            self.before, self.state, self.last = state, result.state, result
        return result

    def _step(self) -> StepResult:
        self.last = None  # its problem is as large as the one to come
        model, state, control, options = self.model, self.state, self.control, self.stepping
        result = self._looked_at(state, control, options, self.solver)
        too_far = excess(model, state, result, options, self.workspace)
        if too_far.turn > 1.0 or too_far.crossing > 1.0:
            result = take_in_pieces(
                self._looked_at, model, state, control, options, self.solver, result, too_far, self.workspace
            )
        self.before, self.state, self.last = state, result.state, result
        return result

    def _looked_at(self, state: State, control: Control, options: Stepping, solver: Solver) -> StepResult:
        """The same, by where it led: with the overlap that it made, and taken again where the options say so."""

        def again(start: State, some: Solver, tried: Tried) -> StepResult:
            return self._take(start, control, options, some, tried)

        first = self._take(state, control, options, solver)
        if not self.looks or not may_be_deeper(self.model, state, first.state, options):
            return first
        return looked_at(again, self.model, state, options, solver, first, self.workspace)

    def _take(
        self, state: State, control: Control, options: Stepping, solver: Solver, tried: Tried | None = None
    ) -> StepResult:
        """A step or a piece of one, from ``state``; ``solver`` has what is left of the budget of the simulation's."""
        method = self.method
        if solver is not method.solver:  # a piece, or the user has put in another one
            method = method._replace(solver=solver, judge=self.solver)
        return step(self.model, state, control, method, options, self.workspace, tried)

    def summary(self) -> RunSummary:
        """The run so far in sentences: what converged, how far bodies overlap, what was warned of; print it."""
        return self.watch.summary(self.steps_here, self.time)

    def picture(
        self, width: int = 640, height: int = 360, *, azimuth: float = -60.0, elevation: float = 18.0,
        zoom: float = 1.0,
    ) -> Any:  # fmt: skip
        """A picture (``view.inline.Picture``) of the simulation now, width x height pixels, for a notebook or a file.

        azimuth, elevation [deg] of the camera, which frames the bodies that move. Needs the extra ``view``.

        >>> sim.picture(320, 180).save("now.png")      # doctest: +SKIP
        """
        view = {"azimuth": azimuth, "elevation": elevation, "zoom": zoom}
        return import_module("stickslip.view.inline").picture_of(self, width, height, **view)

    @property
    def time(self) -> float:
        """[s] simulated so far."""
        return self.state.time

    def run(
        self, steps: int | None = None, callback: Callable[[StepResult], None] | None = None, *,
        time: float | None = None,
    ) -> State:  # fmt: skip
        """Take several steps, or as many as a ``time`` [s] has; ``callback`` sees the result of each."""
        if (steps is None) == (time is None):
            raise InputError("simulation: run takes either steps or time [s]; give one of them")
        if time is not None:
            steps = round(checks.not_negative("simulation", "time", time) / self.stepping.dt)
        count = checks.whole("simulation", "steps", steps)
        if callback is not None:
            checks.function("simulation", "callback", callback, "a function of the result of a step")
        for _ in range(count):
            result = self.step()
            if callback is not None:
                callback(result)
        self.watch.settle()
        return self.state

    # ---- reading and changing the state: reading_state.py and changing_state.py --------------------------

    def position(self, body: Body) -> Array:
        """Position (3,) [m] of the body's frame (not of its centre of mass) in the world."""
        return reading_state.position(self.model, self.state, body)

    def vertices(self, body: Body | SoftBody) -> Array:
        """(n, 3) [m] world positions of the vertices of a body's shapes, or of the nodes of a soft body.

        Round shapes are sampled to a percent or so; half-spaces have none.
        """
        return reading_shapes.vertices(self.model, self.state, body)

    def bounds(self, body: Body | SoftBody) -> Array:
        """(2, 3) [m] the smallest box along the axes of the world that holds a body: its lowest and highest corner."""
        return reading_shapes.bounds(self.model, self.state, body)

    def rotation(self, body: Body) -> Array:
        """Rotation (w, x, y, z) of the body."""
        return reading_state.orientation(self.model, self.state, body)

    def centre_of_mass(self, body: Body) -> Array:
        """Position (3,) [m] of the centre of mass in the world."""
        return reading_state.centre_of_mass(self.model, self.state, body)

    def velocity(self, body: Body) -> Array:
        """Velocity (3,) [m/s] of the centre of mass in the world."""
        return reading_state.velocity(self.model, self.state, body)

    def angular_velocity(self, body: Body) -> Array:
        """Angular velocity (3,) [rad/s] in the world."""
        return reading_state.angular_velocity(self.model, self.state, body)

    def contacts(
        self, body: Body | SoftBody | Robot | None = None, other: Body | SoftBody | Robot | None = None
    ) -> ContactReport:
        """Contacts of the last step: all, those of a body or robot, or those of a pair; forces act on ``body``.

        A soft body or a robot given twice: its contacts with itself, each of which it sees from both sides.
        """
        return reading_state.contacts(self.model, self.last, self.stepping.dt, body, other)

    def joint_position(self, joint: Joint) -> Array:
        """Free coordinates (k,) [m or rad] of a joint, full turns counted: the slide, the angle, the distance."""
        return reading_state.joint_coordinates(self.model, self.state, joint)[0]

    def joint_velocity(self, joint: Joint) -> Array:
        """Velocities (k,) [m/s or rad/s] of the free coordinates of a joint."""
        return reading_state.joint_coordinates(self.model, self.state, joint)[1]

    def joint_force(self, joint: Joint) -> tuple[Array, Array]:
        """Mean force (3,) [N] and torque (3,) [N m] of the last step that a joint exerts on b, at its point there.

        World frame; limits and drives included. On a acts the opposite.
        """
        return reading_state.joint_force(self.model, self.state, self.stepping.dt, joint)

    def joint_broken(self, joint: Joint) -> bool:
        """Whether the joint has broken."""
        return reading_state.joint_broken(self.model, self.state, joint)

    def joint_error(self) -> float:
        """Largest distance [m] by which rigid joints that are not broken are apart."""
        return reading_state.joint_error(self.model, self.state)

    def nodes(self, body: SoftBody) -> Array:
        """Positions (n, 3) [m] of the nodes of a soft body."""
        return reading_state.node_positions(self.model, self.state, body)

    def node_velocities(self, body: SoftBody) -> Array:
        """Velocities (n, 3) [m/s] of the nodes of a soft body."""
        return reading_state.node_velocities(self.model, self.state, body)

    def node_contact_forces(self, body: SoftBody) -> Array:
        """Contact force (n, 3) [N] on each node of a soft body in the last step, world frame."""
        return reading_state.node_contact_forces(self.model, self.last, self.stepping.dt, body)

    def elements(self, body: SoftBody) -> ElementReport:
        """Strain, stress and energy of the elements of a soft body now."""
        return reading_state.body_element_report(self.model, self.state, self.stepping, body)

    def internal_forces(self, body: SoftBody) -> Array:
        """Elastic force (n, 3) [N] on each node of a soft body now, damping not included; their sum is zero."""
        return reading_state.body_internal_forces(self.model, self.state, self.stepping, body)

    def soft_centre(self, body: SoftBody) -> Array:
        """Centre of mass (3,) [m] of a soft body."""
        return reading_state.soft_centre(self.model, self.state, body)

    def soft_volume(self, body: SoftBody) -> float:
        """Volume [m^3] of a soft body now."""
        return reading_state.soft_volume(self.model, self.state, body)

    def cavity_volume(self, number: int = 0) -> float:
        """Volume [m^3] of a cavity, by its number in the scene."""
        return reading_state.cavity_volume(self.model, self.state, number)

    def weld_force(self, body: SoftBody) -> Array:
        """Sum (3,) [N] of the forces by which welds hold the nodes of a soft body, mean of the last step."""
        return reading_state.weld_force(self.model, self.state, self.stepping.dt, body)

    # ---- robots: reading_robots.py and changing_robots.py ----------------------------------------------------

    def joint_positions(self, robot: Robot) -> Array:
        """(nq,) [m or rad] coordinates of a robot; a floating base first: position and rotation (w, x, y, z)."""
        return reading_robots.joint_positions(self.model, self.state, robot)

    def joint_velocities(self, robot: Robot) -> Array:
        """(nv,) [m/s or rad/s]; a floating base first: linear and angular velocity, world frame."""
        return reading_robots.joint_velocities(self.model, self.state, robot)

    def joint_efforts(self, robot: Robot) -> Array:
        """(nv,) [N or N m] forces along joints, of actuators and those that were set, as state and control are now."""
        return reading_robots.joint_efforts(self.model, self.state, self.control, robot)

    def actuator_forces(self, robot: Robot) -> Array:
        """(nu,) [N or N m] forces of actuators along their lengths, as state and control are now."""
        return reading_robots.actuator_forces(self.model, self.state, self.control, robot)

    def set_joint_positions(self, robot: Robot, q: Numbers) -> None:
        """Put a robot into a posture: (nq,), or a mapping of names of joints to numbers."""
        self.state = changing_robots.with_joint_positions(self.model, self.state, robot, q)

    def set_joint_velocities(self, robot: Robot, v: Numbers) -> None:
        """Set joint velocities (nv,), or those of a mapping of names of joints to numbers."""
        self.state = changing_robots.with_joint_velocities(self.model, self.state, robot, v)

    def set_control(
        self, robot: Robot, position: Numbers | None = None, velocity: Numbers | None = None,
        effort: Numbers | None = None, actuators: Numbers | None = None,
    ) -> None:  # fmt: skip
        """What drives of a robot do from now on, by arrays or mappings of names to numbers.

        position, velocity [m or rad, m/s or rad/s]: what drives of joints aim at, for all driven joints; effort (nv,)
        [N or N m]: forces along joints, beside those of drives; actuators (nu,): controls as the robot's file has them.
        """
        given = position, velocity, effort, actuators
        self.control = changing_robots.with_control(self.model, self.control, robot, *given)

    def close_loops(self) -> None:
        """Move joints of robots, as little as their masses weigh, until their loops and couplings are closed."""
        self.state = with_loops_closed(self.model, self.state)

    def apply_keyframe(self, robot: Robot, name: str) -> None:
        """Put a robot into a posture of its file, at that posture's velocities and controls."""
        known = {each.name: each for each in robot.record.keyframes}
        if name not in known:
            raise unknown(f"robot {robot.name!r}: keyframe", name, list(known))
        self.set_joint_positions(robot, known[name].q)
        self.close_loops()
        self.set_joint_velocities(robot, known[name].v)
        if len(known[name].control):
            self.set_control(robot, actuators=known[name].control)

    def link_pose(self, robot: Robot, link: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (w, x, y, z) of the frame of a link."""
        return reading_robots.link_pose(self.model, self.state, robot, link)

    def link_velocity(self, robot: Robot, link: str) -> tuple[Array, Array]:
        """Velocity (3,) [m/s] of the origin of a link and its angular velocity (3,) [rad/s], world frame."""
        return reading_robots.link_velocity(self.model, self.state, robot, link)

    def site_pose(self, robot: Robot, site: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (w, x, y, z) of a site."""
        return reading_robots.site_pose(self.model, self.state, robot, site)

    def jacobian(self, robot: Robot, link: str, point: ArrayLike | None = None) -> Array:
        """(6, nv) velocity of a link, linear part first, at a world point (3,) [m] or its origin."""
        return reading_robots.jacobian(self.model, self.state, robot, link, point)

    def mass_matrix(self, robot: Robot) -> Array:
        """(nv, nv) armature included."""
        return reading_robots.mass_matrix(self.model, self.state, robot)

    def bias_forces(self, robot: Robot) -> Array:
        """(nv,) [N or N m] that hold a robot against gravity, Coriolis and centrifugal forces."""
        return reading_robots.bias_of(self.model, self.state, robot)

    def gravity_forces(self, robot: Robot) -> Array:
        """(nv,) [N or N m] that hold a robot against gravity alone: efforts that compensate it."""
        return reading_robots.bias_of(self.model, self.state, robot, motion=False)

    def inverse_dynamics(self, robot: Robot, acceleration: ArrayLike) -> Array:
        """(nv,) [N or N m] that give an acceleration (nv,), without contacts, springs and dampers."""
        return reading_robots.inverse_dynamics(self.model, self.state, robot, acceleration)

    def forward_dynamics(self, robot: Robot, effort: ArrayLike) -> Array:
        """(nv,) acceleration that efforts (nv,) give, without contacts, springs and dampers."""
        return reading_robots.forward_dynamics(self.model, self.state, robot, effort)

    def robot_centre(self, robot: Robot) -> Array:
        """(3,) [m] centre of mass of a robot."""
        return reading_robots.centre_of_mass(self.model, self.state, robot)

    def robot_momentum(self, robot: Robot) -> tuple[Array, Array]:
        """Linear (3,) [N s] and angular momentum (3,) [N m s] about the centre of mass of a robot."""
        return reading_robots.momentum(self.model, self.state, robot)

    def robot_contact_force(self, robot: Robot, link: str | None = None) -> Array:
        """Sum (3,) [N] of the contact forces on a link, or on the whole robot, in the last step."""
        return reading_robots.contact_force(self.model, self.last, self.stepping.dt, robot, link)

    def sensor(self, robot: Robot, name: str) -> Array:
        """What a sensor of the robot's file reads: (1,), (3,) or (4,)."""
        args = self.model, self.state, self.control, self.last, self.before, self.stepping.dt
        return reading_robots.sensor(*args, robot, name)

    def inverse_kinematics(
        self, robot: Robot, link: str, position: ArrayLike, rotation: ArrayLike | None = None, *,
        point: ArrayLike = (0, 0, 0), posture: ArrayLike | None = None, tolerance: float = 1e-6,
        base_moves: bool = False,
    ) -> Array:  # fmt: skip
        """(nq,) a posture in which a ``point`` (3,) [m] of a link is at a position (3,) [m], turned as ``rotation``.

        It begins at ``posture`` (nq,), or where the robot is, keeps the ranges of joints, and stays near where the
        target leaves a choice. A target that is not reached within ``tolerance`` [m and rad] raises an
        InputError that says how far it is.
        """
        trees, where = reading_robots.trees_of(self.model, robot), f"robot {robot.name!r}, link {link!r}"
        number, q = reading_robots.link_number(robot, link), self.joint_positions(robot)
        goal = checks.vector(where, "position", position)
        turn = None if rotation is None else checks.unit_quaternion(where, rotation)
        preferred = None if posture is None else checks.array(where, "posture", posture, (len(q),))
        at = checks.vector(where, "point", point)
        near = checks.positive(where, "tolerance", tolerance)
        found = inverse_kinematics.solve(
            trees, robot.record.links, number, q, goal, turn, at, near, preferred, base_moves
        )
        if not found.converged:
            missing = max(found.position_error, found.rotation_error)
            nearly = missing <= inverse_kinematics.NEARLY
            last = f", or tolerance={1.5 * missing:.1g} where that is near enough" if nearly else ""
            raise InputError(
                f"{where}: position {goal.tolist()} is not reached: {found.position_error:.3g} m and "
                f"{found.rotation_error:.3g} rad are missing; give one within reach, or begin at another posture{last}"
            )
        return found.q

    def pose_follower(
        self, robot: Robot, on: str, *, point: ArrayLike = (0, 0, 0), rotation: ArrayLike = (1, 0, 0, 0),
        joints: Iterable[str] | None = None, speed: float = SPEED, angular_speed: float = ANGULAR_SPEED,
    ) -> PoseFollower:  # fmt: skip
        """What gives joint positions with which a link or site ``on`` follows a pose that moves, step by step.

        It begins at the posture that the robot has. point (3,) [m] and rotation: the frame that follows, in that of the
        link or site; joints: those that move, all above it that have a position drive; speed [m/s] and angular_speed
        [rad/s]: of the frame, at most. :class:`stickslip.pose_follower.PoseFollower` says how to use it.
        """
        return PoseFollower(
            self.model, self.state, robot, on, point=point, rotation=rotation, joints=joints, speed=speed,
            angular_speed=angular_speed,
        )  # fmt: skip

    def set_drive(
        self, joint: Joint, position: float | None = None, velocity: float | None = None, coordinate: int = 0
    ) -> None:
        """Give the drive of a joint's coordinate a new position [m or rad] or velocity [m/s or rad/s] to aim at."""
        self.control = changing_state.with_drive(self.model, self.control, joint, position, velocity, coordinate)

    def set_effort(self, joint: Joint, value: float, coordinate: int = 0) -> None:
        """Apply a force [N] or torque [N m] along a coordinate of a joint, from now until changed.

        It acts on both bodies, also where the coordinate has a drive; not once the joint is broken.
        """
        self.control = changing_state.with_effort(self.model, self.control, joint, value, coordinate)

    def set_force(
        self, body: Body, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0), point: ArrayLike | None = None
    ) -> None:
        """Apply a force [N] and a torque [N m], world frame, from now until changed.

        The force acts at the centre of mass; a world ``point`` (3,) [m] adds its moment as the body stands now.
        """
        if reading_state.body_row(self.model, body) >= self.model.rigid_count:
            self.control = changing_robots.with_pushed_link(
                self.model, self.state, self.control, body, force, torque, point
            )
            return
        args = body, force, torque, point
        self.control = changing_state.with_force(self.model, self.state, self.control, *args)

    def set_velocity(self, body: Body, velocity: ArrayLike, angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Set the velocity [m/s] of the centre of mass and the angular velocity [rad/s]."""
        self.state = changing_state.with_velocity(self.model, self.state, body, velocity, angular_velocity)

    def set_pose(self, body: Body, position: ArrayLike, orientation: ArrayLike = (1, 0, 0, 0)) -> None:
        """Move the body's frame to a position (3,) [m] and a rotation (w, x, y, z)."""
        self.state = changing_state.with_pose(self.model, self.state, body, position, orientation)

    def set_node_force(self, body: SoftBody, force: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Apply forces (3,) or (k, 3) [N] to the given nodes (all where None), from now until changed."""
        array = changing_state.with_nodes(self.model, self.control.node_force, "node_force", body, force, nodes)
        self.control = self.control.with_parts(node_force=array)

    def set_node_velocity(self, body: SoftBody, velocity: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Set velocities (3,) or (k, 3) [m/s] of the given nodes (all where None)."""
        array = changing_state.with_nodes(self.model, self.state.node_velocity, "node_velocity", body, velocity, nodes)
        self.state = self.state.with_parts(node_velocity=array)

    def set_node_position(self, body: SoftBody, position: ArrayLike, nodes: ArrayLike | None = None) -> None:
        """Move the given nodes (all where None) to positions (k, 3) [m]."""
        array = changing_state.with_nodes(self.model, self.state.node_position, "node_position", body, position, nodes)
        self.state = self.state.with_parts(node_position=array)

    def restore(self, state: State, control: Control | None = None) -> None:
        """Continue from a saved state of the same model, under a saved control, or that which is applied now."""
        check_state(self.model, state)
        if control is not None:
            check_control(self.model, control)
            self.control = control.copy()
        self.state, self.last, self.before = state.copy(), None, None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write state and control to an ``.npz`` file, whole or not at all; ``load`` continues from it bit for bit."""
        save_arrays(path, {**state_file_arrays(self.state), **control_arrays(self.control)})

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file that ``save`` wrote, for the same model; one without a control leaves it as it is."""
        state, data = load_arrays(path)
        with reading(checks.path("state file", path), "state file", "a saved state"):
            control = control_of(data, state.layout)
        self.restore(state, control)

    def __repr__(self) -> str:
        ended = "" if self.last is None else f", {self.last.certificate.status}"
        done = f"t = {self.state.time:.6g} s, {self.state.steps} steps{ended}"
        return f"Simulation({done}, solver {visible(self.solver.name)}, {self.model!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: where it is, how the last step ended, and a picture where one can be drawn."""
        return str(import_module("stickslip.view.notebook").simulation_html(self))
