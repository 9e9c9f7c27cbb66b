"""Time per step and deepest penetration of a settled pile of spheres, on stickslip and on other engines.

Every engine gets the same positions at rest in the same container (a floor and four half-space walls), takes a few
steps to find its own equilibrium, and is then timed, one thread, in this process. Penetration is computed here from
the positions, not by the engines. Run: python benchmarks/bench_spheres.py --count 1000 2000 [--json] [--drake]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is loaded: the comparison is single-threaded

import numpy as np  # noqa: E402
from scipy.spatial import cKDTree  # noqa: E402

from stickslip.arrays import Array  # noqa: E402

RADIUS, DENSITY, FRICTION, GRAVITY, DT = 0.05, 1000.0, 0.5, 9.81, 0.002
ACROSS = 10  # spheres along one side of the container when stacked as a lattice
SIDE = ACROSS * 2.2 * RADIUS
# inward normal and a point of each boundary plane
WALLS = (
    ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ((1.0, 0.0, 0.0), (-0.5 * SIDE, 0.0, 0.0)),
    ((-1.0, 0.0, 0.0), (0.5 * SIDE, 0.0, 0.0)),
    ((0.0, 1.0, 0.0), (0.0, -0.5 * SIDE, 0.0)),
    ((0.0, -1.0, 0.0), (0.0, 0.5 * SIDE, 0.0)),
)

MUJOCO_SETTINGS = {
    "CG default (100 iterations, 1e-8), pyramidal": 'solver="CG" cone="pyramidal"',
    "CG default (100 iterations, 1e-8), elliptic": 'solver="CG" cone="elliptic"',
    "CG 5 iterations, pyramidal": 'solver="CG" iterations="5" cone="pyramidal"',
    "CG 5 iterations, elliptic": 'solver="CG" iterations="5" cone="elliptic"',
    "CG 3 iterations, pyramidal": 'solver="CG" iterations="3" cone="pyramidal"',
    "CG 3 iterations, elliptic": 'solver="CG" iterations="3" cone="elliptic"',
    "PGS 10 iterations, pyramidal": 'solver="PGS" iterations="10" cone="pyramidal"',
    "Newton default (100 iterations, 1e-8), pyramidal": 'solver="Newton" cone="pyramidal"',
}
SETTLING_SWEEPS = 50
SLOW = ("PGS", "Newton")  # both build large matrices: few steps, on request
AT_REST = 50.0  # [mm/s] a setting whose settled pile moves faster than this did not solve the problem


@dataclass(frozen=True)
class Result:
    """One engine's figures over the timed steps: median wall and processor time, deepest penetration, speed."""

    engine: str
    setting: str
    count: int
    ms_per_step: float
    cpu_ms_per_step: float
    penetration_mm: float
    rms_speed_mm_s: float
    steps: int


def lattice(count: int, seed: int = 1) -> Array:
    """Start positions (count, 3) [m]: a lattice with gaps, jittered so that it settles into a disordered pile."""
    pitch = SIDE / ACROSS
    k = np.arange(count)
    cell = np.stack([k % ACROSS, (k // ACROSS) % ACROSS, k // ACROSS**2], axis=1).astype(np.float64)
    corner = np.array([-0.5 * SIDE + 0.5 * pitch, -0.5 * SIDE + 0.5 * pitch, RADIUS + 0.1 * RADIUS])
    return cell * pitch + corner + np.random.default_rng(seed).uniform(-0.09, 0.09, (count, 3)) * RADIUS


def penetration_mm(position: Array) -> float:
    """Deepest overlap [mm] among spheres and walls."""
    pairs = cKDTree(position).query_pairs(2.0 * RADIUS, output_type="ndarray")
    deepest = 0.0
    if len(pairs):
        deepest = float((2.0 * RADIUS - np.linalg.norm(position[pairs[:, 0]] - position[pairs[:, 1]], axis=1)).max())
    for normal, point in WALLS:
        deepest = max(deepest, float((RADIUS - (position - point) @ np.array(normal)).max()))
    return 1e3 * deepest


def measure(
    engine: str,
    setting: str,
    step: Callable[[], object],
    state: Callable[[], tuple[Array, Array]],
    warm: int,
    steps: int,
) -> Result:
    """Step `warm` times, then time `steps` steps; `state` gives positions and velocities, both (count, 3)."""
    for _ in range(warm):
        step()
    seconds, cpu, deepest, speed = [], [], 0.0, 0.0
    for _ in range(steps):
        start, busy = time.perf_counter(), time.process_time()
        step()
        cpu.append(time.process_time() - busy)
        seconds.append(time.perf_counter() - start)
        position, velocity = state()
        deepest = max(deepest, penetration_mm(position))
        speed += float(np.sqrt((velocity**2).sum(axis=1).mean())) / steps
    return Result(
        engine,
        setting,
        len(position),
        1e3 * float(np.median(seconds)),
        1e3 * float(np.median(cpu)),
        deepest,
        1e3 * speed,
        steps,
    )


def mujoco_pile(position: Array, option: str) -> tuple[Any, Any, Any]:
    """MuJoCo's module, model and data of the pile at rest."""
    import mujoco

    lines = [
        f'<mujoco><option timestep="{DT}" gravity="0 0 {-GRAVITY}" {option}/><default>',
        f'<geom condim="3" friction="{FRICTION} 0 0"/></default><worldbody>',
    ]
    for normal, point in WALLS:
        place = f'pos="{" ".join(map(str, point))}" zaxis="{" ".join(map(str, normal))}"'
        lines.append(f'<geom type="plane" size="9 9 1" {place}/>')
    ball = f'<body><freejoint/><geom type="sphere" size="{RADIUS}" density="{DENSITY}"/></body>'
    model = mujoco.MjModel.from_xml_string("\n".join([*lines, *[ball] * len(position), "</worldbody></mujoco>"]))
    data = mujoco.MjData(model)
    data.qpos.reshape(-1, 7)[:, :3] = position
    return mujoco, model, data


def run_mujoco(position: Array, setting: str, warm: int, steps: int) -> Result:
    """The pile on MuJoCo with one of MUJOCO_SETTINGS."""
    mujoco, model, data = mujoco_pile(position, MUJOCO_SETTINGS[setting])

    def state() -> tuple[Array, Array]:
        return data.qpos.reshape(-1, 7)[:, :3].copy(), data.qvel.reshape(-1, 6)[:, :3].copy()

    return measure("mujoco", setting, lambda: mujoco.mj_step(model, data), state, warm, steps)


def stickslip_pile(position: Array, solver: str, sweeps: int) -> tuple[Any, list[int]]:
    """A stickslip simulation of the pile at rest (0 sweeps: the solver's limit), and its spheres' rows in the state."""
    from stickslip.scene.scene import Scene
    from stickslip.simulation import Simulation
    from stickslip.solvers.registry import make_solver

    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    for normal, point in WALLS:
        scene.add_half_space(normal=normal, position=point, friction=FRICTION)
    balls = [scene.add_sphere(RADIUS, position=p, density=DENSITY, friction=FRICTION) for p in position]
    # with a sweep limit the plain method runs: a subspace step on thousands of contacts costs hundreds of sweeps
    limit = {"max_iterations": sweeps, "subspace": 0} if sweeps else {}
    return Simulation(scene, dt=DT, solver=make_solver(solver, **limit)), [ball.index for ball in balls]


def run_stickslip(position: Array, solver: str, sweeps: int, warm: int, steps: int) -> Result:
    """The pile on stickslip with the named solver, stopped after `sweeps` iterations (0: its own limit)."""
    sim, rows = stickslip_pile(position, solver, sweeps)

    def state() -> tuple[Array, Array]:
        return sim.state.body_pose[rows, :3], sim.state.body_velocity[rows, :3]

    return measure(
        "stickslip", f"{solver}, {f'{sweeps} sweeps' if sweeps else 'default'}", sim.step, state, warm, steps
    )


def run_drake(position: Array, approximation: str, warm: int, steps: int) -> Result:
    """The pile on Drake's discrete plant with point contact."""
    import pydrake.all as drake

    builder = drake.DiagramBuilder()
    config = drake.MultibodyPlantConfig(time_step=DT, discrete_contact_approximation=approximation)
    plant, _ = drake.AddMultibodyPlant(config, builder)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
    friction = drake.CoulombFriction(FRICTION, FRICTION)
    for k, (normal, point) in enumerate(WALLS):
        pose = drake.HalfSpace.MakePose(normal, point)
        plant.RegisterCollisionGeometry(plant.world_body(), pose, drake.HalfSpace(), f"wall-{k}", friction)
    mass = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
    inertia = drake.SpatialInertia(mass, np.zeros(3), drake.UnitInertia.SolidSphere(RADIUS))
    balls = [plant.AddRigidBody(f"ball-{i}", inertia) for i in range(len(position))]
    for ball in balls:
        plant.RegisterCollisionGeometry(ball, drake.RigidTransform(), drake.Sphere(RADIUS), ball.name(), friction)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inside = plant.GetMyMutableContextFromRoot(context)
    for ball, p in zip(balls, position, strict=True):
        plant.SetFreeBodyPose(inside, ball, drake.RigidTransform(p))
    simulator = drake.Simulator(diagram, context)

    def step() -> None:
        simulator.AdvanceTo(context.get_time() + DT)

    def state() -> tuple[Array, Array]:
        poses = [plant.EvalBodyPoseInWorld(inside, ball).translation() for ball in balls]
        speeds = [plant.EvalBodySpatialVelocityInWorld(inside, ball).translational() for ball in balls]
        return np.array(poses), np.array(speeds)

    return measure("drake", f"{approximation}, point contact", step, state, warm, steps)


def settled(count: int, settler: str, folder: Path) -> Array:
    """Positions (count, 3) of the settled pile, from `folder` if they were settled before."""
    file = folder / f"stickslip-pile-{settler}-{count}.npy"
    if file.exists():
        return np.load(file)
    start, position = lattice(count), lattice(count)
    if settler == "mujoco":
        mujoco, model, data = mujoco_pile(start, MUJOCO_SETTINGS["CG default (100 iterations, 1e-8), pyramidal"])

        def step() -> tuple[Array, Array]:
            mujoco.mj_step(model, data)
            return data.qpos.reshape(-1, 7)[:, :3].copy(), data.qvel.reshape(-1, 6)[:, :3].copy()
    else:
        sim, rows = stickslip_pile(start, "prox-gs", SETTLING_SWEEPS)

        def step() -> tuple[Array, Array]:
            sim.step()
            return sim.state.body_pose[rows, :3], sim.state.body_velocity[rows, :3]

    for k in range(2500):
        position, velocity = step()
        # settled: a root-mean-square speed below 5 mm/s, once the fall is over
        if k > 500 and np.sqrt((velocity**2).sum(axis=1).mean()) < 5e-3:
            break
    np.save(file, position)
    return position


def main() -> None:
    """Measure, print a table or JSON; the ratio is our fastest against MuJoCo's fastest of the same run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--steps", type=int, default=50, help="timed steps")
    parser.add_argument("--warm", type=int, default=300, help="steps before the timing starts")
    parser.add_argument("--engines", default="stickslip,mujoco")
    parser.add_argument("--solvers", default="prox-gs")
    parser.add_argument(
        "--sweeps", type=int, nargs="+", default=[10, 20, 50], help="iteration limits; 0: the solver's own"
    )
    parser.add_argument("--slow", action="store_true", help="MuJoCo's PGS and Newton too (seconds a step)")
    parser.add_argument("--drake", action="store_true", help="Drake SAP too (1,000 spheres, 3 steps)")
    parser.add_argument("--settler", choices=("stickslip", "mujoco"), default="stickslip")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where settled piles are kept")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    results: list[Result] = []
    for count in options.count:
        position = settled(count, options.settler, options.folder)
        if "stickslip" in options.engines.split(","):
            for name in options.solvers.split(","):
                results += [run_stickslip(position, name, n, options.warm, options.steps) for n in options.sweeps]
        if "mujoco" in options.engines.split(","):
            for setting in MUJOCO_SETTINGS:
                slow = setting.startswith(SLOW)
                if options.slow or not slow:
                    results.append(
                        run_mujoco(position, setting, 2 if slow else options.warm, 3 if slow else options.steps)
                    )
        if options.drake and count <= 1000:
            results.append(run_drake(position, "sap", 1, 3))
        print(f"{count} spheres done", file=sys.stderr)
    ratios = {count: (_ratio(results, count, np.inf), _ratio(results, count, AT_REST)) for count in options.count}
    if options.json:
        shown = {count: [None if np.isnan(x) else x for x in pair] for count, pair in ratios.items()}
        print(json.dumps({"results": [asdict(r) for r in results], "mujoco_over_stickslip": shown}, indent=1))
        return
    print(
        f"{'count':>6} {'engine':<10} {'setting':<50} {'ms/step':>9} {'cpu ms':>9} {'deepest mm':>11} {'rms mm/s':>9}"
    )
    for r in results:
        figures = f"{r.ms_per_step:>9.2f} {r.cpu_ms_per_step:>9.2f} {r.penetration_mm:>11.4f} {r.rms_speed_mm_s:>9.3f}"
        print(f"{r.count:>6} {r.engine:<10} {r.setting:<50} {figures}")
    for count, (fastest, resting) in ratios.items():
        print(f"{count} spheres: MuJoCo's fastest setting takes {fastest:.2f} x our processor time,", end=" ")
        print(f"its fastest that keeps the pile below {AT_REST:g} mm/s {resting:.2f} x")


def _ratio(results: list[Result], count: int, limit: float) -> float:
    """Processor time of MuJoCo's fastest setting over our fastest, piles slower than `limit` [mm/s]; NaN if none is."""
    best = {"stickslip": np.nan, "mujoco": np.nan}
    for r in results:
        if r.engine in best and r.count == count and r.rms_speed_mm_s < limit:
            best[r.engine] = float(np.fmin(best[r.engine], r.cpu_ms_per_step))
    return best["mujoco"] / best["stickslip"]


if __name__ == "__main__":
    main()
