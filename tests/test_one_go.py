"""A rigid step in one go has the bits of separate functions one after the other, and does nothing twice."""

import copy
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip import step as step_module
from stickslip.bodies.rigid import advance as rigid_advance
from stickslip.bodies.rigid import layout as rigid_layout
from stickslip.bodies.rigid import momentum as rigid_bodies
from stickslip.bodies.rigid.arrays import rigid_tables
from stickslip.constraints.contact import rows as contact_rows
from stickslip.contact.islands import problem_islands
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.problem import ContactProblem
from stickslip.linalg import block_rows
from stickslip.linalg.islands import find_islands
from stickslip.scenes.running import prepare


def pile(**material: float) -> Simulation:
    """Boxes and balls that fall on a moving plate, some of which touch."""
    scene = Scene()
    scene.add_box((3, 3, 0.2), (0, 0, -0.1), kind="kinematic", velocity=(0.3, 0, 0.1), angular_velocity=(0, 0, 0.2))
    for k in range(6):
        place = (0.3 * (k % 3) - 0.3, 0.25 * (k // 3), 0.1)
        add = scene.add_box if k % 2 else scene.add_sphere
        add((0.2, 0.2, 0.2) if k % 2 else 0.1, place, velocity=(1.0, 0.2 * k, -1.0), **material)  # type: ignore[operator]
    return Simulation(scene, dt=0.005)


@pytest.mark.parametrize("scheme", ["euler", "moreau", "passive"])
@pytest.mark.parametrize(
    "material",
    [{}, {"torsion": 0.02, "restitution": 0.5, "tangential_restitution": 0.3}, {"contact_stiffness": 1e4}],
)
def test_first_rows_are_those_of_separate_functions(scheme: str, material: dict[str, float]) -> None:
    sim = pile(**material)
    contacts = sim.step().contacts
    model, q, v, options = sim.model, sim.state.body_pose, sim.state.body_velocity, Stepping(dt=0.005, scheme=scheme)  # type: ignore[arg-type]
    unknown = v[model.dynamic].ravel()
    found = contact_rows.first_rows(model, contacts, q, v, options)
    J = contact_rows.contact_jacobian(model, contacts, q)
    carried = contact_rows.contact_velocities(model, contacts, q, v, prescribed_only=True)
    moved = block_rows.apply(J, unknown)
    gaps = contact_rows.gap_bias(contacts.gap, contacts.restitution, moved + carried, options, contacts.compliance)
    assert len(contacts) > 5
    for mine, theirs in zip(found.J, J, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found.prescribed, carried)
    np.testing.assert_array_equal(found.gap_bias, gaps)
    np.testing.assert_array_equal(found.bias, carried + gaps)
    np.testing.assert_array_equal(found.before, moved + (carried + gaps))


def test_free_motion_and_the_end_of_a_step_are_those_of_separate_functions() -> None:
    sim = pile()
    sim.run(3)
    model, q, v = sim.model, sim.state.body_pose, sim.state.body_velocity
    force = np.random.default_rng(1).normal(size=v.shape)
    A, v_free = rigid_bodies.free_blocks(model, rigid_tables(model), q, v, force, 0.01)
    for mine, theirs in zip(A, rigid_bodies.mass_blocks(model, q).dense, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(v_free, rigid_bodies.free_velocity(model, q, v, force, 0.01))
    v_all, q_end = rigid_advance.moved(model.block, q, v, v_free, 0.01)
    np.testing.assert_array_equal(v_all, rigid_layout.scatter(model, v, v_free))
    np.testing.assert_array_equal(q_end, rigid_advance.advance(q, v_all, 0.01))


@pytest.mark.parametrize("material", [{}, {"torsion": 0.02}])
def test_errors_of_momentum_are_those_of_the_general_way(material: dict[str, float]) -> None:
    result = pile(**material).step()
    problem, rng = result.problem, np.random.default_rng(2)
    A = problem.masses
    general = replace(problem, scale=problem.scale._replace(masses=replace(A)))
    lam, v = rng.normal(size=problem.row_count), rng.normal(size=problem.unknown_count)
    assert momentum_error(problem, lam, v) == momentum_error(general, lam, v)


def test_islands_are_those_of_the_rows_and_then_bodies_alone() -> None:
    sim = pile()
    problem = sim.step().problem
    found, islands = find_islands(problem.J), problem_islands(problem)
    for i in range(found.island_count):
        assert (islands.block[found.order[found.start[i] : found.start[i + 1]]] == i).all()
        assert (islands.column[found.column_order[found.column_start[i] : found.column_start[i + 1]]] == i).all()
    alone = np.setdiff1d(np.arange(len(sim.model.dynamic)), found.column_order)
    np.testing.assert_array_equal(islands.column[alone], found.island_count + np.arange(len(alone)))
    assert islands.island_count == found.island_count + len(alone)


def test_copies_of_block_rows_hold_arrays_alone() -> None:
    J = pile().step().problem.J
    assert J.contact_height == 3
    assert J.over_bodies
    for other in (pickle.loads(pickle.dumps(J)), copy.deepcopy(J), J._replace(data=2.0 * J.data)):
        assert isinstance(other, block_rows.BlockRows)
        assert not vars(other)
        np.testing.assert_array_equal(other.row_start, J.row_start)


def test_velocities_of_rows_are_not_computed_again_for_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """J v of the start is known from assembly, that of the end from the solver."""
    calls, during = Counter[str](), ["step"]
    product, certify = ContactProblem.constraint_velocity, step_module.certify

    def counted(problem: ContactProblem, v: np.ndarray) -> np.ndarray:
        calls[during[-1]] += 1
        return product(problem, v)

    def certified(*given: object) -> object:
        during.append("certify")
        try:
            return certify(*given)  # type: ignore[arg-type]
        finally:
            during.pop()

    monkeypatch.setattr(ContactProblem, "constraint_velocity", counted)
    monkeypatch.setattr(step_module, "certify", certified)
    sim = prepare("box-slope").sim
    sim.run(5)
    calls.clear()
    sim.step()
    assert sim.last is not None
    assert len(sim.last.contacts)
    assert sim.last.certificate.iterations == 1
    assert calls["certify"] == 0
    assert calls.total() <= 2  # q = J v_free + bias, and what the solver needs
    problem = sim.last.problem
    assert problem.v_before is not None
    np.testing.assert_array_equal(problem.before, product(problem, problem.v_before))
