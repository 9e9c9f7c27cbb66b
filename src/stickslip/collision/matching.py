"""Remembered impulses of the last step, matched to the contacts of this one by key."""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Array, LongInts
from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, dot, load3

FEATURE_BITS = 16
"""Lower bits of a key that name the feature; the others name the pair of shapes (collision/narrow_phase.py)."""


def match(contacts: Contacts, rows: int, key: LongInts, impulse: Array) -> Array:
    """Impulses (rows nc,) in the contact frames, for the keys (sorted) and impulses (k, 4) of the last step.

    Contacts of rigid shapes that changed their features take over impulses of their pair; those of nodes do not.
    """
    lam = np.zeros((len(contacts.key), rows))
    matching = _match if contacts.nodes is None else _match_same
    matching(contacts.key, contacts.normal, contacts.tangent, key, impulse, lam)
    return lam.ravel()


def remember(contacts: Contacts, lam: Array) -> Array:
    """Impulses (nc, 4), world frame and torsion, of the contacts from impulses (rows nc,) in their frames."""
    impulse = np.zeros((len(contacts.key), 4))
    if len(contacts.key):
        _remember(contacts.normal, contacts.tangent, lam.reshape(len(contacts.key), -1), impulse)
    return impulse


@kernel
def _match_same(key, normal, tangent, old_key, old_impulse, lam_out):
    """Walk two sorted lists of keys; equal ones hand on their impulse."""
    k = 0
    for c in range(key.shape[0]):
        while k < old_key.shape[0] and old_key[k] < key[c]:
            k += 1
        if k < old_key.shape[0] and old_key[k] == key[c]:
            n, t1 = load3(normal, c), load3(tangent, c)
            f = load3(old_impulse, k)
            lam_out[c, 0] = max(0.0, dot(n, f))
            lam_out[c, 1] = dot(t1, f)
            lam_out[c, 2] = dot(cross(n, t1), f)


@kernel
def _match(key, normal, tangent, old_key, old_impulse, lam_out):
    """Walk two sorted lists of keys pair by pair: equal keys first, then those left over in their order.

    A contact that changed its id, as corners of flat faces do, takes over the impulse of one that is gone.
    """
    c, k = 0, 0
    while c < key.shape[0] and k < old_key.shape[0]:
        pair = key[c] >> FEATURE_BITS
        while k < old_key.shape[0] and old_key[k] >> FEATURE_BITS < pair:
            k += 1
        last, old_last = c, k
        while last < key.shape[0] and key[last] >> FEATURE_BITS == pair:
            last += 1
        while old_last < old_key.shape[0] and old_key[old_last] >> FEATURE_BITS == pair:
            old_last += 1
        gone = k
        for i in range(c, last):
            same = _place(key[i], old_key, k, old_last)
            if same < 0:
                # the next old contact that has no heir of its own
                while gone < old_last and _place(old_key[gone], key, c, last) >= 0:
                    gone += 1
                if gone == old_last:
                    continue
                same = gone
                gone += 1
            n, t1 = load3(normal, i), load3(tangent, i)
            f = (old_impulse[same, 0], old_impulse[same, 1], old_impulse[same, 2])
            lam_out[i, 0] = max(0.0, dot(n, f))
            lam_out[i, 1] = dot(t1, f)
            lam_out[i, 2] = dot(cross(n, t1), f)
            if lam_out.shape[1] > 3:
                lam_out[i, 3] = old_impulse[same, 3]
        c, k = last, old_last


@kernel
def _place(wanted, key, first, last):
    """Where a key is among key[first:last], which is sorted and short; -1 where it is not."""
    for i in range(first, last):
        if key[i] == wanted:
            return i
    return -1


@kernel
def _remember(normal, tangent, lam, impulse_out):
    """impulse = lam_n n + lam_1 t1 + lam_2 t2, and the torsion beside it."""
    for c in range(normal.shape[0]):
        n, t1 = load3(normal, c), load3(tangent, c)
        t2 = cross(n, t1)
        for k in range(3):
            impulse_out[c, k] = lam[c, 0] * n[k] + lam[c, 1] * t1[k] + lam[c, 2] * t2[k]
        if lam.shape[1] > 3:
            impulse_out[c, 3] = lam[c, 3]
