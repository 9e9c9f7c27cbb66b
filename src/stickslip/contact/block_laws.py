"""The laws of the constraint blocks of a problem, as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.checks import array
from stickslip.contact.laws import CONTACT, DISC, ELLIPSE, ELLIPSOID


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
    friction_set = np.where(friction[:, 0] == friction[:, 1], DISC, ELLIPSE)
    friction_set = np.where(friction[:, 2] > 0.0, ELLIPSOID, friction_set).astype(np.int32)
    none = np.zeros(rows * count)
    return Laws(np.full(count, CONTACT, dtype=np.int32), friction_set, friction, none, none.copy())
