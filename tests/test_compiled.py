"""The compiled driver takes the steps of the Python driver, bit for bit, or hands them back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stickslip import Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.certify.step_result import StepResult
from stickslip.compiled import joint_step, loop_step
from stickslip.compiled.driver import FIRST_STEPS, TRIED, reason_against, step_numbers
from stickslip.compiled.result import CompiledResult
from stickslip.compiled.rigid_step import PACKED, packed, unpacked
from stickslip.errors import InputError
from stickslip.geometry.rotation import about_axis
from stickslip.model.model import compile_scene
from stickslip.scenes.running import prepare
from stickslip.solvers.registry import make_solver
from stickslip.warmup import BOX_TRIANGLES, CORNERS

pytestmark = pytest.mark.slow


def both(
    scene: Scene,
    steps: int,
    solver: str = "auto",
    change: Callable[[Simulation], None] | None = None,
    **options: object,
) -> int:
    """Take steps by both drivers, comparing all; returns how many the compiled one took."""
    stepping = Stepping(**{"dt": 0.004, **options})  # type: ignore[arg-type]
    plain, fast = (
        Simulation(scene, solver=solver, stepping=stepping, driver=driver) for driver in ("python", "compiled")
    )
    for sim in (plain, fast):
        if change:
            change(sim)
    return sum(same(plain.step(), fast.step()) for _ in range(steps))


def same(plain: StepResult, fast: StepResult) -> bool:
    """Whether the compiled driver took a step; its bits are those of the Python driver's."""
    assert fast.state.digest() == plain.state.digest()
    assert fast.certificate == plain.certificate
    return isinstance(fast, CompiledResult)


def boxes(**material: float) -> Scene:
    scene = Scene()
    scene.add_half_space()
    for k in range(4):
        scene.add_box((0.2, 0.2, 0.2), (0.01 * k, 0, 0.1 + 0.2 * k), mass=1.0 + k, **material)  # type: ignore[arg-type]
    return scene


def all_shapes() -> Scene:
    scene = Scene()
    scene.add_half_space()
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    for k in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0.22 * k, 0.0, 0.11 + 0.01 * k), velocity=(0.3, 0, 0))
        scene.add_sphere(0.1, (0.22 * k, 0.22, 0.11), velocity=(0, 0.2, 0))
        scene.add_capsule(0.08, 0.1, (0.22 * k, 0.44, 0.16))
        scene.add_cylinder(0.1, 0.2, (0.22 * k, 0.66, 0.11))
        scene.add_hull(corners, (0.22 * k, 0.88, 0.11))
    return scene


def capsules(count: int = 9) -> Scene:
    """Capsules that fall across each other: contacts slide and turn so far that steps must be taken again."""
    scene = Scene()
    scene.add_half_space(friction=0.6)
    for i in range(count):
        scene.add_capsule(
            0.05, 0.16, (0.15 * (i % 3), 0.06 * (i % 2), 0.1 + 0.16 * i), about_axis((1.0, 0.3 * i, 0.2), 0.5 * np.pi),
            density=800.0, friction=0.6, velocity=(0, 0, -2),
        )  # fmt: skip
    return scene


def test_numbers_of_options_come_back_as_they_were_packed() -> None:
    """What follows them (joint_step.SUMMED, loop_step.SUMMED) begins where they end."""
    sim = Simulation(boxes(torsion=0.02))
    numbers = step_numbers(sim.model, Stepping(overlaps="closed"), sim.solver, True)
    found = packed(numbers)
    assert len(found) == PACKED == joint_step.SUMMED == loop_step.SUMMED
    assert getattr(unpacked, "py_func", unpacked)(found) == numbers


def test_steps_that_are_taken_again_are_handed_back_and_have_the_same_bits() -> None:
    assert 10 < both(capsules(), 70, redetect=3) < 70


@pytest.mark.parametrize("solver", ["auto", "dense"])
@pytest.mark.parametrize(
    "options", [{}, {"scheme": "moreau"}, {"warm_start": False}, {"scheme": "symplectic", "margin": 1e-3}], ids=str
)
def test_stacks_and_sliding_boxes_have_the_same_bits(solver: str, options: dict[str, object]) -> None:
    assert both(boxes(), 80, solver, **options) > 20


@pytest.mark.parametrize(
    "material",
    [{"torsion": 0.02}, {"restitution": 0.5, "tangential_restitution": 0.3}, {"friction": 0.0}],
    ids=str,
)
def test_laws_have_the_same_bits(material: dict[str, float]) -> None:
    assert both(boxes(**material), 80) > 10


def test_all_shapes_have_the_same_bits() -> None:
    assert both(all_shapes(), 60) > 10


def meshes() -> Scene:
    """Cubes of triangles on the floor and on each other, and each kind of shape on them and beside them."""
    scene, corners = Scene(), np.array(CORNERS)
    scene.add_half_space()
    for k in range(3):
        scene.add_mesh(corners, BOX_TRIANGLES, position=(0.3 * k, 0, 0.1), velocity=(0.2, 0, 0))
        scene.add_mesh(corners, BOX_TRIANGLES, position=(0.3 * k + 0.02, 0.03, 0.305))
    scene.add_sphere(0.1, (0.02, 0.01, 0.51))
    scene.add_capsule(0.08, 0.1, (0.32, 0.02, 0.55))
    scene.add_cylinder(0.1, 0.1, (0.62, 0.0, 0.46))
    scene.add_box((0.2, 0.2, 0.2), (0, 0.3, 0.1), velocity=(0, -1, 0))
    scene.add_hull(corners, (0.3, 0.3, 0.1), velocity=(0, -1, 0))
    return scene


def test_meshes_have_the_same_bits() -> None:
    assert both(meshes(), 40) > 20


def grid(count: int) -> Scene:
    """Boxes side by side on the floor, some of which slide."""
    scene = Scene()
    scene.add_half_space()
    for k in range(count):
        at, speed = (0.21 * (k % 12), 0.21 * (k // 12), 0.1), (0.1 * (k % 3), 0, 0)
        scene.add_box((0.2, 0.2, 0.2), at, velocity=speed)
    return scene


def test_more_shapes_than_the_python_driver_compares_one_by_one() -> None:
    assert both(grid(130), 12) == 12


def test_contacts_found_without_looking_ahead_have_the_same_bits() -> None:
    assert both(grid(12), 20, lookahead=False) == 20
    assert both(boxes(), 40, lookahead=False) > 20


def test_rooms_grow_and_nothing_is_lost() -> None:
    scene = Scene()
    scene.add_half_space()
    for k in range(30):
        scene.add_box((0.2, 0.2, 0.2), (0.3 * (k % 6), 0.3 * (k // 6), 0.1))
    assert both(scene, 10) == 10


def test_forces_act_on_both_alike() -> None:
    scene = boxes()
    runs = [Simulation(scene, dt=0.004, driver=driver) for driver in ("python", "compiled")]
    for sim in runs:
        sim.set_force(scene.body("box-1"), (3.0, 0, 1.0), torque=(0.1, 0, 0))
    assert sum(same(*(sim.step() for sim in runs)) for _ in range(40)) > 0


def test_a_wall_at_rest_is_taken_by_the_compiled_driver() -> None:
    """One island of 580 contacts; sweeps that end a little above the tolerance go on."""
    given = prepare("wall", "auto", {"courses": 9, "bricks": 9, "torsion": 0.0, "solver.tolerance": 1e-8}).sim
    sim = Simulation(given.model, None, given.solver, given.stepping, driver="compiled")
    results = [sim.step() for _ in range(240)]
    assert sum(isinstance(result, CompiledResult) for result in results) >= 235
    assert max(result.certificate.natural_residual for result in results) <= 1e-8
    assert results[-1].certificate.contacts == 580


def test_small_islands_beside_a_large_one_are_solved_as_dense_ones() -> None:
    """The wall of the scene is too large for that, but first sweeps solve it."""
    given = prepare("demo").sim
    sim = Simulation(given.model, None, given.solver, given.stepping, driver="compiled")
    sim.restore(given.state, given.control)
    assert sum(isinstance(sim.step(), CompiledResult) for _ in range(40)) >= 34


def test_bodies_of_prescribed_motion_have_the_same_bits() -> None:
    scene = Scene()
    scene.add_box((3, 3, 0.2), (0, 0, -0.1), kind="kinematic", velocity=(0.3, 0, 0.1), angular_velocity=(0, 0, 0.2))
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1))
    scene.add_box(
        (0.2, 0.2, 0.2), (0.5, 0, 0.1), kind="kinematic", motion=lambda t: ((0.5, 0.1 * t, 0.1), (1, 0, 0, 0))
    )
    assert both(scene, 60) > 30


def test_what_is_asked_for_later_is_that_of_the_python_driver() -> None:
    scene = boxes()
    plain, fast = (Simulation(scene, dt=0.004, driver=driver) for driver in ("python", "compiled"))
    for _ in range(5):
        a, b = plain.step(), fast.step()
    assert isinstance(b, CompiledResult)
    np.testing.assert_array_equal(a.solution.lam, b.solution.lam)
    np.testing.assert_array_equal(a.contacts.key, b.contacts.key)
    np.testing.assert_array_equal(a.problem.bias, b.problem.bias)
    assert b.solution.method == a.solution.method
    assert repr(a) == repr(b)
    assert (
        plain.contacts(scene.body("box-1")).total_force.tolist()
        == fast.contacts(scene.body("box-1")).total_force.tolist()
    )
    assert set(b.timings) == set(a.timings)


def test_where_wholes_are_asked_for_the_python_driver_takes_over() -> None:
    sim = Simulation(boxes(), dt=0.004, driver="compiled")
    kinds = []
    for _ in range(TRIED + 5):
        result = sim.step()
        kinds.append(isinstance(result, CompiledResult))
        assert result.problem.block_count
    assert kinds[0]
    assert not any(kinds[TRIED:])


def test_auto_takes_some_steps_by_python_first() -> None:
    sim = Simulation(boxes(), dt=0.004, driver="compiled")
    sim.step()  # it is in the cache from now on
    sim = Simulation(boxes(), dt=0.004)
    kinds = [isinstance(sim.step(), CompiledResult) for _ in range(FIRST_STEPS + 30)]
    assert not any(kinds[: FIRST_STEPS - 1])
    assert any(kinds[FIRST_STEPS:])


def test_another_solver_or_step_size_is_heard() -> None:
    sim = Simulation(boxes(), dt=0.004, driver="compiled")
    assert isinstance(sim.step(), CompiledResult)
    sim.solver = make_solver("nsgs")
    assert not isinstance(sim.step(), CompiledResult)


def test_reasons_against_are_words() -> None:
    with pytest.raises(InputError, match="driver is 'fast'; it must be one of auto, compiled, python"):
        Simulation(boxes(), driver="fast")
    with pytest.raises(InputError, match="solver is 'nsgs'"):
        Simulation(boxes(), solver="nsgs", driver="compiled")
    scene = boxes()
    scene.add_soft(tet_generators.box((0.1, 0.1, 0.1), (1, 1, 1)), elastic(1e5, 0.3, density=1000), (1, 0, 0.1))
    with pytest.raises(InputError, match="soft bodies"):
        Simulation(scene, driver="compiled")
    scene = Scene()
    scene.add_half_space()
    assert reason_against(compile_scene(scene), Stepping(), make_solver("auto")) == "nothing moves"
