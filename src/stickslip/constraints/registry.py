"""The constraints of a step, in the order of their rows, and the search for contacts that comes before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stickslip.arrays import Array, Bools
from stickslip.bodies.motions import Motions
from stickslip.bodies.soft.kind import SoftMotionOfStep
from stickslip.bodies.tree.kind import TreeBodies, TreeMotion
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import NOTHING_FOUND, Found, contacts_of_step
from stickslip.collision.reduction import reduced
from stickslip.collision.surfaces.contacts import find_soft_contacts
from stickslip.constraints.cavities import Cavities
from stickslip.constraints.contacts import FrameContacts, NodeContacts
from stickslip.constraints.coordinates import Coordinates
from stickslip.constraints.elements import Elements
from stickslip.constraints.foreseen import Foreseen, with_foreseen
from stickslip.constraints.joint.efforts import with_efforts
from stickslip.constraints.joints import JointMemory, Joints
from stickslip.constraints.protocol import Constraint
from stickslip.constraints.welds import Welds
from stickslip.errors import InputError
from stickslip.model.control import Control
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.solvers.protocol import ElementRows, Solver
from stickslip.workspace import Workspace

NEAR = 0.005
"""Share of the edges of surfaces up to which gaps of soft bodies at rest are seen, unless the user says otherwise."""


class Search(NamedTuple):
    """Contacts of a step."""

    found: Found
    """Those between frames, and where they were sought."""
    nodes: Contacts | None
    """Those of nodes; None where there are no nodes."""
    way: Array | None = None
    """(nc,) [m] how far contacts between frames may close where an earlier try led; NaN: as far as their gaps say."""


def elements_as_rows(solver: Solver, options: Stepping) -> ElementRows | None:
    """Whether elements are rows, and what of them is in A then.

    They are where the solver is nonlinear in positions, unless the user says otherwise. Not where joints are
    potentials, which enter A with the elements.
    """
    chosen = options.elasticity
    able = options.rule.theta > 0.0 and not options.rule.mean_velocities
    wanted = solver.takes.linearise == "inside" and options.joints == "rows"
    as_rows = chosen == "rows" or (chosen == "auto" and wanted and able)
    if as_rows and not able:
        raise InputError(
            f"stepping: elasticity is 'rows', scheme {options.scheme!r}; rows need implicit forces and velocities at "
            "the end of a step: 'euler' or 'moreau'"
        )
    return solver.takes.element_rows if as_rows else None


class Tried(NamedTuple):
    """What a step knows that is taken again, since it led where contacts were that it had not found."""

    search: Search
    """What it found when it was taken first."""
    more: Foreseen
    """What it did not."""


def moves(model: Model) -> bool:
    """Whether problems of the model depend on where they are linearised, beside their contacts."""
    soft = model.soft
    if any(isinstance(kind, TreeBodies) and kind.rows.nonlinear for kind in model.others):
        return True
    return bool(model.joints.count or (soft.count and not (soft.linear and not len(soft.weld_node))))


def applied(model: Model, state: State, control: Control) -> Control:
    """The control as forces: efforts along joints act on the bodies that they join."""
    return with_efforts(model, state, control)


def search_contacts(
    model: Model, state: State, motions: Motions, options: Stepping, workspace: Workspace, tried: Tried | None = None
) -> Search:
    """Contacts that can matter within a step; those that were found already where it was ``tried``."""
    if tried is not None:
        found, nodes, _ = tried.search
        both = with_foreseen(found.contacts, tried.more)
        return Search(found._replace(contacts=both.contacts), nodes, both.way)
    place = motions.place
    broken = state.joint_broken
    ignored = model.ignored_pairs(broken) if len(broken) and broken.any() else model.ignored_at_start
    found = NOTHING_FOUND
    if len(model.moving):
        found = contacts_of_step(model, place.pose, place.velocity, options, ignored, workspace)
        if options.per_pair:
            found = found._replace(contacts=reduced(found.contacts, options.per_pair))
    if not model.soft.names:
        return Search(found, None)
    margin = options.margin_under(model.gravity_norm)
    if options.margin is None:  # what pushes a soft body may be anything; gravity says little
        margin = max(margin, NEAR * model.soft.edge_length)
    ahead = options.horizon if options.lookahead or options.continuous else 0.0
    ahead *= options.rule.acts_ahead
    nodes = find_soft_contacts(
        model, place.pose, place.node, place.velocity, place.node_velocity, ahead, margin, options.continuous,
        workspace=workspace, vertices=options.detection == "vertices",
    )  # fmt: skip
    return Search(found, nodes)


def constraints_of(
    model: Model, state: State, control: Control, motions: Motions, search: Search, options: Stepping,
    workspace: Workspace,
) -> Sequence[Constraint]:  # fmt: skip
    """The constraints of a step, contacts first."""
    start, motion = motions.place, motions.motions[-1]
    found: list[Constraint] = []
    if search.nodes is None or len(search.found.contacts.key):
        found.append(FrameContacts(model, search.found.contacts, start, options, search.way))
    if search.nodes is not None:
        assert isinstance(motion, SoftMotionOfStep)
        motion.prepare(_touched(model, search.nodes))
        found.append(NodeContacts(model, search.nodes, start, options, not found))
    if model.joint_names:
        memory = workspace.slot("joints", JointMemory)
        found.append(Joints(model, state, control, start, options, memory))
    coordinates = _coordinates(model, motions, options) if model.others else []
    if search.nodes is None:
        return [*found, *coordinates]
    assert isinstance(motion, SoftMotionOfStep)
    if len(model.soft.weld_node):
        found.append(Welds(model, start, options))
    if model.soft.cavities and any(cavity.volume is not None for cavity in model.soft.cavities):
        found.append(Cavities(model, motion, options))
    if motion.as_rows is not None:
        found.append(Elements(model, motion))
    return [*found, *coordinates]


def _coordinates(model: Model, motions: Motions, options: Stepping) -> list[Constraint]:
    """Rows over coordinates of robots that have some."""
    found: list[Constraint] = []
    for number, (kind, motion) in enumerate(zip(motions.kinds, motions.motions, strict=True)):
        if isinstance(kind, TreeBodies) and isinstance(motion, TreeMotion) and len(kind.rows.what):
            found.append(Coordinates(kind, number, motion, kind.first_block, model.unknown_columns, options))
    return found


def _touched(model: Model, contacts: Contacts) -> Bools:
    """Which free nodes (nf,) rows can touch: those of contacts, welds and cavities whose volume is given."""
    soft = model.soft
    filled = [each.triangles.ravel() for each in soft.cavities if each.volume is not None]
    sides = [] if contacts.nodes is None else [contacts.nodes.node_a.ravel(), contacts.nodes.node_b.ravel()]
    nodes = np.concatenate([*sides, soft.weld_node, *filled])
    block = soft.block[nodes[nodes >= 0]]
    touched = np.zeros(len(soft.free), dtype=np.bool_)
    touched[block[block >= 0]] = True
    return touched
