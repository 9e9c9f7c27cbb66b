"""Remembered impulses of the last step, matched to the contacts of this one by key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import dot, load3, tangents


def match(contacts: Contacts, key: NDArray[np.int64], impulse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Impulses (3 nc,) in the contact frames, for the keys (sorted) and world impulses (k, 4) of the last step."""
    lam = np.zeros(3 * len(contacts))
    _match(contacts.key, contacts.normal, key, impulse, lam)
    return lam


def remember(contacts: Contacts, lam: NDArray[np.float64]) -> NDArray[np.float64]:
    """World impulses (nc, 4) of the contacts from impulses (3 nc,) in their frames; torsion last."""
    impulse = np.zeros((len(contacts), 4))
    _remember(contacts.normal, lam, impulse)
    return impulse


@kernel
def _match(key, normal, old_key, old_impulse, lam_out):
    """Walk two sorted lists of keys side by side."""
    k = 0
    for c in range(key.shape[0]):
        while k < old_key.shape[0] and old_key[k] < key[c]:
            k += 1
        if k < old_key.shape[0] and old_key[k] == key[c]:
            n = load3(normal, c)
            t1, t2 = tangents(n)
            f = (old_impulse[k, 0], old_impulse[k, 1], old_impulse[k, 2])
            lam_out[3 * c] = max(0.0, dot(n, f))
            lam_out[3 * c + 1] = dot(t1, f)
            lam_out[3 * c + 2] = dot(t2, f)


@kernel
def _remember(normal, lam, impulse_out):
    """impulse = lam_n n + lam_1 t1 + lam_2 t2."""
    for c in range(normal.shape[0]):
        n = load3(normal, c)
        t1, t2 = tangents(n)
        for k in range(3):
            impulse_out[c, k] = lam[3 * c] * n[k] + lam[3 * c + 1] * t1[k] + lam[3 * c + 2] * t2[k]
