"""Energy of soft bodies as the certificate tells it: spinning bodies, fillings, steps that make energy."""

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping, TetMesh, elastic
from stickslip.geometry.tet_generators import box
from stickslip.geometry.tet_mesh import without_unused


def spinning(scheme: str, dt: float, speed: float, **material):
    scene = Scene(gravity=(0, 0, 0))
    cube = scene.add_soft(box((0.1, 0.1, 0.1), 2), elastic(2e5, 0.3, **material), angular_velocity=(0, 0, speed))
    return Simulation(scene, stepping=Stepping(dt=dt, scheme=scheme)), cube


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_the_ledger_has_the_energy_of_the_elements(scheme: str) -> None:
    """Also of lagged elements, whose forces come from other rotations than their own; and the books go on."""
    sim, cube = spinning(scheme, 0.005, 20.0, beta=1e-3)
    before = None
    for _ in range(20):
        ledger = sim.step().certificate.energy
        assert ledger.elastic == pytest.approx(float(sim.elements(cube).energy.sum()), rel=1e-9)
        if before is not None:
            change = ledger.total - before
            assert change == pytest.approx(ledger.work - ledger.damping + ledger.numerical, abs=1e-12)
        before = ledger.total


def test_the_midpoint_rule_keeps_the_energy_of_spinning_lagged_elements() -> None:
    """A quarter of a radian a step, 200 steps; with rotations of the start of the step it blew up."""
    sim, _ = spinning("moreau", 0.005, 50.0)
    start = 0.5 * float(np.sum(sim.model.soft.mass * np.sum(sim.state.node_velocity**2, axis=1)))
    totals = [sim.step().certificate.energy.total for _ in range(200)]
    assert max(totals) < 1.1 * start
    assert min(totals) > 0.9 * start


def test_a_step_that_makes_energy_is_flagged() -> None:
    """Explicit forces with steps far too long: solved, but not converged."""
    sim, _ = spinning("symplectic", 0.003, 50.0)
    last = [sim.step().certificate for _ in range(8)][-1]
    assert last.status == "diverged"
    assert not last.converged


def hollow_cube() -> tuple[TetMesh, np.ndarray]:
    """A cube of 0.3 m with a cell of 0.1 m missing in its middle, and the faces of the hole, normals out of it."""
    solid = box((0.3, 0.3, 0.3), 3)
    kept = (np.abs(solid.nodes[solid.tets].mean(axis=1)) > 0.05).any(axis=1)
    mesh = TetMesh(*without_unused(solid.nodes, solid.tets[kept]))
    inner = (np.abs(mesh.nodes[mesh.surface]) < 0.051).all(axis=(1, 2))
    return mesh, mesh.surface[inner][:, ::-1]


@pytest.mark.parametrize("wanted", [1e-3, 1.1e-3])
def test_a_filled_cavity_converges_and_its_work_is_counted(wanted: float) -> None:
    """At rest there is nothing but rounding to measure errors by; filled more, the filling does all the work."""
    mesh, faces = hollow_cube()
    scene = Scene(gravity=(0, 0, 0))
    cube = scene.add_soft(mesh, elastic(1e5, 0.3, beta=0.01))
    scene.add_cavity(cube, faces, volume=wanted, bulk=1e6)
    sim = Simulation(scene)
    results = [sim.step().certificate for _ in range(40)]
    assert all(each.converged for each in results)
    if wanted > 1e-3:
        work = sum(each.energy.work for each in results)
        assert work > 0.0
        assert abs(sum(each.energy.numerical for each in results)) < 0.3 * work


def test_a_cavity_that_is_inside_out_is_refused() -> None:
    mesh, faces = hollow_cube()
    scene = Scene()
    cube = scene.add_soft(mesh, elastic(1e5, 0.3))
    with pytest.raises(InputError, match=r"enclose -0\.001 m\^3"):
        scene.add_cavity(cube, faces[:, ::-1], pressure=10.0)
    with pytest.raises(InputError, match=r"volume is 0\.0"):
        scene.add_cavity(cube, faces, volume=0.0)
