"""The truth tests: a scene, the number to measure on its trajectory, the truth and the bar."""

import math
from collections.abc import Callable

import numpy as np

from stickslip.experiments.truth.mechanism_tests import mechanism_tests
from stickslip.experiments.truth.scenes import (
    BALL_COUNT,
    BALL_MASS,
    GRAVITY,
    OBLIQUE,
    SLAB_MASS,
    SceneData,
    balls_on_slab,
    box_on_slope,
    heavy_on_light,
    pushed_box,
    slab_on_balls,
)
from stickslip.experiments.truth.trajectory import Trajectory
from stickslip.experiments.truth.truth_test import Measurement, TruthTest
from stickslip.scenes import closed_forms

FAMILIES = ("slope", "slide", "rolling", "mass-ratio", "critical", "robots")


def truth_tests(quick: bool = False) -> tuple[TruthTest, ...]:
    """All truth tests; `quick` shortens the simulated times and keeps everything else."""
    return (
        _slope(settle=0.1 if quick else 2.0, duration=0.2 if quick else 10.0),
        _slide(duration=0.5 if quick else 2.0),
        _balls_on_slab(duration=0.05 if quick else 4.0),
        _slab_on_balls(duration=0.05 if quick else 0.5),
        *(_mass_ratio(ratio, duration=0.2 if quick else 5.0) for ratio in (1_000, 10_000)),
        _critical("stick", 0.999, duration=0.2 if quick else 1.0),
        _critical("slip", 1.001, duration=0.2 if quick else 1.0),
        *mechanism_tests(quick),
    )


def _downhill(scene: SceneData) -> np.ndarray:
    """Unit vector (3,) down the slope of `scene`."""
    return np.array([scene.normal[2], 0.0, -scene.normal[0]])


def _slope(settle: float, duration: float) -> TruthTest:
    """Creep of a box on a slope at 80 % of the Coulomb limit: it must not move at all."""
    dt, bar = 0.002, 0.001
    first, steps = round(settle / dt), round((settle + duration) / dt)
    scene = box_on_slope("slope", mu=0.5, load=0.8, dt=dt, steps=steps)

    def measure(run: Trajectory) -> Measurement:
        moved = (run.position[steps, 0] - run.position[first, 0]) @ _downhill(scene)
        creep = float(moved) / duration * 1e6
        return Measurement(creep, abs(creep) < bar)

    return TruthTest("slope", "slope", scene, "um/s", 0.0, bar, measure)


def _slide(duration: float) -> TruthTest:
    """Mean distance of a pushed box from its analytic position, as lee2023 Table I but with all three axes in one."""
    dt, bar, mu, force = 0.01, 0.001, 0.2, 2.0
    steps = round(duration / dt)
    scene = pushed_box("slide", mu, force, dt, steps)
    acceleration = closed_forms.pushed_block_acceleration(force, scene.bodies[0].mass, mu, GRAVITY)

    def measure(run: Trajectory) -> Measurement:
        best = Measurement(math.inf, False)
        # an engine is judged by its own time-stepping scheme, whichever of the two it is
        for scheme in ("semi-implicit", "continuous"):
            error = run.position[:, 0] - np.array(scene.bodies[0].position)
            error[:, 1] -= closed_forms.positions_under_constant_acceleration(acceleration, dt, steps, scheme)
            mean = float(np.linalg.norm(error, axis=1).mean()) * 1e3
            if mean < best.value:
                along = float(np.abs(error[:, 1]).mean()) * 1e3
                best = Measurement(mean, mean < bar, f"along y {along:.2g} mm, against {scheme}")
        return best if math.isfinite(best.value) else Measurement(math.nan, False)

    return TruthTest("slide", "slide", scene, "mm", 0.0, bar, measure)


def _velocity_error(scene: SceneData, slab: float, ball: float, bar: float) -> Callable[[Trajectory], Measurement]:
    """SimBenchmark's measure: squared velocity error of the slab plus that of the first ball, averaged over time."""
    first, last = scene.index("slab"), scene.index("ball-0")

    def measure(run: Trajectory) -> Measurement:
        time = scene.dt * np.arange(scene.steps)[:, None]
        push = np.array(OBLIQUE)
        slab_error = run.velocity[:-1, first] - slab * time * push
        ball_error = run.velocity[:-1, last] - ball * time * push
        value = float((slab_error**2 + ball_error**2).sum(axis=1).mean())
        moved = float(run.velocity[-1, first] @ push)
        return Measurement(
            value, value < bar, f"slab reaches {moved:.5g} m/s, truth {slab * scene.dt * scene.steps:.5g}"
        )

    return measure


def _balls_on_slab(duration: float) -> TruthTest:
    """SimBenchmark's rolling test at its time step."""
    dt, bar, force = 0.001, 5e-9, 150.0
    scene = balls_on_slab("rolling", dt, round(duration / dt), force)
    mu = dict(scene.friction)["ground"]
    slab, ball = closed_forms.balls_on_slab_accelerations(force, SLAB_MASS, BALL_MASS, BALL_COUNT, mu, GRAVITY)
    return TruthTest("rolling", "rolling", scene, "m2/s2", 0.0, bar, _velocity_error(scene, slab, ball, bar))


def _slab_on_balls(duration: float) -> TruthTest:
    """The other order: the slab on top, carried by the balls.

    Half a second, because the slab outruns the balls and unloads the rear ones: from about 0.95 s on the corner ball's
    load is below what rolling without slip needs (0.35 m a / mu = 1.17 N), and the closed form no longer holds.
    """
    dt, bar, force = 0.001, 5e-9, 50.0
    scene = slab_on_balls("slab-on-balls", dt, round(duration / dt), force)
    slab, ball = closed_forms.slab_on_balls_accelerations(force, SLAB_MASS, BALL_MASS, BALL_COUNT)
    return TruthTest("slab-on-balls", "rolling", scene, "m2/s2", 0.0, bar, _velocity_error(scene, slab, ball, bar))


def _mass_ratio(ratio: int, duration: float) -> TruthTest:
    """A heavy cube on a light one: height lost by the heavy cube, the largest of the last fifth of the run."""
    dt, bar = 0.002, 0.01
    steps = round(duration / dt)
    scene = heavy_on_light(f"mass-ratio-{ratio}", float(ratio), dt, steps)
    heavy = scene.index("heavy")
    edge = scene.bodies[heavy].size[2]

    def measure(run: Trajectory) -> Measurement:
        offset = run.position[-max(1, steps // 5) :, heavy] - np.array(scene.bodies[heavy].position)
        overlap = -float(offset[:, 2].min()) * 1e3
        aside = float(np.hypot(offset[:, 0], offset[:, 1]).max())
        # it stands while it has sunk by less than a tenth of an edge and its centre is still above the light cube
        stands = abs(overlap) < 100.0 * edge and aside < 0.5 * edge
        return Measurement(overlap, stands and abs(overlap) < bar, "stands" if stands else "falls")

    return TruthTest(scene.name, "mass-ratio", scene, "mm", 0.0, bar, measure)


def _critical(side: str, load: float, duration: float) -> TruthTest:
    """Speed down a slope one thousandth below (it must stick) or above (it must slide) the Coulomb limit."""
    dt, mu = 0.002, 0.5
    scene = box_on_slope(f"critical-{side}", mu, load, dt, round(duration / dt))
    angle = math.atan(load * mu)
    truth = closed_forms.slope_acceleration(angle, mu, GRAVITY) * duration * 1e6
    # a hundredth of the sliding side's speed, for both sides: 1e-5 of mu
    bar = 0.01 * 1e6 * duration * closed_forms.slope_acceleration(math.atan(1.001 * mu), mu, GRAVITY)

    def measure(run: Trajectory) -> Measurement:
        speed = float(run.velocity[-1, 0] @ _downhill(scene)) * 1e6
        # the coefficient that would give this speed: v = g t (sin a - mu cos a)
        seen = math.tan(angle) - speed * 1e-6 / (GRAVITY * duration * math.cos(angle))
        note = f"friction off by {(seen / mu - 1.0) * 100:.2g} %" if abs(speed - truth) > 1e-9 and speed > bar else ""
        return Measurement(speed, abs(speed - truth) < bar, note)

    return TruthTest(scene.name, "critical", scene, "um/s", truth, bar, measure)
