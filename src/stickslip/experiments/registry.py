"""Papers whose tables and figures can be measured again: ``stickslip reproduce PAPER``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from stickslip.errors import InputError
from stickslip.experiments.progress import Progress

if TYPE_CHECKING:
    from stickslip.experiments.report import Report


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments; ``module`` has ``reproduce(experiments, quick, out, progress, workers)``."""

    name: str
    summary: str
    module: str
    experiments: Mapping[str, str]
    """What each experiment shows, by its name."""

    def chosen(self, experiment: str | None) -> tuple[str, ...]:
        """The experiment of that name, or all of them for None."""
        if experiment is None:
            return tuple(self.experiments)
        if experiment not in self.experiments:
            known = ", ".join(self.experiments)
            raise InputError(f"{self.name}: experiment {experiment!r} is unknown; known: {known}")
        return (experiment,)

    def reproduce(
        self, experiments: Sequence[str], quick: bool, out: Path, progress: Progress, workers: int | None = None
    ) -> Report:
        """Run the experiments and write figures, tables and a report into ``out``."""
        report: Report = import_module(self.module).reproduce(experiments, quick, out, progress, workers)
        return report


_PAPERS = (
    Paper(
        "erleben2017",
        "Rigid Body Contact Problems using Proximal Operators: r-factor strategies, Gauss-Seidel against Jacobi",
        "stickslip.experiments.erleben2017.experiment",
        MappingProxyType(
            {
                "fig4": "convergence and outcomes of blocked, global and local r-factors on five scenes",
                "fig5": "solver time over the run of jacks",
                "fig6": "solver time over the run of spheres",
                "fig7": "kinetic and potential energy of jacks",
                "fig8": "convergence of Gauss-Seidel and Jacobi on jacks and spheres",
                "fig9": "divergence detections of Gauss-Seidel and Jacobi on jacks and spheres",
                "fixed-point": "does the answer depend on the r-factors? (sec. 4.2)",
            }
        ),
    ),
    Paper(
        "friction-transfer",
        "Does exactness matter? What is planned on soft contact, done on exact contact, and back (no paper: a study)",
        "stickslip.experiments.friction_transfer.experiment",
        MappingProxyType(
            {
                "push": "a puck is pushed with less force than friction holds: creep is made use of",
                "slide": "a puck is thrown at a place: box friction leads elsewhere",
                "gap": "a ball before a gap that is too narrow: overlap is made use of",
                "slope": "a puck that rests on a slope: it drifts on soft friction",
            }
        ),
    ),
    Paper(
        "han2023",
        "A Convex Formulation of Frictional Contact between Rigid and Deformable Bodies: SAP on soft bodies",
        "stickslip.experiments.han2023.experiment",
        MappingProxyType(
            {
                "table1": "unknowns, realtime rate and constraints of arch, press, gripper, chain and ring",
                "fig2": "shares of time of geometry, elements, Cholesky and SAP",
                "fig4": "force and displacement of a pressed rubber cylinder on four meshes",
                "fig7": "lagged against polar corotation: a cantilever at steps of 1 s, 100 ms and 10 ms",
                "fig8": "time a step and constraints of chains of 1 to 100 soft links",
                "fig9": "time a step of a soft ring of 900 to 28,800 unknowns",
            }
        ),
    ),
    Paper(
        "lee2023",
        "Large-Dimensional Multibody Dynamics Simulation Using Contact Nodalization and Diagonalization: COND",
        "stickslip.experiments.lee2023.experiment",
        MappingProxyType(
            {
                "table1": "a pushed box on virtual nodes and on springs: errors against the closed form",
                "table2": "a mat is folded: COND against PGS and APGD",
                "table3": "a ball is gripped: COND against PGS and APGD",
                "table4": "iterations by the stiffness of the ball",
                "table5": "a cable is wound: COND against PGS and APGD",
                "table6": "soft fingers close on an object: COND against PGS and APGD",
                "table7": "COND against contact constraint splitting on the mat",
                "table8": "COND against position-based dynamics on the cable",
                "table9": "iterations without and with Chebyshev acceleration",
                "runs": "whole runs of COND on the four scenes, with the paper's stopping rule and with ours",
                "robots": "mat, cable and gripper with an arm's joints among the unknowns: every step of COND",
                "fig6": "the pushed box over time",
                "fig11": "solver time of COND, PGS and APGD over unknowns of the mat",
                "fig13": "contact forces from the solver and from its velocities: the invertible model",
                "fig14": "paths of a box where friction depends on the direction",
            }
        ),
    ),
    Paper(
        "macklin2019",
        "Non-Smooth Newton Methods for Deformable Multi-Body Dynamics: scaling, solvers, soft bodies, accuracy, time",
        "stickslip.experiments.macklin2019.experiment",
        MappingProxyType(
            {
                "fig6": "compliance W and error of friction over the force, for both NCP functions",
                "fig7": "forces over time while a robot pushes a flexible beam into a hole",
                "fig9": "one constraint with and without scaling: Newton steps from any start",
                "fig11": "Jacobi, Gauss-Seidel, PCG and PCR on one linear system",
                "fig12": "a stretched elastic sheet with and without geometric stiffness: merit and convergence",
                "fig13": "volume of a bar pulled long, corotational against Neo-Hookean",
                "fig14": "an arch and heavy boxes that stand by Krylov methods and fall by relaxation",
                "fig16": "quartiles of the residual over an insertion of a beam, with and without scaling",
                "fig17": "identity, time-step and effective-mass scaling on arch, table pile and heavy stack",
                "fig18": "four inner solvers over a Newton solve, with the limits of eq. 91 and 92",
                "fig17-32bit": "the three scalings in 32-bit numbers, as the paper has them",
                "fig18-32bit": "the four inner solvers in 32-bit numbers",
                "sec8": "line search, damping, starts, and singular linear systems",
                "sec10.3": "how both complementarity functions distribute forces over redundant contacts",
                "table2": "time of assembly and solve at the paper's counts: arch, table pile, gripper, robot scenes",
            }
        ),
    ),
    Paper(
        "todorov2010",
        "Implicit nonlinear complementarity: iterations on balls in a cube, shock propagation",
        "stickslip.experiments.todorov2010.experiment",
        MappingProxyType(
            {
                "table1": "iterations and accepted Newton points, friction 0.1 to 2, 5 to 15 balls, cold starts",
                "table1-warm": "the same with warm starts",
                "table1-restarts": "cold starts, with restarts from local minima (proposed in sec. V)",
                "table1-recovery": "cold starts, with Gauss-Seidel sweeps after local minima",
                "fig6": "a shock passes through five balls in one step",
                "solvers": "other solvers on the same problems: iterations, time, residual (announced in sec. V)",
            }
        ),
    ),
)

PAPERS: Mapping[str, Paper] = MappingProxyType({paper.name: paper for paper in _PAPERS})
"""Papers by their name on the command line."""


def find_paper(name: str) -> Paper:
    """The paper of that name, or an InputError that lists them all."""
    if name not in PAPERS:
        raise InputError(f"paper {name!r} is unknown; known: {', '.join(PAPERS)}")
    return PAPERS[name]
