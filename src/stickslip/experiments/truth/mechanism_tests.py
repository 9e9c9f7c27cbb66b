"""The truth tests of robots: mechanisms whose motion is known in closed form or from a reference of high order."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stickslip.arrays import Array
from stickslip.experiments.truth import mechanism_equations as equations
from stickslip.experiments.truth import mechanisms
from stickslip.experiments.truth.mechanism_equations import COMPASS_GAIT, Compass, Furuta, Gyroscope, RimlessWheel
from stickslip.experiments.truth.mechanisms import RobotRun, RobotScene, downhill
from stickslip.experiments.truth.truth_test import Measurement, TruthTest
from stickslip.geometry import rotation
from stickslip.model.schemes import Scheme

WEIGHTLESS = (0.0, 0.0, 0.0)


def mechanism_tests(quick: bool) -> tuple[TruthTest, ...]:
    """All of them; `quick` shortens the simulated times and keeps everything else."""
    return (
        _five_rods(duration=0.1 if quick else 0.6),
        _spherical(duration=0.2 if quick else 2.0),
        _top(duration=0.2 if quick else 2.0),
        _gyroscope(duration=0.1 if quick else 1.0),
        _furuta(duration=0.1 if quick else 1.0),
        _floating(duration=0.1 if quick else 0.5),
        _four_bar(duration=0.2 if quick else 2.0),
        _catenary(duration=0.1 if quick else 1.0),
        _rimless_wheel(impacts=2 if quick else 8),
        _compass(steps=1 if quick else 5),
        _heavy_chain(duration=0.2 if quick else 2.0),
    )


def _robot_test(
    scene: RobotScene, unit: str, truth: float, bar: float, measured: Callable[[RobotRun], float]
) -> TruthTest:
    """A test that is passed where the measured number is within `bar` of the truth."""

    def measure(run: RobotRun) -> Measurement:
        value = measured(run)
        return Measurement(value, abs(value - truth) < bar)

    return TruthTest(scene.name, "robots", scene, unit, truth, bar, measure)


def _five_rods(duration: float) -> TruthTest:
    """Angle by which one of five hinged rods, let go level, is off its reference at the end."""
    count, length, dt = 5, 0.4, 0.001
    scene = RobotScene("five-rods", dt, round(duration / dt), mechanisms.chain(count, length), np.zeros(count))

    def measured(run: RobotRun) -> float:
        exact = equations.integrated(equations.chain_rates(count, length, 1.0), np.zeros(2 * count), [duration])
        return float(np.abs(np.cumsum(run.q[-1]) - exact[:count, -1]).max())

    return _robot_test(scene, "rad", 0.0, 1e-4, measured)


def _spherical(duration: float) -> TruthTest:
    """Distance [mm] of the centre of a body on a ball joint from its reference, on no circle: its apsides turn."""
    mass, arm, across, axial, tilt, dt = 1.0, 0.8, 0.02, 0.01, 0.5, 0.002
    record = mechanisms.spherical_pendulum(mass, arm, across, axial)
    turn = np.array([math.cos(0.5 * tilt), 0.0, -math.sin(0.5 * tilt), 0.0])
    R, moment = rotation.matrix(turn), across + mass * arm**2
    about = np.array([0.0, 0.0, 0.6 * math.sqrt(mass * equations.GRAVITY * arm / (moment * math.cos(tilt)))])
    axis = -R[:, 2]
    omega = about - (about @ axis) * axis  # no spin about the axis
    scene = RobotScene(
        "spherical-pendulum", dt, round(duration / dt), replace(record, start=turn), R.T @ omega
    )  # fmt: skip

    def measured(run: RobotRun) -> float:
        start = [*axis, *np.cross(omega, axis)]
        exact = equations.integrated(equations.spherical_rates(mass, arm, moment), start, [duration])[:3, -1]
        return 1e3 * arm * float(np.linalg.norm(-rotation.matrix(run.q[-1])[:, 2] - exact))

    return _robot_test(scene, "mm", 0.0, 0.02, measured)


def _top(duration: float) -> TruthTest:
    """Angle by which a free body that turns about its middle axis, which is unstable, is off its reference."""
    dt, spin = 0.001, np.array([0.05, 5.0, 0.05])
    record = replace(mechanisms.floater(), links=mechanisms.floater().links[:1])
    moments = np.diag(record.links[0].inertia)
    velocity = np.concatenate([np.zeros(3), spin])
    scene = RobotScene("euler-top", dt, round(duration / dt), record, velocity, WEIGHTLESS)

    def measured(run: RobotRun) -> float:
        exact = equations.integrated(equations.top_rates(moments), [1.0, 0.0, 0.0, 0.0, *spin], [duration])[:4, -1]
        same = abs(float(run.q[-1, 3:] @ exact)) / float(np.linalg.norm(run.q[-1, 3:]) * np.linalg.norm(exact))
        return 2.0 * math.acos(min(same, 1.0))

    return _robot_test(scene, "rad", 0.0, 1e-5, measured)


def _gyroscope(duration: float) -> TruthTest:
    """Angle about the vertical through which a fast wheel has precessed; the frame of its ball joint spins with it."""
    given, tilt, spin, dt = Gyroscope(), 1.0, 200.0, 0.0005
    record, velocity = mechanisms.gyroscope(given, tilt, spin)
    scene = RobotScene("gyroscope", dt, round(duration / dt), record, velocity)
    truth = given.precession(spin, tilt) * duration

    def measured(run: RobotRun) -> float:
        axle = rotation.matrix(run.q[-1])[:, 2]
        return math.atan2(axle[1], axle[0])

    return _robot_test(scene, "rad", truth, 1e-2 * truth, measured)


def _furuta(duration: float) -> TruthTest:
    """Angle by which arm or pendulum are off their reference."""
    given, dt, start = Furuta(), 0.001, np.array([0.0, 2.0, 3.0, 0.0])
    scene = RobotScene("furuta", dt, round(duration / dt), mechanisms.furuta(given, start[1]), start[2:])

    def measured(run: RobotRun) -> float:
        exact = equations.integrated(given.rates, start, [duration])[:2, -1]
        return float(np.abs(run.q[-1] - exact).max())

    return _robot_test(scene, "rad", 0.0, 2e-5, measured)


def _floating(duration: float) -> TruthTest:
    """Change of the angular momentum of a robot in space that swings its arms, over its size."""
    dt, velocity = 0.001, np.array([0.1, 0.2, 0.3, 0.5, -0.3, 0.7, 3.0, -4.0, 2.0, 1.0, 2.0, -1.5])
    scene = RobotScene("floating-robot", dt, round(duration / dt), mechanisms.floater(), velocity, WEIGHTLESS)

    def measured(run: RobotRun) -> float:
        L = run.momentum[:, 3:]
        return float(np.linalg.norm(L - L[0], axis=1).max() / np.linalg.norm(L[0]))

    return _robot_test(scene, "1", 0.0, 1e-5, measured)


FOUR_BAR = (1.0, 2.5, 2.0)
"""[m] crank, coupler and rocker; the ground is 2.2 m, so that the crank turns round."""
GROUND = 2.2


def _four_bar(duration: float) -> TruthTest:
    """Largest angle between the rocker and Freudenstein's equation; the crank turns round in two seconds."""
    dt = 0.004
    record, velocity = mechanisms.four_bar(FOUR_BAR, GROUND, 0.3, 4.0)
    scene = RobotScene("four-bar", dt, round(duration / dt), record, velocity, WEIGHTLESS)

    def measured(run: RobotRun) -> float:
        angles = np.cumsum(run.q, axis=1)
        off = angles - equations.four_bar_angles(FOUR_BAR, GROUND, angles[:, 0])
        return float(np.abs(np.angle(np.exp(1j * off[:, 2]))).max())

    return _robot_test(scene, "rad", 0.0, 1e-9, measured)


LINKS, LINK, SPAN = 50, 0.1, 3.0
"""Of the hanging chain: number and length [m] of links, distance of its ends [m]."""


def chain_nodes(angles: Array) -> Array:
    """Ends (n + 1, 2) of the links at angles (n,) below x: x, z [m]."""
    along = LINK * np.stack([np.cos(angles), -np.sin(angles)], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(along, axis=0)])


def _catenary(duration: float) -> TruthTest:
    """Largest distance of a joint of a chain of 50 links between two points from where it hangs, after it was left
    alone there."""
    dt, damping = 0.01, 0.02
    rest = equations.hanging_angles(LINKS, LINK, SPAN, 0.0)
    record = mechanisms.hung_chain(LINKS, LINK, 0.1, (SPAN, 0.0), rest, damping)
    scene = RobotScene("catenary", dt, round(duration / dt), record, np.zeros(LINKS), scheme="euler")
    nodes = chain_nodes(rest)[:-1]

    def measured(run: RobotRun) -> float:
        return 1e3 * float(np.linalg.norm(run.pose[-1][:, [0, 2]] - nodes, axis=1).max())

    return _robot_test(scene, "mm", 0.0, 1e-6, measured)


def crossing_times(dt: float, x: Array, levels: Array) -> Array:
    """Times (k,) [s] at which x (steps + 1,) first reaches each of the levels (k,), between steps by straight lines."""
    out = np.full(len(levels), np.nan)
    for i, level in enumerate(levels.tolist()):
        above = np.flatnonzero(x >= level)
        if len(above) and above[0] > 0:
            k = int(above[0])
            out[i] = dt * (k - (x[k] - level) / (x[k] - x[k - 1]))
    return out


def _rimless_wheel(impacts: int) -> TruthTest:
    """Time in which a rimless wheel rolls from spoke to spoke down a slope, in its steady gait; the last of some."""
    given, dt = RimlessWheel(), 0.001
    speed = given.keeps * given.speed()
    hub = speed * given.length
    velocity = np.array([hub * math.cos(given.half), 0.0, hub * math.sin(given.half), speed])
    period, record = given.period(), mechanisms.rimless_wheel(given, -given.half)
    duration = (impacts + 0.2) * period
    scene = RobotScene("rimless-wheel", dt, round(duration / dt), record, velocity, downhill(given.slope))

    def measured(run: RobotRun) -> float:
        # a spoke lands where the wheel has turned by its angle
        angle = given.half * np.array([2.0 * impacts - 3.0, 2.0 * impacts - 1.0])
        return float(np.diff(crossing_times(dt, run.q[:, 3], angle))[0])

    return _robot_test(scene, "s", period, 0.02 * period, measured)


def compass_scene(steps: int, dt: float, scheme: Scheme = "moreau") -> RobotScene:
    """The compass gait from its fixed point on, for so many steps and a third."""
    given, gait = Compass(), COMPASS_GAIT
    stride = 2.0 * given.length * math.sin(gait.half)
    stones = [x for k in range(0, steps + 3, 2) for x in (k * stride, (k - 1) * stride)]
    c, s = given.length * math.cos(gait.half), given.length * math.sin(gait.half)
    velocity = np.array([c * gait.stand, 0.0, s * gait.stand, gait.stand, gait.swing])
    return RobotScene(
        "compass-gait", dt, round((steps + 0.3) * gait.period / dt), mechanisms.compass(given, gait.half, stones),
        velocity, downhill(given.slope), scheme,
    )  # fmt: skip


def footfalls(run: RobotRun, dt: float, steps: int) -> Array:
    """Times (steps,) [s] of the footfalls of the compass gait: the hip is midway between two stones."""
    stride = 2.0 * Compass().length * math.sin(COMPASS_GAIT.half)
    return crossing_times(dt, run.q[:, 0], stride * (np.arange(steps, dtype=np.float64) + 0.5))


def _compass(steps: int) -> TruthTest:
    """Mean time of a step of a passive walker with point feet, without knees, on stones."""
    dt = 0.001
    scene = compass_scene(steps, dt)

    def measured(run: RobotRun) -> float:
        return float(footfalls(run, dt, steps)[-1] / steps)

    return _robot_test(scene, "s", COMPASS_GAIT.period, 0.01 * COMPASS_GAIT.period, measured)


def _heavy_chain(duration: float) -> TruthTest:
    """Energy that a chain of 50 links gained, with an end 10,000 times as heavy as a link, over what fell at most."""
    dt, links, length = 0.0083, 50, 0.1
    record = mechanisms.chain(links, length, 0.01, end_mass=100.0)
    scene = RobotScene("heavy-chain", dt, round(duration / dt), record, np.zeros(links), scheme="euler")
    most = 100.0 * equations.GRAVITY * links * length

    def measured(run: RobotRun) -> float:
        return float(np.max(run.energy - run.energy[0]) / most)

    return _robot_test(scene, "1", 0.0, 1e-9, measured)
