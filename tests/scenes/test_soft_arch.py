"""The arch of stiff blocks: its shape, its line of thrust, and that friction decides whether it stands."""

import numpy as np
import pytest

from stickslip.errors import InputError
from stickslip.model.model import compile_scene
from stickslip.scenes.registry import SCENES
from stickslip.scenes.running import Summary, execute, prepare
from stickslip.scenes.soft_arch import catenary_stones

SHAPE = 9, 10.0, 4.0, 1.2
"""Count, span, rise and thickness by default."""


def run(duration: float, **settings) -> Summary:
    prepared = prepare("soft-arch", settings=settings)
    return execute(prepared, prepared.step_count(duration=duration))


# ---- shape -----------------------------------------------------------------------------------------------------------


def test_nine_blocks_have_nearly_the_unknowns_of_the_paper():
    model = compile_scene(SCENES["soft-arch"].build())
    assert (model.soft.count, model.dof_count) == (9, 216)  # the paper: 225
    assert np.bincount(model.soft.node_body).tolist() == [8] * 9


def test_blocks_share_their_joints_and_stand_on_two_edges():
    stones = catenary_stones(*SHAPE)
    for left, right in zip(stones[:-1], stones[1:], strict=True):
        np.testing.assert_array_equal(left[2:], right[:2])
    np.testing.assert_array_equal(stones[-1][[2, 3, 0, 1]] * [-1.0, 1.0], stones[0])
    heights = np.concatenate(stones)[:, 1]
    assert heights.min() == 0.0
    assert (heights == 0.0).sum() == 2  # an edge at either end, not a face
    joints = np.array([*(stone[:2] for stone in stones), stones[-1][2:]])
    np.testing.assert_allclose(np.linalg.norm(joints[:, 1] - joints[:, 0], axis=1), 1.2, rtol=1e-12)
    middle = joints.mean(axis=1)
    assert np.ptp(middle[:, 0]) == pytest.approx(10.0)
    # chords of a catenary are shorter than its arcs by a little, most at the crown
    assert middle[:, 1].max() == pytest.approx(middle[0, 1] + 4.0, abs=0.1)


def thrust_lines(count: int, span: float, rise: float, thickness: float) -> list[tuple[float, float]]:
    """Leans H / V at the feet, and the largest of all joints, of lines of thrust from edge to edge within blocks."""
    stones = catenary_stones(count, span, rise, thickness)
    area, centre = [], []
    for stone in stones:
        here = stone[[0, 1, 3, 2]]
        there = np.roll(here, -1, axis=0)
        cross = here[:, 0] * there[:, 1] - there[:, 0] * here[:, 1]
        area.append(abs(0.5 * cross.sum()))
        centre.append(((here[:, 0] + there[:, 0]) * cross).sum() / (3.0 * cross.sum()))
    weight, x = np.array(area), np.array(centre)
    foot, upward = stones[0][0], 0.5 * weight.sum()
    found = []
    for lean in np.linspace(0.1, 1.0, 181):
        inside, leans = True, [lean]
        for k in range(1, count):
            inner, outer = stones[k][:2]

            def moment(point: np.ndarray, k: int = k, lean: float = lean) -> float:
                own = upward * (point[0] - foot[0] - lean * (point[1] - foot[1]))
                return float(own - (weight[:k] * (point[0] - x[:k])).sum())

            inside &= moment(inner) * moment(outer) < 0.0
            side = (outer - inner) / np.linalg.norm(outer - inner)
            force = np.array([lean * upward, upward - weight[:k].sum()])
            leans.append(abs(force @ side) / abs(force[0] * side[1] - force[1] * side[0]))
        if inside:
            found.append((lean, max(leans)))
    return found


def test_lines_of_thrust_need_a_third_of_friction_at_the_edges():
    found = thrust_lines(*SHAPE)
    assert min(lean for lean, _ in found) == pytest.approx(0.33, abs=0.01)
    assert min(largest for _, largest in found) == pytest.approx(0.33, abs=0.01)  # joints need less


@pytest.mark.parametrize("settings", [{"count": 1}, {"thickness": 20.0}, {"rise": -1.0}, {"depth": 0.0}])
def test_wrong_arches_are_refused(settings: dict):
    with pytest.raises(InputError, match="soft-arch"):
        SCENES["soft-arch"].build(**settings)


# ---- standing and falling --------------------------------------------------------------------------------------------


def test_it_stands_with_four_contacts_in_every_joint():
    summary = run(2.0)
    assert summary.converged
    assert summary.metrics["stands"]
    # friction of the convex method is regularised: joints creep, by less than a micrometre a second here
    assert summary.metrics["max_drift_mm"] < 0.005
    assert summary.metrics["overlap_max_mm"] < 0.01
    assert (summary.contacts_mean, summary.contacts_max) == (4 * 8 + 4, 4 * 8 + 4)


def test_it_falls_where_friction_is_too_low():
    summary = run(3.0, friction=0.2)
    assert summary.converged
    assert not summary.metrics["stands"]
    assert summary.metrics["max_drift_mm"] > 1000.0


@pytest.mark.parametrize(("friction", "stands"), [(0.4, True), (0.28, False)])
def test_the_line_of_thrust_says_when(friction: float, stands: bool):
    # with the exact law: sliding contacts of the convex one lift off
    prepared = prepare("soft-arch", solver="auto", settings={"friction": friction})
    summary = execute(prepared, prepared.step_count(duration=2.0))
    assert summary.converged
    assert summary.metrics["stands"] == stands
