"""Many worlds of one scene, as people hold them: arrays have a leading world axis; what is returned is a copy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip import checks, reading_robots, reading_state
from stickslip.arrays import Array, Bools, LongInts
from stickslip.bodies.tree.compiling import joint_places
from stickslip.bodies.tree.tables import tree_work
from stickslip.certify.step_result import StepResult
from stickslip.closing_loops import with_loops_closed
from stickslip.compiled.driver import reason_against
from stickslip.compiled.many_joints import coordinates_of_many
from stickslip.compiled.many_links import place_many
from stickslip.cores import core_count
from stickslip.errors import InputError, WorldsWarning
from stickslip.keywords import unknown
from stickslip.model.layout import BODY, NODE
from stickslip.model.model import DYNAMIC, FRAME, KINEMATIC, STATIC, Model
from stickslip.model.state import State, check_state, initial_state
from stickslip.model.stepping import Stepping
from stickslip.reading_robots import robots_of, trees_of
from stickslip.reading_state import body_row, coordinate_count, joint_coordinates, joint_row, node_rows
from stickslip.robots.records import Sensor
from stickslip.scene.body import KINDS, Body
from stickslip.scene.joint import Joint
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Scene
from stickslip.scene.soft_body import SoftBody
from stickslip.simulation import Simulation
from stickslip.solvers.protocol import Solver, SolvesProblems
from stickslip.solvers.registry import DEFAULT
from stickslip.worlds.certificates import DIVERGED, WorldCertificates, shaped
from stickslip.worlds.contacts import PairContacts, contacts_of_pairs, total_pushes
from stickslip.worlds.controls import WorldControls, set_drives, set_joint_drive, set_joint_effort
from stickslip.worlds.drivers import CompiledWorlds, PythonWorlds, WorldsDriver
from stickslip.worlds.parameters import Variants, checked_parameters
from stickslip.worlds.records import Recorded
from stickslip.worlds.sensors import OF_STEP, READERS, WorldsOfRobot, matrices
from stickslip.worlds.states import WorldStates, states_for

Mask = NDArray[np.bool_] | NDArray[np.integer[Any]] | Sequence[int] | Sequence[bool] | int | None
"""Which worlds: a mask (N,), numbers, or None for all."""
Control = ArrayLike | Mapping[Any, ArrayLike]
"""(N, nu) or (nu,) of the only robot, or a mapping of robots or their names to such."""


class Worlds:
    """N worlds of one scene. World k has the bits of a ``Simulation`` that is given the same, whatever others do."""

    def __init__(
        self,
        scene: Scene | Model,
        count: int,
        dt: float | None = None,
        threads: int | None = None,
        solver: str | Solver | SolvesProblems = DEFAULT,
        stepping: Stepping | None = None,
    ) -> None:
        """``dt`` [s] takes the place of the one in ``stepping``; threads: as many as there are cores where None."""
        count = checks.whole("worlds", "count", count, 1)
        self.template = Simulation(scene, dt, solver, stepping, driver="python")
        self.scene = scene if isinstance(scene, Scene) else None
        self.model, self.stepping, self.solver = self.template.model, self.template.stepping, self.template.solver
        self.threads = min(core_count() if threads is None else checks.whole("worlds", "threads", threads, 1), count)
        self.robots: dict[str, Robot] = robots_of(self.model)
        """By name."""
        self.start = self.template.state
        """Where all worlds start."""
        self.controls = WorldControls(self.model, count)
        self.reason = reason_against(self.model, self.stepping, self.solver)
        if not self.reason and self.stepping.tries:
            self.reason = f"stepping has redetect = {self.stepping.redetect}, which looks at where steps led"
        """Why the compiled driver does not step them; "": it does."""
        self._models: dict[int, Model] = {}
        self._variants: Variants | None = None
        states = [self.start] * count
        self._driver: WorldsDriver
        if self.reason:
            self._driver = PythonWorlds(self.template, list(states), self.controls, self.model_of)
            warnings.warn(
                f"worlds are stepped one after the other by the Python driver, which is slow: {self.reason}",
                WorldsWarning, stacklevel=2,
            )  # fmt: skip
        else:
            self._driver = CompiledWorlds(self.template, states, self.controls, self.model_of, self.threads)
        self._diverged = np.zeros(count, dtype=np.bool_)
        self._links: dict[str, tuple[Array, Array]] = {}
        """Poses and velocities of links by robot, of the states as they are."""
        kinds = {sensor.kind for robot in self.robots.values() for sensor in robot.record.sensors}
        self._keeps_before = any(kind in OF_STEP for kind in kinds)
        self._before: Callable[[int], State] | None = None
        """States before the last step, where a sensor needs them."""
        self._put_since: set[int] = set()
        """Worlds that were put into a state since then."""
        self._again: dict[int, StepResult | None] = {}
        """Last steps, taken again for sensors that need them."""

    def __len__(self) -> int:
        return len(self._diverged)

    @property
    def count(self) -> int:
        """Number N of worlds."""
        return len(self)

    @property
    def driver(self) -> str:
        """Who takes the steps: "compiled" or "python"."""
        return self._driver.name

    @property
    def nbytes(self) -> int:
        """Bytes of memory of all worlds, without tables and rooms that they share."""
        controls = self.controls
        own = sum(array.nbytes for each in (controls.actuators, controls.frame_forces) for array in each.values())
        own += controls.force.nbytes + controls.target.nbytes + controls.effort.nbytes
        return self._driver.nbytes() + own + self._diverged.nbytes

    # ---- stepping ---------------------------------------------------------------------------------------------

    def step(self, control: Control | None = None, substeps: int = 1) -> None:
        """Take ``substeps`` steps of all worlds that have not diverged.

        control: of actuators, from now on: (N, nu) or (nu,) of the only robot, or a mapping of robots to such.
        """
        taken = checks.whole("worlds", "substeps", substeps, 1)
        if control is not None:
            self.controls.set_actuators(self.controls.given("worlds", control, ()))
        self.advance(taken)

    def advance(self, substeps: int) -> None:
        """Take steps under the controls as they are; nothing is checked."""
        going = ~self._diverged
        if not going.any():
            return
        self._forget()
        if self._keeps_before:
            if substeps > 1:
                self._diverged |= self._driver.step(going, substeps - 1)
                going, substeps = ~self._diverged, 1
            self._before = self._driver.snapshot()
            self._put_since.clear()
        self._diverged |= self._driver.step(going, substeps)

    def run(self, controls: Mapping[str, Array], count: int, substeps: int, every: int, begun: int) -> list[Recorded]:
        """Apply ``count`` controls (T, N, nu) by robot, of which ``begun`` came before; nothing is checked.

        Records after every so many of all of them. Worlds of the compiled driver take them in one call, but for steps
        that it hands back, and for the last one where sensors look at that.
        """
        self._forget()
        body = count - 1 if self._keeps_before else count
        first = min(body, -begun % every)  # up to the next record, then whole periods, then what is left
        whole = (body - first) // every * every
        parts = [(first, [first] if (begun + first) % every == 0 else []), (whole, [*range(every, whole + 1, every)])]
        records, done = list[Recorded](), 0
        for part, rows in [*parts, (body - first - whole, [])]:
            if part:
                own = {name: numbers[done : done + part] for name, numbers in controls.items()}
                before = self._diverged.copy()
                found = self._driver.run(~before, own, part, substeps, rows)
                gone = found.lost_by | before
                found.certificate.status[gone], found.certificate.converged[gone] = DIVERGED, False
                records += [Recorded(found.time, found.q, found.v, gone, found.certificate)] if rows else []
                self._diverged |= found.lost
                done += part
        if body < count:
            self.controls.set_actuators({name: numbers[-1] for name, numbers in controls.items()})
            self.advance(substeps)
            if (begun + count) % every == 0:
                certificate = shaped(self.certificate, (1, len(self)))
                q, v = self.coordinates[None], self.velocities[None]
                records.append(Recorded(self.time[None], q, v, self.diverged[None], certificate))
        return records

    def _forget(self) -> None:
        """What was found out about states that change now."""
        self._links.clear()
        self._again.clear()

    @property
    def diverged(self) -> Bools:
        """(N,) worlds whose step diverged: they stay at their last good state until they are reset."""
        return self._diverged.copy()

    @property
    def time(self) -> Array:
        """(N,) [s]"""
        return self._driver.time.copy()

    @property
    def coordinates(self) -> Array:
        """(N, nq) q of the states."""
        return np.array(self._driver.q)

    @property
    def velocities(self) -> Array:
        """(N, nv) v of the states."""
        return np.array(self._driver.v)

    @property
    def steps(self) -> LongInts:
        """(N,) steps since time zero."""
        return self._driver.steps.copy()

    @property
    def certificate(self) -> WorldCertificates:
        """How wrong the last step of each world is: fields of ``Certificate`` as arrays (N,)."""
        found = self._driver.certificates()
        found.status[self._diverged], found.converged[self._diverged] = DIVERGED, False
        return found

    @property
    def status(self) -> NDArray[np.str_]:
        """(N,) how the last step of each world ended, in the words of certificates; "unstepped" before it."""
        return self.certificate.status

    # ---- states -----------------------------------------------------------------------------------------------

    def get_state(self, worlds: Mask = None) -> WorldStates:
        """States of all or some worlds: a value that can be saved, from which runs go on bit for bit."""
        return WorldStates.of([self._driver.state(int(k)) for k in self._chosen(worlds)])

    def set_state(self, state: WorldStates | State | Sequence[State], worlds: Mask = None) -> None:
        """Put all or some worlds into states: one for each of them, or one for all. Controls stay as they are."""
        chosen = self._chosen(worlds)
        found = states_for("worlds", state, len(chosen))
        if isinstance(found, State):
            check_state(self.model, found)
        else:
            for k in range(len(found)):
                check_state(self.model, found[k])
        self._put(chosen, found)

    def reset(self, mask: Mask = None, state: WorldStates | State | Sequence[State] | None = None) -> None:
        """Put all or some worlds where they started, under the controls of the start, or into states."""
        chosen = self._chosen(mask)
        if state is not None:
            self.set_state(state, chosen)
        elif self._variants is not None and self._variants.parameters.of_scene:
            self._put(chosen, WorldStates.of([self._start_of(int(k)) for k in chosen]) if len(chosen) else self.start)
        else:
            self._put(chosen, self.start)
        self.controls.reset(chosen)

    def _put(self, chosen: LongInts, states: WorldStates | State) -> None:
        self._forget()
        if isinstance(states, State):
            self._driver.set_states(chosen, states.copy())
        else:
            for number, k in enumerate(chosen.tolist()):
                self._driver.set_state(k, states[number])
        self._put_since.update(chosen.tolist())
        self._diverged[chosen] = False

    def _start_of(self, k: int) -> State:
        model = self.model_of(k)
        return with_loops_closed(model, initial_state(model))

    def state(self, k: int) -> State:
        """The state of world k, from which a ``Simulation`` of ``model_of(k)`` can go on."""
        return self._driver.state(checks.whole("worlds", "world", k, 0, len(self) - 1))

    def _chosen(self, worlds: Mask) -> LongInts:
        """Numbers of worlds from a mask, numbers, or None for all."""
        if worlds is None:
            return np.arange(len(self))
        given = np.atleast_1d(np.asarray(worlds))
        if given.dtype == np.bool_:
            if given.shape != (len(self),):
                raise InputError(f"worlds: the mask has shape {given.shape}; one of {len(self)} truth values is needed")
            return np.flatnonzero(given)
        if not given.size:
            return np.zeros(0, np.int64)
        return checks.indices("worlds", "numbers of worlds", given, len(self)).astype(np.int64)

    # ---- rigid bodies and links -------------------------------------------------------------------------------

    def _frame(self, body: Body) -> tuple[Array, Array]:
        """Poses (N, 7) of the frame of a body, at its centre of mass, or of a link, and velocities (N, 6)."""
        row, model = body_row(self.model, body), self.model
        if row < model.rigid_count:
            return self._driver.q[:, 7 * row : 7 * row + 7], self._driver.v[:, 6 * row : 6 * row + 6]
        kind, first = self._kind_of(row)
        if kind.name not in self.robots:
            raise InputError(f"body {body.name!r}: it is of a kind from outside the package, which worlds cannot read")
        pose, velocity = self._links_of(self.robots[kind.name])
        number = int(kind.frame_link[row - first])
        return pose[:, number], velocity[:, number]

    def position(self, body: Body) -> Array:
        """Positions (N, 3) [m] of the body's frame (not of its centre of mass)."""
        pose, centre = self._frame(body)[0], self.model.centre[body_row(self.model, body)]
        return np.asarray(pose[:, :3] - np.einsum("nij,j->ni", matrices(pose[:, 3:]), centre))

    def rotation(self, body: Body) -> Array:
        """Rotations (N, 4) (w, x, y, z)."""
        return self._frame(body)[0][:, 3:].copy()

    def velocity(self, body: Body) -> Array:
        """Velocities (N, 3) [m/s] of the centre of mass; of a link, of its frame."""
        return self._frame(body)[1][:, :3].copy()

    def angular_velocity(self, body: Body) -> Array:
        """Angular velocities (N, 3) [rad/s], world frame."""
        return self._frame(body)[1][:, 3:].copy()

    def set_position(
        self, body: Body, position: ArrayLike, rotation: ArrayLike | None = None, worlds: Mask = None
    ) -> None:
        """Move the body's frame to positions (n, 3) or (3,) [m] and rotations (n, 4) or (4,); None: as it is turned."""
        row, where, chosen = (
            self._row(body, "pose", (DYNAMIC, KINEMATIC, STATIC)),
            f"body {body.name!r}",
            self._chosen(worlds),
        )
        x = checks.array(where, "position", position, (3,), (len(chosen), 3))
        turn = self._driver.q[chosen, 7 * row + 3 : 7 * row + 7]
        if rotation is not None:
            given = checks.array(where, "rotation", rotation, (4,), (len(chosen), 4))
            length = np.linalg.norm(given, axis=-1, keepdims=True)
            if not (length > 1e-12).all():
                raise InputError(f"{where}: rotation has a quaternion of zeros; (w, x, y, z) other than zero is needed")
            turn = np.broadcast_to(given / length, (len(chosen), 4))
        centre = np.einsum("nij,j->ni", matrices(turn), self.model.centre[row])
        pose = np.concatenate([np.broadcast_to(x, (len(chosen), 3)) + centre, turn], axis=1)
        self._write(chosen, "q", slice(7 * row, 7 * row + 7), pose)

    def set_velocity(
        self, body: Body, velocity: ArrayLike, angular_velocity: ArrayLike = (0, 0, 0), worlds: Mask = None
    ) -> None:
        """Set velocities (n, 3) or (3,) [m/s] of the centre of mass and angular velocities [rad/s]."""
        row, where, chosen = (
            self._row(body, "velocity", (DYNAMIC, KINEMATIC)),
            f"body {body.name!r}",
            self._chosen(worlds),
        )
        parts = [
            np.broadcast_to(checks.array(where, what, given, (3,), (len(chosen), 3)), (len(chosen), 3))
            for what, given in (("velocity", velocity), ("angular_velocity", angular_velocity))
        ]
        self._write(chosen, "v", slice(6 * row, 6 * row + 6), np.concatenate(parts, axis=1))

    def set_force(
        self, body: Body, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0), worlds: Mask = None
    ) -> None:
        """Apply forces (n, 3) or (3,) [N] at the centre of mass and torques [N m], world frame, until changed."""
        where, chosen = f"body {body.name!r}", self._chosen(worlds)
        row = body_row(self.model, body)
        parts = [
            np.broadcast_to(checks.array(where, what, given, (3,), (len(chosen), 3), largest=np.inf), (len(chosen), 3))
            for what, given in (("force", force), ("torque", torque))
        ]
        rows = np.concatenate(parts, axis=1)
        if row < self.model.rigid_count:
            row = self._row(body, "force", (DYNAMIC,))
            first = self.model.layout.v_slice[BODY].start + 6 * row
            self.controls.force[chosen, first : first + 6] = rows
            return
        kind, first = self._kind_of(row)
        forces = self.controls.frame_forces
        if kind.name not in forces:
            forces[kind.name] = np.zeros((len(self), kind.frame_count, 6))
        forces[kind.name][chosen, row - first] = rows

    def _row(self, body: Body, what: str, kinds: tuple[int, ...]) -> int:
        """Row of a body of which something can be set."""
        row = body_row(self.model, body)
        kind = int(self.model.body_kind[row])
        if kind not in kinds or row in self.model.motions:
            is_ = (
                "a body with a motion"
                if row in self.model.motions
                else f"a {KINDS[kind]} body"
                if kind < FRAME
                else "a link"
            )
            raise InputError(f"body {body.name!r}: setting its {what} has no effect, since it is {is_}")
        return row

    def _write(self, chosen: LongInts, name: str, where: slice, rows: Array) -> None:
        """Put other numbers into q or v of some worlds."""
        self._forget()
        self._driver.write(chosen, name, where, rows)

    def contact_force(self, body: Body, other: Body | None = None) -> Array:
        """Sums (N, 3) [N] of the contact forces of the last step on a body, from another one or from all."""
        rows = body_row(self.model, body), None if other is None else body_row(self.model, other)
        if rows[0] == rows[1]:
            raise InputError(f"contacts: {body.name!r} is given twice; give two bodies, or one")
        return total_pushes(self._driver.contacts(), len(self), *rows) / self.stepping.dt

    def contacts(self, pairs: Sequence[tuple[Body, Body]] | None = None) -> PairContacts:
        """Contacts of the last step between P pairs of bodies: how many (N, P), and forces (N, P, 3).

        None: all pairs that have contacts in any world.
        """
        return contacts_of_pairs(self.model, self._driver.contacts(), len(self), self.stepping.dt, pairs)

    def force(self, body: Body) -> tuple[Array, Array]:
        """Forces (N, 3) [N] and torques (N, 3) [N m] that ``set_force`` applies to a body."""
        row, first = body_row(self.model, body), self.model.rigid_count
        if row < first:
            rows = self.controls.body_force[:, row]
        else:
            kind, first = self._kind_of(row)
            forces = self.controls.frame_forces.get(kind.name)
            rows = np.zeros((len(self), 6)) if forces is None else forces[:, row - first]
        return rows[:, :3].copy(), rows[:, 3:].copy()

    def _kind_of(self, row: int) -> tuple[Any, int]:
        """The kind of bodies of which a frame is, and its first row."""
        first = self.model.rigid_count
        for kind in self.model.others:
            if row < first + kind.frame_count:
                break
            first += kind.frame_count
        return kind, first

    # ---- soft bodies ------------------------------------------------------------------------------------------

    def nodes(self, body: SoftBody) -> Array:
        """Positions (N, k, 3) [m] of the nodes of a soft body."""
        own, where = node_rows(self.model, body), self.model.layout.q_slice[NODE]
        return self._driver.q[:, where].reshape(len(self), -1, 3)[:, own].copy()

    def node_velocities(self, body: SoftBody) -> Array:
        """Velocities (N, k, 3) [m/s] of the nodes of a soft body."""
        own, where = node_rows(self.model, body), self.model.layout.v_slice[NODE]
        return self._driver.v[:, where].reshape(len(self), -1, 3)[:, own].copy()

    def set_node_force(
        self, body: SoftBody, force: ArrayLike, nodes: Sequence[int] | None = None, worlds: Mask = None
    ) -> None:
        """Apply a force [N] to nodes, all where None, until changed: (3,), or (n, 3) by world."""
        own, where, chosen = node_rows(self.model, body), f"soft body {body.name!r}", self._chosen(worlds)
        given = checks.array(where, "node_force", force, (3,), (len(chosen), 3), largest=np.inf)
        count = own.stop - own.start
        which = np.arange(count) if nodes is None else checks.indices(where, "nodes", nodes, count)
        array = self.controls.force[:, self.model.layout.v_slice[NODE]].reshape(len(self), -1, 3)
        array[chosen[:, None], own.start + np.asarray(which)] = np.broadcast_to(given, (len(chosen), 3))[:, None]

    # ---- joints between bodies --------------------------------------------------------------------------------

    def joint_position(self, joint: Joint) -> Array:
        """Positions (N, k) [m or rad] of the free coordinates of a joint, full turns counted."""
        return self._coordinates_of(joint)[0]

    def joint_velocity(self, joint: Joint) -> Array:
        """Velocities (N, k) [m/s or rad/s] of the free coordinates of a joint."""
        return self._coordinates_of(joint)[1]

    def _coordinates_of(self, joint: Joint) -> tuple[Array, Array]:
        model, j = self.model, joint_row(self.model, joint)
        count = coordinate_count(model, j)
        if model.others:
            each = [joint_coordinates(model, self._driver.state(k), joint) for k in range(len(self))]
            return np.array([at for at, _ in each]), np.array([rate for _, rate in each])
        angle, bodies = self._driver.joint_angle, (len(self), model.rigid_count)
        at, rate = np.empty(angle.shape), np.empty(angle.shape)
        q, v = self._driver.q[:, : 7 * bodies[1]], self._driver.v[:, : 6 * bodies[1]]
        q, v = np.ascontiguousarray(q).reshape(*bodies, 7), np.ascontiguousarray(v).reshape(*bodies, 6)
        coordinates_of_many(model.joints, q, v, angle, at, rate)  # type: ignore[no-untyped-call]
        return at[:, j, :count].copy(), rate[:, j, :count].copy()

    def joint_force(self, joint: Joint) -> tuple[Array, Array]:
        """Mean forces (N, 3) [N] and torques (N, 3) [N m] of the last step on the second body, at the joint's point."""
        h = self.stepping.dt
        each = [reading_state.joint_force(self.model_of(k), self._driver.state(k), h, joint) for k in range(len(self))]
        return np.array([force for force, _ in each]), np.array([torque for _, torque in each])

    def joint_broken(self, joint: Joint) -> Bools:
        """(N,) whether a joint has broken."""
        row = joint_row(self.model, joint)
        return self._driver.joint_broken[:, row].copy()

    def set_drive(
        self, joint: Joint, position: ArrayLike | None = None, velocity: ArrayLike | None = None, coordinate: int = 0,
        worlds: Mask = None,
    ) -> None:  # fmt: skip
        """What the drive of a joint aims at from now on: (n,) or a number [m or rad], [m/s or rad/s]."""
        chosen = self._chosen(worlds)
        set_joint_drive(self.model, self.controls, joint, position, velocity, coordinate, chosen)

    def set_effort(self, joint: Joint, value: ArrayLike, coordinate: int = 0, worlds: Mask = None) -> None:
        """Apply forces [N] or torques [N m] (n,), or a number, along a coordinate of a joint, until changed."""
        set_joint_effort(self.model, self.controls, joint, value, coordinate, self._chosen(worlds))

    # ---- robots -----------------------------------------------------------------------------------------------

    def joint_positions(self, robot: Robot) -> Array:
        """(N, nq) [m or rad]; a floating base first: position and rotation (w, x, y, z)."""
        return self._driver.q[:, self.model.layout.q_slice[trees_of(self.model, robot).name]].copy()

    def joint_velocities(self, robot: Robot) -> Array:
        """(N, nv) [m/s or rad/s]; a floating base first: linear and angular velocity, world frame."""
        return self._driver.v[:, self.model.layout.v_slice[trees_of(self.model, robot).name]].copy()

    def set_joint_positions(self, robot: Robot, q: ArrayLike, worlds: Mask = None) -> None:
        """Put a robot into postures (n, nq) or (nq,); rotations are made unit."""
        trees, chosen = trees_of(self.model, robot), self._chosen(worlds)
        nq = len(trees.q_start)
        given = checks.array(f"robot {robot.name!r}", "position", q, (nq,), (len(chosen), nq))
        rows = np.array(np.broadcast_to(given, (len(chosen), nq)))
        for place in joint_places(robot.record.links).values():
            if place.coordinates > 1:
                turn = slice(place.q + place.coordinates - 4, place.q + place.coordinates)
                length = np.linalg.norm(rows[:, turn], axis=1, keepdims=True)
                if not (length > 0.0).all():
                    raise InputError(
                        f"robot {robot.name!r}, joint {place.joint.name!r}: its rotation is zero; a quaternion is "
                        "needed"
                    )
                rows[:, turn] /= length
        self._write(chosen, "q", self.model.layout.q_slice[trees.name], rows)

    def set_joint_velocities(self, robot: Robot, v: ArrayLike, worlds: Mask = None) -> None:
        """Set joint velocities (n, nv) or (nv,)."""
        trees, chosen = trees_of(self.model, robot), self._chosen(worlds)
        nv = len(trees.v_start)
        given = checks.array(f"robot {robot.name!r}", "velocity", v, (nv,), (len(chosen), nv))
        rows = np.broadcast_to(given, (len(chosen), nv))
        self._write(chosen, "v", self.model.layout.v_slice[trees.name], rows)

    def set_control(
        self, robot: Robot, position: ArrayLike | None = None, velocity: ArrayLike | None = None,
        effort: ArrayLike | None = None, actuators: ArrayLike | None = None, worlds: Mask = None,
    ) -> None:  # fmt: skip
        """What drives of a robot do from now on, as ``Simulation.set_control``: arrays (n, k) or (k,)."""
        trees, where, chosen = trees_of(self.model, robot), f"robot {robot.name!r}", self._chosen(worlds)
        if position is None and velocity is None and effort is None and actuators is None:
            raise InputError(f"{where}: none of position, velocity, effort and actuators is given; give one at least")
        if actuators is not None:
            nu = len(trees.control_start)
            array = checks.array(where, "actuators", actuators, (nu,), (len(chosen), nu))
            self.controls.actuators[trees.name][chosen, :, 0] = array
        if position is not None:
            set_drives(self.controls, trees, robot, chosen, 0, "position", position)
        if velocity is not None:
            set_drives(self.controls, trees, robot, chosen, 1, "velocity", velocity)
        if effort is not None:
            nv = len(trees.v_start)
            array = checks.array(where, "effort", effort, (nv,), (len(chosen), nv))
            self.controls.force[chosen, self.model.layout.v_slice[trees.name]] = array

    def control(self, robot: Robot) -> Array:
        """(N, nu) controls of the actuators of a robot, as they are now."""
        return self.controls.actuators[trees_of(self.model, robot).name][:, :, 0].copy()

    def _links_of(self, robot: Robot) -> tuple[Array, Array]:
        """Poses (N, nl, 7) and velocities (N, nl, 6) of all links of a robot."""
        trees = trees_of(self.model, robot)
        if trees.name not in self._links:
            self._links[trees.name] = self._placed(robot, self.joint_positions(robot), self.joint_velocities(robot))
        return self._links[trees.name]

    def _placed(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Poses (n, nl, 7) and velocities (n, nl, 6) of links at postures (n, nq) and velocities (n, nv)."""
        tables = trees_of(self.model, robot).tables
        pose, velocity = np.empty((len(q), len(tables.links), 7)), np.empty((len(q), len(tables.links), 6))
        rows = np.ascontiguousarray(q), np.ascontiguousarray(v)
        place_many(tables, *rows, tree_work(tables), pose, velocity)  # type: ignore[no-untyped-call]
        return pose, velocity

    def link_pose(self, robot: Robot, link: str) -> tuple[Array, Array]:
        """Positions (N, 3) [m] and rotations (N, 4) (w, x, y, z) of the frame of a link."""
        pose = self._links_of(robot)[0][:, reading_robots.link_number(robot, link)]
        return pose[:, :3].copy(), pose[:, 3:].copy()

    def link_velocity(self, robot: Robot, link: str) -> tuple[Array, Array]:
        """Velocities (N, 3) [m/s] of the origin of a link and its angular velocities (N, 3) [rad/s], world frame."""
        velocity = self._links_of(robot)[1][:, reading_robots.link_number(robot, link)]
        return velocity[:, :3].copy(), velocity[:, 3:].copy()

    def sensor(self, robot: Robot, name: str) -> Array:
        """What the sensor of this name reads: (N, 1), (N, 3) or (N, 4)."""
        each = _sensor(robot, name)
        if each.kind in READERS:
            q, v = self.joint_positions(robot), self.joint_velocities(robot)
            at = WorldsOfRobot(robot, q, v, *self._links_of(robot), self._driver.time)
            return np.array(READERS[each.kind](at, each), dtype=np.float64)
        return np.array([self._sensor_of(k, robot, name, each.kind in OF_STEP) for k in range(len(self))])

    def sensor_kind(self, robot: Robot, name: str) -> str:
        """What kind of sensor this is."""
        trees_of(self.model, robot)
        return _sensor(robot, name).kind

    def sensor_of_records(self, robot: Robot, name: str, q: Array, v: Array, time: Array) -> Array:
        """What a sensor reads (R, N, k) at recorded coordinates (R, N, nq) and velocities (R, N, nv)."""
        layout, each = self.model.layout, _sensor(robot, name)
        own_q, own_v = q[..., layout.q_slice[robot.name]], v[..., layout.v_slice[robot.name]]
        own_q, own_v = own_q.reshape(-1, own_q.shape[-1]), own_v.reshape(-1, own_v.shape[-1])
        at = WorldsOfRobot(robot, own_q, own_v, *self._placed(robot, own_q, own_v), time.reshape(-1))
        return np.array(READERS[each.kind](at, each), dtype=np.float64).reshape(*q.shape[:2], -1)

    def _sensor_of(self, k: int, robot: Robot, name: str, of_step: bool) -> Array:
        """What a sensor reads in world k: by the functions of a Simulation, with its last step where it needs that."""
        control, last, before = self.controls.control(k), None, None
        model, state = self.model_of(k), self._driver.state(k)
        if of_step and self._before is not None and k not in self._put_since:
            before = self._before(k)
        if before is not None and before.steps == state.steps:
            before = None  # it had diverged
        if before is not None:
            if k not in self._again:
                self._again[k] = self._driver.taking.result(k, model, before, control)
            last = self._again[k]
        return reading_robots.sensor(model, state, control, last, before, self.stepping.dt, robot, name)

    # ---- parameters -------------------------------------------------------------------------------------------

    def set_parameters(
        self, *, friction: Any = None, mass: Any = None, inertia: Mapping[Body, ArrayLike] | None = None,
        size: Mapping[Body, ArrayLike] | None = None, gravity: ArrayLike | None = None, drive_stiffness: Any = None,
        drive_damping: Any = None, joint_damping: Any = None,
    ) -> None:  # fmt: skip
        """Give worlds numbers of their own, in the place of all that earlier calls have given.

        friction: a coefficient for all surfaces (N,), or by body: (N, nb), or a mapping of bodies to (N,); mass [kg]:
        the same for bodies that move freely and links, whose inertia follows; inertia [kg m^2]: a mapping of such to
        (N, 3, 3), or moments (N, 3), about the centre of mass; size [m]: a mapping of bodies of one
        primitive shape to arrays (N, k) of what ``scene.add_box`` and the like take, at the same mass; gravity (N, 3)
        or (3,) [m/s^2]; drive_stiffness, drive_damping, joint_damping: of robots, (N,) or (N, nu), (N, nj), or a
        mapping of robots to such, and of joints between bodies to (N,). States stay as they are; ``reset`` puts worlds
        where their own scenes start.
        """
        given = {
            "friction": friction, "mass": mass, "inertia": inertia, "size": size, "gravity": gravity,
            "drive_stiffness": drive_stiffness, "drive_damping": drive_damping, "joint_damping": joint_damping,
        }  # fmt: skip
        self._models.clear()
        self._forget()
        if all(value is None for value in given.values()):
            self._variants = None
            self._driver.vary(lambda k: self.model)
            return
        if self.scene is None:
            raise InputError("worlds: they were made of a Model; parameters need the Scene, so make them of that")
        parameters = checked_parameters(self.scene, self.model, self.robots, len(self), given)
        variants = Variants(self.scene, self.model, parameters)
        before, self._variants = self._variants, variants
        try:
            self._driver.vary(self.model_of)
        except ValueError as error:
            self._variants = before
            raise InputError(f"parameters: worlds would have tables of different forms: {error}") from None

    def model_of(self, k: int) -> Model:
        """The model of world k: that of a ``Simulation`` which gives the same bits."""
        if self._variants is None:
            return self.model
        if k not in self._models:
            self._models[k] = self._variants.model_of(checks.whole("worlds", "world", k, 0, len(self) - 1))
        return self._models[k]

    def __repr__(self) -> str:
        return (
            f"Worlds({len(self)}, {self.driver} driver, {self.threads} threads, {int(self._diverged.sum())} diverged, "
            f"{self.model!r})"
        )


def _sensor(robot: Robot, name: str) -> Sensor:
    """The sensor of this name."""
    for each in robot.record.sensors:
        if each.name == name:
            return each
    raise unknown(f"robot {robot.name!r}: sensor", name, [each.name for each in robot.record.sensors])
