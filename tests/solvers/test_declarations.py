"""What solvers declare (protocol.Takes) is true: each value is tested by what a solver does."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mixed_problems import mixed_problem
from nodal_problems import soft_cubes

import stickslip
from stickslip import InputError, Scene, Simulation
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import BOX_SET, CONTACT
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.problem import ContactProblem
from stickslip.contact.residual import scaled_residual
from stickslip.contact.row_by_row import Row, assemble, contact
from stickslip.linalg.block_factors import BlockFactors
from stickslip.solvers.protocol import ALL_FRICTION_SETS, ALL_LAWS, Solver
from stickslip.solvers.registry import SOLVERS, make_solver

GAINS = {"stiffness": 1e4, "damping": 10.0, "tangential_damping": 10.0}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in SOLVERS},
    "pgs disc": ("pgs", {"friction": "disc"}),
    "pgs velocity": ("pgs", {"criterion": "velocity"}),
    "apgd factorised": ("apgd", {"operator": "factorised"}),
    "apgd velocity": ("apgd", {"criterion": "velocity"}),
    "admm nodes": ("admm", {"splitting": "nodes"}),
    "admm nodes velocity": ("admm", {"splitting": "nodes", "criterion": "velocity"}),
    "cond proximal": ("cond", {"operator": "proximal"}),
    "cond step": ("cond", {"criterion": "step"}),
    "penalty gains": ("penalty", GAINS),
}
"""All solvers, and those of their options that change what they declare."""
NEED_BODIES = ("admm nodes", "admm nodes velocity")
"""They refuse the problem of the gallery that is given by W alone."""


def box_slips() -> ContactProblem:
    """A particle that slides on a contact whose friction set is a box."""
    row = contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, 0), (0.4, 0.2, 0.0), friction_set=BOX_SET, tangent=(1, 0, 0))
    return assemble([2.0], [1.0], [1.0, 0.5, -1.0, 0, 0, 0], [row])


SETS = {
    "disc": lambda: GALLERY["box-slips-on-slope"]().problem,
    "ellipse": lambda: GALLERY["ellipse-slips"]().problem,
    "ellipsoid": lambda: GALLERY["disc-spins"]().problem,
    "box": box_slips,
}
LAWS = {
    "contact": lambda: GALLERY["one-contact-slip"]().problem,
    "bilateral": lambda: GALLERY["pendulum"]().problem,
    "limit": lambda: GALLERY["hanging-pair"]().problem,
    "elastic": lambda: mixed_problem(0),
    "bounded": lambda: GALLERY["drive-saturates"]().problem,
}


def made(way: str, **options: Any) -> Solver:
    name, own = WAYS[way]
    return make_solver(name, **{**own, **options})


@dataclass
class Seen:
    """Calls of a solver."""

    runs: list[ContactProblem] = field(default_factory=list)
    given: list[bool] = field(default_factory=list)
    """Whether a run was given ``relinearise``."""
    linearised: int = 0
    """How often it was called."""
    advances: int = 0


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Takes note of what the class of a solver is asked for; inner solves by the same class are not counted."""

    def spy(solver: Any) -> Seen:
        kind, seen, depth = type(solver), Seen(), [0]
        run = kind.run

        def watched(self: Any, problem: Any, warm: Any, relinearise: Any) -> Any:
            def counted(v: Any, lam: Any = None) -> Any:
                seen.linearised += 1
                return relinearise(v, lam)

            if depth[0] == 0:
                seen.runs.append(problem)
                seen.given.append(relinearise is not None)
            depth[0] += 1
            try:
                return run(self, problem, warm, None if relinearise is None else counted)
            finally:
                depth[0] -= 1

        monkeypatch.setattr(kind, "run", watched)
        if hasattr(kind, "advance"):
            advance = kind.advance

            def advanced(self: Any, step: Any, problem: Any) -> Any:
                seen.advances += 1
                return advance(self, step, problem)

            monkeypatch.setattr(kind, "advance", advanced)
        return seen

    return spy


def test_every_law_and_set_is_tried() -> None:
    assert set(SETS) == set(ALL_FRICTION_SETS)
    assert set(LAWS) == set(ALL_LAWS)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("way", WAYS)
def test_friction_sets(way: str, kind: str) -> None:
    solver, problem = made(way), SETS[kind]()
    if kind not in solver.takes.friction_sets:
        with pytest.raises(InputError, match=f"solver {solver.name}: contact 0 .*friction set '{kind}'"):
            solver.solve(problem)
        return
    found = solver.solve(problem)
    assert found.converged
    if solver.takes.criterion == "scaled":
        assert found.residual <= solver.tolerance


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("way", WAYS)
def test_laws(way: str, kind: str) -> None:
    solver, problem = made(way), LAWS[kind]()
    if kind not in solver.takes.laws:
        with pytest.raises(InputError, match=f"solver {solver.name}: block .*law '{kind}'"):
            solver.solve(problem)
        return
    found = solver.solve(problem)
    assert np.isfinite(found.lam).all()
    assert found.converged or kind in ("elastic", "bilateral"), found.status


def pressed() -> ContactProblem:
    """Two balls on the ground, whose contacts are springs."""
    scene = Scene()
    scene.add_half_space(friction=0.3, contact_stiffness=2e4, contact_dissipation=0.01)
    for k in range(2):
        scene.add_sphere(0.1, (0.15 * k, 0, 0.0995), friction=0.3, velocity=(0.1, -0.4, -0.2))
    return Simulation(scene, dt=0.005).step().problem


@pytest.mark.parametrize("way", WAYS)
def test_compliance(way: str, spied: Any) -> None:
    solver, problem = made(way), pressed()
    assert problem.contact_compliance is not None
    seen = spied(solver)
    found = solver.solve(problem)
    assert (seen.runs[0].contact_compliance is not None) == solver.takes.compliance
    assert found.v.shape == (problem.unknown_count,)
    if solver.takes.criterion == "scaled" and solver.takes.law != "penalty":
        assert found.converged


@pytest.mark.parametrize("way", WAYS)
def test_soft_bodies(way: str, spied: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who solves for impulses gets condensed problems; factors are prepared, left to the solver, or never made."""
    solver = made(way, max_iterations=50)
    seen, takes, factorised = spied(solver), solver.takes, []
    whole = BlockFactors.__init__

    def noted(self: Any, *arguments: Any) -> None:
        factorised.append(len(seen.runs) + seen.advances)
        whole(self, *arguments)

    monkeypatch.setattr(BlockFactors, "__init__", noted)
    sim = Simulation(soft_cubes(), dt=0.005, solver=solver)
    result = sim.step()
    assert result.problem.contact_count
    if sim.method.as_rows:  # elements are rows, and A has no stiffness
        assert takes.linearise == "inside"
        assert seen.runs[0].A.is_dense
        return
    assert result.problem.A.has_soft
    if takes.linearise == "own-steps":
        assert seen.advances == 1
    elif takes.unknowns == "velocities":
        assert seen.runs[0].A.has_soft
    else:
        assert seen.runs[0].A.is_given
    # free velocities of soft bodies that nobody asks for are not solved for
    assert (result.problem.momentum.missing is None) == (takes.factors == "prepared")
    if takes.factors == "none":
        assert not factorised
    elif takes.factors == "prepared":
        assert factorised
        assert factorised[0] == 0  # before the solver was asked
    else:
        assert 0 not in factorised


@pytest.mark.parametrize("way", WAYS)
def test_islands(way: str, spied: Any) -> None:
    """Two boxes that do not touch each other are one problem, or two."""
    rows = [row for body in range(2) for row in corners(body)]
    problem = assemble([1.0, 50.0], [1.0 / 600.0, 0.1], [0.02, 0, -0.1, 0, 0, 0] * 2, rows)
    solver = made(way)
    seen = spied(solver)
    found = solver.solve(problem)
    assert [each.row_count for each in seen.runs] == ([12, 12] if solver.takes.islands == "apart" else [24])
    assert found.lam.shape == (24,)


def corners(body: int) -> list[Row]:
    """Contacts of the corners of a cube with the ground."""
    return [contact(-1, body, (0, 0, 1), (0, 0, 0), (x, y, -0.05), 0.5) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]


def turning() -> Scene:
    """Two links on ball joints, the lower one turning fast: joints linearised once are apart at the end."""
    scene = Scene()
    links = [
        scene.add_box((0.4, 0.05, 0.05), (0.2 + 0.4 * k, 0, 1), angular_velocity=(0, 3.0 * k, 0), velocity=(0, 0, 0))
        for k in range(2)
    ]
    scene.add_ball(None, links[0], (0, 0, 1))
    scene.add_ball(*links, (0.4, 0, 1))
    return scene


@pytest.mark.parametrize("way", WAYS)
def test_linearisations_of_a_step(way: str, spied: Any) -> None:
    solver = made(way)
    seen, wanted = spied(solver), solver.takes.linearise
    Simulation(turning(), dt=0.01, solver=solver).step()
    if wanted == "own-steps":
        assert (seen.advances, len(seen.runs)) == (1, 0)
    elif wanted == "inside":
        assert all(seen.given)
        assert seen.linearised > 1
    elif wanted == "once":
        assert seen.given == [False]
    else:
        assert len(seen.runs) > 1
        assert not any(seen.given)


@pytest.mark.parametrize("way", WAYS)
def test_residuals_of_solutions_are_those_of_their_impulses(way: str) -> None:
    solver = made(way, max_iterations=200)
    takes, tried = solver.takes, 0
    for name, known in GALLERY.items():
        problem = known().problem
        try:
            found = solver.solve(problem)
        except InputError:
            continue
        tried += 1
        at = found.judged or found.problem or problem
        u = at.constraint_velocity(found.v)
        own = solver.residual(at, found.lam, u)
        if takes.factors != "prepared" and not at.A.is_given:
            own = max(own, momentum_error(at, found.lam, found.v).share)
        scale = max(1.0, at.free_speed, float(np.abs(at.diagonal * found.lam).max(initial=0.0)))
        np.testing.assert_allclose(found.u, u, atol=1e-12 * scale, err_msg=name)
        noise = 1e-12 * scale / (at.free_speed or 1.0)
        assert found.residual == pytest.approx(own, rel=1e-6, abs=noise), name
        assert found.exact_residual == pytest.approx(scaled_residual(at, found.lam, u), rel=1e-6, abs=noise), name
        if takes.criterion == "scaled" and found.converged:
            assert found.residual <= solver.tolerance, name
    plain = [name for name, known in GALLERY.items() if set(sets_of(known().problem)) <= set(takes.friction_sets)]
    assert tried == len(plain) - (way in NEED_BODIES)


def sets_of(problem: ContactProblem) -> list[str]:
    """Friction sets of the contacts of a problem."""
    laws = problem.laws
    return [ALL_FRICTION_SETS[int(code)] for code in laws.friction_set[laws.law == CONTACT]]


def test_no_line_guesses_what_a_solver_can_do() -> None:
    """Who wants to know something of a solver reads ``takes``."""
    guess = re.compile(r"(get|has)attr\((self\.)?_?solver\b|__init_subclass__")
    folder = Path(stickslip.__file__).parent
    lines = [
        f"{file.relative_to(folder)}: {line.strip()}"
        for file in sorted(folder.rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if guess.search(line)
    ]
    assert not lines
