"""Contacts of a step of few bodies, all stages of their search in one kernel: collision/lookahead.py without Python."""

from __future__ import annotations

from stickslip.collision.arrays import KINDS, SPEED, gap_in, look_in, pairs_in, real, three_in, two_in
from stickslip.collision.contacts import collect
from stickslip.collision.lookahead import SEARCHES, Meeting, _look
from stickslip.collision.pair_search import near_pairs_of_few
from stickslip.collision.rigid.manifold import FULL
from stickslip.jit import call_kernel, inner_kernel, kernel, large_kernel, view_at

MORE_PAIRS, MORE_POINTS, MORE_CONTACTS = -1, -2, -3
"""What ``find_contacts`` returns in the place of a number of contacts: which room is too small."""


@inner_kernel
def collide(table, flat, code, begin, end, row):
    """Points of the pairs of one kind, 8 type[a] + type[b]."""
    if table[code] != 0:
        return call_kernel(table[code], 0, (flat, (), begin, end, row))
    return call_kernel(table[KINDS], 0, (code // 8, code % 8, flat, (), begin, end, row))


@kernel
def find_contacts(table, flat, q, ignored, everybody, approach, reach, key, index, surfaces):
    """Contacts that can close within a step, sorted by key: lookahead.contacts_of_step. Returns their number, or one of
    the codes above, and the number of all that were seen.

    table: ``pairs.pair_table``. key (3 c,), index (12 c,), surfaces (51 c,): room for c contacts three times; what is
    found begins each of them, in the order of Contacts.flat for as many. Where more were seen, these are in the second
    third.
    ``approach.gained`` comes in as zero and tells what velocities bodies may gain.
    """
    most = key.shape[0] // 3
    rooms = key, index, surfaces
    n = _search(table, flat, q, ignored, everybody, approach, True, reach, most, 0, rooms)
    look, speed, all_near = look_in(flat), real(flat, SPEED), True
    for search in range(SEARCHES + 1):
        if n < 0:
            return n, 0
        own = view_at(index, 0, (4, n))
        three, two = three_in(surfaces, n), two_in(surfaces, n)
        meeting = Meeting(own[2], own[3], three[0], three[1], gap_in(surfaces, n), two[0])
        any_hit, all_near = _look(
            meeting, flat, q, approach.v, approach.far, approach.margin, approach.gained, search < SEARCHES
        )
        if not any_hit:
            break
        for i in range(reach.shape[0]):
            if look.hit[i]:
                approach.gained[i] = look.new[i]
            reach[i] = approach.far * (speed[i] + approach.gained[i]) + 0.5 * approach.margin
        more = _search(table, flat, q, ignored, look.hit, approach, False, reach, most, 2 * most, rooms)
        n = more if more < 0 else _join(look.hit, n, more, most, key, index, surfaces)
    if all_near:
        return n, n
    return _keep_near(look.near, n, most, key, index, surfaces), n


@large_kernel
def _search(table, flat, q, ignored, changed, approach, ahead, reach, most, at, rooms):
    """Contacts of bodies that have ``changed`` with all others, written from place ``at`` of the rooms on."""
    key, index, surfaces = rooms
    found, kept, kinds = near_pairs_of_few(flat, q, ignored, changed, True, approach, ahead, reach)
    pairs = pairs_in(flat)
    if found > pairs.key.shape[0]:
        return MORE_PAIRS
    n = 0
    for k in range(kinds):
        n = collide(table, flat, pairs.groups[k, 0], pairs.groups[k, 1], pairs.groups[k, 2], n)
        if n == FULL:
            return MORE_POINTS
    if n > most or n > look_in(flat).near.shape[0]:
        return MORE_CONTACTS
    own = view_at(index, 4 * at, (4, n))
    collect(flat, kept, q, key[at : at + n], own, surfaces[17 * at : 17 * at + 17 * n])
    return n


@inner_kernel
def _copy(parts, c, n, to_parts, to, count):
    """Copy contact c of n to place ``to`` of ``count``; parts: keys, indices and numbers."""
    key, index, numbers = parts
    key_out, index_out, numbers_out = to_parts
    three, two, gap = three_in(numbers, n), two_in(numbers, n), gap_in(numbers, n)
    three_out, two_out = three_in(numbers_out, count), two_in(numbers_out, count)
    key_out[to], gap_in(numbers_out, count)[to] = key[c], gap[c]
    for k in range(4):
        index_out[k * count + to] = index[k * n + c]
        for x in range(3):
            three_out[k, to, x] = three[k, c, x]
    for k in range(2):
        for x in range(2):
            two_out[k, to, x] = two[k, c, x]


@inner_kernel
def _join(changed, n, more, most, key, index, surfaces):
    """The first n contacts without those of bodies that have changed, and ``more`` from the last third of the rooms, in
    the order of their keys; returns how many there are."""
    left = 0
    for c in range(n):
        left += not (changed[index[2 * n + c]] or changed[index[3 * n + c]])
    count = left + more
    if count > most:
        return MORE_CONTACTS
    old, new, both = (
        (key[:n], index[: 4 * n], surfaces[: 17 * n]),
        (key[2 * most : 2 * most + more], index[8 * most : 8 * most + 4 * more],
         surfaces[34 * most : 34 * most + 17 * more]),
        (key[most : most + count], index[4 * most : 4 * most + 4 * count],
         surfaces[17 * most : 17 * most + 17 * count]),
    )  # fmt: skip
    c, other = 0, 0
    for to in range(count):
        while c < n and (changed[index[2 * n + c]] or changed[index[3 * n + c]]):
            c += 1
        if other >= more or (c < n and old[0][c] < new[0][other]):
            _copy(old, c, n, both, to, count)
            c += 1
        else:
            _copy(new, other, more, both, to, count)
            other += 1
    for k in range(count):
        key[k] = both[0][k]
    for k in range(4 * count):
        index[k] = both[1][k]
    for k in range(17 * count):
        surfaces[k] = both[2][k]
    return count


@inner_kernel
def _keep_near(near, n, most, key, index, surfaces):
    """Leave the contacts that are near, in their order; all go to the second third. Returns how many are near."""
    count = 0
    for c in range(n):
        count += near[c]
    for c in range(n):
        key[most + c] = key[c]
    for k in range(4 * n):
        index[4 * most + k] = index[k]
    for k in range(17 * n):
        surfaces[17 * most + k] = surfaces[k]
    old = key[most : most + n], index[4 * most : 4 * most + 4 * n], surfaces[17 * most : 17 * most + 17 * n]
    new = key[:count], index[: 4 * count], surfaces[: 17 * count]
    to = 0
    for c in range(n):
        if near[c]:
            _copy(old, c, n, new, to, count)
            to += 1
    return count
