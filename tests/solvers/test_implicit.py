"""Implicit complementarity: the functions of the paper, its edges, and the solver on problems that try both."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stickslip.contact.gallery import GALLERY, Row, assemble, contact
from stickslip.contact.laws import BOUNDED, CONTACT, LIMIT
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.residual import residual
from stickslip.errors import InputError
from stickslip.io.problem_file import load_problem
from stickslip.solvers.implicit import maps
from stickslip.solvers.implicit.implicit import ImplicitComplementarity, equation, pseudo_solve
from stickslip.solvers.implicit.linesearch import find_crossings, sample

DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "fc3d"
DISCS = [name for name in GALLERY if name not in ("ellipse-slips", "disc-spins", "disc-stops", "disc-with-load")]


def contacts(mu: list[float], b: list[float]) -> maps.Blocks:
    count = len(mu)
    rows = np.zeros(3 * count)
    rows[::3] = b
    start = (3 * np.arange(count + 1)).astype(np.int32)
    return maps.Blocks(start, np.full(count, CONTACT, np.int32), np.array(mu), rows, np.zeros(3 * count))


def impulses(blocks: maps.Blocks, x: np.ndarray) -> np.ndarray:
    f = np.empty((1, len(x)))
    maps.impulses(blocks, x[None], f)
    return f[0]


def random_problem(seed: int, count: int = 6) -> ContactProblem:
    """Contacts of random rank, friction from 0 to 5, mass ratios to 1e6, with duplicates; solvable: q is a motion."""
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 3 * count + 3))
    H = rng.normal(size=(3 * count, unknowns))
    if rng.random() < 0.4:
        H[3:6] = H[:3]
    mass = 10.0 ** rng.uniform(-3, 3, unknowns) if rng.random() < 0.5 else np.ones(unknowns)
    mu = np.where(rng.random(count) < 0.2, 0.0, rng.uniform(0, 5 if rng.random() < 0.3 else 1, count))
    return from_delassus(H / mass @ H.T, H @ rng.normal(size=unknowns), mu)


# ---- the functions f(x), v(x), eq. 10-14 ------------------------------------------------------------------


def test_every_x_obeys_the_law() -> None:
    """Any x gives impulses in the cone and velocities that are complementary, v >= b and opposite to friction."""
    rng = np.random.default_rng(3)
    mu, b = [0.0, 0.3, 1.0, 2.5] * 50, list(rng.normal(size=200))
    blocks = contacts(mu, b)
    x = rng.normal(size=600)
    f = impulses(blocks, x)
    v = (f + x).reshape(-1, 3)
    f = f.reshape(-1, 3)
    slip, friction = v[:, 1:], f[:, 1:]
    assert (f[:, 0] >= 0.0).all()
    assert (v[:, 0] >= np.array(b) - 1e-15).all()
    np.testing.assert_allclose(f[:, 0] * (v[:, 0] - b), 0.0, atol=1e-14)
    assert (np.linalg.norm(friction, axis=1) <= mu * f[:, 0] * (1 + 1e-14)).all()
    # parallel and opposite: eq. 7
    lengths = np.linalg.norm(slip, axis=1) * np.linalg.norm(friction, axis=1)
    np.testing.assert_allclose((slip * friction).sum(axis=1), -lengths, atol=1e-14)
    sliding = np.linalg.norm(slip, axis=1) > 1e-12
    np.testing.assert_allclose(np.linalg.norm(friction, axis=1)[sliding], (mu * f[:, 0])[sliding], atol=1e-14)


def test_regions_of_one_contact() -> None:
    blocks = contacts([0.5], [0.2])
    np.testing.assert_allclose(impulses(blocks, np.array([0.3, 1.0, 2.0])), [0.0, 0.0, 0.0])  # break
    np.testing.assert_allclose(impulses(blocks, np.array([-0.8, 0.3, -0.2])), [1.0, -0.3, 0.2])  # stick
    np.testing.assert_allclose(impulses(blocks, np.array([-0.8, 3.0, 4.0])), [1.0, -0.3, -0.4])  # slip


@pytest.mark.parametrize("name", ["stack-of-five", "hanging-pair", "compliant-joint", "wedge-jams"])
def test_jacobian_is_the_derivative_of_the_residual(name: str) -> None:
    e = equation(GALLERY[name]().problem, "rows")
    rows = len(e.v0)
    x = np.random.default_rng(5).normal(size=rows)
    _, r = e.evaluate(x)
    edge, row = np.zeros((2, rows), np.int32)
    ray, F, B = np.zeros(rows), np.zeros((rows, 3)), np.zeros((rows, 3))
    maps.choose_edges(e.blocks, x, e.M_t @ r, e.D * r, 1e-13, edge, ray, F)
    assert maps.tangents(e.blocks, x, edge, ray, False, row, B) == rows
    J = np.empty((rows, rows))
    maps.reduced_jacobian(e.M_t, e.D, F, row, B, e.height, J)
    h = 1e-6
    differences = [(e.evaluate(x + h * d)[1] - e.evaluate(x - h * d)[1]) / (2 * h) for d in np.eye(rows)]
    np.testing.assert_allclose(J, differences, atol=1e-8)  # central differences: h^2 and rounding / h


# ---- edges, sec. III-B to III-D ---------------------------------------------------------------------------

ON_CONE = np.array([-1.0, 0.3, 0.4])
"""On the cone of mu = 0.5, b = 0."""


@pytest.mark.parametrize(("x", "normal"), [((0.0, 0.3, 0.4), (1.0, 0.0, 0.0)), (tuple(ON_CONE), (0.5, 0.6, 0.8))])
def test_gradient_stays_on_active_edges(x: tuple[float, ...], normal: tuple[float, ...]) -> None:
    """Eq. 26: g = F^T p - s lies in the tangent of an edge from which |r| rises on both sides, and so does B."""
    blocks, d = contacts([0.5], [0.0]), np.array(normal) / np.linalg.norm(normal)
    active = 0
    for seed in range(200):
        p, s = np.random.default_rng(seed).normal(size=(2, 3))
        edge, ray, F = np.zeros(3, np.int32), np.zeros(3), np.zeros((3, 3))
        maps.choose_edges(blocks, np.array(x), p, s, 1e-13, edge, ray, F)
        g = F.T @ p - s
        step = 1e-7
        rates = []  # eq. 25, by differences of p . f - s . x
        for sign in (1.0, -1.0):
            there = np.array(x) + sign * step * d
            change = impulses(blocks, there) - impulses(blocks, np.array(x))
            rates.append(float(p @ change - s @ (there - x)) / step)
        if min(rates) >= 0.0:
            active += 1
            assert edge[0] != maps.FREE
            assert abs(g @ d) < 1e-6
            row, B = np.zeros(3, np.int32), np.zeros((3, 3))
            assert maps.tangents(blocks, np.array(x), edge, ray, False, row, B) == 2
            np.testing.assert_allclose(B[:2] @ d, 0.0, atol=1e-14)
            np.testing.assert_allclose(B[:2] @ B[:2].T, np.eye(2), atol=1e-14)
        else:
            assert edge[0] == maps.FREE
            side = 1.0 if rates[0] < rates[1] else -1.0
            assert side * float(g @ d) == pytest.approx(min(rates), abs=1e-5)  # the side of steeper descent
    assert active > 10


def test_apex_is_left_where_the_residual_falls() -> None:
    """A contact leaves the apex along a line on which |r| falls, with the derivative of f along it."""
    blocks, x = contacts([0.7], [0.0]), np.zeros(3)
    rows, B, ray = np.zeros(3, np.int32), np.zeros((3, 3)), np.zeros(3)
    edge, F = np.zeros(3, np.int32), np.zeros((3, 3))
    for seed in range(300):
        p, s = np.random.default_rng(seed).normal(size=(2, 3))
        maps.choose_edges(blocks, x, p, s, 1e-13, edge, ray, F)
        assert edge[0] == maps.APEX
        assert maps.tangents(blocks, x, edge, ray, False, rows, B) == 1
        d = B[0]
        np.testing.assert_allclose(F @ d, impulses(blocks, d), atol=1e-14)
        assert p @ impulses(blocks, d) - s @ d < 0.0
    maps.choose_edges(blocks, x, np.array([3.0, 0.1, 0.0]), np.array([-1.0, 0.0, 0.0]), 1e-13, edge, ray, F)
    assert maps.tangents(blocks, x, edge, ray, False, rows, B) == 0  # |r| rises in every direction


def test_cone_projection_is_the_closest_point() -> None:
    rng = np.random.default_rng(1)
    blocks = contacts([0.8], [0.1])
    angle, n = rng.uniform(0, 2 * np.pi, 20000), rng.uniform(0, 3, 20000)
    cone = np.stack([0.1 - n, 0.8 * n * np.cos(angle), 0.8 * n * np.sin(angle)], axis=1)
    edge = np.array([maps.CONE, 0, 0], np.int32)
    for _ in range(20):
        x, out = rng.normal(size=3), np.empty(3)
        maps.move(blocks, x, edge, np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros(0), np.full(3, 3, np.int32), out)
        assert np.hypot(out[1], out[2]) == pytest.approx(0.8 * (0.1 - out[0]), abs=1e-14)
        # the sampled surface comes no closer, and nearly as close
        found = np.linalg.norm(cone - x, axis=1).min()
        assert np.linalg.norm(out - x) <= found + 1e-12
        assert found <= np.linalg.norm(out - x) + 0.05


def test_crossings_lie_on_edges_and_cut_smooth_pieces() -> None:
    """Eq. 27: at each crossing one contact is on its plane or cone, and between crossings no region changes."""
    rng = np.random.default_rng(2)
    blocks = contacts([0.0, 0.4, 1.0, 3.0], [0.0, 0.2, -0.1, 0.0])
    none = np.zeros(12, np.int32)
    total = 0
    for _ in range(100):
        start, end = rng.normal(size=(2, 12))
        alpha, what = np.empty(40), np.empty(40, np.int32)
        count = find_crossings(blocks, start, end, none, alpha, what)
        total += count
        order = np.argsort(alpha[:count])
        at, crossed = alpha[:count][order], what[:count][order]
        x = np.empty((count, 12))
        sample(blocks, start, end, none, at, crossed, x)
        for k in range(count):
            c = crossed[k] - 24 if crossed[k] >= 24 else crossed[k] // 3
            above = blocks.b[3 * c] - x[k, 3 * c]
            if crossed[k] >= 24:
                assert np.hypot(x[k, 3 * c + 1], x[k, 3 * c + 2]) == pytest.approx(blocks.friction[c] * above)
                assert above > 0.0
            else:
                assert above == 0.0
        places = np.concatenate([[0.0], at, [1.0]])
        for low, high in zip(places[:-1], places[1:], strict=True):
            inside = low + (high - low) * np.array([0.01, 0.5, 0.99])
            regions = {tuple(_regions(blocks, start + a * (end - start))) for a in inside}
            assert len(regions) == 1
    assert total > 200


def test_bounded_rows_have_two_planes() -> None:
    """f(x) is cut off at both, a segment crosses both, and on each the derivative is the choice of eq. 25-26."""
    one = np.array([0, 1], np.int32)
    blocks = maps.Blocks(one, np.array([BOUNDED], np.int32), np.zeros(1), np.array([0.5]), np.array([2.0]))
    f = np.empty((5, 1))
    maps.impulses(blocks, np.array([[-4.0], [-1.5], [0.5], [2.5], [9.0]]), f)
    np.testing.assert_array_equal(f[:, 0], [2.0, 2.0, 0.0, -2.0, -2.0])
    start, end, edge = np.array([-3.5]), np.array([6.5]), np.zeros(1, np.int32)
    alpha, what = np.empty(2), np.empty(2, np.int32)
    assert find_crossings(blocks, start, end, edge, alpha, what) == 2
    x = np.empty((2, 1))
    sample(blocks, start, end, edge, alpha, what, x)
    np.testing.assert_array_equal(x[:, 0], [2.5, -1.5])
    np.testing.assert_allclose(alpha, [0.6, 0.2])
    # |r|^2 / 2 rises to both sides of the upper plane, then of the lower one; then it falls inwards
    ray, F = np.zeros(1), np.zeros((1, 3))
    for place, p, s, wanted in ((2.5, 3.0, -1.0, -1.0 / 3.0), (-1.5, -3.0, 1.0, -1.0 / 3.0), (2.5, -3.0, -1.0, -1.0)):
        maps.choose_edges(blocks, np.array([place]), np.array([p]), np.array([s]), 1e-12, edge, ray, F)
        assert edge[0] == (maps.FREE if wanted == -1.0 else maps.PLANE)
        assert F[0, 0] == pytest.approx(wanted)


def _regions(blocks: maps.Blocks, x: np.ndarray) -> list[int]:
    x1, length = (x.reshape(-1, 3)[:, 0] - blocks.b[::3]), np.linalg.norm(x.reshape(-1, 3)[:, 1:], axis=1)
    return list(np.where(x1 > 0.0, 0, np.where(length < -blocks.friction * x1, 1, 2)))


# ---- the solver -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DISCS)
def test_gallery(name: str) -> None:
    known = GALLERY[name]()
    solution = ImplicitComplementarity(tolerance=1e-10).solve(known.problem)
    assert solution.converged
    np.testing.assert_allclose(solution.v, known.v, atol=1e-8 * max(1.0, known.problem.free_speed))
    assert solution.iterations <= 4


@pytest.mark.parametrize("name", ["ellipse-slips", "disc-spins"])
def test_other_friction_sets_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="'disc'"):
        ImplicitComplementarity().solve(GALLERY[name]().problem)


def test_large_problems_are_refused() -> None:
    with pytest.raises(InputError, match=r"60 rows; it takes 50 at most.*auto"):
        ImplicitComplementarity(size_limit=50).solve(GALLERY["stack-of-five"]().problem)


@pytest.mark.parametrize(
    "options", [{"rescale": "rough"}, {"recoveries": -1}, {"restarts": -1}, {"slow": 0.0}, {"slow": 2.0}]
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="solver implicit"):
        ImplicitComplementarity(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("bias", [0.3, -0.3])
def test_bias_as_b_gives_the_same_solution(bias: float) -> None:
    """Eq. 11: v >= b = -bias and u = v + bias >= 0 are one problem, and x is only shifted."""
    rows = [contact(-1, 0, (0, 0, 1), (0, 0, 0), (x, y, -0.4), 0.3, bias) for x, y in ((0.3, 0.1), (-0.2, 0.3))]
    rows.append(Row(-1, 0, np.zeros((1, 6)), np.eye(6)[1:2], np.array([0.1]), LIMIT))
    problem = assemble([2.0], [0.5], [1.0, -0.5, -1.0, 0.3, 0, 0], rows)
    plain, moved = (ImplicitComplementarity(tolerance=1e-11, bias_in_b=b).solve(problem) for b in (False, True))
    assert plain.converged
    assert moved.converged
    np.testing.assert_allclose(moved.v, plain.v, atol=1e-9)
    assert moved.iterations == plain.iterations
    b = equation(problem, bias_in_b=True)
    np.testing.assert_allclose(b.blocks.b * b.velocity_unit, [-bias, 0, 0, -bias, 0, 0, -0.1])


@pytest.mark.parametrize("seed", range(40))
def test_random_problems_end_honestly(seed: int) -> None:
    problem = random_problem(seed)
    solution = ImplicitComplementarity().solve(problem)
    assert np.isfinite(solution.lam).all()
    error = residual(problem, solution.lam).scaled
    assert solution.converged == (error <= 1e-8)
    lam = solution.lam.reshape(-1, 3)
    assert (np.linalg.norm(lam[:, 1:], axis=1) <= problem.laws.friction[:, 0] * lam[:, 0] * (1 + 1e-12)).all()
    counts = solution.counts
    taken = counts["newton_points"] + counts["searched_points"] + counts["recoveries"]
    assert solution.iterations - taken <= counts["recoveries"] + counts["restarts"] + 1  # others found no better point
    assert counts["corrected_points"] <= counts["newton_points"]
    assert counts["edge_points"] <= counts["searched_points"]
    assert counts["newton_leg_points"] <= counts["searched_points"]
    assert len(solution.history) >= 1


def test_most_random_problems_are_solved() -> None:
    solved = [ImplicitComplementarity().solve(random_problem(seed)).converged for seed in range(100, 180)]
    assert np.mean(solved) >= 0.95


def test_units_do_not_matter() -> None:
    """Grams and millimetres in the place of kilograms and metres: the same iterations."""
    problem = random_problem(7)
    W, q = equation(problem, "none").A_t.T, problem.free_constraint_velocity
    mu = problem.laws.friction[:, 0]
    first = ImplicitComplementarity().solve(from_delassus(W, q, mu))
    other = ImplicitComplementarity().solve(from_delassus(1e3 * W, 1e3 * q, mu))
    assert first.iterations == other.iterations
    np.testing.assert_allclose(other.lam, first.lam, rtol=1e-6, atol=1e-9 * np.abs(first.lam).max())


def test_non_symmetric_matrix_is_solved_as_it_is() -> None:
    rng = np.random.default_rng(11)
    H = rng.normal(size=(18, 20))
    W = H @ H.T
    W += 1e-3 * rng.normal(size=W.shape) * np.abs(W).max()
    problem = from_delassus(W, rng.normal(size=18), [0.4] * 6)
    solution = ImplicitComplementarity().solve(problem)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-8


def test_pseudo_inverse_gives_the_shortest_solution() -> None:
    rng = np.random.default_rng(4)
    H = rng.normal(size=(12, 5))
    A, y = H @ H.T, rng.normal(size=12)
    np.testing.assert_allclose(pseudo_solve(A, y), np.linalg.pinv(A, rcond=1e-10) @ y, atol=1e-10)


def test_sticking_start_solves_what_sticks() -> None:
    """[todorov2010] Fig. 6: the shock through a stack is solved at once."""
    solution = ImplicitComplementarity().solve(GALLERY["stack-of-five"]().problem)
    assert solution.iterations == 0


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_warm_start_at_the_solution_needs_no_step(seed: int) -> None:
    problem = random_problem(seed)
    first = ImplicitComplementarity(tolerance=1e-10).solve(problem)
    assert first.converged
    again = ImplicitComplementarity(tolerance=1e-8).solve(problem, first.lam)
    assert again.converged
    assert again.iterations == 0
    bad = ImplicitComplementarity().solve(problem, np.full(problem.row_count, np.nan))
    assert bad.converged


def test_without_friction_tangents_are_free() -> None:
    known = GALLERY["ball-in-groove"]()
    free = replace(known.problem, momentum=Momentum(known.problem.A, known.problem.v_free + [0, 0.7, 0, 0, 0, 0]))
    solution = ImplicitComplementarity(tolerance=1e-10).solve(free)
    assert solution.converged
    assert solution.v[1] == pytest.approx(0.7)
    np.testing.assert_array_equal(solution.lam.reshape(-1, 3)[:, 1:], 0.0)


def test_local_minima_are_left() -> None:
    """Some of these problems end in local minima; restarts (sec. V) and recoveries leave them, both the most."""
    problems = [random_problem(seed) for seed in range(100, 180)]

    def solved(recoveries: int, restarts: int) -> int:
        solver = ImplicitComplementarity(recoveries=recoveries, restarts=restarts)
        solutions = [solver.solve(p) for p in problems]
        for name, most in (("recoveries", recoveries), ("restarts", restarts)):
            assert max(s.counts[name] for s in solutions) <= most
        assert all((s.counts["sweeps"] > 0) == (s.counts["recoveries"] > 0) for s in solutions)
        return sum(s.converged for s in solutions)

    assert solved(0, 0) < solved(0, 20) <= solved(20, 20)
    assert solved(0, 0) < solved(20, 0) <= solved(20, 20)


def test_first_order_change_is_a_sum_over_contacts() -> None:
    """So that |r| rises in every direction where it does for each contact alone: edges may be judged one by one."""
    e = equation(random_problem(3))
    rng = np.random.default_rng(0)
    rows, h = len(e.v0), 1e-8
    x = rng.normal(size=rows)
    x[0], x[3:6] = 0.0, 0.0  # on a plane, and at an apex
    x[7:9] *= e.blocks.friction[2] * abs(x[6]) / np.linalg.norm(x[7:9])  # on a cone
    x[6] = -abs(x[6])
    start = float(np.square(e.evaluate(x)[1]).sum())

    def rate(d: np.ndarray) -> float:
        return (float(np.square(e.evaluate(x + h * d)[1]).sum()) - start) / (2 * h)

    for _ in range(20):
        d = rng.normal(size=rows)
        alone = [rate(np.where(np.arange(rows) // 3 == c, d, 0.0)) for c in range(rows // 3)]
        assert rate(d) == pytest.approx(sum(alone), rel=1e-4, abs=1e-4)


def test_corrections_save_iterations() -> None:
    problems = [random_problem(seed) for seed in range(300, 340)]
    plain = [ImplicitComplementarity(recoveries=0, correct=False).solve(p) for p in problems]
    corrected = [ImplicitComplementarity(recoveries=0).solve(p) for p in problems]
    assert all(s.counts["corrected_points"] == 0 for s in plain)
    assert np.median([s.iterations for s in corrected]) < np.median([s.iterations for s in plain])


def test_units_of_tangents_follow_the_cone() -> None:
    """A has a unit diagonal, in tangents 1 / sqrt(1 + mu^2)."""
    mu = [0.0, 0.5, 2.0, 10.0]
    W = np.diag(np.repeat([1.0, 4.0, 9.0, 0.5], 3))
    e = equation(from_delassus(W, np.ones(12), mu))
    stretch = np.hypot(1.0, np.minimum(mu, 3.0))
    np.testing.assert_allclose(np.diag(e.A_t).reshape(4, 3).T, [np.ones(4), 1 / stretch, 1 / stretch])
    np.testing.assert_allclose(e.blocks.friction, mu * np.sqrt(stretch))


def test_same_bits_again() -> None:
    problem = random_problem(12)
    first, second = (ImplicitComplementarity().solve(problem) for _ in range(2))
    np.testing.assert_array_equal(first.lam, second.lam)


@pytest.mark.skipif(not DATA.is_dir(), reason="the problems of Siconos are not here")
@pytest.mark.parametrize(
    "name", ["Confeti-ex13-4contact-Fc3D-SBM", "Rover4613", "NESpheres_10_1", "OneObject-i100000-316", "FC3D_Example1"]
)
@pytest.mark.filterwarnings("ignore")
def test_problems_of_siconos(name: str) -> None:
    problem = load_problem(DATA / f"{name}.npz")
    solution = ImplicitComplementarity().solve(problem)
    assert solution.converged
    assert residual(problem, solution.lam).scaled <= 1e-8
