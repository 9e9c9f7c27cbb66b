"""What a person says of an elastic rod, the checks of it, and the handle that is given for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stickslip.arrays import Array
from stickslip.checks import array, not_negative, positive
from stickslip.errors import InputError
from stickslip.geometry.rotation import between, conjugate, matrix, multiply, rotation_vector
from stickslip.scene.body import Body
from stickslip.scene.joint import Joint, SectionSprings

Rest = Literal["straight", "as given"]
SHORTEST = 1e-9
"""Links shorter than this share of a rod's length are mistakes."""


@dataclass(frozen=True, eq=False)
class Rod:
    """Handle of a rod: the rigid links it is made of, and the elastic sections that join them."""

    name: str
    links: tuple[Body, ...]
    """From its start to its end; local z points along the rod."""
    sections: tuple[Joint, ...]
    """One between any two neighbouring links; of a clamped rod also those at its clamped ends."""
    radius: float
    """[m]"""
    link_length: Array
    """(links,) [m]"""
    section_length: Array
    """(sections,) [m] of the rod that each section stands for."""
    closed: bool
    """Whether its end is joined to its start."""

    @property
    def length(self) -> float:
        """Length [m] of the rod at rest."""
        return float(self.link_length.sum())

    def points(self, q: Array) -> Array:
        """Points (links + 1, 3) [m] of the centre line at q (nb, 7) of a state: ends of links, halfway where two meet.

        Those of a closed rod begin and end with the same point.
        """
        own = q[[link.index for link in self.links]]
        half = 0.5 * self.link_length[:, None] * np.array([matrix(pose[3:])[:, 2] for pose in own])
        start, end = own[:, :3] - half, own[:, :3] + half
        first, last = start[:1], end[-1:]
        if self.closed:
            first = last = 0.5 * (first + last)
        return np.concatenate([first, 0.5 * (end[:-1] + start[1:]), last])


@dataclass(frozen=True)
class Section:
    """Stiffnesses of a round section; those of the strains, that is, times a length."""

    shear: float
    """[N] k G A, k = 6 (1 + nu) / (7 + 6 nu) after Cowper."""
    stretch: float
    """[N] E A"""
    bend: float
    """[N m^2] E I"""
    twist: float
    """[N m^2] G J"""

    def springs(self, length: float, curvature: Array, damping: float) -> SectionSprings:
        """Springs of a ``length`` [m] of the rod with the rest curvature (3,) [1/m], damped by ``damping`` [s]."""
        along = np.array([self.shear, self.shear, self.stretch, self.bend, self.bend, self.twist])
        return SectionSprings(
            rest=np.concatenate([np.zeros(3), length * curvature]),
            stiffness=along / length,
            damping=damping * along / length,
        )


def round_section(where: str, radius: float, young: float, poisson: float) -> Section:
    """Section of a solid round rod of ``radius`` [m], with Young's modulus [Pa] and Poisson's ratio."""
    r, E = positive(where, "radius", radius), positive(where, "young", young)
    nu = not_negative(where, "poisson", poisson)
    if nu > 0.5:
        raise InputError(f"{where}: poisson is {nu}; it must be between 0 and 0.5")
    G, A, second = E / (2.0 * (1.0 + nu)), pi * r**2, 0.25 * pi * r**4
    return Section(6.0 * (1.0 + nu) / (7.0 + 6.0 * nu) * G * A, E * A, E * second, 2.0 * G * second)


def segment_mass(density: float, radius: float, length: float) -> tuple[float, Array]:
    """Mass [kg] and principal moments (3,) [kg m^2] of a round segment of a rod along z."""
    m = density * pi * radius**2 * length
    across = m * (3.0 * radius**2 + length**2) / 12.0
    return m, np.array([across, across, 0.5 * m * radius**2])


def checked_points(where: str, points: ArrayLike, closed: bool) -> Array:
    """Ends of links (n, 3) [m]; of a closed rod the last is the first again."""
    given = array(where, "points", points, (None, 3))
    count = len(given)
    if closed:
        given = np.concatenate([given, given[:1]])
    least = 4 if closed else 2
    if len(given) < least:
        raise InputError(f"{where}: it has {count} points; at least {least - closed} are needed")
    length = np.linalg.norm(np.diff(given, axis=0), axis=1)
    if length.min() <= SHORTEST * length.sum():
        k = int(np.argmin(length))
        raise InputError(
            f"{where}: points {k} and {(k + 1) % (len(given) - closed)} are both {given[k]}; they must differ"
        )
    return given


def transported_frames(tangents: Array) -> Array:
    """Rotations (n, 4) whose z axes are the unit ``tangents`` (n, 3), each the last one turned the shortest way.

    The frames do not twist about the rod (Bishop): what is measured between neighbours is bending alone.
    """
    frames = [between((0, 0, 1), tangents[0])]
    for before, after in zip(tangents[:-1], tangents[1:], strict=True):
        turned = multiply(between(before, after), frames[-1])
        frames.append(turned / np.linalg.norm(turned))
    return np.array(frames)


def bend_between(a: Array, b: Array) -> Array:
    """Rotation vector (3,) [rad] from the frame a (4,) to b (4,), in either of them."""
    return rotation_vector(multiply(conjugate(a), b))


def rest_curvature(where: str, rest: Rest | ArrayLike, bend: Array, length: Array) -> Array:
    """Curvature and twist (n, 3) [1/m] at rest of sections with bend (n, 3) [rad] at time zero and length (n,) [m]."""
    if isinstance(rest, str):
        if rest not in ("straight", "as given"):
            raise InputError(f"{where}: rest is {rest!r}; it must be 'straight', 'as given' or numbers (3,) [1/m]")
        return np.zeros_like(bend) if rest == "straight" else bend / length[:, None]
    given = array(where, "rest", rest, (3,), bend.shape)
    return np.array(np.broadcast_to(given, bend.shape))
