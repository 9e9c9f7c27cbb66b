"""Random scenes of everything: what steps say of themselves is true."""

import pytest
from outcome import gather
from scene_attack import attack


@pytest.mark.slow
def test_random_scenes_say_what_is_true_of_them() -> None:
    found = gather(attack, seed=19, cases=range(60))
    assert found.failures == []
    assert found.counts["scenes"] == 60
    assert found.counts["converged"] > 300
    assert found.counts["judged energies"] > 100
    assert found.counts["contacts of converged steps"] > 500
