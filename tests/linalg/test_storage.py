"""Large arrays are handed on, and never to two owners."""

import numpy as np
import pytest

from stickslip.linalg import storage
from stickslip.linalg.storage import LARGE, give_back, take


@pytest.fixture(autouse=True)
def _nothing_waits(monkeypatch):
    monkeypatch.setattr(storage, "_waiting", [])


def test_what_is_given_back_is_taken_again():
    held = [take(LARGE)]
    address = held[0].ctypes.data
    give_back(held)
    assert take(LARGE + 100).ctypes.data == address


def test_what_somebody_still_sees_is_not():
    for see in (lambda array: array, lambda array: array[5:9]):
        held = [take(LARGE)]
        seen = see(held[0])
        give_back(held)
        assert not np.shares_memory(take(LARGE), seen)


def test_small_arrays_and_those_of_other_sizes():
    held = [take(10), take(5 * LARGE)]
    assert len(held[0]) == 10
    give_back(held)
    assert len(storage._waiting) == 1
    assert take(LARGE).base is not storage._waiting[0]


def test_few_arrays_wait():
    held = [take(LARGE) for _ in range(storage.KEPT + 3)]
    give_back(held)
    assert len(storage._waiting) == storage.KEPT
