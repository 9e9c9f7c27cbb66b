"""Overlap that a step made and did not know of: the certificate sees it, and steps that are taken again mend it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping
from stickslip.bodies.rigid.advance import advance
from stickslip.certify.status import DEEPER_SHARE
from stickslip.collision.contacts import with_surfaces
from stickslip.collision.lookahead import approach
from stickslip.constraints.foreseen import FEATURES, added, foreseen_contacts
from stickslip.geometry.rotation import about_axis
from stickslip.pieces.deeper import deeper
from stickslip.pieces.pieces import LEAST_DEEPER
from stickslip.scenes.running import prepare

THIN = 0.05
"""[m] radius of the capsules below, which is half of their thickness."""


def falling(dt: float = 0.004, **options: object) -> Simulation:
    """Capsules that fall across each other: they slide and turn along their lengths as they hit."""
    scene = Scene()
    scene.add_half_space(friction=0.6)
    for i in range(9):
        scene.add_capsule(
            THIN, 0.16, (0.15 * (i % 3), 0.06 * (i % 2), 0.1 + 0.16 * i), about_axis((1.0, 0.3 * i, 0.2), 0.5 * np.pi),
            density=800.0, friction=0.6, velocity=(0, 0, -2),
        )  # fmt: skip
    return Simulation(scene, stepping=Stepping(dt=dt, **options), driver="python")  # type: ignore[arg-type]


def test_the_certificate_sees_what_a_step_did_not_know():
    """What a step gets deeper by is what the next one finds, but for what the pair overlapped by before."""
    sim, seen = falling(0.01), 0
    for _ in range(40):
        result = sim.step()
        if result.earlier:  # each of its pieces was looked at
            continue
        before, grown = result.certificate, deeper(sim.model, sim.before, sim.state, sim.stepping)
        assert before.deepened == grown.most
        assert (before.status == "overlapping") == (grown.worst > DEEPER_SHARE)
        assert before.converged == (before.status == "converged")
        if before.deepened:
            now = replace(sim.stepping, lookahead=False)
            found = Simulation(sim.model, stepping=now)
            found.restore(sim.state)
            assert found.step().certificate.penetration >= before.deepened
            seen += 1
    assert seen >= 2


def test_steps_that_are_taken_again_leave_no_overlap():
    """Each gets deeper by a share of the thickness at most; recovery takes a fifth of what there is a step."""
    deepest = {}
    for tries in (0, 3):
        sim = falling(redetect=tries)
        certificates = [sim.step().certificate for _ in range(110)]
        deepest[tries] = max(each.penetration for each in certificates)
        if tries:
            assert all(each.converged for each in certificates)
    assert deepest[0] > 1e-3
    assert deepest[3] < LEAST_DEEPER * THIN / sim.stepping.recovery + 1e-4


@pytest.mark.slow
def test_an_arch_that_falls_does_not_fold_into_itself():
    """Steps 97 to 125, in which its stones part and meet again: 12 mm without looking where steps led."""
    run = prepare("arch", settings={"friction": 0.2})
    assert run.sim.stepping.redetect == 3
    results = [run.sim.step().certificate for _ in range(126)]
    assert max(each.penetration for each in results) < 5e-4
    assert all(each.converged for each in results)


def test_contacts_are_linearised_where_they_were_found():
    """h J v + way is the gap at the end, at the velocities that led there; nearby it changes by h J (v - v1)."""
    scene, rng = Scene(), np.random.default_rng(3)
    for _ in range(2):
        scene.add_box((0.2, 0.3, 0.4), rng.normal(size=3), density=500.0)
    sim = Simulation(scene, dt=0.01)
    model, q, h = sim.model, sim.state.body_pose, 0.01
    v = rng.normal(size=(2, 6)) * [3, 3, 3, 15, 15, 15]
    end = advance(q, v, h)
    one, key = np.ones(1, dtype=np.int32), np.array([7], dtype=np.int64)
    normal = rng.normal(size=(1, 3))
    normal /= np.linalg.norm(normal)
    at_end = with_surfaces(
        model, end, key, (0 * one, one), (0 * one, one), rng.normal(size=(1, 3)), normal, np.array([-0.003])
    )
    seen = foreseen_contacts(model, at_end, np.array([0.001]), (q, end), sim.stepping)
    closing = approach(seen.contacts.body_a, seen.contacts.body_b, seen.contacts.point, normal, q, v)
    # of the overlap before, recovery leaves four fifths
    assert h * closing[0] + seen.way[0] == pytest.approx(-0.003 + 0.8 * 0.001, abs=1e-12)


def test_what_is_found_again_counts_at_both_places():
    sim = falling()
    for _ in range(25):
        result = sim.step()
    some = result.contacts.take(np.arange(4))
    poses = sim.before.body_pose, sim.state.body_pose
    first = foreseen_contacts(sim.model, some, np.zeros(4), poses, sim.stepping)
    both = added(first, first)
    assert len(both.contacts) == 8
    assert len(np.unique(both.contacts.key)) == 8
    assert (np.diff(both.contacts.key) > 0).all()
    pairs, again = (np.unique(each.contacts.key & ~FEATURES, return_counts=True) for each in (first, both))
    np.testing.assert_array_equal(pairs[0], again[0])
    np.testing.assert_array_equal(2 * pairs[1], again[1])


def test_bodies_that_move_little_are_not_looked_at():
    scene = Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0)
    sim = Simulation(scene, dt=0.002)
    sim.run(5)
    seen = deeper(sim.model, sim.before, sim.state, sim.stepping)
    assert seen.touching is None
    assert sim.last.certificate.deepened == 0.0
