"""Contacts of soft bodies as a user reads them: with rigid bodies, with each other and with themselves."""

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.arrays import Array
from stickslip.certify.contact_report import OPEN
from stickslip.geometry.tet_generators import box
from stickslip.geometry.tet_mesh import TetMesh
from stickslip.scene.soft_body import SoftBody, elastic

H = 0.002
RUBBER = elastic(1e5, 0.3, beta=1e-3)
CUBE = box((0.1, 0.1, 0.1), 2)
MASS = 1000 * 0.1**3


def momentum(sim: Simulation, body: SoftBody) -> Array:
    """(3,) [N s]"""
    own = sim.model.soft.node_body == body.index
    return sim.model.soft.mass[own] @ sim.node_velocities(body)


def force_by_momentum(sim: Simulation, body: SoftBody) -> Array:
    """Contact force (3,) [N] of one more step, from what the momentum gained beside gravity."""
    before = momentum(sim, body)
    sim.step()
    return (momentum(sim, body) - before) / H - MASS * sim.model.gravity


def test_a_soft_box_and_the_ground_push_each_other() -> None:
    scene = Scene()
    ground = scene.add_half_space(friction=0.3)
    cube = scene.add_soft(CUBE, RUBBER, (0, 0, 0.0501), velocity=(0.5, 0, -0.5), friction=0.3)
    sim = Simulation(scene, dt=H)
    sim.run(3)
    force = force_by_momentum(sim, cube)
    up, down = sim.contacts(cube, ground), sim.contacts(ground, cube)
    assert len(up) == len(down) == 9
    assert up.total_force[2] > MASS * 9.81
    np.testing.assert_allclose(up.total_force, force, atol=1e-6)
    np.testing.assert_allclose(sim.node_contact_forces(cube).sum(axis=0), up.total_force, atol=1e-9)
    np.testing.assert_array_equal(down.force, -up.force)
    np.testing.assert_array_equal(down.slip_velocity, -up.slip_velocity)
    np.testing.assert_allclose(up.normal, [[0, 0, 1]] * 9, atol=1e-12)
    assert (up.on_body == sim.model.body_count + cube.index).all()
    assert (up.from_body == ground.index).all()
    pushing = up.status != OPEN
    assert pushing.any()
    friction = np.linalg.norm(up.force[pushing, :2], axis=1)
    np.testing.assert_allclose(friction, 0.3 * up.force[pushing, 2], atol=1e-6)  # all slip forwards
    assert set(np.array(up.status_names)[pushing]) == {"slip"}
    assert (up.slip_velocity[pushing, 0] > 0.1).all()
    np.testing.assert_array_equal(up.torsion, 0)


def test_rigid_soft_and_soft_soft_contacts_of_a_stack() -> None:
    """Ground, soft, soft, rigid, and a rigid ball with torsion beside them, whose contact has a fourth row."""
    scene = Scene()
    ground = scene.add_half_space()
    ball = scene.add_sphere(0.05, (1, 0, 0.05), angular_velocity=(0, 0, 3), torsion=0.01)
    top = scene.add_box((0.08, 0.08, 0.08), (0, 0, 0.24))
    lower = scene.add_soft(CUBE, RUBBER, (0, 0, 0.05))
    upper = scene.add_soft(CUBE, RUBBER, (0.003, 0.002, 0.15))
    sim = Simulation(scene, dt=H)
    sim.run(4)
    assert sim.model.contact_rows == 4
    before = sim.velocity(top)
    force = force_by_momentum(sim, upper)
    np.testing.assert_allclose(sim.contacts(upper).total_force, force, atol=1e-6)
    pairs = [(upper, lower), (upper, top), (lower, ground), (ball, ground)]
    reports = [sim.contacts(*pair) for pair in pairs]
    assert all(len(report) for report in reports)
    for (a, b), report in zip(pairs, reports, strict=True):
        np.testing.assert_array_equal(sim.contacts(b, a).force, -report.force)
    np.testing.assert_allclose(reports[0].total_force + reports[1].total_force, force, atol=1e-6)
    mass = sim.model.mass[top.index]
    np.testing.assert_allclose(
        sim.contacts(top).total_force, mass * ((sim.velocity(top) - before) / H + (0, 0, 9.81)), atol=1e-6
    )
    assert len(sim.contacts(lower, top)) == 0
    assert len(sim.contacts()) == sum(len(report) for report in reports)
    assert len(sim.contacts()) == sim.last.certificate.contacts
    assert sim.contacts(ball).torsion[0] < 0.0  # brakes the turning about the normal, which points up
    np.testing.assert_array_equal(sim.contacts(upper).torsion, 0)


def test_a_body_sees_both_sides_of_a_contact_with_itself() -> None:
    """Two blocks of one mesh that move towards each other."""
    parts = [CUBE.nodes, CUBE.nodes + (0.1005, 0.01, 0.01)]
    mesh = TetMesh(np.concatenate(parts), np.concatenate([CUBE.tets, CUBE.tets + len(CUBE.nodes)]))
    scene = Scene(gravity=(0, 0, 0))
    body = scene.add_soft(mesh, RUBBER, self_contact=True)
    sim = Simulation(scene, dt=H)
    right = np.arange(len(CUBE.nodes), 2 * len(CUBE.nodes))
    sim.set_node_velocity(body, (-0.5, 0, 0), right)
    sim.run(2)
    report = sim.contacts(body, body)
    once = sim.contacts()
    assert len(once) == sim.last.certificate.contacts > 0
    assert len(report) == 2 * len(once)
    np.testing.assert_allclose(report.total_force, 0, atol=1e-12)
    np.testing.assert_array_equal(report.force[::2], -report.force[1::2])
    np.testing.assert_array_equal(report.force[::2], once.force)
    assert np.linalg.norm(once.force, axis=1).max() > 1.0
    assert (report.on_body == 0).all()
    assert (report.from_body == 0).all()
    assert len(sim.contacts(other=body)) == len(sim.contacts(body)) == len(report)


def test_handles_are_checked() -> None:
    scene = Scene()
    ground = scene.add_half_space()
    cube = scene.add_soft(CUBE, RUBBER, (0, 0, 0.05))
    sim = Simulation(scene, dt=H)
    with pytest.raises(InputError, match="no step"):
        sim.contacts(cube)
    sim.step()
    with pytest.raises(InputError, match="'other' is not of this simulation"):
        sim.contacts(SoftBody(0, "other"))
    with pytest.raises(InputError, match="not of this simulation"):
        sim.contacts(ground, SoftBody(1, cube.name))
    with pytest.raises(InputError, match="given twice"):
        sim.contacts(ground, ground)
