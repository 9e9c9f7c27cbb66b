"""Options of the non-smooth Newton method of [macklin2019], and what they ask of a problem."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from stickslip.errors import InputError
from stickslip.linalg.linear_solvers import LINEAR_SOLVERS
from stickslip.linalg.preconditioned import PRECONDITIONED
from stickslip.linalg.preconditioners import PRECONDITIONERS
from stickslip.names import shown
from stickslip.solvers.iterative import Iterative
from stickslip.solvers.newton.ncp import NCP_FUNCTIONS
from stickslip.solvers.protocol import ElementRows, Takes

FRICTION = ("auto", "fixed-point", "alart-curnier", "tresca")
SCALINGS = ("effective-mass", "timestep", "identity")
DEVICE = re.compile(r"host|cpu|cuda(:\d+)?")
"""Names of those who may iterate."""
ELEMENT_STIFFNESS: dict[str, ElementRows] = {"differences": "bare", "column-sums": "column-sums", "matrix": "matrix"}
"""Where the stiffness comes from that rows of elements lack, and what is in A for it."""


@dataclass(frozen=True)
class NewtonOptions(Iterative):
    """Options of the non-smooth Newton method."""

    name: ClassVar[str] = "newton"

    max_iterations: int = 200
    """Newton iterations at most."""
    function: str = "fischer-burmeister"
    """NCP function: "fischer-burmeister" or "minimum-map" (sec. 4)."""
    scaling: str = "effective-mass"
    """Complementarity preconditioner r (sec. 7): "effective-mass" (eq. 66), "timestep" (h^2) or "identity" (1)."""
    friction_share: float = 0.1
    """Share of r that friction rows take by the fixed point; 1 is the paper's. W of a sliding contact is stable only
    for r below about twice its response with all other rows held, which is often far below the diagonal: of the
    problems of beam-insertion 15 of 15 are solved with 0.1 and 7 with 1, of those in files 32 and 28 of 37."""
    linear: str = "auto"
    """Linear solver: "velocities" eliminates all rows and factorises what is left, over velocities, as sparse as the
    bodies' contacts; "direct" factorises the system of rows; "pcr", "pcg", "jacobi" and "gauss-seidel" iterate on it,
    "pcr" in the paper. "auto" is "velocities". W alone is always factorised."""
    preconditioner: str = "auto"
    """Of "pcr" and "pcg" (linalg/preconditioners.py): "jacobi", the paper's; "block-jacobi"; "joints", joints exactly
    beside Jacobi; "joints-eliminated"; "multigrid" for elements. "auto" is what suits the rows of the problem."""
    linear_iterations: int = 50
    """Iterations of the linear solver at most, in each Newton iteration."""
    linear_tolerance: float = 1e-4
    """Relative residual at which the linear solver stops; 0 always takes all iterations."""
    damping: float = 0.75
    """Share t of each Newton step that is taken (sec. 8.1); joints alone are smooth, and take whole steps."""
    start_from: str = "warm"
    """"warm": impulses of the last step; "zero": no impulses and no velocity (eq. 67-68)."""
    regularisation: float = 1e-6
    """Shift of the matrix (sec. 8.4), as a share of the diagonal of J H^-1 J^T. Where joints are redundant it keeps
    their inner stresses small: with a hundredth of it they grow from step to step, and momentum no longer converges."""
    proximal: float = 2.0
    """More of that shift for contacts, whose impulses are often redundant, while the residual is large: this times the
    residual, and times a share that rises where the residual rises and falls with it. With the fixed point of friction
    there is none, as in the paper."""
    whole_steps: bool = True
    """Take whole Newton steps while the residual falls by half or more; damped ones after others, and, as in the paper,
    always with the fixed point of friction."""
    friction: str = "auto"
    """"fixed-point": eq. (35), W held fixed in each step, so that sliding converges linearly; "alart-curnier": the
    semismooth derivative of the projection onto the friction cone (alart_curnier.py), for the linear solver
    "velocities"; "tresca": the same with the radius of the cone held fixed in the matrix, which keeps it symmetric, so
    that every linear solver takes it. "auto" is "alart-curnier" where that is the linear solver, else "tresca"."""
    device: str = "host"
    """Who iterates: "host", the kernels of this process, or a device of Warp (extra gpu): "cuda", "cuda:1" for graphics
    cards, "cpu". On a device the forms are the paper's (on_device.py): "pcr", and friction by its fixed point."""
    precision: int = 64
    """Bits of numbers. 32 on a device: of all that it computes with, residuals are measured in 64. 32 without one: of
    functions, linear solver and iterates as the paper has them (single_precision.py), with friction by the fixed point,
    "pcr", "pcg", "jacobi" or "gauss-seidel", for rigid bodies and particles; to measure what the paper measured."""
    line_search: bool = False
    """Halve steps until the error falls (sec. 8.1); stalls often where there is friction, as the paper says."""
    geometric_stiffness: bool = True
    """Take the turning of forces into H (sec. 8.3): that of joints as they say, that of particles by differences."""
    element_stiffness: str = "auto"
    """What the rows of elements lack, how they turn and shear, in H: "matrix", the stiffness of the elements as a
    sparse matrix, over whose velocities each system is solved directly; "column-sums", a diagonal that bounds it;
    "differences", a diagonal by differences of J between iterates, as the paper has it. "auto" is "matrix" where
    ``linear`` is "auto" or "velocities", and "column-sums" with other linear solvers."""
    look_every: int = 1
    """Newton iterations from one look at the residual to the next; the last iterate is always looked at. With counts
    that are fixed, as in Table 2 of the paper, all looks but that one are work for nothing."""
    patience: int = 60
    """Iterations without a residual a tenth lower after which it gives up."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("function", tuple(NCP_FUNCTIONS))
        self._check_choice("scaling", SCALINGS)
        self._check_choice("linear", ("auto", "velocities", *LINEAR_SOLVERS))
        self._check_choice("friction", FRICTION)
        self._check_choice("preconditioner", ("auto", *PRECONDITIONERS))
        if self.preconditioner not in ("auto", "jacobi") and (self.linear not in PRECONDITIONED or self.on_device):
            raise InputError(
                f"solver newton: preconditioner is {self.preconditioner!r}, linear {self.linear!r}; only "
                f"{' and '.join(PRECONDITIONED)} take one, not on a device"
            )
        if self.friction == "alart-curnier" and self.linear not in ("auto", "velocities"):
            raise InputError(
                f"solver newton: friction is 'alart-curnier', linear {self.linear!r}; the matrix is then unsymmetric, "
                "which only 'velocities' takes"
            )
        self._check_choice("start_from", ("warm", "zero"))
        self._check_choice("element_stiffness", ("auto", *ELEMENT_STIFFNESS))
        self._check_whole("linear_iterations", 1)
        self._check_whole("patience", 1)
        self._check_whole("look_every", 1)
        self._check_range("friction_share", 0.0, 10.0)
        self._check_range("damping", 0.0, 1.0 + 1e-12)
        self._check_range("proximal", -1e-300, 1e6)
        for name in ("linear_tolerance", "regularisation"):
            self._check_range(name, -1e-300, 1.0)
        for name in ("line_search", "geometric_stiffness", "whole_steps"):
            self._check_flag(name)
        self._check_device()

    def _check_device(self) -> None:
        """Raise an InputError where device and precision do not go with other options."""
        if not (isinstance(self.device, str) and DEVICE.fullmatch(self.device)):
            raise InputError(
                f"solver newton: device is {shown(self.device)}; it must be 'host', 'cpu', 'cuda' or 'cuda:1'"
            )
        self._check_whole("precision", 1)
        if self.precision not in (64, 32):
            raise InputError(f"solver newton: precision is {self.precision!r}; it must be 64 or 32")
        if not self.on_device:
            if self.precision == 32:
                self._check_singles()
            return
        lacking = {"linear": ("auto", "pcr"), "friction": ("auto", "fixed-point"), "line_search": (False,)}
        for name, known in lacking.items():
            if getattr(self, name) not in known:
                raise InputError(
                    f"solver newton: {name} is {getattr(self, name)!r}; on a device it must be "
                    f"{' or '.join(repr(word) for word in known)}"
                )

    def _check_singles(self) -> None:
        """Raise an InputError where 32 bit do not go with other options."""
        if self.linear not in ("pcr", "pcg", "jacobi", "gauss-seidel"):
            raise InputError(
                f"solver newton: precision is 32, linear {self.linear!r}; in 32 bit it is 'pcr', 'pcg', 'jacobi' or "
                "'gauss-seidel'"
            )
        if self.friction_form != "fixed-point" or self.preconditioner not in ("auto", "jacobi") or self.line_search:
            raise InputError(
                "solver newton: precision is 32; friction must be 'fixed-point' then, preconditioner 'jacobi', and "
                "line_search False"
            )

    @cached_property
    def takes(self) -> Takes:
        """See protocol.Takes."""
        return Takes(
            linearise="until-converged" if self.on_device else "inside",
            criterion=self.criterion, friction_sets=("disc", "ellipse", "ellipsoid"),
            islands="together", element_rows=self._element_rows, compliance=True,
        )  # fmt: skip

    @property
    def _element_rows(self) -> ElementRows:
        if self.element_stiffness != "auto":
            return ELEMENT_STIFFNESS[self.element_stiffness]
        return "matrix" if self.over_velocities else "column-sums"

    def scales(self, h: float) -> tuple[float, float]:
        """r of normal and friction rows (sec. 7) at a step h [s], or zero where each row has its own (eq. 66)."""
        return {"effective-mass": (0.0, 0.0), "timestep": (1.0, 1.0), "identity": (1.0 / h**2, 1.0 / h)}[self.scaling]

    @property
    def on_device(self) -> bool:
        """Whether a device iterates."""
        return self.device != "host"

    @property
    def over_velocities(self) -> bool:
        """Whether systems are solved over velocities."""
        return self.linear in ("auto", "velocities")

    @property
    def friction_form(self) -> str:
        """The form of friction that "auto" stands for."""
        if self.friction != "auto":
            return self.friction
        if self.precision == 32 or self.on_device:
            return "fixed-point"
        return "alart-curnier" if self.over_velocities else "tresca"

    @property
    def semismooth(self) -> bool:
        """Whether friction has a semismooth derivative."""
        return self.friction_form != "fixed-point"
