"""Colours of soft bodies that show a number: strain, stress or energy of elements, or the speed of nodes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from stickslip.arrays import Array
from stickslip.errors import InputError
from stickslip.model.soft_tables import SoftTables

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from stickslip.io.recording import Recording
    from stickslip.reading_state import ElementReport

QUANTITIES = {"von-mises": "Pa", "strain": "1", "energy": "J/m\N{SUPERSCRIPT THREE}", "speed": "m/s"}
"""What colours can show, and its unit; all but the speed belong to elements."""
WORDS = {"von-mises": "von Mises stress", "strain": "largest strain", "energy": "strain energy", "speed": "speed"}
"""What people call these."""
TINY, TURN = np.float32(1e-38), np.float32(2.0 * np.pi / 3.0)
FIELDS = {"von-mises": ("von_mises",), "strain": ("strain",), "energy": ("energy",), "speed": ()}
"""Fields of an ElementReport that each needs."""
SCALE = np.array(
    [(0.267, 0.005, 0.329), (0.229, 0.322, 0.546), (0.128, 0.567, 0.551), (0.369, 0.789, 0.383), (0.993, 0.906, 0.144)]
)
"""sRGB colours from the least to the largest value."""
LEAST_STRAIN, LEAST_SPEED = 1e-9, 1e-9
"""A strain, and a speed [m/s], that are nothing to look at."""


def element_values(report: ElementReport, quantity: str, volume: Array) -> Array:
    """One number (nt,) an element: von Mises' stress [Pa], the largest principal strain, or strain energy [J/m^3]."""
    match quantity:
        case "von-mises":
            return report.von_mises
        case "strain":
            return largest_principal(report.strain)
        case "energy":
            return report.energy / volume
    raise InputError(f"picture: colour by {quantity!r} is unknown; it must be one of {', '.join(QUANTITIES)}")


def largest_principal(strain: Array) -> Array:
    """(k,) the eigenvalue of largest size, without its sign, of symmetric matrices (k, 3, 3); in closed form, since
    LAPACK takes longer for a matrix than a page has for a frame."""
    # single precision is more than colours show
    xx, xy, xz, yy, yz, zz = strain.reshape(-1, 9).T[[0, 1, 2, 4, 5, 8]].astype(np.float32)
    mean = (xx + yy + zz) / 3
    a, b, c = xx - mean, yy - mean, zz - mean
    size = np.sqrt((a * a + b * b + c * c + 2 * (xy * xy + xz * xz + yz * yz)) / 6)
    determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)
    angle = np.arccos(np.clip(determinant / np.maximum(2 * size * size * size, TINY), -1, 1)) / 3
    high, low = mean + 2 * size * np.cos(angle), mean + 2 * size * np.cos(angle + TURN)
    return np.maximum(np.abs(high), np.abs(low)).astype(np.float64)


def node_values(soft: SoftTables, quantity: str, report: ElementReport | None, speed: Array) -> Array:
    """One number (nn,) a node; ``report`` is needed but for the speed (nn,) [m/s]."""
    if quantity == "speed":
        return speed
    if report is None:
        raise InputError(f"colour by {quantity}: the elements of soft bodies are not known; record them, or show speed")
    return node_means(soft, element_values(report, quantity, soft.elements.volume))


def recorded_values(recording: Recording, quantity: str, number: int) -> Array:
    """One number (nn,) a node of a quantity in a frame of a recording; no more of it is read than that needs."""
    fields, still = FIELDS[quantity], np.zeros(0)
    report = recording.elements(number, fields=fields) if fields else None
    speed = still if fields else np.linalg.norm(recording.node_velocity[number], axis=1)
    return node_values(recording.model.soft, quantity, report, speed)


def node_means(soft: SoftTables, values: Array) -> Array:
    """Numbers (nn,) of nodes for those of elements (nt,): the mean around a node, weighted by volume."""
    elements = soft.elements
    if values.shape != elements.volume.shape or not np.isfinite(values).all():
        raise InputError(f"picture: values have shape {values.shape}; {elements.volume.shape} finite ones are needed")
    return np.asarray(_averaging(soft) @ values)


@lru_cache(maxsize=2)
def _averaging(soft: SoftTables) -> csr_array:
    """(nn, nt) shares of elements in the means of nodes, by volume."""
    from scipy.sparse import csr_array

    elements = soft.elements
    node, share = elements.nodes.ravel(), np.repeat(elements.volume, 4)
    total = np.bincount(node, share, soft.node_count)
    column = np.repeat(np.arange(len(elements.volume)), 4)
    return csr_array((share / total[node], (node, column)), shape=(soft.node_count, len(elements.volume)))


def least_range(soft: SoftTables, quantity: str) -> float:
    """What the last colour stands for at least, in the unit of the quantity: far above rounding errors.

    Strains are rounded to about 1e-15 of one, or more where bodies are far from the origin; stress and energy density
    follow from the strain LEAST_STRAIN and the largest Young's modulus.
    """
    if quantity == "speed":
        return LEAST_SPEED
    if quantity == "strain":
        return LEAST_STRAIN
    mu, lam = soft.elements.parameter[:, 0], soft.elements.parameter[:, 1]
    young = float((mu * (3.0 * lam + 2.0 * mu) / (lam + mu)).max(initial=0.0))
    return 0.5 * young * LEAST_STRAIN**2 if quantity == "energy" else young * LEAST_STRAIN


def value_limits(values: Array, least: float = 0.0) -> tuple[float, float]:
    """What the first and the last colour stand for, where nobody says: zero, or the least if negative; the largest.

    The last one is ``least`` (see least_range) at least, so that rounding errors are not seen.
    """
    return min(0.0, float(values.min(initial=0.0))), float(values.max(initial=least))


def value_colours(values: Array, limits: tuple[float, float]) -> Array:
    """sRGB (k, 3) of numbers (k,) between two limits."""
    low, high = limits
    place = np.clip((values - low) / max(high - low, 1e-300), 0.0, 1.0)
    anchors = np.linspace(0.0, 1.0, len(SCALE))
    return np.stack([np.interp(place, anchors, SCALE[:, k]) for k in range(3)], axis=1)
