"""The simulation. `Simulation.step` is the whole algorithm of a step; open this file first."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from stickslip import checks
from stickslip.arrays import Array, Bools
from stickslip.body_description import handle_fits
from stickslip.certificate import certify
from stickslip.checks import finite, unit_quaternion, vector
from stickslip.collision.lookahead import contacts_of_step
from stickslip.collision.matching import remember
from stickslip.contact.potentials import Known
from stickslip.contact_report import ContactReport, report_contacts
from stickslip.divergence import check_finite
from stickslip.dynamics import joints, prescribed, rigid_bodies
from stickslip.dynamics.joints import JointLayout
from stickslip.errors import InputError
from stickslip.geometry import rotation
from stickslip.joint_tables import NOTHING
from stickslip.joints import Joint
from stickslip.linalg.threads import one_blas_thread
from stickslip.linearisation import constraints_move
from stickslip.model import DYNAMIC, KINEMATIC, STATIC, Model, compile_scene
from stickslip.names import shown
from stickslip.pieces import excess, take_in_pieces
from stickslip.scene import KINDS, Body, Scene
from stickslip.soft_description import SoftBody
from stickslip.soft_linearisation import elastic_rows, soft_step
from stickslip.soft_reading import SoftReading
from stickslip.solvers.methods import begins_ahead, method_of
from stickslip.solvers.protocol import Solver, SolvesProblems
from stickslip.solvers.registry import DEFAULT, as_solver, make_solver
from stickslip.stabilisation import stabilise
from stickslip.state import State, check_state, initial_state
from stickslip.step_result import StepResult
from stickslip.stepping import Stepping
from stickslip.substeps import StepLinearisation

__all__ = ["Simulation", "StepResult"]

STAGES = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
"""Of a step, as ``StepResult.timings`` names them."""


class Simulation(SoftReading):
    """A scene in motion: holds the model, the current state and the result of the last step."""

    def __init__(
        self,
        scene: Scene | Model,
        dt: float | None = None,
        solver: str | Solver | SolvesProblems = DEFAULT,
        stepping: Stepping | None = None,
    ) -> None:
        """Compile the scene and start at time zero; ``dt`` [s] takes the place of the one in ``stepping``."""
        if not isinstance(scene, Scene | Model):
            raise InputError(f"simulation: scene is {shown(scene)}; a Scene or a Model is needed")
        if stepping is not None:
            checks.instance("simulation", "stepping", stepping, Stepping, "a stickslip.Stepping is needed")
        self.stepping = stepping or Stepping()
        self.model = scene if isinstance(scene, Model) else compile_scene(scene)
        if dt is not None:
            self.stepping = replace(self.stepping, dt=dt)
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
        if self.model.pairs.compliance[:, :, 0].any() and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but materials of the scene have a "
                "contact_stiffness, whose springs need overlaps; it must be 0"
            )
        self.elastic_rows = elastic_rows(self.solver, self.stepping)
        self.method = method_of(
            self.solver, self.stepping.joints == "potentials", bool(self.model.soft.count) and not self.elastic_rows,
            constraints_move(self.model),
        )  # fmt: skip
        self.begins_ahead = begins_ahead(self.method) and not self.model.soft.count
        self.potentials: Known = {}
        self._layout: tuple[Bools, JointLayout] | None = None
        """Which joints were broken in the last step, and the layout of the others."""
        # beside solvers, which see to it themselves, only joints and soft bodies need dense algebra
        dense = self.model.joints.count or self.model.soft.count
        self.dense_algebra = one_blas_thread if dense else nullcontext
        self.state = initial_state(self.model)
        self.last: StepResult | None = None

    def step(self) -> StepResult:
        """Advance by one step, in pieces where bodies move further than linearised contacts can carry them."""
        with self.dense_algebra():
            return self._step()

    def _step(self) -> StepResult:
        self.last = None  # its problem is as large as the one to come
        result = self._take(self.state, self.stepping, self.solver)
        too_far = excess(self.model, self.state, result, self.stepping)
        if too_far.largest > 1.0:
            result = take_in_pieces(self._take, self.model, self.state, self.stepping, self.solver, result, too_far)
        self.state, self.last = result.state, result
        return result

    def _take(self, state: State, options: Stepping, solver: Solver) -> StepResult:
        """A step from ``state``: find contacts, assemble the problem, solve it, integrate, stabilise, certify."""
        model, h = self.model, options.dt
        clock = [time.perf_counter()]

        # find contacts at the start of the step, or at its middle ([erleben2017] eq. 41)
        v = prescribed.velocities(model, state, h)
        at = options.rule.contacts_at
        q = rigid_bodies.advance(state.q, v, at * h) if at > 0.0 else state.q
        found = contacts_of_step(model, q, v, options, model.ignored_pairs(state.joint_broken))
        contacts = found.contacts
        soft = None
        if model.soft.count:
            # what factorises A with joints in it has no use for factors without them
            unsolved = solver.takes.factors != "prepared" or options.joints == "potentials"
            soft = soft_step(model, state, q, v, options, self.elastic_rows, unsolved)
        clock.append(time.perf_counter())

        # the problem of this step
        layout = self._joint_layout(state)
        linearisation = StepLinearisation(model, state, contacts, q, v, options, soft, layout)
        warm = linearisation.remembered() if options.warm_start else None
        problem = linearisation.ahead(warm) if self.begins_ahead else linearisation.at_start(warm)
        clock.append(time.perf_counter())

        solution = self.method(solver, linearisation, problem, warm, self.potentials)
        problem = solution.problem or problem
        clock.append(time.perf_counter())

        solution = linearisation.with_end(solution)
        v_mean, q_end = rigid_bodies.moved(model, q, v, solution.v, options.horizon)
        after = State(
            time=state.time + h,
            steps=state.steps + 1,
            q=prescribed.positions(model, q_end, state.time + h),
            v=v_mean if solution.v_end is None else rigid_bodies.scatter(model, v, solution.v_end),
            force=state.force,
            contact_key=contacts.key,
            contact_impulse=remember(contacts, solution.lam[: linearisation.rigid_row_count]),
            joint_impulse=linearisation.joint_impulses(solution.lam),
            joint_angle=state.joint_angle,
            joint_target=state.joint_target,
            joint_broken=state.joint_broken,
            node_position=state.node_position,
            node_velocity=state.node_velocity,
            node_force=state.node_force,
            soft_key=state.soft_key,
            soft_impulse=state.soft_impulse,
            weld_impulse=state.weld_impulse,
        )
        if soft is not None:
            after = linearisation.soft_state(after, solution)
        after = linearisation.settled(after, problem, solution)
        if model.joints.count:
            after = joints.after_step(model, state, after, h)
        check_finite(model, after, contacts, solution.lam)
        clock.append(time.perf_counter())

        # overlaps that the step left are removed from the positions alone ([erleben2017] sec. 4.4)
        if options.stabilisation:
            after = replace(after, q=stabilise(model, after.q, options))
        clock.append(time.perf_counter())

        gap, springs, motion, filling = contacts.gap, contacts.compliance, None, 0.0
        if soft is not None:
            gap, motion = np.concatenate([gap, soft.contacts.gap]), soft.motion
            springs = np.concatenate([springs, soft.contacts.compliance])
            filling = linearisation.filling_work(solution.lam, after)
        before = state if v is state.v else replace(state, v=v)
        certificate = certify(
            model, before, after, solution.judged or problem, solution, gap, h, motion, filling, springs,
            options.horizon, self.solver,
        )  # fmt: skip
        clock.append(time.perf_counter())
        timings = {stage: clock[k + 1] - clock[k] for k, stage in enumerate(STAGES)}
        soft_contacts = None if soft is None else soft.contacts
        return StepResult(after, contacts, problem, solution, certificate, warm, timings, soft_contacts, found)

    def _joint_layout(self, state: State) -> JointLayout | None:
        """How the rows of joints are stored that are not broken; made anew where one breaks."""
        if not self.model.joints.count:
            return None
        if self._layout is None or not np.array_equal(self._layout[0], state.joint_broken):
            self._layout = state.joint_broken.copy(), joints.joint_layout(self.model, state.joint_broken)
        return self._layout[1]

    def run(self, steps: int, callback: Callable[[StepResult], None] | None = None) -> State:
        """Take several steps; ``callback`` sees the result of each."""
        count = checks.whole("simulation", "steps", steps)
        if callback is not None:
            checks.function("simulation", "callback", callback, "a function of the result of a step")
        for _ in range(count):
            result = self.step()
            if callback is not None:
                callback(result)
        return self.state

    # ---- reading and changing the state ------------------------------------------------------------------

    def position(self, body: Body) -> Array:
        """Position (3,) [m] of the body's frame (not of its centre of mass) in the world."""
        i = self._index(body)
        return self.state.q[i, :3] - rotation.matrix(self.state.q[i, 3:]) @ self.model.centre[i]

    def rotation(self, body: Body) -> Array:
        """Rotation (w, x, y, z) of the body."""
        return self.state.q[self._index(body), 3:].copy()

    def centre_of_mass(self, body: Body) -> Array:
        """Position (3,) [m] of the centre of mass in the world."""
        return self.state.q[self._index(body), :3].copy()

    def velocity(self, body: Body) -> Array:
        """Velocity (3,) [m/s] of the centre of mass in the world."""
        return self.state.v[self._index(body), :3].copy()

    def angular_velocity(self, body: Body) -> Array:
        """Angular velocity (3,) [rad/s] in the world."""
        return self.state.v[self._index(body), 3:].copy()

    def contacts(self, body: Body | SoftBody | None = None, other: Body | SoftBody | None = None) -> ContactReport:
        """Contacts of the last step: all, those of a body, or those of a pair; forces act on ``body``.

        A soft body given twice: its contacts with itself, each of which it sees from both sides.
        """
        if self.last is None:
            raise InputError(
                "contacts: no step was completed since the start, the last restore or the last failure; call step()"
            )
        if isinstance(body, Body) and isinstance(other, Body) and body == other:
            raise InputError(f"contacts: {body.name!r} is given twice; give two bodies, or one")
        numbers = (None if each is None else self._number(each) for each in (body, other))
        return report_contacts(self.last, self.stepping.dt, *numbers)

    def joint_position(self, joint: Joint) -> Array:
        """Free coordinates (k,) [m or rad] of a joint, full turns counted: the slide, the angle, the distance."""
        return self._coordinates(joint)[0]

    def joint_velocity(self, joint: Joint) -> Array:
        """Velocities (k,) [m/s or rad/s] of the free coordinates of a joint."""
        return self._coordinates(joint)[1]

    def joint_force(self, joint: Joint) -> tuple[Array, Array]:
        """Mean force (3,) [N] and torque (3,) [N m] of the last step that a joint exerts on b, at its point there.

        World frame; limits and drives included. On a acts the opposite.
        """
        j = self._joint_index(joint)
        force, torque = joints.reactions(self.model, self.state.q, self.state.joint_impulse, self.stepping.dt)
        return force[j], torque[j]

    def joint_broken(self, joint: Joint) -> bool:
        """Whether the joint has broken."""
        return bool(self.state.joint_broken[self._joint_index(joint)])

    def joint_error(self) -> float:
        """Largest distance [m] by which rigid joints that are not broken are apart."""
        return joints.joint_error(self.model, self.state.q, self.state.joint_broken)

    def set_drive(
        self, joint: Joint, position: float | None = None, velocity: float | None = None, coordinate: int = 0
    ) -> None:
        """Give the drive of a joint's coordinate a new position [m or rad] or velocity [m/s or rad/s] to aim at."""
        j = self._joint_index(joint)
        where = f"joint {joint.name!r}"
        tables = self.model.joints
        driven = tables.row_coordinate[(tables.row_joint == j) & (tables.row_driven == 1)].tolist()
        k = checks.whole(where, "coordinate", coordinate)
        if k not in driven:
            raise InputError(f"{where}: coordinate {k} has no drive; those that have: {driven or 'none'}")
        if position is None and velocity is None:
            raise InputError(f"{where}: neither position nor velocity of its drive is given; give one or both")
        target = self.state.joint_target.copy()
        for column, name, value in ((0, "position", position), (1, "velocity", velocity)):
            if value is not None:
                target[j, k, column] = finite(where, name, value)
        self.state = replace(self.state, joint_target=target)

    def set_force(
        self, body: Body, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0), point: ArrayLike | None = None
    ) -> None:
        """Apply a force [N] and a torque [N m], world frame, from now until changed.

        The force acts at the centre of mass; a world ``point`` (3,) [m] adds its moment as the body stands now.
        """
        where = f"body {self._name(body)}"
        push, turn = vector(where, "force", force, largest=inf), vector(where, "torque", torque, largest=inf)
        if point is not None:
            turn += np.cross(vector(where, "point", point) - self.centre_of_mass(body), push)
        self._change("force", body, np.concatenate([push, turn]), (DYNAMIC,))

    def set_velocity(self, body: Body, velocity: ArrayLike, angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Set the velocity [m/s] of the centre of mass and the angular velocity [rad/s]."""
        where = f"body {self._name(body)}"
        parts = [vector(where, "velocity", velocity), vector(where, "angular_velocity", angular_velocity)]
        self._change("v", body, np.concatenate(parts), (DYNAMIC, KINEMATIC))

    def set_pose(self, body: Body, position: ArrayLike, orientation: ArrayLike = (1, 0, 0, 0)) -> None:
        """Move the body's frame to a position (3,) [m] and a rotation (w, x, y, z)."""
        where = f"body {self._name(body)}"
        quaternion = unit_quaternion(where, orientation, "orientation")
        centre = rotation.matrix(quaternion) @ self.model.centre[self._index(body)]
        pose = np.concatenate([vector(where, "position", position) + centre, quaternion])
        self._change("q", body, pose, (DYNAMIC, KINEMATIC, STATIC))

    def restore(self, state: State) -> None:
        """Continue from a saved state of the same model."""
        check_state(self.model, state)
        self.state, self.last = state.copy(), None

    def _index(self, body: Body) -> int:
        """Row of a body in the state's arrays; a handle of another scene raises an InputError."""
        names = self.model.body_names
        if not isinstance(body, Body):
            raise InputError(f"body: {shown(body)} is no handle; give what scene.add_* returned, or scene.body(name)")
        if not handle_fits(body, names):
            raise InputError(f"body {shown(body.name)} is not of this simulation, which has {len(names)} bodies")
        return body.index

    def _name(self, body: Body) -> str:
        """Name of a body in messages; a handle of another scene raises an InputError."""
        return repr(self.model.body_names[self._index(body)])

    def _number(self, body: Body | SoftBody) -> int:
        """Number of a body in contacts, where soft bodies follow the rigid ones."""
        if not isinstance(body, SoftBody):
            return self._index(body)
        self._nodes_of(body)
        return self.model.body_count + body.index

    def _joint_index(self, joint: Joint) -> int:
        """Row of a joint in the state's arrays; a handle of another scene raises an InputError."""
        names = self.model.joint_names
        if not isinstance(joint, Joint):
            raise InputError(f"joint: {shown(joint)} is no handle; give what scene.add_revolute or the like returned")
        if not handle_fits(joint, names):
            raise InputError(f"joint {shown(joint.name)} is not of this simulation, which has {len(names)} joints")
        return joint.index

    def _coordinates(self, joint: Joint) -> tuple[Array, Array]:
        """Positions and velocities (k,) of a joint's coordinates."""
        j, state = self._joint_index(joint), self.state
        position, velocity = joints.coordinates(self.model, state.q, state.v, state.joint_angle)
        count = int((self.model.joints.coordinate[j, :, 0] != NOTHING).sum())
        return position[j, :count], velocity[j, :count]

    def _change(self, name: str, body: Body, row: Array, kinds: tuple[int, ...]) -> None:
        """Replace a row of the state of a body; one on which that has no effect raises an InputError."""
        i = self._index(body)
        kind = int(self.model.body_kind[i])
        if kind not in kinds or i in self.model.motions:
            what = "a body with a motion" if i in self.model.motions else f"a {KINDS[kind]} body"
            raise InputError(f"body {body.name!r}: setting its {name} has no effect, since it is {what}")
        array = getattr(self.state, name).copy()
        array[i] = row
        self.state = replace(self.state, **{name: array})
