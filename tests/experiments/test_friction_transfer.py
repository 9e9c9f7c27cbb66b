"""Plans on soft and on exact contact: one challenge whole, and what each law does with given forces."""

from pathlib import Path

import numpy as np
import pytest

from stickslip.experiments.friction_transfer.challenges import CHALLENGES, MASS, SLOPE
from stickslip.experiments.friction_transfer.settings import DT, SETTINGS
from stickslip.experiments.friction_transfer.transfer import do
from stickslip.experiments.registry import PAPERS


def test_creep_overlap_and_boxes_are_seen_by_certificates() -> None:
    """The same forces under each law: pushed below friction, resting on a slope, thrown aslant."""
    push = {law: do(CHALLENGES["push"], each, np.tile([1.0, 0.0], (20, 1))) for law, each in SETTINGS.items()}
    assert abs(push["exact"].score) < 1e-9
    assert push["exact"].residual < 1e-9
    for law in ("soft", "penalty"):
        assert push[law].score > 0.01
        assert push[law].residual > 1e-3
    assert push["penalty"].penetration > 1.0
    rest = {law: do(CHALLENGES["slope"], SETTINGS[law], np.zeros((20, 2))) for law in ("exact", "soft", "penalty")}
    assert rest["exact"].score < 1e-9 < 1e-2 < rest["soft"].score < rest["penalty"].score
    aslant = np.zeros((40, 2))
    aslant[:10] = 0.9, 0.4
    thrown = {law: do(CHALLENGES["slide"], SETTINGS[law], aslant) for law in ("exact", "box")}
    assert thrown["exact"].direction < 1e-3
    assert thrown["box"].direction > 10.0


def test_resting_on_regularised_friction_creeps_as_its_formula_says() -> None:
    """Steady creep of ``sap`` on four contacts: v = sigma w f h / 4; sigma: the share, w = 1 / m, f h: the impulse."""
    setting = SETTINGS["soft"]
    short, long = (do(CHALLENGES["slope"], setting, np.zeros((steps, 2))).score for steps in (40, 60))
    speed = 1e-3 * (long - short) / (20 * DT)
    impulse = MASS * 9.81 * np.sin(SLOPE) * DT
    assert speed == pytest.approx(0.25 * setting.options["friction_share"] * impulse / MASS, rel=0.05)


@pytest.mark.slow
def test_a_challenge_is_reported(tmp_path: Path) -> None:
    report = PAPERS["friction-transfer"].reproduce(["slope"], True, tmp_path, lambda *_: None, 1)
    assert [claim.agrees for claim in report.claims] == [True, True]
    assert len(report.rows) == 3 * len(SETTINGS) ** 2
    assert {"slope.png", "slope.csv", "report.md"} <= {file.name for file in tmp_path.iterdir()}
