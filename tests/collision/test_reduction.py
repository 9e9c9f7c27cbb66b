"""Fewer contacts of pairs that have many: what is kept carries the load, and the deepest overlap is always among it."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip
from stickslip.collision.reduction import reduced
from stickslip.errors import InputError
from stickslip.model.stepping import Stepping
from stickslip.simulation import Simulation


def cylinder(**options: float) -> Simulation:
    """A prism of 24 corners on the ground, in which it stands half a millimetre deep on one side."""
    angle = 2.0 * np.pi * np.arange(24) / 24
    ring = np.stack([0.1 * np.cos(angle), 0.1 * np.sin(angle)], axis=1)
    corners = np.concatenate([np.column_stack([ring, np.full(24, z)]) for z in (-0.05, 0.05)])
    scene = stickslip.Scene()
    scene.add_half_space(friction=0.5)
    scene.add_hull(corners, (0.0, 0.0, 0.05), density=1000.0, friction=0.5, name="prism")
    return Simulation(scene, stepping=Stepping(dt=0.005, **options))


def test_pairs_keep_as_many_as_asked_for_and_stand_as_with_all() -> None:
    full, few = cylinder(), cylinder(per_pair=5)
    many = full.step()
    less = few.step()
    assert many.problem.contact_count >= 12
    assert less.problem.contact_count == 5
    for _ in range(40):
        many, less = full.step(), few.step()
        assert less.certificate.converged
    np.testing.assert_allclose(few.state.body_pose, full.state.body_pose, atol=1e-5)
    weight = many.problem.step * 9.81 * full.model.mass[full.model.dynamic[0]]
    assert less.solution.lam[::3].sum() == pytest.approx(weight, rel=1e-3)


def test_the_deepest_contact_and_the_spread_are_kept() -> None:
    contacts = cylinder().step().search.found.contacts
    gap = contacts.gap.copy()
    gap[7] = -1e-3
    tilted = replace(contacts, gap=gap)
    kept = reduced(tilted, 4)
    assert len(kept) == 4
    assert kept.gap.min() == -1e-3
    spread = np.ptp(kept.point[:, :2], axis=0)
    assert (spread > 0.12).all()
    assert (np.diff(kept.key) > 0).all()
    assert reduced(contacts, 100) is contacts


def test_too_few_are_rejected() -> None:
    with pytest.raises(InputError, match="per_pair is 3"):
        Stepping(per_pair=3)
