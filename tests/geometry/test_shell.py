"""Surfaces with a thickness, as convex plates."""

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation
from stickslip.geometry.hull import polyhedron
from stickslip.geometry.mass import of_compound
from stickslip.geometry.shapes import Hull, placed
from stickslip.geometry.shell import shell_pieces
from stickslip.scenes.grasp_objects import OBJECTS, open_tube

SQUARE = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.0)])
FAN = np.array([(0, 1, 4), (1, 2, 4), (4, 2, 3), (3, 0, 4)])


def volume(pieces: list[np.ndarray]) -> float:
    return float(sum(of_compound([placed(Hull(piece))]).mass for piece in pieces))


def test_triangles_that_are_flat_and_convex_together_are_one_plate() -> None:
    (plate,) = shell_pieces(SQUARE, FAN, 0.02)
    assert np.isclose(np.ptp(plate[:, 2]), 0.02)
    assert np.isclose(volume([plate]), 0.02)
    assert len(polyhedron(plate).vertices) == 8
    corner = shell_pieces(SQUARE, FAN[:3], 0.02)  # without one of four, an L of triangles is not convex
    assert len(corner) > 1
    assert np.isclose(volume(corner), 0.75 * 0.02)


def test_a_tube_without_ends_has_the_volume_of_its_surface() -> None:
    """An inscribed prism of 20 sides: 20 plates a ring, the two triangles of each side joined along the whole tube."""
    pieces = shell_pieces(*open_tube(), 0.002)
    assert len(pieces) == 20
    side = 2.0 * 0.026 * np.sin(np.pi / 20)
    assert np.isclose(volume(pieces), 20 * side * 0.1 * 0.002, rtol=1e-9)


def test_senses_crossings_and_edges_of_three_triangles_do_not_matter() -> None:
    soup = np.concatenate([SQUARE, SQUARE[:, [2, 0, 1]]])
    triangles = np.concatenate([FAN, FAN[:, ::-1] + 5, [(0, 1, 1), (0, 1, 2)]])  # one has no area, one is there twice
    assert np.isclose(volume(shell_pieces(soup, triangles, 0.02)), 2.0 * 0.02 + 0.5 * 0.02)


def test_what_makes_no_shell_is_one_line() -> None:
    with pytest.raises(InputError, match="none of its 1 triangles has an area"):
        shell_pieces(SQUARE, [(0, 1, 1)], 0.01)
    with pytest.raises(InputError, match="triangle 0 is \\[0, 1, 9\\]; vertices are numbered 0 to 4"):
        shell_pieces(SQUARE, [(0, 1, 9)], 0.01)
    with pytest.raises(InputError, match="thickness"):
        Scene().add_shell(SQUARE, FAN, thickness=0.0)
    with pytest.raises(InputError, match="shell: give either vertices and triangles, or file"):
        Scene().add_shell(SQUARE, thickness=0.01)


def test_a_bowl_with_a_hole_rests_on_its_ring() -> None:
    """A closed mesh is needed for a solid, and this surface is rejected as one; as a shell it stands."""
    vertices, triangles = OBJECTS["bowl"].surface()
    with pytest.raises(InputError):
        Scene().add_mesh(vertices, triangles)
    scene = Scene()
    scene.add_half_space()
    bowl = scene.add_shell(vertices, triangles, (0.0, 0.0, 0.0185), thickness=0.0025, mass=0.12, name="bowl")
    sim = Simulation(scene, dt=0.005)
    for _ in range(40):
        result = sim.step()
    assert result.certificate.converged
    assert np.linalg.norm(sim.velocity(bowl)) < 1e-6
    assert 0.015 < sim.position(bowl)[2] < 0.02
