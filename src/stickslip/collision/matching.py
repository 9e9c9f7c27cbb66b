"""Remembered impulses of the last step, matched to the contacts of this one by key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.contacts import Contacts
from stickslip.jit import kernel
from stickslip.linalg.vec3 import cross, dot, load3


def match(contacts: Contacts, rows: int, key: NDArray[np.int64], impulse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Impulses (rows nc,) in the contact frames, for the keys (sorted) and impulses (k, 4) of the last step."""
    lam = np.zeros((len(contacts), rows))
    _match(contacts.key, contacts.normal, contacts.tangent, key, impulse, lam)
    return lam.ravel()


def remember(contacts: Contacts, lam: NDArray[np.float64]) -> NDArray[np.float64]:
    """Impulses (nc, 4), world frame and torsion, of the contacts from impulses (rows nc,) in their frames."""
    impulse = np.zeros((len(contacts), 4))
    if len(contacts):
        _remember(contacts.normal, contacts.tangent, lam.reshape(len(contacts), -1), impulse)
    return impulse


@kernel
def _match(key, normal, tangent, old_key, old_impulse, lam_out):
    """Walk two sorted lists of keys side by side."""
    k = 0
    for c in range(key.shape[0]):
        while k < old_key.shape[0] and old_key[k] < key[c]:
            k += 1
        if k < old_key.shape[0] and old_key[k] == key[c]:
            n, t1 = load3(normal, c), load3(tangent, c)
            f = (old_impulse[k, 0], old_impulse[k, 1], old_impulse[k, 2])
            lam_out[c, 0] = max(0.0, dot(n, f))
            lam_out[c, 1] = dot(t1, f)
            lam_out[c, 2] = dot(cross(n, t1), f)
            if lam_out.shape[1] > 3:
                lam_out[c, 3] = old_impulse[k, 3]


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
