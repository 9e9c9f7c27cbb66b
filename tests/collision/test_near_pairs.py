"""Pairs for the narrow phase: all of few shapes compared, or swept, they are the same; grouped by kind."""

import numpy as np
import pytest

from stickslip import Model, Scene, compile_scene
from stickslip.collision import rigid_contacts as module
from stickslip.collision.reach import Approach, common_velocity, relative_speeds, speeds
from stickslip.collision.rigid_contacts import find_contacts, near_pairs


def crowd(seed: int, count: int = 40) -> Model:
    """Spheres, boxes and capsules on two half-spaces, some of them static, some pairs ignored."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    scene.add_half_space()
    scene.add_half_space((1, 0, 0), (-1, 0, 0))
    bodies = []
    for k in range(count):
        place, kind = rng.uniform(-1, 1, 3) + [0, 0, 1], "static" if k % 7 == 0 else "dynamic"
        turn = rng.normal(size=4)
        options = {"rotation": turn / np.linalg.norm(turn), "kind": kind}
        if k % 3 == 0:
            bodies.append(scene.add_sphere(0.2, place, kind=kind))
        elif k % 3 == 1:
            bodies.append(scene.add_box((0.3, 0.2, 0.4), place, **options))
        else:
            bodies.append(scene.add_capsule(0.1, 0.3, place, **options))
    for k in range(0, count - 1, 5):
        scene.ignore_collision(bodies[k], bodies[k + 1])
    return compile_scene(scene)


def found(model: Model, approach: Approach | None = None, changed: np.ndarray | None = None) -> dict[str, object]:
    near = near_pairs(model, model.q_start, np.full(model.body_count, 0.05), model.ignored_at_start, changed, approach)
    return near._asdict()


@pytest.mark.parametrize("seed", range(4))
def test_few_shapes_have_the_pairs_that_a_sweep_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = crowd(seed)
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(model.body_count, 6))
    approach = Approach(v, -v, rng.uniform(0.0, 0.1, model.body_count), 0.01, 1e-3)
    changed = rng.random(model.body_count) < 0.3
    for options in ({}, {"approach": approach}, {"approach": approach, "changed": changed}):
        compared = found(model, **options)
        monkeypatch.setattr(module, "FEW", 0)
        swept = found(model, **options)
        monkeypatch.undo()
        assert len(compared["pairs"]) > 3
        for name, column in compared.items():
            np.testing.assert_array_equal(column, swept[name], err_msg=name)


def test_pairs_are_grouped_by_kind_and_ranked_by_their_shapes() -> None:
    model = crowd(7)
    near = near_pairs(model, model.q_start, np.full(model.body_count, 0.05), model.ignored_at_start, None, None)
    kind = 8 * model.shape_type[near.pairs[:, 0]] + model.shape_type[near.pairs[:, 1]]
    assert [code for code, _, _ in near.groups] == sorted(set(kind.tolist()))
    for code, first, last in near.groups:
        assert (kind[first:last] == code).all()
    assert near.groups[-1][2] == len(near.pairs)
    keys = (near.pairs[:, 0].astype(np.int64) << 32) + near.pairs[:, 1]
    np.testing.assert_array_equal(near.rank, np.argsort(np.argsort(keys)))
    assert (np.diff(find_contacts(model, model.q_start, np.full(model.body_count, 0.05)).key) > 0).all()


def test_speeds_are_those_of_their_formulas() -> None:
    model = crowd(3)
    rng = np.random.default_rng(3)
    v, v_end = rng.normal(size=(2, model.body_count, 6))
    a, b = rng.integers(0, model.body_count, (2, 20)).astype(np.int32)
    frame = common_velocity(model, v)
    np.testing.assert_array_equal(frame, np.median(v[model.dynamic, :3], axis=0))
    turning = model.lever * np.linalg.norm(v[:, 3:], axis=1)
    np.testing.assert_array_equal(speeds(model, v, frame), np.linalg.norm(v[:, :3] - frame, axis=1) + turning)
    ways = []
    for w in (v, v_end):
        turn = model.lever * np.linalg.norm(w[:, 3:], axis=1)
        ways.append(np.linalg.norm(w[a, :3] - w[b, :3], axis=1) + turn[a] + turn[b])
    np.testing.assert_array_equal(relative_speeds(model, v, v_end, a, b), np.maximum(*ways))
