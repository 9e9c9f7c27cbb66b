"""The simulation. `Simulation.step` is the whole algorithm of a step; open this file first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.certificate import Certificate, certify
from stickslip.collision.contacts import Contacts, find_contacts
from stickslip.collision.matching import remember
from stickslip.contact.problem import ContactProblem
from stickslip.contact_report import ContactReport, report_contacts
from stickslip.dynamics import contact_rows, joints, prescribed, rigid_bodies
from stickslip.errors import DivergenceError, InputError
from stickslip.geometry import rotation
from stickslip.geometry.shapes import finite, unit_quaternion, vector
from stickslip.joint_tables import NOTHING
from stickslip.joints import Joint
from stickslip.linearisation import Linearisation
from stickslip.model import DYNAMIC, KINEMATIC, STATIC, Model, compile_scene
from stickslip.scene import KINDS, Body, Scene
from stickslip.solvers.protocol import Solution, Solver
from stickslip.solvers.registry import DEFAULT, make_solver
from stickslip.solvers.repeated import solve_repeatedly
from stickslip.stabilisation import stabilise
from stickslip.state import State, check_state, initial_state
from stickslip.stepping import Stepping


@dataclass(frozen=True, eq=False)
class StepResult:
    """Everything one step produced."""

    state: State
    contacts: Contacts
    problem: ContactProblem
    solution: Solution
    certificate: Certificate
    warm: NDArray[np.float64] | None = None
    """(m,) impulses that the solver started from: those of the last step."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds per stage: collide, assemble, solve, integrate, stabilise, certify."""


class Simulation:
    """A scene in motion: holds the model, the current state and the result of the last step."""

    def __init__(
        self,
        scene: Scene | Model,
        dt: float | None = None,
        solver: str | Solver = DEFAULT,
        stepping: Stepping | None = None,
    ) -> None:
        """Compile the scene and start at time zero; ``dt`` [s] takes the place of the one in ``stepping``."""
        if not isinstance(scene, Scene | Model):
            raise InputError(f"simulation: scene is {scene!r}; a Scene or a Model is needed")
        self.model = scene if isinstance(scene, Model) else compile_scene(scene)
        self.stepping = stepping or Stepping()
        if dt is not None:
            self.stepping = replace(self.stepping, dt=dt)
        self.solver = make_solver(solver) if isinstance(solver, str) else solver
        if not callable(getattr(self.solver, "solve", None)):
            raise InputError(f"simulation: solver is {solver!r}; the name of a solver or a solver is needed")
        if self.model.joints.count and self.stepping.stabilisation:
            raise InputError(
                f"stepping: stabilisation is {self.stepping.stabilisation}, but the scene has joints, which moving "
                "bodies apart would open; it must be 0 (joints hold at position level in every step)"
            )
        self.state = initial_state(self.model)
        self.last: StepResult | None = None

    def step(self) -> StepResult:
        """Advance by one step: find contacts, assemble the problem, solve it, integrate, stabilise, certify."""
        model, state, options = self.model, self.state, self.stepping
        h = options.dt
        self.last = None  # its problem is as large as the one to come
        clock = [time.perf_counter()]

        # find contacts at the start of the step, or at its middle ([erleben2017] eq. 41)
        v = prescribed.velocities(model, state, h)
        q = state.q if options.scheme == "euler" else rigid_bodies.advance(state.q, v, 0.5 * h)
        contacts = _contacts_of_step(model, q, v, options, model.ignored_pairs(state.joint_broken))
        clock.append(time.perf_counter())

        # the problem of this step
        linearisation = Linearisation(model, state, contacts, q, v, options)
        warm = linearisation.remembered() if options.warm_start else None
        problem = linearisation.at_start(warm)
        clock.append(time.perf_counter())

        # solvers that are nonlinear in positions linearise again themselves; joints hold at position level with all
        if getattr(self.solver, "nonlinear", False):
            solution = self.solver.solve(problem, warm, linearisation.at)
        elif model.joints.count:
            solution = solve_repeatedly(self.solver, problem, warm, linearisation.joints_at)
        else:
            solution = self.solver.solve(problem, warm)
        problem = solution.problem or problem
        clock.append(time.perf_counter())

        v_end = rigid_bodies.scatter(model, v, solution.v)
        after = State(
            time=state.time + h,
            steps=state.steps + 1,
            q=prescribed.positions(model, rigid_bodies.advance(q, v_end, options.horizon), state.time + h),
            v=v_end,
            force=state.force,
            contact_key=contacts.key,
            contact_impulse=remember(contacts, solution.lam[: linearisation.contact_row_count]),
            joint_impulse=linearisation.joint_impulses(solution.lam),
            joint_angle=state.joint_angle,
            joint_target=state.joint_target,
            joint_broken=state.joint_broken,
        )
        if model.joints.count:
            after = joints.after_step(model, state, linearisation.settled(after), h)
        _check_finite(model, after, contacts, solution.lam)
        clock.append(time.perf_counter())

        # overlaps that the step left are removed from the positions alone ([erleben2017] sec. 4.4)
        if options.stabilisation:
            after = replace(after, q=stabilise(model, after.q, options))
        clock.append(time.perf_counter())

        certificate = certify(model, replace(state, v=v), after, problem, solution, contacts.gap, h)
        clock.append(time.perf_counter())
        stages = ("collide", "assemble", "solve", "integrate", "stabilise", "certify")
        timings = dict(zip(stages, np.diff(clock).tolist(), strict=True))
        self.state = after
        self.last = StepResult(after, contacts, problem, solution, certificate, warm, timings)
        return self.last

    def run(self, steps: int, callback: Callable[[StepResult], None] | None = None) -> State:
        """Take several steps; ``callback`` sees the result of each."""
        if not isinstance(steps, int | np.integer) or steps < 0:
            raise InputError(f"simulation: steps is {steps!r}; it must be a whole number, zero or more")
        for _ in range(steps):
            result = self.step()
            if callback is not None:
                callback(result)
        return self.state

    # ---- reading and changing the state ------------------------------------------------------------------

    def position(self, body: Body) -> NDArray[np.float64]:
        """Position (3,) [m] of the body's frame (not of its centre of mass) in the world."""
        i = self._index(body)
        return self.state.q[i, :3] - rotation.matrix(self.state.q[i, 3:]) @ self.model.centre[i]

    def rotation(self, body: Body) -> NDArray[np.float64]:
        """Rotation (w, x, y, z) of the body."""
        return self.state.q[self._index(body), 3:].copy()

    def centre_of_mass(self, body: Body) -> NDArray[np.float64]:
        """Position (3,) [m] of the centre of mass in the world."""
        return self.state.q[self._index(body), :3].copy()

    def velocity(self, body: Body) -> NDArray[np.float64]:
        """Velocity (3,) [m/s] of the centre of mass in the world."""
        return self.state.v[self._index(body), :3].copy()

    def angular_velocity(self, body: Body) -> NDArray[np.float64]:
        """Angular velocity (3,) [rad/s] in the world."""
        return self.state.v[self._index(body), 3:].copy()

    def contacts(self, body: Body | None = None, other: Body | None = None) -> ContactReport:
        """Contacts of the last step: all, those of a body, or those of a pair; forces act on ``body``."""
        if self.last is None:
            raise InputError(
                "contacts: no step was completed since the start, the last restore or the last failure; call step()"
            )
        for chosen in (body, other):
            if chosen is not None:
                self._index(chosen)
        if body is not None and body == other:
            raise InputError(f"contacts: {body.name!r} is given twice; give two bodies, or one")
        return report_contacts(self.last.contacts, self.last.problem, self.last.solution, self.stepping.dt, body, other)

    def joint_position(self, joint: Joint) -> NDArray[np.float64]:
        """Free coordinates (k,) [m or rad] of a joint, full turns counted: the slide, the angle, the distance."""
        return self._coordinates(joint)[0]

    def joint_velocity(self, joint: Joint) -> NDArray[np.float64]:
        """Velocities (k,) [m/s or rad/s] of the free coordinates of a joint."""
        return self._coordinates(joint)[1]

    def joint_force(self, joint: Joint) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
        if not isinstance(coordinate, int | np.integer) or isinstance(coordinate, bool):
            raise InputError(f"{where}: coordinate is {coordinate!r}; a whole number is needed, one of {driven}")
        if coordinate not in driven:
            raise InputError(f"{where}: coordinate {coordinate!r} has no drive; those that have: {driven or 'none'}")
        if position is None and velocity is None:
            raise InputError(f"{where}: neither position nor velocity of its drive is given; give one or both")
        target = self.state.joint_target.copy()
        for column, name, value in ((0, "position", position), (1, "velocity", velocity)):
            if value is not None:
                target[j, coordinate, column] = finite(where, name, value)
        self.state = replace(self.state, joint_target=target)

    def set_force(
        self, body: Body, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0), point: ArrayLike | None = None
    ) -> None:
        """Apply a force [N] and a torque [N m], world frame, from now until changed.

        The force acts at the centre of mass; a world ``point`` (3,) [m] adds its moment as the body stands now.
        """
        where = f"body {body.name!r}"
        push, turn = vector(where, "force", force), vector(where, "torque", torque)
        if point is not None:
            turn += np.cross(vector(where, "point", point) - self.centre_of_mass(body), push)
        self._change("force", body, np.concatenate([push, turn]), (DYNAMIC,))

    def set_velocity(self, body: Body, velocity: ArrayLike, angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Set the velocity [m/s] of the centre of mass and the angular velocity [rad/s]."""
        where = f"body {body.name!r}"
        parts = [vector(where, "velocity", velocity), vector(where, "angular_velocity", angular_velocity)]
        self._change("v", body, np.concatenate(parts), (DYNAMIC, KINEMATIC))

    def set_pose(self, body: Body, position: ArrayLike, orientation: ArrayLike = (1, 0, 0, 0)) -> None:
        """Move the body's frame to a position (3,) [m] and a rotation (w, x, y, z)."""
        where = f"body {body.name!r}"
        quaternion = unit_quaternion(where, orientation)
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
            raise InputError(f"body: {body!r} is no handle; give what scene.add_* returned, or scene.body(name)")
        if not (0 <= body.index < len(names) and names[body.index] == body.name):
            raise InputError(f"body {body.name!r} is not of this simulation, which has {len(names)} bodies")
        return body.index

    def _joint_index(self, joint: Joint) -> int:
        """Row of a joint in the state's arrays; a handle of another scene raises an InputError."""
        names = self.model.joint_names
        if not isinstance(joint, Joint):
            raise InputError(f"joint: {joint!r} is no handle; give what scene.add_revolute or the like returned")
        if not (0 <= joint.index < len(names) and names[joint.index] == joint.name):
            raise InputError(f"joint {joint.name!r} is not of this simulation, which has {len(names)} joints")
        return joint.index

    def _coordinates(self, joint: Joint) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Positions and velocities (k,) of a joint's coordinates."""
        j, state = self._joint_index(joint), self.state
        position, velocity = joints.coordinates(self.model, state.q, state.v, state.joint_angle)
        count = int((self.model.joints.coordinate[j, :, 0] != NOTHING).sum())
        return position[j, :count], velocity[j, :count]

    def _change(self, name: str, body: Body, row: NDArray[np.float64], kinds: tuple[int, ...]) -> None:
        """Replace a row of the state of a body; one on which that has no effect raises an InputError."""
        i = self._index(body)
        kind = int(self.model.body_kind[i])
        if kind not in kinds or i in self.model.motions:
            what = "a body with a motion" if i in self.model.motions else f"a {KINDS[kind]} body"
            raise InputError(f"body {body.name!r}: setting its {name} has no effect, since it is {what}")
        array = getattr(self.state, name).copy()
        array[i] = row
        self.state = replace(self.state, **{name: array})


def _contacts_of_step(
    model: Model, q: NDArray[np.float64], v: NDArray[np.float64], options: Stepping, ignored: NDArray[np.int64]
) -> Contacts:
    """Contacts that can close within the step, but of pairs whose keys are ``ignored``.

    Bodies look as far as they move; where one that is slow now may be hit and move on, the search is repeated.
    """
    far = contact_rows.APPROACH_SAFETY * options.dt
    margin = options.margin_under(float(np.linalg.norm(model.gravity)))
    if not options.lookahead:
        return find_contacts(model, q, np.full(model.body_count, 0.5 * margin), ignored=ignored)
    # seen from where most bodies rest: those that fall side by side need not look for each other
    common = np.median(v[model.dynamic, :3], axis=0) if len(model.dynamic) else np.zeros(3)
    speed = contact_rows.speeds(model, v, common)
    gained = np.zeros(model.body_count)

    def pair_reach(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.float64]:
        return margin + far * (contact_rows.relative_speeds(model, v, a, b) + gained[a] + gained[b])

    contacts = find_contacts(model, q, far * speed + 0.5 * margin, pair_reach=pair_reach, ignored=ignored)
    for search in range(contact_rows.SEARCHES + 1):
        closing = contact_rows.approach(contacts.body_a, contacts.body_b, contacts.point, contacts.normal, q, v)
        if search == contact_rows.SEARCHES:
            break
        new = contact_rows.velocity_gains(
            model, contacts.body_a, contacts.body_b, contacts.gap, closing, contacts.restitution, far, margin
        )
        hit = far * (new - gained) > np.maximum(margin, contact_rows.HIT_SHARE * model.radius)
        if not hit.any():
            break
        gained = np.where(hit, new, gained)
        contacts = find_contacts(model, q, far * (speed + gained) + 0.5 * margin, contacts, hit, pair_reach, ignored)
    closest = margin + far * np.maximum(gained[contacts.body_a] + gained[contacts.body_b] - closing, 0.0)
    near = contacts.gap <= closest
    return contacts if near.all() else contacts.take(np.flatnonzero(near))


def _check_finite(model: Model, state: State, contacts: Contacts, lam: NDArray[np.float64]) -> None:
    """Raise a DivergenceError that names time, body and contact where a step gave a non-finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        # squares, so that a speed whose energy overflows counts as well
        good = np.isfinite(state.q).all(axis=1) & np.isfinite(state.v * state.v).all(axis=1)
    if good.all():
        return
    body = int(np.argmin(good))
    touching = np.flatnonzero((contacts.body_a == body) | (contacts.body_b == body))
    rows = model.contact_rows
    impulse = lam[: rows * len(contacts)].reshape(-1, rows)
    bad = touching[~np.isfinite(impulse[touching]).all(axis=1)]
    where = "no contact of it is involved"
    if len(touching):
        c = int(bad[0]) if len(bad) else int(touching[0])
        a, b = model.body_names[contacts.body_a[c]], model.body_names[contacts.body_b[c]]
        where = f"contact {a!r} / {b!r}, gap {contacts.gap[c]:.3g} m, impulse {impulse[c]} N s"
    what, row = ("velocity", state.v[body]) if np.isfinite(state.q[body]).all() else ("pose", state.q[body])
    numbers = ", ".join(f"{x:.3g}" for x in row)
    raise DivergenceError(
        f"step to t = {state.time:.6g} s: body {model.body_names[body]!r} got the {what} ({numbers}); {where}; "
        "the simulation still holds the state before this step"
    )
