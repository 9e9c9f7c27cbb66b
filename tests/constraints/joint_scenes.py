"""A scene with every kind of joint between every kind of bodies, for tests."""

import numpy as np

from stickslip import Drive, Model, Scene, compile_scene
from stickslip.arrays import Array

KINDS = ("fixed", "bending", "ball", "revolute", "prismatic", "cylindrical", "universal", "distance", "rope", "spring")


def random_rotation(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def add_joints(scene: Scene, a, b, rng: np.random.Generator) -> None:
    """One joint of each of KINDS between a and b, with limits and drives wherever there may be some."""

    def there() -> Array:
        return rng.normal(size=3)

    axis = there()
    across = np.cross(axis, there())
    scene.add_fixed(a, b, there())
    scene.add_fixed(a, b, there(), bending_stiffness=3.0, bending_damping=0.2)
    scene.add_ball(a, b, there(), stiffness=100.0, damping=2.0)
    scene.add_revolute(a, b, there(), there(), limits=(-1, 7), drive=Drive(2, 3, 0.1, 0.2, 4))
    scene.add_prismatic(a, b, there(), limits=(-1, np.inf), drive=Drive(2, 3, 0.1, 0.2))
    scene.add_cylindrical(
        a, b, there(), there(), limits=(-1, 2), turn_limits=(-1, 9), turn_drive=Drive(1, 0), drive=Drive(0, 1)
    )
    scene.add_universal(
        a, b, there(), axis, across, limits=(-1, 2), other_limits=(-1, 9), drive=Drive(1, 0), other_drive=Drive(0, 1)
    )
    scene.add_distance(a, b, there(), there())
    scene.add_distance(a, b, there(), there(), limits=(0, 20))
    scene.add_spring(a, b, there(), there(), 5.0, 1.0)


def all_joints(seed: int) -> Model:
    """Joints between free bodies, a moving one, a fixed one and the world, both ways round."""
    rng = np.random.default_rng(seed)
    scene = Scene()
    free = [scene.add_box((0.3, 0.2, 0.4), rng.normal(size=3), random_rotation(rng)) for _ in range(2)]
    moving = scene.add_box(
        (0.1, 0.1, 0.1), (3, 3, 3), random_rotation(rng), kind="kinematic", velocity=(1, 2, 3),
        angular_velocity=(0.3, 0.2, 0.1),
    )  # fmt: skip
    still = scene.add_box((0.1, 0.1, 0.1), (-3, 3, 3), random_rotation(rng), kind="static")
    for a, b in ((free[0], free[1]), (None, free[0]), (free[1], None), (moving, free[0]), (free[1], still)):
        add_joints(scene, a, b, rng)
    return compile_scene(scene)


def random_configuration(model: Model, rng: np.random.Generator, size: float = 1.0) -> Array:
    """Bodies moved by about ``size`` [m] and turned anyhow."""
    q = model.q_start.copy()
    q[:, :3] += size * rng.normal(size=(len(q), 3))
    q[:, 3:] = [random_rotation(rng) for _ in q]
    return q
