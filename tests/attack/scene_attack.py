"""Random scenes of everything that there is, some steps each: what a step says of itself must be true.

The judge of energy and joints is plain NumPy: it makes energies, points of joints and islands of its own from poses,
velocities and impulses, and asks of the package only which bodies touched.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from outcome import Outcome

from stickslip import Body, Drive, Scene, Simulation, Stepping, elastic, make_solver, placed, tet_generators
from stickslip.arrays import Array
from stickslip.errors import DivergenceError, StickslipError
from stickslip.geometry.shapes import Box, Capsule, Cylinder, Sphere
from stickslip.simulation import StepResult

STEPS = 20
SECONDS = 15.0
"""[s] that a step may take."""
LONG = 10.0
"""[s] after which a scene is left: others find more in that time."""
APART = 1e-2
"""Distance by which a rigid joint may be apart in a converged step, over the size of the smaller body it joins."""
SOLVERS = (
    "auto", "auto", "auto", "prox-gs", "newton", "newton", "nsgs", "admm", "implicit", "proximal-point", "sap", "cond",
    "pgs", "lcp", "apgd", "prox-jacobi", "penalty", "xpbd",
)  # fmt: skip
SCHEMES = ("euler", "euler", "euler", "symplectic", "moreau", "passive")
SHAPES = ("sphere", "box", "capsule", "cylinder", "hull", "mesh", "compound")
JOINTS = ("fixed", "ball", "revolute", "prismatic", "cylindrical", "universal", "distance", "rope", "spring")
POINTED = ("fixed", "ball", "revolute", "universal")
"""Joints that hold a point of one body at a point of another."""
CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
    [1, 5, 7], [1, 7, 3],
])  # fmt: skip


@dataclass
class Case:
    """A random scene, and what the judge must know of it."""

    scene: Scene
    traits: list[str] = field(default_factory=list)
    driven: bool = False
    """Whether something gives energy that the judge does not follow: motions, drives, springs, soft bodies, forces."""
    bodies: list[Body] = field(default_factory=list)


def _turn(rng: np.random.Generator) -> Array:
    found = rng.normal(size=4)
    return found / np.linalg.norm(found) if rng.random() < 0.7 else np.array([1.0, 0.0, 0.0, 0.0])


def _surface(rng: np.random.Generator, case: Case) -> dict[str, object]:
    """Options of a surface."""
    found: dict[str, object] = {"friction": float(rng.choice([0.0, 0.3, 0.8, 2.0]))}
    kind = int(rng.integers(9))
    if kind == 0:
        found["restitution"] = float(rng.uniform())
    elif kind == 1:
        found["torsion"] = float(rng.uniform(0.0, 0.05))
    elif kind == 2:
        found |= {"friction": (0.2, 0.9), "friction_axis": rng.normal(size=3)}
    elif kind == 3:
        found |= {"contact_stiffness": 10.0 ** rng.uniform(3, 7), "contact_dissipation": float(rng.choice([0.0, 0.01]))}
        case.driven = True
        case.traits.append("compliant contacts")
    elif kind == 4:
        found |= {"restitution": 0.5, "tangential_restitution": float(rng.uniform())}
    return found


def _add_body(rng: np.random.Generator, case: Case, position: Array, size: float, mass: float) -> Body:
    """A body of any shape."""
    scene, shape = case.scene, str(rng.choice(SHAPES))
    options = _surface(rng, case) | {"mass": mass, "velocity": rng.normal(size=3) * rng.choice([0.0, 0.1, 1.0, 10.0])}
    if rng.random() < 0.3:
        options["angular_velocity"] = rng.normal(size=3) * rng.choice([0.1, 3.0, 30.0])
    if rng.random() < 0.1:
        options["force"] = mass * 10.0 * rng.normal(size=3)
        case.driven = True
    pose: tuple[Array, Array] = (position, _turn(rng))
    case.traits.append(shape)
    a, b, c = size * rng.uniform(0.2, 1.0, size=3)
    if shape == "sphere":
        return scene.add_sphere(0.5 * a, *pose, **options)
    if shape == "box":
        return scene.add_box((a, b, c), *pose, **options)
    if shape == "capsule":
        return scene.add_capsule(0.3 * a, b, *pose, **options)
    if shape == "cylinder":
        return scene.add_cylinder(0.5 * a, b, *pose, **options)
    if shape == "hull":
        return scene.add_hull(size * rng.uniform(-0.5, 0.5, size=(int(rng.integers(6, 14)), 3)), *pose, **options)
    if shape == "mesh":
        return scene.add_mesh(0.5 * np.array([a, b, c]) * CUBE, FACES, *pose, **options)
    parts = [Sphere(0.3 * a), Box((a, b, 0.3 * c)), Capsule(0.1 * a, b), Cylinder(0.2 * a, c)]
    chosen = [parts[int(k)] for k in rng.integers(len(parts), size=int(rng.integers(2, 4)))]
    return scene.add_compound(
        [placed(each, 0.4 * size * rng.uniform(-1, 1, size=3), _turn(rng)) for each in chosen], *pose, **options
    )


def _drive(rng: np.random.Generator, mass: float) -> Drive:
    limit = float("inf") if rng.random() < 0.5 else mass * 10.0 ** rng.uniform(-1, 2)
    return Drive(
        stiffness=mass * float(rng.choice([0.0, 10.0, 1000.0])), damping=mass * 10.0 ** rng.uniform(-1, 2),
        position=float(rng.normal()), velocity=float(rng.normal()), limit=limit,
    )  # fmt: skip


def _add_joint(rng: np.random.Generator, case: Case, a: Body | None, b: Body, size: float, mass: float) -> None:
    """A joint of any kind, here and there with limits, a drive, a spring or a strength."""
    scene, kind = case.scene, str(rng.choice(JOINTS))
    options: dict[str, object] = {}
    if rng.random() < 0.15:
        options["break_force"] = mass * 10.0 ** rng.uniform(0, 3)
    if rng.random() < 0.1 and kind not in ("spring", "rope", "distance"):
        options |= {"stiffness": mass * 10.0 ** rng.uniform(2, 5), "damping": mass}
        case.driven = True
    limits = (-float(rng.uniform(0.0, 1.0)), float(rng.uniform(0.0, 1.0))) if rng.random() < 0.3 else None
    drive = _drive(rng, mass) if rng.random() < 0.3 else None
    case.driven |= kind == "spring" or (drive is not None and kind in ("revolute", "prismatic", "cylindrical"))
    case.traits.append(kind)
    here = np.asarray(scene.bodies[b.index].position, dtype=np.float64)
    point = here + size * rng.uniform(-0.5, 0.5, size=3)
    axis = rng.normal(size=3)
    if kind in ("fixed", "ball"):
        bend = {"bending_stiffness": mass * 10.0} if rng.random() < 0.3 else {}
        case.driven |= bool(bend)
        (scene.add_fixed if kind == "fixed" else scene.add_ball)(a, b, point, **bend, **options)
    elif kind == "revolute":
        scene.add_revolute(a, b, point, axis, limits=limits, drive=drive, **options)
    elif kind == "prismatic":
        scene.add_prismatic(a, b, axis, point=point, limits=limits, drive=drive, **options)
    elif kind == "cylindrical":
        scene.add_cylindrical(a, b, point, axis, limits=limits, drive=drive, **options)
    elif kind == "universal":
        other = np.cross(axis, rng.normal(size=3))
        scene.add_universal(a, b, point, axis, other, limits=limits, **options)
    elif kind == "distance":
        scene.add_distance(a, b, point, point + size * rng.uniform(0.2, 1.0, size=3), **options)
    elif kind == "rope":
        other = point + size * rng.uniform(0.2, 1.0, size=3)
        span = float(np.linalg.norm(other - point))
        scene.add_distance(a, b, point, other, limits=(0.5 * span, 1.2 * span), **options)
    else:
        other = point + size * rng.uniform(0.2, 1.0, size=3)
        scene.add_spring(a, b, point, other, mass * 10.0 ** rng.uniform(1, 5), damping=mass, **options)


def random_scene(rng: np.random.Generator) -> Case:
    """A scene of a few bodies that all kinds of things hold together and push."""
    weightless = rng.random() < 0.1
    case = Case(Scene(gravity=(0.0, 0.0, 0.0 if weightless else -9.81)))
    scene, size = case.scene, 10.0 ** rng.uniform(-2.0, 0.5)
    ground = scene.add_half_space(**_surface(rng, case)) if rng.random() < 0.85 else None
    spread = 0.0 if rng.random() < 0.4 else float(rng.uniform(0.0, 10.0))
    mass = 10.0 ** rng.uniform(-3.0, 7.0 - spread)
    masses: list[float] = []
    for k in range(int(rng.integers(1, 6))):
        masses.append(mass * 10.0 ** (spread * rng.uniform()))
        away = size * np.array([rng.uniform(-1, 1), rng.uniform(-1, 1), 0.3 + 0.8 * k])
        case.bodies.append(_add_body(rng, case, away, size, masses[-1]))
    if rng.random() < 0.5:
        for k, body in enumerate(case.bodies):
            if rng.random() < 0.6:
                other = case.bodies[int(rng.integers(k))] if k and rng.random() < 0.7 else None
                _add_joint(rng, case, other, body, size, masses[k])
    if rng.random() < 0.12:
        speed, height = float(rng.normal()), 2.0 * size
        scene.add_box((3 * size, 3 * size, 0.2 * size), (0, 0, -0.1 * size), kind="kinematic",
                      motion=lambda t: ((speed * t, 0.0, -0.1 * height + 0.1 * speed * t), (1, 0, 0, 0)))  # fmt: skip
        case.driven = True
        case.traits.append("motion")
    if rng.random() < 0.08:
        ends = np.array([[0.3 * size * k, 2 * size, 2 * size] for k in range(int(rng.integers(3, 8)))])
        scene.add_rod(ends, 0.05 * size, young=10.0 ** rng.uniform(4, 8), damping=float(rng.choice([0.0, 0.01])),
                      fixed_start=bool(rng.random() < 0.5))  # fmt: skip
        case.driven = True
        case.traits.append("rod")
    if rng.random() < 0.1:
        model = str(rng.choice(["corotational", "neo-hookean", "lagged-corotational"]))
        mesh = tet_generators.box((size, size, size), (2, 2, 2))
        soft = scene.add_soft(
            mesh, elastic(young=10.0 ** rng.uniform(4, 7), poisson=0.3, density=1000, beta=0.005, model=model),
            position=(3 * size, 0, 0.6 * size), friction=0.5,
        )  # fmt: skip
        if rng.random() < 0.3:
            weld = scene.add_box((size, size, 0.1 * size), (3 * size, 0, 1.15 * size), mass=masses[0])
            scene.weld_nodes(soft, np.flatnonzero(mesh.nodes[:, 2] > 0.49 * size), weld)
        case.driven = True
        case.traits.append("soft")
    case.traits.append(f"{len(case.bodies)} bodies, size {size:.2g} m, mass {min(masses):.2g} to {max(masses):.2g} kg")
    if ground is None:
        case.traits.append("no ground")
    return case


# ---- the judge ---------------------------------------------------------------------------------------------------


def _matrix(q: Array) -> Array:
    """Rotation (3, 3) of a quaternion (w, x, y, z)."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


class Judge:
    """What is true of the steps of one simulation, by other means."""

    def __init__(self, case: Case, sim: Simulation) -> None:
        self.case, self.sim = case, sim
        self.model = sim.model
        self.moving = np.flatnonzero(self.model.mass > 0.0)
        self.anchors = [self._anchor(k) for k in range(len(case.scene.joints))]
        self.weight = {int(i): float(self.model.mass[i]) for i in self.moving}

    def _anchor(self, k: int) -> tuple[int, int, Array, Array]:
        """Bodies of a joint, and its points in their frames (or the world, -1)."""
        joint, q = self.case.scene.joints[k], self.model.q_start
        points = []
        for body, point in ((joint.a, joint.point_a), (joint.b, joint.point_b)):
            body = -1 if body is None else body
            points.append(point if body < 0 else _matrix(q[body, 3:]).T @ (point - q[body, :3]))
        return (-1 if joint.a is None else joint.a), (-1 if joint.b is None else joint.b), points[0], points[1]

    def energies(self) -> dict[int, tuple[float, float]]:
        """Kinetic and potential energy [J] of each rigid body."""
        q, v, model = self.sim.state.body_pose, self.sim.state.body_velocity, self.model
        found = {}
        for i in self.moving:
            spin = _matrix(q[i, 3:]).T @ v[i, 3:]
            kinetic = 0.5 * model.mass[i] * v[i, :3] @ v[i, :3] + 0.5 * spin @ model.inertia[i] @ spin
            found[int(i)] = float(kinetic), float(-model.mass[i] * (model.gravity @ q[i, :3]))
        return found

    def apart(self) -> tuple[float, str]:
        """Largest distance of the points of rigid joints over the size of the smaller body, and which joint."""
        worst, name, model, q = 0.0, "", self.model, self.sim.state.body_pose
        for k, (a, b, at_a, at_b) in enumerate(self.anchors):
            joint = self.case.scene.joints[k]
            rigid = joint.stiffness is None or np.isinf(joint.stiffness)
            if self.sim.state.joint_broken[k] or not rigid or joint.kind not in (*POINTED, "distance"):
                continue
            ends = [p if i < 0 else q[i, :3] + _matrix(q[i, 3:]) @ p for i, p in ((a, at_a), (b, at_b))]
            away = float(np.linalg.norm(ends[1] - ends[0]))
            if joint.kind == "distance":
                away = abs(away - joint.length)
            sizes = [
                max(model.radius[i], np.sqrt(np.trace(model.inertia[i]) / model.mass[i]))
                for i in (a, b) if i >= 0 and model.mass[i] > 0.0
            ]  # fmt: skip
            if sizes and away / min(sizes) > worst:
                worst, name = away / float(min(sizes)), joint.name
        return worst, name

    def islands(self, result: StepResult) -> dict[int, int]:
        """Island of each moving body, by contacts and joints; the smallest body in it is its name."""
        parent = {int(i): int(i) for i in self.moving}

        def root(i: int) -> int:
            while parent[i] != i:
                i = parent[i]
            return i

        pairs = list(zip(result.contacts.body_a.tolist(), result.contacts.body_b.tolist(), strict=True))
        pairs += [(a, b) for a, b, _, _ in self.anchors]
        for a, b in pairs:
            if a in parent and b in parent:
                low, high = sorted((root(a), root(b)))
                parent[high] = low
        return {i: root(i) for i in parent}

    def made(self, result: StepResult, before: dict[int, tuple[float, float]]) -> tuple[float, float]:
        """Energy [J] that an island gained of nothing beyond twice what it had, and the energy that it had."""
        after, island = self.energies(), self.islands(result)
        gain, had = (dict.fromkeys(island.values(), 0.0) for _ in range(2))
        for i, name in island.items():
            risen = after[i][1] - before[i][1]
            gain[name] += after[i][0] - before[i][0] + risen
            had[name] += before[i][0] + abs(risen)
        # overlaps that are pushed apart give energy: no more than their impulses times the speed they may have
        rows = self.model.contact_rows
        lam = result.solution.lam[: rows * len(result.contacts)].reshape(-1, rows)[:, 0]
        for a, b, push, gap in zip(
            result.contacts.body_a, result.contacts.body_b, lam, result.contacts.gap, strict=True
        ):
            name = island.get(int(a), island.get(int(b), -1))
            if name >= 0 and gap < 0.0:
                had[name] += max(0.0, float(push)) * min(self.sim.stepping.recovery_speed, -gap / self.sim.stepping.dt)
        over = max(gain, key=lambda name: gain[name] - had[name])
        # a step that was cut into pieces shows the contacts of the last one; its ledger knows what the others did
        pushed = max(0.0, -result.certificate.energy.impact)
        return gain[over] - had[over] - pushed, had[over] + pushed


def _finite(result: StepResult) -> bool:
    """Whether all numbers of a step are."""
    state, c = result.state, result.certificate.as_dict()
    energy = c.pop("energy")
    assert isinstance(energy, dict)
    numbers = [x for x in (*c.values(), *energy.values()) if isinstance(x, float)]
    arrays = (
        state.body_pose,
        state.body_velocity,
        state.node_position,
        state.node_velocity,
        state.contact_impulse,
        state.joint_impulse,
    )
    return bool(np.isfinite(numbers).all()) and all(np.isfinite(each).all() for each in arrays)


def attack(seed: int, index: int) -> Outcome:
    """One scene, some steps."""
    rng, found = np.random.default_rng([seed, index]), Outcome()
    found.counts["scenes"] = 1
    name, dt = str(rng.choice(SOLVERS)), 10.0 ** rng.uniform(-4.0, np.log10(0.05))
    options: dict[str, object] = {"dt": dt, "scheme": str(rng.choice(SCHEMES))}
    if rng.random() < 0.1:
        options["joints"] = "potentials"
    if rng.random() < 0.1:
        options["lookahead"] = False
    case = random_scene(rng)
    what = f"{name}, {options}, {', '.join(case.traits)}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = make_solver(name)
            sim = Simulation(case.scene, solver=solver, stepping=Stepping(**options))
            _run(case, sim, found, what)
    except DivergenceError:
        found.counts["said to diverge"] += 1
    except StickslipError:
        found.counts["refused"] += 1
    except Exception as error:
        found.fail("foreign exception", f"{type(error).__name__}: {error}; {what}")
    return found


def _run(case: Case, sim: Simulation, found: Outcome, what: str) -> None:
    """The steps of a scene, each judged."""
    judge, solver, started = Judge(case, sim), sim.solver, time.perf_counter()
    for step in range(STEPS):
        before, clock = judge.energies(), time.perf_counter()
        result = sim.step()
        seconds = time.perf_counter() - clock
        c, where = result.certificate, f"step {step + 1}, {what}"
        found.counts["steps"] += 1
        found.counts[c.status] += 1
        if seconds > SECONDS and step > 0:  # the first may compile kernels
            found.fail("slow", f"{seconds:.1f} s for {where}")
        if c.converged != (c.status == "converged"):
            found.fail("two verdicts", f"converged is {c.converged}, status {c.status}; {where}")
        if not _finite(result) and c.status != "diverged":
            found.fail("not finite", f"status {c.status}; {where}")
        if c.converged:
            found.counts["contacts of converged steps"] += c.contacts
            apart, joint = judge.apart()
            if apart > 1.01 * APART:
                found.fail("joints apart", f"{joint} by {apart:.2g} of its body's size; {where}")
            exact = solver.takes.law == "exact" and solver.takes.criterion == "scaled"
            tolerance = getattr(solver, "tolerance", np.inf)
            if exact and max(c.natural_residual, c.momentum_relative) > 2.0 * tolerance:
                found.fail("residual", f"{c.natural_residual:.2g}, momentum {c.momentum_relative:.2g}; {where}")
            if (
                not case.driven and solver.takes.law != "penalty"
            ):  # whose springs push overlaps apart as fast as they like
                made, had = judge.made(result, before)
                found.counts["judged energies"] += 1
                if made > 0.01 * had + 1e-8:
                    found.fail("energy", f"{made:.3g} J of nothing beside {had:.3g} J; {where}")
        if c.status == "diverged":  # whoever goes on from here was told
            return
        if time.perf_counter() - started > LONG:
            found.counts["left early"] += 1
            return
