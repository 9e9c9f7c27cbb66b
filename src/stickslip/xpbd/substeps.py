"""A step in many substeps, by position-based dynamics: what solvers/xpbd.py asks of a step.

Contacts are those of the step. Trees of all robots are one forest (xpbd/forest.py). Bodies with prescribed motion move
evenly through it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array
from stickslip.bodies.protocol import Place
from stickslip.bodies.rigid.advance import advance
from stickslip.bodies.rigid.layout import scatter
from stickslip.bodies.rigid.momentum import mass_blocks
from stickslip.bodies.soft.kind import SoftMotionOfStep
from stickslip.bodies.tree.kind import TreeBodies, TreeMotion
from stickslip.collision.contacts import NONE, Contacts
from stickslip.constraints.contacts import FrameContacts, NodeContacts
from stickslip.constraints.coordinates import Coordinates
from stickslip.constraints.joints import Joints
from stickslip.constraints.system import StepSystem
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem
from stickslip.errors import InputError
from stickslip.linalg.inertia import Inertia
from stickslip.model.layout import NODE
from stickslip.model.model import DYNAMIC, STATIC
from stickslip.scene.soft_body import MOONEY_RIVLIN
from stickslip.solvers.budget import Clock, in_chunks
from stickslip.solvers.protocol import SubstepResult
from stickslip.tolerances import SUBSTEP_ROUNDING
from stickslip.xpbd.bodies import Bodies, mean_velocities
from stickslip.xpbd.contacts import contact_points
from stickslip.xpbd.coordinates import coordinate_rows
from stickslip.xpbd.elements import Nodes, element_room
from stickslip.xpbd.forest import forest_of, joined_rows
from stickslip.xpbd.joints import joint_room, other_blocks
from stickslip.xpbd.rods import sections_of
from stickslip.xpbd.soft_contacts import soft_points
from stickslip.xpbd.steps import Parts, SoftSystem, small_steps
from stickslip.xpbd.trees import Trees, mean_velocities_of_trees


class Substepped(NamedTuple):
    """The parts of a step that substeps are about."""

    system: StepSystem
    place: Place
    """Where contacts were found."""
    contacts: Contacts
    joints: Joints | None
    soft: SoftMotionOfStep | None
    node_contacts: Contacts | None
    robots: list[TreeMotion]
    coordinates: list[Coordinates]


def take_substeps(system: StepSystem, count: int, clock: Clock) -> SubstepResult:
    """The step in ``count`` substeps, with one Gauss-Seidel pass over all constraints in each.

    Where time is up, the rest is a single substep.
    """
    step = _parts_of(system)
    _check_features(step)
    started = time.perf_counter()
    model, state, h = system.model, system.state, system.options.dt
    forest = forest_of(model, step.robots)
    bodies = _bodies(step, forest)
    rows = coordinate_rows(joined_rows(step.robots), forest.q, h)
    tables = model.joints
    joint_impulse, impulse = np.zeros(tables.row_count), np.zeros((len(step.contacts), 3))
    coordinate = np.maximum(tables.row_coordinate, 0)
    points = contact_points(model, step.contacts, step.place.pose, system.options)
    broken = state.joint_broken
    joints = (
        tables, other_blocks(tables, broken, forest.link), sections_of(tables, broken, forest.link), coordinate,
        state.joint_angle, system.control.target,
    )  # fmt: skip
    least = system.options.restitution_speed
    v = np.empty_like(bodies.v)
    lam = [impulse.ravel()]
    soft = None if step.soft is None else _soft_system(step, step.soft)

    def run(parts: Parts) -> None:
        small_steps(bodies, rows, *joints, points, least, parts, joint_room(), soft, joint_impulse, impulse)

    made = _take_parts(run, h, count, clock)
    if soft is not None and step.soft is not None:
        lam.append(soft.contact_impulse.ravel())
    mean_velocities(step.place.pose, bodies.q, bodies.turned, h, v)
    tree_mean = np.empty_like(forest.v)
    q = np.concatenate([np.zeros(0), *(robot.q for robot in step.robots)])
    mean_velocities_of_trees(forest.tree, q, forest.q, forest.turned, h, tree_mean)
    mean, end = [v[model.dynamic].ravel(), tree_mean], [bodies.v[model.dynamic].ravel(), forest.v]
    if soft is not None and step.soft is not None:
        free = model.soft.free
        mean.append(((soft.nodes.x - step.soft.motion.x) / h)[free].ravel())
        end.append(soft.nodes.v[free].ravel())
    if step.joints is not None:
        lam.append(joint_impulse[step.joints.layout.row])
    if soft is not None:
        lam.append(soft.weld_impulse.ravel())
    lam += _coordinate_impulses(step, rows.impulse)
    v_mean, v_end = np.concatenate(mean), np.concatenate(end)
    seconds = time.perf_counter() - started
    judged = _judged(step, v_mean, v_end, h / count)
    return SubstepResult(v_mean, v_end, np.concatenate(lam), judged, seconds, made)


def _parts_of(system: StepSystem) -> Substepped:
    """The parts of a step by what they are."""
    found = {type(each): each for each in system.constraints}
    frames, nodes, joints = found.get(FrameContacts), found.get(NodeContacts), found.get(Joints)
    soft = system.motions.of(NODE) if system.model.soft.count else None
    return Substepped(
        system, system.motions.place, frames.contacts if isinstance(frames, FrameContacts) else NONE,
        joints if isinstance(joints, Joints) else None,
        soft if isinstance(soft, SoftMotionOfStep) else None,
        nodes.contacts if isinstance(nodes, NodeContacts) else None,
        [each for each in system.motions.motions if isinstance(each, TreeMotion)],
        [each for each in system.constraints if isinstance(each, Coordinates)],
    )  # fmt: skip


def _coordinate_impulses(step: Substepped, impulse: Array) -> list[Array]:
    """Impulses of the rows over coordinates that the problem of the step has, robot by robot."""
    found, first, at = list[Array](), 0, {id(each.motion): each for each in step.coordinates}
    for robot in step.robots:
        if id(robot) in at:
            found.append(impulse[first + at[id(robot)].active])
        first += len(robot.kind.rows.what)
    return found


def _take_parts(run: Callable[[Parts], None], h: float, count: int, clock: Clock) -> int:
    """A step of h [s] in ``count`` parts, or fewer where time is up; returns their number."""
    s, done = h / count, 0

    def some(more: int) -> tuple[int, bool]:
        nonlocal done
        run(Parts(s, 0.0, done, done + more, count))
        done += more
        return more, False

    in_chunks(some, count, clock)
    if done < count:
        run(Parts(h - done * s, done * s, 0, 1, 1))
        return done + 1
    return done


def _judged(step: Substepped, v_mean: Array, v_end: Array, small: float) -> ContactProblem:
    """The problem at the end of the step: its laws are for mean velocities, its momentum is that of v_end (nv,)."""
    system, model = step.system, step.system.model
    if not (np.isfinite(v_mean).all() and np.isfinite(v_end).all()):
        return system.at_start()
    problem = system.held_at(v_mean)
    bodies = slice(0, model.rigid_count)
    v_bodies = scatter(model, step.place.velocity[bodies], v_mean)
    q_end = advance(step.place.pose[bodies], v_bodies, system.options.dt)
    gain, rigid = v_end - v_mean, model.rigid_dof_count
    gain[:rigid] = mass_blocks(model, q_end).apply(gain[:rigid])
    at = rigid
    for robot in step.robots:
        part = slice(at, at + len(robot.v))
        gain[part] = Inertia(robot.kind.mass_blocks(robot.end(v_mean[part])[0])).apply(gain[part])
        at = part.stop
    if step.soft is not None:
        gain[at:] *= np.repeat(model.soft.mass[model.soft.free], 3)
    # velocities are differences of positions over a ``small`` step [s], and have their rounding
    dynamic = model.dynamic
    size = problem.momentum_size.copy()
    size[:rigid:6] += SUBSTEP_ROUNDING * model.mass[dynamic] * np.linalg.norm(q_end[dynamic, :3], axis=1) / small
    momentum = Momentum(problem.A, v_mean, -problem.momentum.gain(v_mean) - gain)
    return replace(problem, momentum=momentum, scale=problem.with_speed()._replace(momentum=size))


def _bodies(step: Substepped, forest: Trees) -> Bodies:
    """The rigid bodies and links at the start of the step."""
    model, place = step.system.model, step.place
    count, dynamic = model.body_count, model.body_kind == DYNAMIC
    inverse = np.zeros((count, 3, 3))
    inverse[dynamic] = np.linalg.inv(model.inertia[dynamic])
    force = np.zeros((count, 6))
    force[: model.rigid_count] = step.system.control.body_force
    force[:, :3] += model.mass[:, None] * model.gravity
    return Bodies(
        np.where(dynamic, model.mass, 0.0), model.inertia, inverse, force, model.body_kind != STATIC,
        place.pose.copy(), place.pose.copy(), place.velocity.copy(), place.velocity.copy(), np.zeros((count, 9)),
        np.zeros((count, 3)), forest,
    )  # fmt: skip


def _soft_system(step: Substepped, own: SoftMotionOfStep) -> SoftSystem:
    """The soft bodies at the start of the step."""
    model, motion, contacts = step.system.model, own.motion, step.node_contacts
    assert contacts is not None
    soft = model.soft
    mobility = np.where(soft.block >= 0, 1.0 / soft.mass, 0.0)
    acceleration = motion.external / soft.mass[:, None]
    return SoftSystem(
        Nodes(mobility, acceleration, soft.alpha, motion.x.copy(), motion.x.copy(), motion.v.copy()),
        soft.elements,
        motion.pressure,
        soft.weld_node,
        soft.weld_body,
        soft.weld_point,
        soft_points(model, contacts, step.place.pose, motion.x, step.system.options),
        element_room(),
        np.zeros((len(soft.weld_node), 3)),
        np.zeros((len(contacts), 3)),
    )


def _check_features(step: Substepped) -> None:
    """Raise an InputError that names what position-based dynamics does not know here."""
    options, model, where = step.system.options, step.system.model, "solver xpbd"
    unknown = [kind.name for kind in model.others if not isinstance(kind, TreeBodies)]
    if unknown:
        raise InputError(
            f"{where}: the scene has bodies of kind {unknown[0]!r}; it takes rigid and soft ones and robots; "
            "choose another solver, such as 'auto'"
        )
    if not options.rule.fully_implicit:
        raise InputError(f"{where}: scheme is {options.scheme!r}; it has its own, so the scheme must be 'euler'")
    if len(step.contacts) and step.contacts.restitution[:, 1].any():
        raise InputError(f"{where}: a material has a tangential restitution; it takes normal restitution alone")
    if step.soft is None:
        return
    soft, contacts = model.soft, step.node_contacts
    if step.soft.as_rows is not None:
        raise InputError(f"{where}: elasticity is 'rows'; it has rows of its own, so elasticity must be 'auto'")
    if soft.cavities:
        raise InputError(f"{where}: the scene has {len(soft.cavities)} cavities; it takes none")
    if len(soft.plane_nodes):
        raise InputError(f"{where}: a soft body is in plane strain; it takes bodies in three dimensions")
    if (soft.elements.model == MOONEY_RIVLIN).any():
        raise InputError(f"{where}: a soft body has the model 'mooney-rivlin'; it takes all other models")
    if contacts is not None and contacts.restitution.any():
        raise InputError(f"{where}: a soft body in contact has a restitution; it takes that of rigid bodies alone")
