"""Links of one robot that overlap where it starts, and that its file means to pass through each other.

URDF cannot say which links may touch. Hulls of neighbours overlap around their joints, and no motion would part them.
MJCF can, but does not need to where nothing comes of it: a cart that slides on rails within it touches them, and its
own engine pushes at what no joint moves. Such a contact cannot be opened, and its pair passes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.bodies.registry import frame_poses
from stickslip.bodies.tree.kind import TreeBodies, jacobian_at
from stickslip.collision.contacts import Contacts
from stickslip.collision.lookahead import contacts_of_step
from stickslip.model.model import Model
from stickslip.model.state import State
from stickslip.model.stepping import Stepping
from stickslip.workspace import Workspace

OVERLAP = 1e-4
"""[m] from which on two links are taken to overlap."""
STUCK = 1e-9
"""Speed at which joints open a contact, over the speeds at which they move its two links there; below it none does."""


def without_starting_overlaps(model: Model, state: State, options: Stepping) -> Model:
    """The model with pairs of links of one robot ignored that overlap in a state and are meant to, or cannot part."""
    robots = [kind for kind in model.others if isinstance(kind, TreeBodies)]
    if not robots:
        return model
    pose = frame_poses(model, state)
    still = np.zeros((model.body_count, 6))
    found = contacts_of_step(model, pose, still, options, model.ignored_at_start, Workspace()).contacts
    overlapping: dict[tuple[int, int], list[int]] = {}
    for c in np.flatnonzero(found.gap < -OVERLAP).tolist():
        a, b = int(found.body_a[c]), int(found.body_b[c])
        overlapping.setdefault((min(a, b), max(a, b)), []).append(c)
    ignored = set(model.ignored.tolist())
    for kind in robots:
        ignored |= {(a << 32) + b for a, b in _passing(model, kind, state, found, overlapping)}
    return replace(model, ignored=np.array(sorted(ignored), dtype=np.int64))


def _passing(
    model: Model, kind: TreeBodies, state: State, found: Contacts, overlapping: dict[tuple[int, int], list[int]]
) -> list[tuple[int, int]]:
    """Pairs of bodies of one robot, its surroundings included, that pass; its report gets a note of each."""
    names, passing = model.body_names, list[tuple[int, int]]()
    own = {i for i, name in enumerate(names) if name.startswith(f"{kind.name}/")}
    notes, unfiltered = kind.record.report.notes, kind.record.report.format == "urdf"
    for a, b in sorted(pair for pair in overlapping if own.issuperset(pair)):
        if unfiltered or not _can_part(model, kind, state, found, overlapping[a, b]):
            passing.append((a, b))
            why = "" if unfiltered else " no joint parts them,"
            note = f"links {names[a]!r} and {names[b]!r} overlap where they start,{why} and pass through each other"
            if note not in notes:
                notes.append(note)
    return passing


def _can_part(model: Model, kind: TreeBodies, state: State, found: Contacts, contacts: list[int]) -> bool:
    """Whether a joint opens one of some contacts between links of a robot, or between them and what is fixed."""
    work = kind.placed(state.part_q(kind.name).reshape(-1))
    link = {f"{kind.name}/{frame.name}": number for frame, number in zip(kind.frames, kind.frame_link.tolist())}
    for c in contacts:
        speed, size = np.zeros(len(kind.v_start)), 0.0
        for body, sign in ((found.body_a[c], -1.0), (found.body_b[c], 1.0)):
            number = link.get(model.body_names[body])
            if number is not None:
                J = jacobian_at(kind, work, number, found.point[c])[:3]
                speed += sign * found.normal[c] @ J
                size = max(size, float(np.abs(J).max(initial=0.0)))
        if np.abs(speed).max(initial=0.0) > STUCK * size:
            return True
    return False
