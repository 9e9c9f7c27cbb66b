"""Bodies in plane strain: strain and stress, forces and stiffness, turns in the plane, and no motion out of it."""

import numpy as np
import pytest
from scipy.sparse import bsr_array

from stickslip import Scene, Simulation, elastic
from stickslip.bodies.soft import plane_strain
from stickslip.bodies.soft.element_assembly import assemble
from stickslip.bodies.soft.element_energies import strain_energies, strains_and_stresses
from stickslip.constraints.element_rows import element_rows
from stickslip.errors import InputError
from stickslip.geometry.plane_meshes import crossed_disc
from stickslip.model.model import Model, compile_scene
from stickslip.scene.soft_body import LINEAR, MODELS, MOONEY_RIVLIN

MU, LAM = 1.3e4, 2.1e4
CODES = range(len(MODELS))


def disc_model(code: int, rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)) -> Model:
    given = {"mooney": (0.4e4, 0.25e4, 3e4)} if code == MOONEY_RIVLIN else {"mu": MU, "lam": LAM}
    scene = Scene(gravity=(0, 0, 0))
    scene.add_soft(
        crossed_disc(0.1, 0.03, 3), elastic(**given, model=MODELS[code]), rotation=rotation, plane_strain=True, name="d"
    )
    return compile_scene(scene)


def forces_and_stiffness(model: Model, x: np.ndarray) -> tuple[np.ndarray, bsr_array]:
    soft = model.soft
    count = len(soft.elements.volume)
    force, A = np.zeros_like(x), np.zeros((len(soft.pattern.indices), 3, 3))
    assemble(soft.elements, x, soft.x_start, np.zeros_like(x), np.zeros(count), np.ones(count), False, force, A)
    plane_strain.project_forces(soft, force)
    plane_strain.project_stiffness(soft, A)
    return force, bsr_array((A, soft.pattern.indices, soft.pattern.indptr), shape=(x.size, x.size))


def moved_in_plane(model: Model, amount: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes displaced at random within the plane, and a random direction in it."""
    soft = model.soft
    P = np.eye(3) - soft.node_normal[:, :, None] * soft.node_normal[:, None, :]
    a, b = (np.einsum("nij,nj->ni", P, d) for d in np.random.default_rng(seed).normal(size=(2, *soft.x_start.shape)))
    return soft.x_start + amount * a, b


def test_patch_has_the_stress_of_plane_strain():
    model = disc_model(LINEAR)
    x = model.soft.x_start
    e = np.array([[0.010, 0.004, 0.0], [0.004, -0.003, 0.0], [0.0, 0.0, 0.0]])
    _, stress, _ = strains_and_stresses(model.soft.elements, x + x @ e, np.zeros(len(model.soft.elements.volume)))
    expected = 2.0 * MU * e + LAM * np.trace(e) * np.eye(3)
    np.testing.assert_allclose(stress, np.broadcast_to(expected, stress.shape), atol=1e-12 * MU)
    assert expected[2, 2] == pytest.approx(LAM * (e[0, 0] + e[1, 1]))


@pytest.mark.parametrize("code", CODES)
def test_forces_and_stiffness_are_derivatives_of_the_energy(code: int):
    model = disc_model(code, (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0) if code != LINEAR else (1.0, 0.0, 0.0, 0.0))
    x, d = moved_in_plane(model, 0.001)
    none = np.zeros(len(model.soft.elements.volume))

    def energy(y: np.ndarray) -> float:
        return float(strain_energies(model.soft.elements, y, model.soft.x_start, none).sum())

    force, K = forces_and_stiffness(model, x)
    h = 1e-6
    assert (energy(x + h * d) - energy(x - h * d)) / (2 * h) == pytest.approx(-np.sum(force * d), rel=1e-5)
    change = (forces_and_stiffness(model, x + h * d)[0] - forces_and_stiffness(model, x - h * d)[0]) / (2 * h)
    assert np.abs(change.ravel() + K @ d.ravel()).max() < 1e-5 * np.abs(change).max()


@pytest.mark.parametrize("code", [code for code in CODES if code != LINEAR])
def test_turns_in_the_plane_strain_nothing(code: int):
    model = disc_model(code)
    c, s = np.cos(0.7), np.sin(0.7)
    x = np.ascontiguousarray(model.soft.x_start @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T)
    elements = model.soft.elements
    none = np.zeros(len(elements.volume))
    assert strain_energies(elements, x, x, none).sum() < 1e-20
    assert np.abs(strains_and_stresses(elements, x, none)[0]).max() < 1e-14


@pytest.mark.parametrize("code", CODES)
def test_rows_of_elements_make_the_same_forces(code: int):
    model = disc_model(code)
    x, _ = moved_in_plane(model, 0.001)
    elements = model.soft.elements
    rows = element_rows(elements, x, model.soft.x_start, np.zeros(len(elements.volume)))
    assert not rows.gradient[:, :, 2].any()
    owner = np.repeat(np.arange(len(elements.volume)), np.diff(rows.row_start))
    force = np.zeros_like(x)
    np.add.at(force, elements.nodes[owner], -(rows.ec / rows.compliance)[:, None, None] * rows.gradient)
    expected = forces_and_stiffness(model, x)[0]
    np.testing.assert_allclose(force, expected, atol=1e-9 * np.abs(expected).max())


def test_nothing_leaves_the_plane():
    # gravity and friction with the ground both point out of the plane, too
    scene = Scene(gravity=(0.0, 3.0, -9.81))
    scene.add_half_space(friction=0.5)
    body = scene.add_soft(
        crossed_disc(0.1, 0.03, 3),
        elastic(1e5, 0.4),
        (0, 0, 0.1),
        (np.sqrt(0.5), np.sqrt(0.5), 0, 0),
        plane_strain=True,
    )
    sim = Simulation(scene, dt=0.005)
    sim.run(20)
    assert not sim.node_velocities(body)[:, 1].any()
    assert sim.nodes(body)[:, 2].min() > -1e-4
    assert sim.contacts(body).total_force[2] != 0.0


def test_wrong_use_is_refused():
    scene, mesh, rubber = Scene(), crossed_disc(0.1, 0.03, 2), elastic(1e5, 0.4)
    with pytest.raises(InputError, match="out of the plane"):
        scene.add_soft(mesh, rubber, velocity=(0, 0, 1), plane_strain=True)
    with pytest.raises(InputError, match="plane_strain is 'yes'"):
        scene.add_soft(mesh, rubber, plane_strain="yes")
    body = scene.add_soft(mesh, rubber, plane_strain=True)
    with pytest.raises(InputError, match="in plane strain"):
        scene.add_cavity(body, mesh.surface[:, ::-1], pressure=1.0)
