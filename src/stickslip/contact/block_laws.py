"""The laws of the constraint blocks of a problem, as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.checks import array
from stickslip.contact.laws import CONTACT, DISC, ELLIPSE, ELLIPSOID
from stickslip.jit import kernel


class Laws(NamedTuple):
    """The law of each of n constraint blocks; see contact/laws.py for the codes."""

    law: Ints
    """(n,) CONTACT, BILATERAL, LIMIT, ELASTIC or BOUNDED."""
    friction_set: Ints
    """(n,) DISC, ELLIPSE, ELLIPSOID or BOX_SET; read where the law is CONTACT."""
    friction: Array
    """(n, 3) friction coefficients along t1 and t2, and about the normal [m]."""
    compliance: Array
    """(m,) [1/kg] per row: u + compliance lam takes the place of u; of contacts, on the normal row alone."""
    bound: Array
    """(m,) [N s] largest impulse of each row, read where the law is BOUNDED."""


def joined_laws(first: Laws, second: Laws) -> Laws:
    """Laws of the blocks of ``first``, followed by those of ``second``."""
    return Laws(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in Laws._fields))


def contact_laws(mu: ArrayLike, rows: int = 3) -> Laws:
    """Laws of contacts of 3 or 4 rows with Coulomb friction mu (n,), or (n, 3) along t1, t2 and about the normal.

    The friction set follows from the coefficients: a disc, an ellipse where the first two differ, an ellipsoid
    where there is torsion ([erleben2017] eq. 15-16).
    """
    given = array("problem", "mu", mu, (), (None,), (None, 3))
    count = len(given.reshape(-1)) if given.ndim < 2 else len(given)
    friction = np.zeros((count, 3))
    if given.ndim < 2:
        friction[:, 0] = friction[:, 1] = given.reshape(-1)
    else:
        friction[:] = given
    return friction_laws(friction, np.zeros(rows * count))


def friction_laws(friction: Array, compliance: Array) -> Laws:
    """The same of contacts whose coefficients (n, 3) are known to be sound, with the compliance (m,) of their rows."""
    law, friction_set = np.empty((2, len(friction)), dtype=np.int32)
    friction_sets(friction, law, friction_set)
    return Laws(law, friction_set, friction, compliance, np.zeros(len(compliance)))


@kernel
def friction_sets(friction, law_out, set_out):
    """The law and the friction set of each contact."""
    for c in range(friction.shape[0]):
        law_out[c] = CONTACT
        set_out[c] = DISC if friction[c, 0] == friction[c, 1] else ELLIPSE
        if friction[c, 2] > 0.0:
            set_out[c] = ELLIPSOID
