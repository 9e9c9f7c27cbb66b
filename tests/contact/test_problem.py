"""The contact problem: its operators against dense algebra, what is refused, and the judge of solutions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from stickslip import InputError, make_solver
from stickslip.contact.block_laws import Laws, contact_laws
from stickslip.contact.gallery import GALLERY, contact
from stickslip.contact.gallery import assemble as problem_of
from stickslip.contact.islands import judged_together
from stickslip.contact.laws import DISC, ELLIPSE, ELLIPSOID
from stickslip.contact.momentum import Momentum
from stickslip.contact.problem import ContactProblem, from_delassus
from stickslip.contact.residual import residual, scaled_residual
from stickslip.linalg import block_rows
from stickslip.linalg.block_rows import BlockRows, to_dense
from stickslip.linalg.dense_blocks import DenseBlocks
from stickslip.linalg.inertia import Inertia, block_diagonal

NAN = float("nan")


def random_problem(seed: int, bodies: int = 4, contacts: int = 7, friction_set: int = 0) -> ContactProblem:
    """Bodies with full mass blocks and contacts between random ones of them and the world."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(contacts):
        a, b = rng.choice(bodies + 1, 2, replace=False) - 1
        normal = rng.normal(size=3)
        arms = rng.normal(size=(2, 3))
        mu = tuple(rng.uniform(0.1, 1, 3))
        rows.append(
            contact(int(a), int(b), normal / np.linalg.norm(normal), *arms, mu, rng.normal(), friction_set=friction_set)
        )
    problem = problem_of([1.0] * bodies, [1.0] * bodies, rng.normal(size=6 * bodies), rows)
    root = rng.normal(size=(bodies, 6, 6))
    blocks = root @ root.transpose(0, 2, 1) + np.eye(6)
    return replace(problem, momentum=Momentum(block_diagonal(blocks, np.linalg.inv(blocks)), problem.v_free))


def with_dense(problem: ContactProblem, **arrays: np.ndarray) -> Inertia:
    """A of the problem with other arrays in its dense blocks."""
    return Inertia(problem.A.dense._replace(**arrays))


def dense_inverse(A: DenseBlocks) -> np.ndarray:
    size = int(A.start[-1])
    inverse = np.zeros((size, size))
    for b in range(len(A.start) - 1):
        s, e = A.start[b], A.start[b + 1]
        block = A.data[A.data_start[b] : A.data_start[b + 1]].reshape(e - s, e - s)
        inverse[s:e, s:e] = np.linalg.inv(block)
    return inverse


def random_delassus(seed: int, count: int = 5) -> np.ndarray:
    """A sparse positive semidefinite W (3 count, 3 count)."""
    root = random_array((3 * count, 9), density=0.3, rng=np.random.default_rng(seed)).toarray()
    return root @ root.T


# ---- operators -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_operators_are_those_of_dense_algebra(seed: int) -> None:
    problem = random_problem(seed)
    J, inverse = to_dense(problem.J), dense_inverse(problem.A.dense)
    W = J @ inverse @ J.T
    rng = np.random.default_rng(100 + seed)
    lam, v = rng.normal(size=problem.row_count), rng.normal(size=len(problem.v_free))
    close = {"rtol": 1e-11, "atol": 1e-11 * np.abs(W).max()}  # mass blocks of condition up to about 1e3
    np.testing.assert_allclose(problem.A.delassus(problem.J).toarray(), W, **close)
    np.testing.assert_allclose(problem.A.delassus_product(problem.J, lam), W @ lam, **close)
    np.testing.assert_allclose(problem.diagonal, np.diag(W), **close)
    np.testing.assert_allclose(to_dense(problem.response), J @ inverse, **close)
    np.testing.assert_allclose(problem.weight, np.diag(W).reshape(-1, 3).mean(axis=1), **close)
    np.testing.assert_allclose(problem.velocity(lam), problem.v_free + inverse @ J.T @ lam, **close)
    np.testing.assert_allclose(problem.constraint_velocity(v), J @ v + problem.bias, **close)
    assert problem.free_speed == pytest.approx(np.linalg.norm(J @ problem.v_free + problem.bias), rel=1e-13)
    np.testing.assert_allclose(problem.A.solve(problem.A.apply(v)), v, rtol=1e-10)
    np.testing.assert_allclose(lam @ block_rows.apply(problem.J, v), block_rows.apply_transpose(problem.J, lam) @ v)


def any_torsion(seed: int) -> ContactProblem:
    """Contacts of four rows, of which the last ones move the centres of mass too."""
    problem = random_problem(seed, friction_set=ELLIPSOID)
    data = problem.J.data.reshape(-1, 4, 6).copy()
    data[:, 3, :3] = np.random.default_rng(seed).normal(size=(len(data), 3))
    return replace(problem, J=problem.J._replace(data=data.ravel()))


def test_torsional_rows_may_be_any_rows() -> None:
    problem = any_torsion(0)
    lam = np.random.default_rng(1).normal(size=problem.row_count)
    np.testing.assert_allclose(
        block_rows.apply_transpose(problem.J, lam), to_dense(problem.J).T @ lam, rtol=1e-12, atol=1e-12
    )


def test_sweeps_take_torsional_rows_that_are_not_about_spins_alone() -> None:
    problem = any_torsion(2)
    balls = block_diagonal(np.eye(6)[None].repeat(4, 0), np.eye(6)[None].repeat(4, 0))
    found = make_solver("prox-gs").solve(replace(problem, momentum=Momentum(balls, problem.v_free)))
    assert found.converged


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparse", [False, True])
def test_operators_of_a_given_delassus_matrix(seed: int, sparse: bool) -> None:
    W = random_delassus(seed)
    rng = np.random.default_rng(seed)
    q, lam = rng.normal(size=15), rng.normal(size=15)
    problem = from_delassus(csr_array(W) if sparse else W, q, np.full(5, 0.3))
    np.testing.assert_allclose(problem.A.delassus(problem.J).toarray(), W, atol=1e-14)
    np.testing.assert_allclose(problem.A.delassus_product(problem.J, lam), W @ lam, atol=1e-13)
    np.testing.assert_allclose(to_dense(problem.response), W, atol=1e-14)
    np.testing.assert_allclose(problem.diagonal, np.diag(W), atol=1e-14)
    np.testing.assert_allclose(problem.constraint_velocity(problem.velocity(lam)), W @ lam + q, atol=1e-13)
    with pytest.raises(InputError, match="Delassus"):
        problem.A.apply(lam)


def test_torsional_rows_do_not_enter_the_weight() -> None:
    problem = GALLERY["disc-spins"]().problem
    assert problem.row_count == 4
    assert problem.weight == pytest.approx(problem.diagonal[:3].mean())
    assert problem.diagonal[3] == pytest.approx(1 / 0.05)


def test_rows_of_different_heights_and_widths() -> None:
    """A joint of two rows on a block of two unknowns beside a contact: offsets must follow, not multiply."""
    J = BlockRows(
        np.array([0, 2, 5], np.int32),
        np.array([0, 1, 3], np.int32),
        np.array([0, 0, 1], np.int32),
        np.array([0, 4, 10, 19], np.int32),
        np.arange(1.0, 20.0),
        np.array([0, 2, 5], np.int32),
    )
    dense = np.zeros((5, 5))
    dense[:2, :2] = [[1, 2], [3, 4]]
    dense[2:, :2] = [[5, 6], [7, 8], [9, 10]]
    dense[2:, 2:] = [[11, 12, 13], [14, 15, 16], [17, 18, 19]]
    np.testing.assert_array_equal(to_dense(J), dense)
    x = np.array([1.0, -2.0, 3.0, 0.5, -1.0])
    np.testing.assert_array_equal(block_rows.apply(J, x), dense @ x)
    np.testing.assert_array_equal(block_rows.apply_transpose(J, x), dense.T @ x)
    inverse = np.zeros((5, 5))
    inverse[:2, :2] = [[2, 1], [1, 3]]
    inverse[2:, 2:] = [[4, 1, 0], [1, 5, 2], [0, 2, 6]]
    flat = np.concatenate([inverse[:2, :2].ravel(), inverse[2:, 2:].ravel()])
    A = Inertia(DenseBlocks(np.array([0, 2, 5], np.int32), np.array([0, 4, 13], np.int32), np.zeros(13), flat))
    response = A.response(J)
    np.testing.assert_array_equal(to_dense(response), dense @ inverse)
    np.testing.assert_array_equal(A.mobility(J), np.diag(dense @ inverse @ dense.T))
    np.testing.assert_array_equal(A.delassus(J).toarray(), dense @ inverse @ dense.T)


# ---- what is refused -------------------------------------------------------------------------------------------


def changed(array: np.ndarray, value: float) -> np.ndarray:
    out = array.copy()
    out.flat[-1] = value
    return out


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda p: {"momentum": Momentum(p.A, p.v_free[:-1])}, "v_free has shape (23,)"),
        (lambda p: {"bias": np.zeros(5)}, "bias has shape (5,)"),
        (lambda p: {"laws": p.laws._replace(law=p.laws.law[:-1])}, "laws.law has shape (6,)"),
        (lambda p: {"laws": p.laws._replace(friction_set=p.laws.friction_set[1:])}, "laws.friction_set has shape (6,)"),
        (lambda p: {"laws": p.laws._replace(friction=p.laws.friction[:, :2])}, "laws.friction has shape (7, 2)"),
        (lambda p: {"laws": p.laws._replace(compliance=np.zeros(7))}, "laws.compliance has shape (7,)"),
        (lambda p: {"momentum": Momentum(p.A, changed(p.v_free, NAN))}, "v_free has the entry nan"),
        (lambda p: {"bias": changed(p.bias, np.inf)}, "bias has the entry inf"),
        (
            lambda p: {"laws": p.laws._replace(friction=changed(p.laws.friction, NAN))},
            "laws.friction has the entry nan",
        ),
        (lambda p: {"J": p.J._replace(data=changed(p.J.data, NAN))}, "J has the entry nan"),
        (
            lambda p: {"momentum": Momentum(with_dense(p, data=changed(p.A.dense.data, -np.inf)), p.v_free)},
            "A has the entry -inf",
        ),
        (lambda p: {"momentum": Momentum(with_dense(p, inverse=changed(p.A.dense.inverse, NAN)), p.v_free)}, "A"),
        (lambda p: {"laws": p.laws._replace(friction=changed(p.laws.friction, -0.25))}, "-0.25"),
        (lambda p: {"laws": p.laws._replace(compliance=changed(p.laws.compliance, -0.25))}, "-0.25"),
        (lambda p: {"laws": p.laws._replace(law=changed(p.laws.law, 17))}, "17"),
        (lambda p: {"laws": p.laws._replace(friction_set=changed(p.laws.friction_set, 17))}, "17"),
    ],
)
def test_checked_refuses(change: object, word: str) -> None:
    problem = random_problem(1)
    assert problem.checked() is problem
    with pytest.raises(InputError, match="problem") as caught:
        replace(problem, **change(problem)).checked()
    assert word in str(caught.value)


def test_checked_refuses_a_contact_with_too_few_rows() -> None:
    """Kernels read three rows of a contact (four with torsion), so a shorter one would read past the end."""
    short = GALLERY["compliant-joint"]().problem  # one row
    with pytest.raises(InputError, match="rows"):
        replace(short, laws=short.laws._replace(law=np.zeros(1, np.int32))).checked()
    three = random_problem(1)
    with pytest.raises(InputError, match="rows"):
        replace(three, laws=three.laws._replace(friction_set=np.full(7, 2, np.int32))).checked()  # ellipsoid


@pytest.mark.parametrize(
    ("W", "q", "mu", "word"),
    [
        (np.eye(3), np.zeros(6), [0.5], "(6,)"),
        (np.eye(6), np.zeros(3), [0.5], "(6, 6)"),
        (np.ones((3, 6)), np.zeros(3), [0.5], "(3, 6)"),
        (np.eye(3), np.zeros(3), [0.5, 0.5], "(2,)"),
        (np.diag([1, NAN, 1]), np.zeros(3), [0.5], "nan"),
        (np.eye(3), [0, NAN, 0], [0.5], "nan"),
        (np.eye(3), np.zeros(3), [NAN], "nan"),
        (np.eye(3), np.zeros(3), [-0.5], "-0.5"),
    ],
)
def test_from_delassus_refuses(W: object, q: object, mu: object, word: str) -> None:
    with pytest.raises(InputError, match="problem") as caught:
        from_delassus(W, q, mu)
    assert word in str(caught.value)


def test_contact_laws_of_no_contact() -> None:
    laws = contact_laws([])
    assert laws.friction.shape == (0, 3)
    assert laws.compliance.shape == (0,)


# ---- the judge -------------------------------------------------------------------------------------------------


def in_other_units(problem: ContactProblem, mass: float, length: float, time: float) -> ContactProblem:
    """The same problem of rigid bodies with its numbers in other units (each factor: new number / old number)."""
    size = np.array([1.0] * 3 + [length] * 3)  # of a rotational unknown against a linear one
    weights = mass * np.outer(size, size).ravel()
    A = with_dense(
        problem,
        data=(problem.A.dense.data.reshape(-1, 36) * weights).ravel(),
        inverse=(problem.A.dense.inverse.reshape(-1, 36) / weights).ravel(),
    )
    J = problem.J._replace(data=(problem.J.data.reshape(-1, 6) * size).ravel())
    speed = length / time
    v_free = (problem.v_free.reshape(-1, 6) * (speed / size)).ravel()
    return ContactProblem(Momentum(A, v_free), J, problem.bias * speed, problem.laws)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0, ELLIPSE]),
    st.floats(-6, 6),
    st.floats(-4, 4),
    st.floats(-4, 4),
)
def test_scaled_residual_does_not_depend_on_units(seed: int, kind: int, m: float, l: float, t: float) -> None:
    mass, length, time = 10.0**m, 10.0**l, 10.0**t
    problem = random_problem(seed, friction_set=kind)
    lam = np.random.default_rng(seed).normal(size=problem.row_count) + 0.2
    here = residual(problem, lam)
    there = residual(in_other_units(problem, mass, length, time), lam * (mass * length / time))
    assert here.scaled > 1e-3
    assert there.scaled == pytest.approx(here.scaled, rel=1e-9)
    assert there.velocity == pytest.approx(here.velocity * length / time, rel=1e-9)


def reordered(problem: ContactProblem, order: np.ndarray) -> ContactProblem:
    """The contacts (three rows, any number of entries) in another order."""
    J, laws = problem.J, problem.laws
    entries = [np.arange(J.entry_start[c], J.entry_start[c + 1]) for c in order]
    flat = np.concatenate(entries)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    counts = np.concatenate([[0], np.cumsum([len(e) for e in entries])]).astype(np.int32)
    mixed = J._replace(entry_start=counts, entry_column=J.entry_column[flat], data=J.data.reshape(-1, 18)[flat].ravel())
    mixed_laws = Laws(
        laws.law[order], laws.friction_set[order], laws.friction[order], laws.compliance[rows], laws.bound[rows]
    )
    return ContactProblem(problem.momentum, mixed, problem.bias[rows], mixed_laws)


@pytest.mark.parametrize("seed", range(5))
def test_residuals_do_not_depend_on_the_order_of_contacts(seed: int) -> None:
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    lam = rng.normal(size=problem.row_count)
    order = rng.permutation(problem.block_count)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    here, there = residual(problem, lam), residual(reordered(problem, order), lam[rows])
    assert there.scaled == pytest.approx(here.scaled, rel=1e-12)
    assert there.siconos == pytest.approx(here.siconos, rel=1e-12)


@pytest.mark.parametrize("name", GALLERY)
def test_residual_vanishes_at_solutions_and_only_there(name: str) -> None:
    known = GALLERY[name]()
    problem = known.problem
    lam = known.impulses if known.impulses is not None else make_solver("prox-gs", tolerance=1e-12).solve(problem).lam
    found = residual(problem, lam)
    # velocities are differences of the much larger ones that single impulses cause
    caused = float(np.abs(problem.diagonal * lam).max()) / (problem.free_speed or 1.0)
    assert found.scaled < 2e-12 * max(1.0, caused)
    assert found.siconos < 1e-10
    # an impulse more on one row moves the velocities, which no longer fit
    unit = problem.free_speed / problem.diagonal
    for row in range(problem.row_count):
        wrong = lam.copy()
        wrong[row] += 0.1 * unit[row]
        assert residual(problem, wrong).scaled > 1e-4, row


def test_residual_by_hand() -> None:
    """The particle of 2 kg that should stop: with no impulse F = -P_K(-u~) = (1, 0.1, -0.1), all inside the cone."""
    problem = GALLERY["one-contact-stick"]().problem
    found = residual(problem, np.zeros(3))
    u = np.array([-1.0, 0.1, -0.1])
    raised = np.array([-u[0] - 0.5 * np.hypot(0.1, 0.1), -u[1], -u[2]])
    assert found.velocity == pytest.approx(np.linalg.norm(raised), rel=1e-14)
    assert found.scaled == pytest.approx(np.linalg.norm(raised) / np.linalg.norm(u), rel=1e-14)
    assert scaled_residual(problem, np.zeros(3), u) == pytest.approx(found.scaled, rel=1e-14)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("sideways", [0.0, 0.3])
def test_contact_that_opens_has_no_residual(mu: float, sideways: float) -> None:
    problem = from_delassus(np.eye(3), [1.0, sideways, 0.0], [mu])
    assert residual(problem, np.zeros(3)).scaled == 0.0
    assert residual(problem, np.array([0.1, 0, 0])).scaled > 0.05  # and must not push


def test_residual_of_a_problem_at_rest_is_absolute() -> None:
    """Where |q| = 0 there is nothing to divide by."""
    problem = from_delassus(np.eye(3), np.zeros(3), [0.5])
    assert residual(problem, np.zeros(3)).scaled == 0.0
    assert residual(problem, np.array([2.0, 0, 0])).scaled == pytest.approx(2.0)


def test_particles_are_judged_together_and_bodies_that_touch_them_apart() -> None:
    """A body, two particles on it, one that is free, and a contact that touches nothing."""
    widths = np.array([6, 3, 3, 3])
    columns = [[0, 1], [0, 2], []]
    entries = [np.ones((3, widths[b])) for block in columns for b in block]
    J = BlockRows(
        np.array([0, 3, 6, 9], np.int32),
        block_rows.summed(np.array([len(block) for block in columns])),
        np.array([b for block in columns for b in block], np.int32),
        block_rows.summed(np.array([entry.size for entry in entries])),
        np.concatenate([entry.ravel() for entry in entries]),
        block_rows.summed(widths),
    )
    blocks = np.concatenate([np.eye(width).ravel() for width in widths])
    A = Inertia(DenseBlocks(block_rows.summed(widths), block_rows.summed(widths**2), blocks, blocks))
    problem = ContactProblem(Momentum(A, np.zeros(15)), J, np.zeros(9), contact_laws(np.zeros(3)))
    assert judged_together(problem).tolist() == [0, 1, 1, 3]


def test_a_disc_has_no_impulse_about_its_normal() -> None:
    rows = [contact(-1, 0, (0, 0, 1), (0, 0, 0), (0, 0, -0.5), (0.3, 0.3, 0.0), friction_set=ELLIPSOID)]
    problem = problem_of([1.0], [0.1], [0.0, 0.0, -1.0, 0.0, 0.0, 0.0], rows)
    problem = replace(problem, laws=problem.laws._replace(friction_set=np.array([DISC], dtype=np.int32)))
    assert residual(problem, np.array([1.0, 0.0, 0.0, 0.0])).scaled == pytest.approx(0.0, abs=1e-15)
    assert residual(problem, np.array([1.0, 0.0, 0.0, 0.1])).scaled > 0.1


def test_free_velocities_of_each_contact_may_be_rows() -> None:
    W, q, mu = np.eye(6), np.arange(6.0), [0.5, 0.5]
    flat, rows = from_delassus(W, q, mu), from_delassus(W, q.reshape(2, 3), mu)
    np.testing.assert_array_equal(flat.v_free, rows.v_free)
