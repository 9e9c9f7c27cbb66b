"""COND: contacts stay diagonal, W has the least norm, what virtual nodes cost, which laws the fixed points obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mixed_problems import mixed_problem
from nodal_problems import SCENES, dense_system, dense_weights, particles, soft_cubes

from stickslip import InputError, Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.contact.block_laws import contact_laws
from stickslip.contact.gallery import GALLERY
from stickslip.contact.laws import CONTACT
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.linalg import block_rows
from stickslip.linalg.block_factors import BlockFactors
from stickslip.linalg.inertia import Inertia
from stickslip.solvers.apgd import APGD
from stickslip.solvers.auto import Automatic
from stickslip.solvers.cond import cond
from stickslip.solvers.cond import levels as cond_levels
from stickslip.solvers.cond.cond import Cond
from stickslip.solvers.cond.levels import apply_levels, coarse_levels
from stickslip.solvers.cond.nodes import Nodal, nodalised
from stickslip.solvers.cond.steps import Steps, frobenius_steps, row_sums
from stickslip.solvers.registry import make_solver
from stickslip.solvers.verdict import judge_solution

CUBE = tet_generators.box((0.1, 0.1, 0.1), 2)


def prepared(problem: ContactProblem, gain: float | None = None) -> tuple[Nodal, Steps]:
    """What the iterations of a problem work on."""
    nodal = nodalised(problem, gain)
    return nodal, frobenius_steps(nodal, row_sums(nodal))


def soft_problem(**options: object) -> ContactProblem:
    """The problem of the first step of a soft cube that slides on the ground."""
    return Simulation(soft_cubes(**options), dt=0.005, solver="cond").step().problem


def momentum_error(problem: ContactProblem, v: np.ndarray, lam: np.ndarray) -> float:
    """Momentum that no impulse explains, over the impulses."""
    pushed = block_rows.apply_transpose(problem.J, lam)
    return float(np.linalg.norm(problem.momentum.gain(v) - pushed) / max(np.linalg.norm(pushed), 1e-12))


# ---- Proposition 3 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENES)
def test_contacts_of_the_surrogate_problem_are_decoupled(name: str) -> None:
    """J_c W J_c^T is gamma I for each contact and nothing between contacts, whatever touches what."""
    problem = SCENES[name]()
    nodal, W = prepared(problem)
    assert len(nodal.contact) > 0
    _, J = dense_system(nodal)
    gamma = J @ dense_weights(nodal, W) @ J.T
    each = np.diagonal(gamma).reshape(-1, 3)
    assert np.abs(gamma - np.diag(np.diagonal(gamma))).max() <= 1e-14 * each.max()
    assert each == pytest.approx(np.repeat(each[:, :1], 3, axis=1), rel=1e-8)
    assert (each > 0.0).all()


@pytest.mark.parametrize("name", SCENES)
def test_no_node_is_in_two_contacts_and_nodes_of_a_contact_weigh_the_same(name: str) -> None:
    problem = SCENES[name]()
    nodal, W = prepared(problem)
    columns = problem.J.entry_column[nodal.node]
    assert len(np.unique(columns)) == len(columns)
    tied = nodal.tied[nodal.tied >= 0]
    assert (np.sort(tied) == np.arange(nodal.virtual)).all()  # each virtual node in exactly one contact
    weights = np.diagonal(dense_weights(nodal, W))
    for k in range(len(nodal.contact)):
        own = [W.contact[k]]
        for e in nodal.node[nodal.node_start[k] : nodal.node_start[k + 1]]:
            first = problem.J.column_start[problem.J.entry_column[e]]
            own.extend(weights[first : first + 3])
        if nodal.tied[k] >= 0:
            own.append(W.virtual[nodal.tied[k]])
        assert own == pytest.approx([own[0]] * len(own), rel=1e-14)


def test_what_is_real_and_what_is_virtual() -> None:
    """Nodes against the ground are real; bodies, and nodes that another contact has, are virtual."""
    counts = {name: (len(found.node), found.virtual) for name in SCENES for found in [prepared(SCENES[name]())[0]]}
    assert counts["node-static"] == (9, 0)
    assert counts["node-node"] == (2, 0)
    assert counts["rigid-static"] == (0, 4)
    assert counts["node-rigid"][1] > 0
    corner, nodal = SCENES["two-at-once"](), prepared(SCENES["two-at-once"]())[0]
    seen = np.bincount(corner.J.entry_column)
    assert (seen == 2).sum() == 3  # nodes of the edge in the corner
    assert nodal.virtual == 3


# ---- the matrix of step sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["node-static", "node-node"])
def test_the_norm_is_least(name: str) -> None:
    """Where there are nodes alone, no other W with one number per contact, or per coordinate, has a smaller norm."""
    nodal, W = prepared(SCENES[name]())
    A, J = dense_system(nodal)
    w = np.diagonal(dense_weights(nodal, W)).copy()
    least = np.linalg.norm(np.eye(len(A)) - w[:, None] * A)
    touched = np.abs(J).sum(axis=0) > 0.0
    # by the formula: a_ii / |A_i*|^2 where no contact acts
    assert w[~touched] == pytest.approx((np.diagonal(A) / (A**2).sum(axis=1))[~touched], rel=1e-12)
    groups = [[i] for i in np.flatnonzero(~touched)]
    groups += [list(np.flatnonzero(np.abs(J[3 * k : 3 * k + 3]).sum(axis=0) > 0.0)) for k in range(len(nodal.contact))]
    for group in groups:
        total, squares = np.diagonal(A)[group].sum(), (A[group] ** 2).sum()
        assert w[group] == pytest.approx(total / squares, rel=1e-12)
        for factor in (0.99, 1.01):
            other = w.copy()
            other[group] *= factor
            assert np.linalg.norm(np.eye(len(A)) - other[:, None] * A) > least


def test_rigid_blocks_have_the_best_factor() -> None:
    """W_b = w A_bb^-1 with ties in A_bb; another w has a larger norm of A_bb^-1/2 (I - W A)."""
    nodal, W = prepared(SCENES["rigid-static"]())
    A, _ = dense_system(nodal)
    block = W.rigid.reshape(6, 6)
    inverse = np.linalg.inv(A[:6, :6])
    factor = block[0, 0] / inverse[0, 0]
    assert block == pytest.approx(factor * inverse, rel=1e-9, abs=1e-12 * np.abs(inverse).max())
    assert 0.0 < factor < 1.0
    norms = [np.linalg.norm(np.eye(6, len(A)) - s * inverse @ A[:6]) for s in (0.99 * factor, factor, 1.01 * factor)]
    assert norms[1] < min(norms[0], norms[2])


@pytest.mark.parametrize("name", ["node-static", "node-rigid", "two-at-once", "edge-edge"])
def test_coarse_levels_leave_contacts_diagonal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z W_l Z^T is symmetric and positive, and zero wherever a row acts."""
    monkeypatch.setattr(cond_levels, "MOST_TOUCHED", 0.99)  # of these small bodies contacts touch more than a quarter
    nodal, _ = prepared(SCENES[name]())
    levels = coarse_levels(nodal)
    assert len(levels.weight) > 0
    first = int(nodal.rigid.start[-1])
    size = nodal.unknowns - first
    coarse = np.zeros((size, size))
    for i in range(size):
        apply_levels(levels, np.eye(size)[i], -1.0, coarse[i])
    assert coarse == pytest.approx(coarse.T, abs=1e-14 * np.abs(coarse).max())
    assert np.linalg.eigvalsh(coarse).min() >= -1e-12 * np.abs(coarse).max()
    touched = np.abs(block_rows.to_dense(nodal.J)[:, first:]).sum(axis=0) > 0.0
    assert not coarse[touched].any()
    assert coarse[~touched].any()


# ---- virtual nodes: Proposition 2 ------------------------------------------------------------------------------------


def sliding_box(solver: Cond) -> tuple[float, float]:
    """Velocities along and across the ground of a box of 0.5 kg after a step in which it slides."""
    scene = Scene()
    scene.add_half_space(friction=0.2)
    box = scene.add_box((0.1, 0.1, 0.05), (0, 0, 0.025), mass=0.5, friction=0.2, velocity=(1.0, 0, 0))
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=0.01, slop=0.0))
    sim.step()
    return float(sim.velocity(box)[0]), float(sim.velocity(box)[2])


def test_without_multipliers_the_perturbation_falls_with_the_gain() -> None:
    """Prop. 2: bodies yield by lam / k_v; sinking at m g h / (4 k_v h) with four contacts."""
    sinking = []
    for gain in (1e3, 1e4, 1e5):
        solver = Cond(gain=gain, multipliers=False, criterion="step", tolerance=1e-13, max_iterations=200_000)
        sinking.append(-sliding_box(solver)[1])
    wanted = 0.5 * 9.81 * 0.01 / (4.0 * 0.01 * np.array([1e3, 1e4, 1e5]))
    assert sinking == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("gain", [1e2, 1e3, None])
def test_with_multipliers_there_is_none(gain: float | None) -> None:
    along, across = sliding_box(Cond(gain=gain, tolerance=1e-8, max_iterations=50_000))
    assert along == pytest.approx(1.0 - 0.2 * 9.81 * 0.01, abs=1e-7)
    assert across == pytest.approx(0.0, abs=1e-7)


# ---- which law -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("velocity", [(0.0, 0.0, -0.5), (0.6, 0.2, -0.3)])
def test_strict_is_the_exact_law_of_soft_bodies_on_the_ground(velocity: tuple[float, float, float]) -> None:
    scene = soft_cubes(velocity=velocity)
    mine = Simulation(scene, dt=0.005, solver=Cond(tolerance=1e-8, max_iterations=20_000))
    other = Simulation(scene, dt=0.005, solver="auto")
    for _ in range(4):
        result = mine.step()
        other.step()
        assert result.solution.converged
        assert result.certificate.natural_residual <= 1e-6
        assert result.certificate.converged
    assert mine.state.node_velocity == pytest.approx(other.state.node_velocity, abs=2e-5)


@pytest.mark.parametrize("seed", range(4))
def test_strict_is_the_exact_law_of_bodies_with_joints_limits_and_elastic_rows(seed: int) -> None:
    problem = mixed_problem(seed)
    wanted = Automatic(tolerance=1e-10).solve(problem)
    found = Cond(max_iterations=100_000, tolerance=1e-7).solve(problem)
    assert wanted.converged
    assert found.converged, found.status
    assert found.v == pytest.approx(wanted.v, abs=1e-4 * np.abs(problem.v_free).max())


def test_proximal_is_the_convex_law_and_the_certificate_shows_its_gap() -> None:
    problem = soft_problem(velocity=(0.6, 0.2, -0.3))
    wanted = APGD(tolerance=1e-11, max_iterations=50_000).solve(problem.condensed)
    found = Cond(operator="proximal", tolerance=1e-9, max_iterations=50_000).solve(problem)
    assert wanted.converged
    assert found.converged
    assert found.lam == pytest.approx(wanted.lam, abs=1e-5 * np.abs(wanted.lam).max())
    sim = Simulation(
        soft_cubes(velocity=(0.6, 0.2, -0.3)), dt=0.005, solver=Cond(operator="proximal", max_iterations=20_000)
    )
    certificate = sim.step().certificate
    assert sim.last.solution.converged
    assert certificate.natural_residual > 1e-3  # of the exact law
    assert certificate.gliding_gap == pytest.approx(0.005 * 0.5 * np.hypot(0.6, 0.2), rel=0.5)


def test_compliant_contacts() -> None:
    """Springs of 500 N/m at contacts: as other solvers have them."""
    cubes = [soft_cubes(velocity=(0.3, 0.0, -0.4), contact_stiffness=500.0, contact_dissipation=0.01) for _ in range(2)]
    mine = Simulation(cubes[0], dt=0.005, solver=Cond(tolerance=1e-8, max_iterations=20_000)).step()
    other = Simulation(cubes[1], dt=0.005, solver="auto").step()
    assert mine.solution.converged
    assert mine.problem.contact_compliance is not None
    assert mine.solution.v == pytest.approx(other.solution.v, abs=1e-6)


def test_anisotropic_friction_takes_most_power() -> None:
    """Prop. 6: of all impulses in the ellipse, that of the solution takes the most of the sliding velocity."""
    mu = np.array([[0.6, 0.2, 0.0]])
    problem = particles(1, [(-1, 0)], v=[[0.5, 0.5, -0.2]], laws=contact_laws(mu))
    found = Cond(tolerance=1e-12, max_iterations=10_000).solve(problem)
    u = problem.constraint_velocity(found.v)
    angle = np.linspace(0.0, 2.0 * np.pi, 720, endpoint=False)
    ellipse = found.lam[0] * np.column_stack([0.6 * np.cos(angle), 0.2 * np.sin(angle)])
    power = ellipse @ u[1:]
    assert found.lam[1:] @ u[1:] <= power.min() + 1e-9 * abs(power.min())
    assert found.lam[1] / found.lam[2] != pytest.approx(u[1] / u[2], rel=0.1)  # not against the sliding


def test_torsion_is_refused() -> None:
    with pytest.raises(InputError, match=r"solver cond: contact 0 has 4 rows.*prox-gs"):
        Cond().solve(GALLERY["disc-spins"]().problem)


@pytest.mark.parametrize("name", ["hanging-pair", "compliant-joint", "drive-holds", "drive-saturates", "four-bar"])
def test_joints_limits_and_drives(name: str) -> None:
    known = GALLERY[name]()
    found = Cond(tolerance=1e-8, max_iterations=20_000).solve(known.problem)
    assert found.converged
    assert found.v == pytest.approx(known.v, abs=1e-5 * (1.0 + np.abs(known.v).max()))


def test_a_problem_that_is_given_by_its_delassus_matrix() -> None:
    rng = np.random.default_rng(3)
    B = rng.normal(size=(9, 12))
    problem = from_delassus(B @ B.T, rng.normal(size=9), [0.3, 0.5, 0.0])
    wanted, found = (make_solver(name, tolerance=1e-7).solve(problem) for name in ("auto", "cond"))
    assert found.converged
    assert found.lam == pytest.approx(wanted.lam, abs=1e-4 * np.abs(wanted.lam).max())


def test_free_flight() -> None:
    """No contacts: what is left is momentum."""
    scene = Scene()
    scene.add_soft(CUBE, elastic(5e4, 0.35, beta=1e-3), (0, 0, 1.0), angular_velocity=(3.0, 0, 0))
    sim = Simulation(scene, dt=0.005, solver=Cond(tolerance=1e-9))
    mass = sim.model.soft.mass[:, None]
    for k in range(3):
        assert sim.step().solution.converged
        momentum = (mass * sim.state.node_velocity).sum(axis=0)
        assert momentum == pytest.approx([0, 0, -9.81 * 0.005 * (k + 1) * mass.sum()], abs=1e-6)


def test_velocities_before_the_step_are_a_start_and_no_more() -> None:
    problem = soft_problem(velocity=(0.6, 0.2, -0.3))
    assert problem.v_before is not None
    solver = Cond(tolerance=1e-9, max_iterations=50_000)
    one, two = solver.solve(problem), solver.solve(replace(problem, v_before=None))
    assert one.converged
    assert two.converged
    assert one.v == pytest.approx(two.v, abs=1e-5)


# ---- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"step_size": "bb1"}, {"step_size": "bb2"}, {"step_size": "bb"}, {"reuse": 3}, {"acceleration": "chebyshev"},
    {"acceleration": "none"},
    {"acceleration": "chebyshev", "interval": "lanczos"}, {"delay": 20},
    {"relaxation": 0.7}, {"gain": 10.0}, {"levels": False},
])  # fmt: skip
def test_options_change_the_way_and_not_the_solution(options: dict) -> None:
    wanted = Simulation(soft_cubes(velocity=(0.4, 0.1, -0.2)), dt=0.005, solver=Cond(tolerance=1e-8))
    found = Simulation(
        soft_cubes(velocity=(0.4, 0.1, -0.2)), dt=0.005, solver=Cond(tolerance=1e-8, max_iterations=20_000, **options)
    )
    for _ in range(3):
        wanted.step()
        assert found.step().solution.converged
    assert found.state.node_velocity == pytest.approx(wanted.state.node_velocity, abs=1e-5)


def test_acceleration_saves_iterations() -> None:
    problem = soft_problem(velocity=(0.4, 0.1, -0.2))
    solvers = [
        Cond(acceleration=each, criterion="step", tolerance=1e-9, max_iterations=20_000)
        for each in ("chebyshev", "none")
    ]
    with_it, without = (solver.solve(problem) for solver in solvers)
    assert with_it.converged
    assert without.converged
    assert with_it.iterations < 0.8 * without.iterations


@pytest.mark.parametrize("operator", ["strict", "proximal"])
def test_velocities_tell_impulses_where_contacts_are_regularised(operator: str) -> None:
    """Eq. 37: lam = SOL(J v, Omega)."""
    problem = soft_problem(velocity=(0.4, 0.1, -0.2))
    omega = 0.1 * float(problem.weight.mean())
    solver = Cond(operator=operator, regularisation=omega, tolerance=1e-10, max_iterations=50_000)
    found = solver.solve(problem)
    assert found.converged
    told = solver.impulses_from_velocities(problem, found.v)
    assert told == pytest.approx(found.lam, abs=1e-6 * np.abs(found.lam).max())
    assert momentum_error(problem, found.v, found.lam) < 1e-8
    with pytest.raises(InputError, match=r"regularisation is 0\.0"):
        Cond().impulses_from_velocities(problem, found.v)


@pytest.mark.parametrize("options", [
    {"operator": "loose"}, {"step_size": "newton"}, {"reuse": 0}, {"reuse": 1.5}, {"delay": 0}, {"relaxation": 0.0},
    {"relaxation": 1.5}, {"gain": 0.0}, {"gain": -1.0}, {"gain": "stiff"}, {"multipliers": 1}, {"acceleration": None},
    {"interval": "wide"}, {"window": 0},
    {"levels": "all"}, {"regularisation": -1.0}, {"regularisation": np.nan},
    {"criterion": "siconos"}, {"tolerance": 0.0},
])  # fmt: skip
def test_bad_options_are_named(options: dict) -> None:
    with pytest.raises(InputError, match=f"solver cond: {next(iter(options))}"):
        make_solver("cond", **options)


def test_what_it_says_is_what_the_judge_finds() -> None:
    for seed in range(6):
        problem = mixed_problem(seed)
        for count in (1, 7, 40, 400):
            solver = Cond(max_iterations=count)
            found = solver.solve(problem)
            verdict = judge_solution(solver, problem, found)
            assert verdict.finite
            assert verdict.honest
            assert found.iterations <= count


def test_a_resting_contact_is_no_divergence() -> None:
    """Steps that vanish before multipliers move on are not astray; nothing is rolled back where all goes well."""
    for name in ("one-contact-stick", "one-contact-slip", "redundant-table", "pendulum"):
        found = Cond(max_iterations=20_000).solve(GALLERY[name]().problem)
        assert found.converged, name
        assert found.rollbacks == 0, name


# ---- nothing is factorised -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["scaled", "step"])
def test_nothing_is_factorised(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = Inertia.solve

    def refused(A: Inertia, f: np.ndarray) -> np.ndarray:
        assert not A.has_soft, "cond solved with A"
        return solve(A, f)

    def never(*_: object) -> None:
        raise AssertionError("cond factorised A")

    monkeypatch.setattr(Inertia, "solve", refused)
    monkeypatch.setattr(BlockFactors, "__init__", never)
    sim = Simulation(soft_cubes(velocity=(0.4, 0.1, -0.2), box=True), dt=0.005, solver=Cond(criterion=criterion))
    for _ in range(3):
        certificate = sim.step().certificate
    assert certificate.contacts > 0
    assert np.isfinite(certificate.natural_residual)


# ---- the same bits ---------------------------------------------------------------------------------------------------


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel over threads sums as the other one does; tests/test_cond_threads.py has the threads."""
    problem = soft_problem(velocity=(0.4, 0.1, -0.2))
    one = Cond().solve(problem)
    monkeypatch.setattr(cond, "THREADED", 0)
    monkeypatch.setattr(cond.jit, "thread_count", lambda: 2)
    two = Cond().solve(problem)
    assert one.iterations == two.iterations
    assert (one.v == two.v).all()
    assert (one.lam == two.lam).all()


def test_a_state_that_is_taken_up_again_goes_on_with_the_same_bits() -> None:
    sim = Simulation(soft_cubes(velocity=(0.4, 0.1, -0.2), box=True), dt=0.005, solver="cond")
    sim.run(3)
    kept = sim.state
    sim.run(3)
    again = Simulation(sim.model, dt=0.005, solver="cond")
    again.state = kept
    again.run(3)
    assert again.state.digest() == sim.state.digest()


def test_all_contacts_are_of_the_law() -> None:
    """Every iterate obeys the friction law with its impulses; momentum is what is missing (criterion "step")."""
    problem = soft_problem(velocity=(0.4, 0.1, -0.2))
    assert (problem.laws.law == CONTACT).all()
    errors = []
    for count in (5, 50, 500):
        found = Cond(criterion="step", tolerance=1e-12, max_iterations=count).solve(problem)
        u = problem.constraint_velocity(found.v).reshape(-1, 3)
        lam = found.lam.reshape(-1, 3)
        assert (lam[:, 0] >= 0.0).all()
        assert (u[:, 0] >= -1e-12).all()
        assert np.abs(lam[:, 0] * u[:, 0]).max() <= 1e-12
        assert (np.hypot(lam[:, 1], lam[:, 2]) <= 0.5 * lam[:, 0] + 1e-12).all()
        errors.append(momentum_error(problem, found.v, found.lam))
    assert errors[2] < 1e-2 * errors[0]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("size", [1e30, 1e150, 1e300])
def test_impulses_that_lead_nowhere_are_no_start(size: float) -> None:
    """As with all other solvers: of a file, anything may be the guess."""
    problem = GALLERY["one-contact-stick"]().problem
    found = Cond().solve(problem, np.full(problem.row_count, size))
    assert found.converged
    assert found.v == pytest.approx(Cond().solve(problem).v, abs=1e-5)
