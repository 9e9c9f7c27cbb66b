"""What a user says of soft bodies: elastic materials, meshes in their place, and what holds, drives and fills them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from numpy.typing import ArrayLike

from stickslip.arrays import Array, Ints
from stickslip.checks import choice, finite, not_negative, positive, vector
from stickslip.errors import InputError
from stickslip.geometry.tet_mesh import TetMesh

ElasticModel = Literal[
    "linear", "corotational", "lagged-corotational", "st-venant-kirchhoff", "neo-hookean", "mooney-rivlin"
]
LINEAR, COROTATIONAL, LAGGED, ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, MOONEY_RIVLIN = range(6)
"""Codes of elastic models, in the order of MODELS."""
MODELS: tuple[ElasticModel, ...] = (
    "linear", "corotational", "lagged-corotational", "st-venant-kirchhoff", "neo-hookean", "mooney-rivlin",
)  # fmt: skip
NodeMotion = Callable[[float], tuple[ArrayLike, ArrayLike]]
"""Prescribed motion of nodes: time [s] -> displacement (3,) [m] and rotation (w, x, y, z) about their centre."""
Course = Callable[[float], float]
"""A number that depends on time [s]."""


@dataclass(frozen=True)
class Constant:
    """A number that does not depend on time, where a function of time is kept."""

    value: float

    def __call__(self, time: float) -> float:
        """The number, whatever the time [s]."""
        return self.value


@dataclass(frozen=True)
class SoftBody:
    """Handle of a soft body: its index among the soft bodies, and its name. Stays valid for the scene's life."""

    index: int
    name: str


@dataclass(frozen=True)
class Elastic:
    """What a soft body is made of; make it with :func:`elastic`."""

    model: ElasticModel
    mu: float
    """[Pa] Lame's second parameter, the shear modulus."""
    lam: float
    """[Pa] Lame's first parameter."""
    density: float
    """[kg/m^3]"""
    alpha: float
    """[1/s] Rayleigh damping by mass ([han2023] eq. 5)."""
    beta: float
    """[s] Rayleigh damping by stiffness."""
    c1: float = 0.0
    """[Pa] of Mooney and Rivlin."""
    c2: float = 0.0
    bulk: float = 0.0
    """[Pa] bulk modulus of a Mooney-Rivlin material."""

    @property
    def code(self) -> int:
        """Position of the model in MODELS."""
        return MODELS.index(self.model)

    @property
    def parameters(self) -> tuple[float, float, float, float, float]:
        """mu, lam, c1, c2, bulk [Pa]: a row of ElementTables.parameter."""
        return self.mu, self.lam, self.c1, self.c2, self.bulk


def elastic(
    young: float | None = None,
    poisson: float | None = None,
    *,
    mu: float | None = None,
    lam: float | None = None,
    mooney: tuple[float, float, float] | None = None,
    model: ElasticModel | None = None,
    density: float = 1000.0,
    alpha: float = 0.0,
    beta: float = 0.0,
) -> Elastic:
    """An elastic material: Young's modulus [Pa] and Poisson's ratio, or Lame's mu and lam [Pa], or C1, C2, bulk [Pa].

    ``model`` is "lagged-corotational" unless given ([han2023] eq. 7), and "mooney-rivlin" where ``mooney`` is.
    """
    where = "elastic material"
    given = [any(value is not None for value in way) for way in ((young, poisson), (mu, lam), (mooney,))]
    if sum(given) != 1:
        raise InputError(f"{where}: give young and poisson, or mu and lam, or mooney=(c1, c2, bulk); one of the three")
    usual: ElasticModel = "mooney-rivlin" if mooney is not None else "lagged-corotational"
    chosen = usual if model is None else cast(ElasticModel, choice(where, "model", model, MODELS))
    if (chosen == "mooney-rivlin") != (mooney is not None):
        raise InputError(f"{where}: model is {chosen!r}; mooney=(c1, c2, bulk) belongs to 'mooney-rivlin' only")
    rho = positive(where, "density", density)
    damping = not_negative(where, "alpha", alpha), not_negative(where, "beta", beta)
    c1 = c2 = bulk = 0.0
    if mooney is not None:
        c1, c2, bulk = vector(where, "mooney", mooney).tolist()
        positive(where, "bulk", bulk)
        if not (finite(where, "c1", c1) >= 0.0 and finite(where, "c2", c2) >= 0.0 and c1 + c2 > 0.0):
            raise InputError(f"{where}: c1, c2 are {c1}, {c2}; both must be zero or positive, and not both zero")
        mu = 2.0 * (c1 + c2)
        lam = bulk - 2.0 / 3.0 * mu
    elif young is not None or poisson is not None:
        if young is None or poisson is None:
            raise InputError(f"{where}: young is {young}, poisson is {poisson}; both are needed")
        E, nu = positive(where, "young", young), finite(where, "poisson", poisson)
        if not -1.0 < nu < 0.5:
            raise InputError(f"{where}: poisson is {nu}; it must be above -1 and below 0.5")
        mu = E / (2.0 * (1.0 + nu))
        lam = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    if mu is None or lam is None:
        raise InputError(f"{where}: mu is {mu}, lam is {lam}; both are needed")
    shear, first = positive(where, "mu", mu), finite(where, "lam", lam)
    if not first > -2.0 / 3.0 * shear:
        raise InputError(f"{where}: lam is {first}; it must be above -2/3 mu = {-2.0 / 3.0 * shear:.6g}")
    return Elastic(chosen, shear, first, rho, *damping, c1, c2, bulk)


@dataclass(frozen=True, eq=False)
class Activation:
    """An internal volumetric stress [Pa] in some elements; positive ones swell ([macklin2019] sec. 10.1.4)."""

    elements: Ints
    stress: Course


@dataclass(frozen=True, eq=False)
class Cavity:
    """A closed surface inside a soft body, filled with a pressure [Pa] or kept at a volume [m^3]."""

    triangles: Ints
    """(k, 3) nodes; the normals point out of the cavity, into the material."""
    pressure: Course | None
    volume: Course | None
    bulk: float = 0.0
    """[Pa] with volume control: how stiff the filling is."""


@dataclass(frozen=True, eq=False)
class HeldNodes:
    """Nodes that are fixed in space, or moved: x = centre + R(t) (x_start - centre) + d(t)."""

    nodes: Ints
    motion: NodeMotion | None
    centre: Array


@dataclass(frozen=True, eq=False)
class Welded:
    """Nodes that are welded to a rigid body."""

    nodes: Ints
    body: int


@dataclass(eq=False)
class SoftDescription:
    """Everything the user said of one soft body; ``start`` (n, 3) [m] are its nodes in the world at time zero."""

    name: str
    mesh: TetMesh
    start: Array
    velocity: Array
    """(n, 3) [m/s]"""
    force: Array
    """(n, 3) [N]"""
    elastic: tuple[Elastic, ...]
    region: Ints
    """(elements,) which material of ``elastic`` each has."""
    material: int
    self_contact: bool
    colour: tuple[float, float, float] | None
    normal: Array | None = None
    """(3,) of the plane in which it moves and is strained, in the world; None in three dimensions."""
    held: list[HeldNodes] = field(default_factory=list)
    welded: list[Welded] = field(default_factory=list)
    activations: list[Activation] = field(default_factory=list)
    cavities: list[Cavity] = field(default_factory=list)
