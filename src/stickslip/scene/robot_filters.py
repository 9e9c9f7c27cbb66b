"""Which links of a robot, and which of their shapes, pass through each other: by joints, by names and by groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product

from stickslip.errors import InputError
from stickslip.robots.records import LinkShape, RobotRecord
from stickslip.scene.body import Body
from stickslip.scene.records import SceneRecords

MOST_FIXED = 1000
"""Links with shapes that may be fixed to one that moves, and to each other."""


def require_few_pairs(where: str, record: RobotRecord) -> None:
    """Raise an InputError where links that are fixed to each other would need too much memory, each pair a number."""
    group: list[int] = []
    for i, link in enumerate(record.links):
        group.append(i if link.joints else -1 if link.parent < 0 else group[link.parent])
    solid = Counter(group[i] for i, link in enumerate(record.links) if link.shapes and group[i] >= 0)
    for first, count in solid.items():
        if count > MOST_FIXED:
            name = record.links[first].name
            raise InputError(
                f"{where}: {count} links with shapes are fixed to link {name!r} and to each other; {MOST_FIXED} at "
                "most are taken: give their shapes to one link"
            )


def passing(record: RobotRecord, bodies: set[str]) -> Iterator[tuple[str, str]]:
    """Pairs of links with shapes that pass through each other, whatever groups these shapes are in.

    Links without joints between them are one group. What is fixed to the world does not touch itself, and cannot give
    way: what hangs on it, and often only turns against it, passes through it.
    """
    links = record.links
    group, above = list[int](), dict[int, int]()  # first link of those that move together, and the group it hangs on
    members: dict[int, list[str]] = {}
    for i, link in enumerate(links):
        parent = -1 if link.parent < 0 else group[link.parent]
        group.append(i if link.joints else parent)
        if link.joints:
            above[i] = parent
        if link.name in bodies and link.shapes:
            members.setdefault(group[i], []).append(link.name)
    for own, names in members.items():
        if own >= 0:
            yield from combinations(names, 2)
            if above[own] < 0 or not record.parents_collide:
                yield from product(members.get(above[own], ()), names)
    yield from (pair for pair in record.excluded if bodies.issuperset(pair))


def keep_groups_apart(records: SceneRecords, bodies: Sequence[tuple[Body, tuple[LinkShape, ...]]]) -> None:
    """Let shapes of bodies pass through each other that the groups of the file keep apart; bodies, if all are."""
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for body, shapes in bodies:
        alike.setdefault(tuple((shape.group, shape.mask) for shape in shapes), []).append(body.index)
    for one, other in combinations_with_replacement(alike, 2):
        apart = [
            (m, n) for m, (group, mask) in enumerate(one) for n, (g, k) in enumerate(other)
            if not (group & k or g & mask)
        ]  # fmt: skip
        if not apart:
            continue
        pairs = combinations(alike[one], 2) if one == other else product(alike[one], alike[other])
        if len(apart) == len(one) * len(other):
            records.ignored.update((min(pair), max(pair)) for pair in pairs)
        else:
            records.ignored_parts.update((a, m, b, n) for a, b in pairs for m, n in apart)
