"""Fast bodies of every shape at thin walls, as many as fit into half a minute; make attack shoots thousands."""

import pytest
from bullet_attack import attack
from outcome import gather


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_nothing_passes_unflagged_and_nothing_slow_passes(part):
    found = gather(attack, 19, range(40 * part, 40 * (part + 1)))
    assert found.failures == []
    assert found.counts["shots"] == 40
    assert found.counts["stopped or turned away"] > 30
