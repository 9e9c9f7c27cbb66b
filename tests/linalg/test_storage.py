"""Large arrays are handed on, and never to two owners."""

import numpy as np
import pytest

from stickslip.linalg.storage import KEPT, LARGE, Storage


@pytest.fixture
def storage():
    return Storage()


def test_what_is_given_back_is_taken_again(storage):
    held = [storage.take(LARGE)]
    address = held[0].ctypes.data
    storage.give_back(held)
    assert storage.take(LARGE + 100).ctypes.data == address


def test_what_somebody_still_sees_is_not(storage):
    for see in (lambda array: array, lambda array: array[5:9]):
        held = [storage.take(LARGE)]
        seen = see(held[0])
        storage.give_back(held)
        assert not np.shares_memory(storage.take(LARGE), seen)


def test_small_arrays_and_those_of_other_sizes(storage):
    held = [storage.take(10), storage.take(5 * LARGE)]
    assert len(held[0]) == 10
    storage.give_back(held)
    assert len(storage.waiting) == 1
    assert storage.take(LARGE).base is not storage.waiting[0]


def test_few_arrays_wait(storage):
    held = [storage.take(LARGE) for _ in range(KEPT + 3)]
    storage.give_back(held)
    assert len(storage.waiting) == KEPT
