"""Damaged files of every format, opened by the public readers: an error of ours or none, in time and memory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import file_attack
import pytest
from outcome import gather

CASES = 1000


@pytest.mark.slow
def test_damaged_files() -> None:
    found = gather(file_attack.attack, 20260101, range(CASES))
    assert found.failures == []
    assert found.counts["files"] > 0.9 * CASES
    assert found.counts["refused"] > 0.5 * CASES
    assert found.counts["read"] > 0.05 * CASES  # some damage does not matter
    for kind in file_attack.USES:
        assert found.counts[f"files: {kind}"] > 15
