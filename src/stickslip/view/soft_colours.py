"""Colours of soft bodies that show a number: strain, stress or energy of elements, or the speed of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.soft_tables import SoftTables

if TYPE_CHECKING:
    from stickslip.soft_reading import ElementReport

QUANTITIES = {"von-mises": "Pa", "strain": "1", "energy": "J/m\N{SUPERSCRIPT THREE}", "speed": "m/s"}
"""What colours can show, and its unit; all but the speed belong to elements."""
SCALE = np.array(
    [(0.267, 0.005, 0.329), (0.229, 0.322, 0.546), (0.128, 0.567, 0.551), (0.369, 0.789, 0.383), (0.993, 0.906, 0.144)]
)
"""sRGB colours from the least to the largest value."""


def element_values(report: ElementReport, quantity: str, volume: NDArray[np.float64]) -> NDArray[np.float64]:
    """One number (nt,) an element: von Mises' stress [Pa], the largest principal strain, or strain energy [J/m^3]."""
    match quantity:
        case "von-mises":
            return report.von_mises
        case "strain":
            return np.abs(np.linalg.eigvalsh(report.strain)).max(axis=1)
        case "energy":
            return report.energy / volume
    raise InputError(f"picture: colour by {quantity!r} is unknown; it must be one of {', '.join(QUANTITIES)}")


def node_values(
    soft: SoftTables, quantity: str, report: ElementReport | None, speed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """One number (nn,) a node; ``report`` is needed but for the speed (nn,) [m/s]."""
    if quantity == "speed":
        return speed
    if report is None:
        raise InputError(f"colour by {quantity}: the elements of soft bodies are not known; record them, or show speed")
    return node_means(soft, element_values(report, quantity, soft.elements.volume))


def node_means(soft: SoftTables, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers (nn,) of nodes for those of elements (nt,): the mean around a node, weighted by volume."""
    elements = soft.elements
    if values.shape != elements.volume.shape or not np.isfinite(values).all():
        raise InputError(f"picture: values have shape {values.shape}; {elements.volume.shape} finite ones are needed")
    share = np.repeat(elements.volume, 4)
    total = np.bincount(elements.nodes.ravel(), share, soft.node_count)
    mean = np.bincount(elements.nodes.ravel(), share * np.repeat(values, 4), soft.node_count)
    return np.divide(mean, total, out=np.zeros(soft.node_count), where=total > 0.0)


def value_limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """What the first and the last colour stand for, where nobody says: zero, or the least if negative; the largest."""
    return min(0.0, float(values.min(initial=0.0))), float(values.max(initial=0.0))


def value_colours(values: NDArray[np.float64], limits: tuple[float, float]) -> NDArray[np.float64]:
    """sRGB (k, 3) of numbers (k,) between two limits."""
    low, high = limits
    place = np.clip((values - low) / max(high - low, 1e-300), 0.0, 1.0)
    anchors = np.linspace(0.0, 1.0, len(SCALE))
    return np.stack([np.interp(place, anchors, SCALE[:, k]) for k in range(3)], axis=1)
