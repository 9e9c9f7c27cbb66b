"""Stages of a step with loops that allocate nothing, as bare kernels: who calls them counts references to its arrays.

What has no more than one line is the kernel of that name elsewhere.
"""

from __future__ import annotations

from stickslip.bodies.tree.arrays import (
    CONTROL,
    CONTROL_END,
    FRAME,
    FRAME_END,
    LINKS,
    LINKS_END,
    Q_END,
    SQUARE,
    SQUARE_END,
    TWIST,
    TWIST_END,
    V_END,
    WORK,
    WORK_END,
    Q,
    V,
    robot_in,
    scratch_in,
)
from stickslip.bodies.tree.free_motion import begin_step
from stickslip.bodies.tree.kinematics import place_links
from stickslip.compiled.contacts import find_contacts
from stickslip.compiled.too_far import may_go_too_far
from stickslip.compiled.tree_certificate import measure_trees
from stickslip.compiled.tree_rows import add_coordinates, map_contacts
from stickslip.constraints.contact.rows import fill_rows
from stickslip.constraints.coordinates import APART, largest_coupling_error
from stickslip.jit import bare_kernel


@bare_kernel
def begin_robots(robots, state, given, scheme, scratch, rigid, frames_out, out):
    """``begin_step`` of all robots; returns whether all is finite."""
    (q, v), (found, pose, velocity, twists), (v_free, data, inverse) = state, frames_out, out
    for r in range(robots.robots.shape[0]):
        its, robot = robots.robots[r], robot_in(robots, r)
        works, room, _ = scratch_in(robot.tree, its[Q_END] - its[Q], scratch[its[WORK] : its[WORK_END]])
        frames, at = slice(rigid + its[FRAME], rigid + its[FRAME_END]), slice(its[V], its[V_END])
        acting = (
            given.force[at], given.link[its[LINKS] : its[LINKS_END]], given.control[its[CONTROL] : its[CONTROL_END]]
        )  # fmt: skip
        square = slice(its[SQUARE], its[SQUARE_END])
        good = begin_step(
            robot.tree, robot.drives, robot.frame_link, (q[its[Q] : its[Q_END]], v[at]), acting, scheme, works, room,
            True,
            (found[its[Q] : its[Q_END]], pose[frames], velocity[frames], twists[its[TWIST] : its[TWIST_END]]),
            (v_free[at], data[square], inverse[square]),
        )  # fmt: skip
        if not good:
            return False
    return True


@bare_kernel
def place_robots(robots, q, scratch):
    """Place the links of all robots at q (nq,); returns whether no coupling is open."""
    for r in range(robots.robots.shape[0]):
        its, robot = robots.robots[r], robot_in(robots, r)
        works, _, _ = scratch_in(robot.tree, its[Q_END] - its[Q], scratch[its[WORK] : its[WORK_END]])
        place_links(robot.tree, q[its[Q] : its[Q_END]], works[1])
        if largest_coupling_error(robot.rows, q[its[Q] : its[Q_END]]) > APART:
            return False
    return True


@bare_kernel
def found_contacts(pairs, flat, pose, ignored, everybody, approach, reach, key, index, surfaces):
    """contacts.find_contacts"""
    return find_contacts(pairs, flat, pose, ignored, everybody, approach, reach, key, index, surfaces)


@bare_kernel
def filled_rows(index, surfaces, pose, velocity, block, moving, height, gaps, ints, reals):
    """constraints/contact/rows.fill_rows"""
    return fill_rows(index, surfaces, pose, velocity, block, moving, height, gaps, ints, reals)


@bare_kernel
def mapped_contacts(J, laws, parts, over, sizes, reals, out):
    """tree_rows.map_contacts"""
    return map_contacts(J, laws, parts, over, sizes, reals, out)


@bare_kernel
def with_coordinates(robots, widths, moving, control, options, blocks, entries, out, ints, reals, bools):
    """tree_rows.add_coordinates"""
    return add_coordinates(robots, widths, moving, control, options, blocks, entries, out, ints, reals, bools)


@bare_kernel
def may_pass(flat, lever, thickness, thinnest, ends, h, found, sought, reach, reals):
    """too_far.may_go_too_far"""
    return may_go_too_far(flat, lever, thickness, thinnest, ends, h, found, sought, reach, reals)


@bare_kernel
def measure_loops(J, laws, pushes, measures, momentum, islands, bodies, ends, numbers, robots, joints, written):
    """tree_certificate.measure_trees; written: rooms and what is told."""
    rooms, out = written
    measure_trees(J, laws, pushes, measures, momentum, islands, bodies, ends, numbers, robots, joints, rooms, out)
