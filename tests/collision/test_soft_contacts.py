"""Contacts of soft bodies as a whole: bodies, nodes, keys, materials, and what passes within a step."""

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator

from stickslip import Scene
from stickslip.collision.contacts import Contacts
from stickslip.collision.surfaces.contacts import find_soft_contacts
from stickslip.collision.surfaces.keys import EDGE_HITS, KIND_SHIFT, NODE_FACE, NODE_HITS, NODE_SHAPE
from stickslip.geometry.tet_generators import box
from stickslip.model.model import Model, compile_scene
from stickslip.scene.soft_body import SoftBody, elastic

RUBBER = elastic(1e5, 0.3)
STEP = 0.01


def contacts_of(
    model: Model, velocity: np.ndarray | None = None, margin: float = 1e-3, continuous: bool = False, **options: object
) -> Contacts:
    """Contacts at the start, with node velocities as given."""
    x = model.soft.x_start
    given = np.zeros_like(x) if velocity is None else velocity
    found = find_soft_contacts(
        model, model.q_start, x, model.v_start, given, STEP, margin, continuous, options.get("ignored")
    )
    check(model, found)
    return found


def check(model: Model, found: Contacts) -> None:
    """What holds of all contacts, whatever they are."""
    assert (np.diff(found.key) > 0).all()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.tangent, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ci,ci->c", found.normal, found.tangent), 0.0, atol=1e-12)
    rigid = found.body_a < model.body_count
    assert (found.node_a[rigid] == -1).all()
    assert (found.weight_a[rigid] == 0.0).all()
    assert (found.body_b >= model.body_count).all()
    for node, weight, body in (
        (found.node_a[~rigid], found.weight_a[~rigid], found.body_a[~rigid]),
        (found.node_b, found.weight_b, found.body_b),
    ):
        np.testing.assert_allclose(weight.sum(axis=1), 1.0, atol=1e-12)
        assert (weight >= 0.0).all()
        assert (weight[node < 0] == 0.0).all()
        owner = model.soft.node_body[np.maximum(node, 0)] + model.body_count
        assert ((owner == body[:, None]) | (node < 0)).all()
    np.testing.assert_array_equal(found.shape_a >= 0, rigid)
    np.testing.assert_array_equal(model.shape_body[found.shape_a[rigid]], found.body_a[rigid])
    assert (found.shape_b == -1).all()
    assert found.nodes is not None
    columns = [getattr(found, name) for name in found.__dataclass_fields__ if name != "nodes"]
    assert all(column.flags.c_contiguous for column in (*columns, *found.nodes))


def stack(gap: float = 5e-4) -> Scene:
    """Two soft boxes on a half-space, with different materials."""
    scene = Scene()
    scene.add_half_space(friction=0.2)
    scene.add_soft(box((0.2, 0.2, 0.2), 2), RUBBER, (0.0, 0.0, 0.1), friction=0.8, restitution=0.3)
    scene.add_soft(box((0.2, 0.2, 0.2), 3), RUBBER, (0.01, 0.02, 0.3 + gap), friction=0.5)
    return scene


def test_stack_has_all_kinds_of_sides() -> None:
    model = compile_scene(stack())
    found = contacts_of(model)
    kind = found.key >> KIND_SHIFT
    assert np.bincount(kind)[[NODE_SHAPE, NODE_FACE]].tolist() == [9, 9 + 4]
    low = kind == NODE_SHAPE
    assert (found.body_a[low] == 0).all()
    assert (found.body_b[low] == 1).all()
    np.testing.assert_allclose(found.gap[low], 0.0, atol=1e-15)
    np.testing.assert_allclose(found.gap[~low], 5e-4, atol=1e-12)
    up = np.where(found.body_a < found.body_b, 1.0, -1.0)
    np.testing.assert_allclose(found.normal[:, 2], up, atol=1e-12)
    np.testing.assert_allclose(found.point[~low, 2], 0.2 + 2.5e-4, atol=1e-12)
    pairs = model.pairs.friction, model.pairs.restitution
    ground, first, second = 0, model.soft.material[0], model.soft.material[1]
    assert found.friction[low, 0] == pytest.approx(pairs[0][model.shape_material[ground], first, 0])
    assert found.friction[~low, 1] == pytest.approx(pairs[0][first, second, 1])
    assert (found.friction[:, 2] == 0.0).all()
    assert found.restitution[~low, 0] == pytest.approx(pairs[1][first, second, 0])


def test_same_again_and_under_small_motion() -> None:
    model = compile_scene(stack())
    first, again = contacts_of(model), contacts_of(model)
    for name in first.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    x = model.soft.x_start + np.random.default_rng(0).normal(scale=1e-8, size=model.soft.x_start.shape)
    moved = find_soft_contacts(model, model.q_start, x, model.v_start, np.zeros_like(x), STEP, 1e-3)
    np.testing.assert_array_equal(first.key, moved.key)


def test_ignored_pairs_are_left_out() -> None:
    model = compile_scene(stack())
    key = np.array([(1 << 32) + 2], dtype=np.int64)
    found = contacts_of(model, ignored=key)
    assert (found.body_a == 0).all()
    both = np.array([1, (1 << 32) + 2], dtype=np.int64)
    assert len(contacts_of(model, ignored=both)) == 0


def test_further_away_only_when_they_approach() -> None:
    model = compile_scene(stack(gap=0.02))
    assert (contacts_of(model).body_a == 0).all()
    velocity = np.zeros_like(model.soft.x_start)
    velocity[model.soft.node_start[1] :, 2] = -3.0
    found = contacts_of(model, velocity)
    assert ((found.key >> KIND_SHIFT) == NODE_FACE).sum() >= 13
    # together they do not approach, nor does a body that falls with them
    assert ((contacts_of(model, np.full_like(velocity, -30.0)).key >> KIND_SHIFT) == NODE_FACE).sum() == 0


def test_held_bodies_do_not_touch() -> None:
    scene = stack()
    for index, body in enumerate(scene.soft_bodies):
        scene.hold_nodes(SoftBody(index, body.name), np.arange(len(body.start)))
    assert len(contacts_of(compile_scene(scene))) == 0


def sheet_scene(other: str) -> tuple[Model, np.ndarray]:
    """A thin sheet that moves at 10 m/s, 0.05 m in front of another one or of a rigid plate, and turns a little."""
    scene = Scene()
    sheet = box((0.5, 0.5, 0.002), (5, 5, 1))
    mover = scene.add_soft(sheet, RUBBER, (0.02, 0.03, 0.05))
    if other == "sheet":
        scene.add_soft(sheet, RUBBER)
    elif other == "box":
        scene.add_box((0.5, 0.5, 0.002), kind="static")
    elif other == "hull":
        corners = [(x, y, z) for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (-1e-3, 1e-3)]
        scene.add_hull(corners, kind="static")
    model = compile_scene(scene)
    own = np.arange(model.soft.node_start[mover.index], model.soft.node_start[mover.index + 1])
    velocity = np.zeros_like(model.soft.x_start)
    arm = model.soft.x_start[own] - (0.02, 0.03, 0.05)
    velocity[own] = (1.0, 2.0, -10.0) + np.cross((0.5, 1.0, 2.0), arm)
    return model, velocity


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("other", ["sheet", "box", "hull"])
def test_fast_sheet_is_stopped(other: str, continuous: bool) -> None:
    """After a step in which every contact keeps its gap open, no node of the sheet is behind what it flew at."""
    model, velocity = sheet_scene(other)
    found = contacts_of(model, velocity, continuous=continuous)
    x = model.soft.x_start
    assert len(found) > 0
    held = velocity.copy()
    for _ in range(200):  # each contact in turn, with all nodes of the same mass
        for c in range(len(found)):
            sides = [(found.node_b[c], found.weight_b[c])]
            if found.body_a[c] >= model.body_count:
                sides.append((found.node_a[c], -found.weight_a[c]))
            rows = [(n, w) for node, weight in sides for n, w in zip(node, weight, strict=True) if n >= 0]
            u = sum(w * (found.normal[c] @ held[n]) for n, w in rows)
            push = max(0.0, -found.gap[c] / STEP - u) / sum(w * w for _, w in rows)
            for n, w in rows:
                held[n] += push * w * found.normal[c]
    end = x + STEP * held
    facing = np.flatnonzero((model.soft.node_body == 0) & (x[:, 2] < 0.05))
    inside = facing[(np.abs(end[facing, :2]) < 0.2).all(axis=1)]
    assert len(inside) > 9
    floor = np.full(len(inside), 1e-3)
    if other == "sheet":
        above = np.flatnonzero((model.soft.node_body == 1) & (x[:, 2] > 0.0))
        floor = LinearNDInterpolator(end[above, :2], end[above, 2])(end[inside, :2])
    assert (end[inside, 2] > floor - 1e-4).all()


def test_impact_beside_what_is_closest_at_the_start() -> None:
    """A node that passes a plate's rim sideways: closest to the rim at the start, it hits the face from above."""
    scene = Scene()
    scene.add_box((0.2, 0.2, 0.02), kind="static")
    scene.add_soft(box((0.02, 0.02, 0.02), 1), RUBBER, (-0.2, 0.003, 0.1))
    model = compile_scene(scene)
    velocity = np.zeros_like(model.soft.x_start)
    velocity[:] = (20.0, 0.0, -9.0)
    found = contacts_of(model, velocity, continuous=True)
    hits = (found.key >> KIND_SHIFT) == NODE_HITS
    assert hits.sum() >= 4
    down = found.normal[hits] @ (0.0, 0.0, 1.0) > 0.999
    assert down.sum() >= 4
    np.testing.assert_allclose(found.gap[hits][down], 0.1 - 0.01 - 0.01, atol=1e-12)


def test_edges_hit_edges() -> None:
    """Two bars crosswise, ridge over ridge: nodes see nothing."""
    scene = Scene()
    turn = np.cos(np.pi / 8), np.sin(np.pi / 8)
    scene.add_box((1.0, 0.1, 0.1), rotation=(turn[0], turn[1], 0.0, 0.0), kind="static")
    scene.add_soft(box((0.1, 1.0, 0.1), 1), RUBBER, (0.0, 0.0, 0.2), (turn[0], 0.0, turn[1], 0.0))
    model = compile_scene(scene)
    velocity = np.full_like(model.soft.x_start, 0.0)
    velocity[:, 2] = -20.0
    found = contacts_of(model, velocity, continuous=True)
    apart = 0.2 - 0.1 * np.sqrt(2.0)
    ridge = (found.node_b[:, 1] >= 0) & (found.node_b[:, 2] < 0) & (np.abs(found.gap - apart) < 1e-9)
    assert ridge.any()
    np.testing.assert_allclose(found.normal[ridge], np.tile([0.0, 0.0, 1.0], (ridge.sum(), 1)), atol=1e-9)
    assert (found.key >> KIND_SHIFT <= EDGE_HITS).all()


def test_folds_onto_itself_only_where_wanted() -> None:
    for wanted in (False, True):
        scene = Scene()
        scene.add_soft(box((1.0, 0.1, 0.01), (40, 3, 1)), RUBBER, self_contact=wanted)
        model = compile_scene(scene)
        x = model.soft.x_start.copy()
        # half of the strip laid over the other half
        right = x[:, 0] > 1e-9
        x[right] = x[right] * (-1.0, 1.0, -1.0) + (0.0, 0.0, 0.0105)
        zero = np.zeros_like(x)
        found = find_soft_contacts(model, model.q_start, x, model.v_start, zero, STEP, 1e-3)
        assert (len(found) > 0) == wanted
        if wanted:
            check(model, found)
            assert (found.body_a == found.body_b).all()
            lying = np.abs(found.normal[:, 2]) > 0.99
            assert lying.sum() > 60
            np.testing.assert_allclose(found.gap[lying], 5e-4, atol=2e-4)
