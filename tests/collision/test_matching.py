"""Impulses of the last step handed to the contacts of this one."""

from dataclasses import replace

import numpy as np

from stickslip import Scene, Simulation
from stickslip.collision.contacts import Contacts
from stickslip.collision.matching import match, remember


def resting(torsion: float = 0.0) -> tuple[Contacts, np.ndarray]:
    """Eight contacts of two boxes on the floor, and impulses in their frames."""
    scene = Scene()
    scene.add_half_space(torsion=torsion)
    for x in (0.0, 1.0):
        scene.add_box((0.2, 0.2, 0.2), (x, 0, 0.1), torsion=torsion)
    contacts = Simulation(scene).step().contacts
    assert len(contacts) == 8
    rows = 4 if torsion else 3
    return contacts, 1.0 + np.arange(8.0 * rows).reshape(8, rows)


def test_what_is_remembered_comes_back() -> None:
    for torsion in (0.0, 0.01):
        contacts, lam = resting(torsion)
        found = match(contacts, lam.shape[1], contacts.key, remember(contacts, lam.ravel()))
        np.testing.assert_allclose(found.reshape(lam.shape), lam, rtol=1e-14)


def test_a_contact_that_changed_its_id_takes_over_the_impulse_of_the_one_that_is_gone() -> None:
    contacts, lam = resting()
    old = remember(contacts, lam.ravel())
    key = contacts.key.copy()
    key[1] += 1000  # another feature of the same pair, and the last of it in order
    order = np.argsort(key)
    renamed = replace(contacts.take(order), key=key[order])
    found = match(renamed, 3, contacts.key, old).reshape(8, 3)
    np.testing.assert_allclose(found, lam[order], rtol=1e-14)


def test_a_new_contact_gets_nothing_and_nothing_goes_to_another_pair() -> None:
    contacts, lam = resting()
    old = remember(contacts, lam.ravel())
    left = np.array([0, 1, 2, 3, 5])  # of the second box only one was known
    found = match(contacts, 3, contacts.key[left], old[left]).reshape(8, 3)
    np.testing.assert_allclose(found[left], lam[left], rtol=1e-14)
    np.testing.assert_array_equal(np.delete(found, left, axis=0), 0.0)
