"""What drivers record of many steps of many worlds."""

from __future__ import annotations

from typing import NamedTuple

from stickslip.arrays import Array, Bools
from stickslip.worlds.certificates import WorldCertificates


class Recorded(NamedTuple):
    """N worlds at R times."""

    time: Array
    """(R, N) [s]"""
    q: Array
    """(R, N, nq)"""
    v: Array
    """(R, N, nv)"""
    diverged: Bools
    """(R, N)"""
    certificate: WorldCertificates
    """Arrays (R, N)."""
