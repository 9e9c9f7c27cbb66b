"""Velocities along rigid joints at the end of a step of the midpoint rule, against a factorisation of SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

from stickslip import Scene
from stickslip.bodies.rigid.momentum import mass_blocks
from stickslip.constraints.joint.joints import joint_layout
from stickslip.constraints.joint.projection import rigid_rows, tangent_velocity
from stickslip.linalg import block_rows
from stickslip.linalg.direct import direct
from stickslip.linalg.schur_system import schur_system
from stickslip.model.model import compile_scene


def linkage(closed: bool) -> Scene:
    """Hinged bars; closed, they are a square whose rows determine each other."""
    scene, corners = Scene(), [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 0.0, 2.0), (0.0, 0.0, 2.0)]
    above = None
    for k in range(3):
        middle = 0.5 * (np.array(corners[k]) + corners[k + 1])
        bar = scene.add_box((0.4, 0.1, 0.2), middle, mass=1.0 + k)
        scene.add_revolute(above, bar, corners[k], (0, 1, 0), limits=(-0.5, 0.5))
        above = bar
    if closed:
        scene.add_revolute(above, None, corners[3], (0, 1, 0))
    return scene


@pytest.mark.parametrize("closed", [False, True])
def test_velocities_are_those_of_a_direct_solve(closed: bool) -> None:
    model = compile_scene(linkage(closed))
    q = model.q_start
    v = np.random.default_rng(2).standard_normal((model.body_count, 6))
    layout = joint_layout(model, np.zeros(model.joints.count, np.bool_))
    rows, speed, rigid = rigid_rows(model, layout, q, v)
    A = mass_blocks(model, q)
    mu = direct(schur_system(rows, A, np.where(rigid, 0.0, 1.0)), -speed).x
    expected = v.copy()
    expected[model.dynamic] += A.solve(block_rows.apply_transpose(rows, mu)).reshape(-1, 6)
    found = tangent_velocity(model, layout, q, v)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(rigid_rows(model, layout, q, found)[1]).max() < 1e-9 * np.abs(speed).max()
