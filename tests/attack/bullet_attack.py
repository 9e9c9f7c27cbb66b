"""Fast bodies of every shape shot at thin walls: nothing passes through unless the step says so.

The judge knows nothing of contacts: it draws the way of the bullet's centre from step to step in the frame of the
wall, and looks whether it goes through the plate.
"""

from __future__ import annotations

import numpy as np
from outcome import Outcome

import stickslip
from stickslip import Body, Scene, Simulation, Stepping
from stickslip.arrays import Array

SECONDS = 60.0
STEPS = 20
SLOW = 300.0
"""[m/s] below which nothing may pass, flagged or not."""
TUMBLE = 0.5
"""[rad] turn of the target in a step above which its sides cannot be told apart from one step to the next."""
SPAN = 4.0
"""[m] edge of the plates."""
SHAPES = ("sphere", "box", "plate", "capsule", "cylinder", "hull", "needle", "compound", "mesh")
WALLS = ("static", "static", "static mesh", "kinematic", "free", "half-space", "bullet")
SCHEMES = ("euler", "euler", "euler", "moreau", "passive", "symplectic")
SOLVERS = ("auto", "auto", "auto", "prox-gs", "newton", "sap")


def rotation(rng: np.random.Generator) -> Array:
    """A random quaternion (4,)."""
    found = rng.normal(size=4)
    return found / np.linalg.norm(found)


def rotated(quaternion: Array, x: Array) -> Array:
    """x (3,) turned by a quaternion (w, x, y, z)."""
    w, axis = quaternion[0], quaternion[1:]
    return x + 2.0 * np.cross(axis, np.cross(axis, x) + w * x)


def add_bullet(
    scene: Scene, rng: np.random.Generator, shape: str, size: float, position: Array, **options: object
) -> Body:
    """A body of about ``size`` [m], turned at random."""
    pose: dict[str, object] = {"position": position, "rotation": rotation(rng), "mass": 10.0 ** rng.uniform(-3, 2)}
    pose |= options
    if shape == "sphere":
        return scene.add_sphere(0.5 * size, **pose)
    if shape == "box":
        return scene.add_box(size * rng.uniform(0.3, 1.0, size=3), **pose)
    if shape == "plate":
        return scene.add_box((size, size * rng.uniform(0.3, 1.0), 0.02 * size), **pose)
    if shape == "needle":
        return scene.add_capsule(0.02 * size, size, **pose)
    if shape == "capsule":
        return scene.add_capsule(0.3 * size, size * rng.uniform(0.1, 1.0), **pose)
    if shape == "cylinder":
        return scene.add_cylinder(0.5 * size * rng.uniform(0.1, 1.0), size * rng.uniform(0.1, 1.0), **pose)
    if shape == "hull":
        return scene.add_hull(size * rng.uniform(-0.5, 0.5, size=(int(rng.integers(5, 15)), 3)), **pose)
    if shape == "compound":
        balls = stickslip.geometry.shapes
        parts = [
            balls.placed(balls.Box(tuple(size * rng.uniform(0.1, 0.5, size=3))), size * rng.uniform(-0.4, 0.4, size=3))
            for _ in range(int(rng.integers(2, 4)))
        ]
        return scene.add_compound(parts, **pose)
    # an L of three boxes, as one closed surface
    outline = np.array([(0, 0), (1, 0), (1, 0.3), (0.3, 0.3), (0.3, 1), (0, 1)], dtype=float) - 0.4
    low, high = (np.column_stack([size * outline, np.full(6, z * size)]) for z in (-0.15, 0.15))
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    triangles = [(a, c, b) for a, b, c in faces] + [(a + 6, b + 6, c + 6) for a, b, c in faces]
    for i in range(6):
        j = (i + 1) % 6
        triangles += [(i, j, j + 6), (i, j + 6, i + 6)]
    return scene.add_mesh(np.concatenate([low, high]), np.array(triangles), **pose)


def add_wall(scene: Scene, rng: np.random.Generator, kind: str, thickness: float) -> Body:
    """A plate in the plane z = 0."""
    size = (SPAN, SPAN, thickness)
    if kind == "half-space":
        return scene.add_half_space(name="wall")
    if kind == "static mesh":
        x = 0.5 * np.array(size) * np.array([[i, j, k] for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)])
        quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
        triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
        return scene.add_mesh(x, np.array(triangles), kind="static", name="wall")
    if kind == "kinematic":
        speed = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
        return scene.add_box(size, kind="kinematic", velocity=speed, name="wall")
    if kind == "free":
        return scene.add_box(size, mass=10.0 ** rng.uniform(0, 4), name="wall")
    return scene.add_box(size, kind="static", name="wall")


def attack(seed: int, index: int) -> Outcome:
    """One shot."""
    rng = np.random.default_rng([seed, index])
    found = Outcome()
    shape, kind = str(rng.choice(SHAPES)), str(rng.choice(WALLS))
    thickness = 10.0 ** rng.uniform(-3, -1)
    size = 10.0 ** rng.uniform(-2, -0.3)
    speed = 10.0 ** rng.uniform(1, np.log10(2000.0))
    dt = 10.0 ** rng.uniform(np.log10(5e-4), np.log10(0.05))
    slant = rng.normal(size=2) * (0.4 if rng.random() < 0.5 else 0.0)
    direction = np.array([*slant, -1.0]) / np.linalg.norm([*slant, 1.0])
    scene = Scene(gravity=(0, 0, 0))
    friction, restitution = rng.uniform(0, 1), (rng.uniform(0, 1) if rng.random() < 0.3 else 0.0)
    ahead = size + thickness + speed * dt * rng.uniform(0.0, 2.5)
    spin = rng.normal(size=3) * (10.0 ** rng.uniform(0, 3) if rng.random() < 0.3 else 0.0)
    aim = np.array([*rng.uniform(-0.3, 0.3, size=2), 0.0])
    target: Body
    if kind == "bullet":  # two bullets at each other: the second one is a plate of the wall's thickness
        target = scene.add_box((0.5, 0.5, thickness), mass=10.0 ** rng.uniform(-2, 2), friction=friction, name="wall")
        aim *= 0.5
    else:
        target = add_wall(scene, rng, kind, thickness)
    bullet = add_bullet(
        scene, rng, shape, size, aim - ahead * direction, velocity=speed * direction, angular_velocity=spin,
        friction=friction, restitution=restitution, name="bullet",
    )  # fmt: skip
    scheme, solver = str(rng.choice(SCHEMES)), str(rng.choice(SOLVERS))
    if scheme == "symplectic":
        scheme = "euler"
    what = (
        f"{shape} of {size:.3g} m at {speed:.4g} m/s, {kind} wall of {1e3 * thickness:.3g} mm, dt {1e3 * dt:.3g} ms, "
        f"{scheme}, {solver}"
    )
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=dt, scheme=scheme))
    half = np.array([np.inf, np.inf]) if kind == "half-space" else np.full(2, 0.25 if kind == "bullet" else 0.5 * SPAN)

    def seen() -> Array:
        """Centre of the bullet in the frame of the wall."""
        turn = sim.rotation(target) * np.array([1.0, -1.0, -1.0, -1.0])
        return rotated(turn, sim.centre_of_mass(bullet) - sim.position(target))

    flagged, before, turn_before = "", seen(), 0.0
    found.counts["shots"] += 1
    for k in range(STEPS):
        try:
            result = sim.step()
        except stickslip.StickslipError as error:
            found.counts["raised"] += 1
            flagged = type(error).__name__
            break
        if not result.certificate.converged:
            flagged = flagged or result.certificate.status
        after = seen()
        turn = dt * np.linalg.norm(sim.angular_velocity(target))
        if max(turn, turn_before) > TUMBLE:
            found.counts["steps in which the target tumbles"] += 1
        elif before[2] > 0.0 >= after[2] or before[2] < 0.0 <= after[2]:
            share = before[2] / (before[2] - after[2])
            crossing = before[:2] + share * (after[:2] - before[:2])
            if (np.abs(crossing) < 0.8 * half - size).all():  # further out it may have gone around the edge
                found.counts["passed"] += 1
                if not flagged:
                    found.fail("passed unflagged", f"{what}: step {k + 1}")
                elif speed < SLOW:
                    found.fail("passed below 300 m/s", f"{what}: step {k + 1}, flagged {flagged}")
                break
        before, turn_before = after, turn
    else:
        found.counts["stopped or turned away"] += 1
    found.counts["flagged shots"] += bool(flagged)
    return found
