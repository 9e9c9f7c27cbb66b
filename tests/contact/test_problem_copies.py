"""Every way to copy or to store a problem keeps its residuals, and what solvers make of it, to the last bit."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from stickslip import Drive, Scene, Simulation, Stepping, elastic, tet_generators
from stickslip.contact.cushions import cushioned
from stickslip.contact.islands import problem_islands
from stickslip.contact.laws import CONTACT
from stickslip.contact.momentum_error import momentum_error
from stickslip.contact.potentials import with_potentials
from stickslip.contact.problem import KINDS, ContactProblem, from_delassus
from stickslip.contact.reordering import reordered
from stickslip.contact.residual import island_residual, residual
from stickslip.errors import FileError, InputError
from stickslip.io.problem_file import load_problem, save_problem
from stickslip.solvers.newton.newton import NonsmoothNewton
from stickslip.solvers.protocol import Relinearise, Solution, Solver
from stickslip.solvers.registry import make_solver
from stickslip.solvers.verdict import judge_solution

# ---- problems of steps -----------------------------------------------------------------------------------------------


def boxes(torsion: float = 0.0) -> Scene:
    """A stack of boxes and a ball that slides, on the ground."""
    scene = Scene()
    scene.add_half_space(friction=0.4, torsion=torsion)
    for k in range(3):
        scene.add_box((0.2, 0.2, 0.2), (0.03 * k, 0.01 * k, 0.1 + 0.1999 * k), mass=1.0 + k, velocity=(0.3, 0, -0.1))
    scene.add_sphere(0.1, (1, 0, 0.0999), velocity=(1, 0.2, 0), angular_velocity=(0, 0, 5))
    return scene


def falling_hinge() -> Scene:
    """Two boxes on a hinge, far from the origin and in free fall: its rows have nothing to do but rounding."""
    scene = Scene()
    a, b = (scene.add_box((0.2, 0.2, 0.2), (100.0 + 0.2 * k, 0, 5), mass=1.0) for k in range(2))
    scene.add_revolute(a, b, (100.1, 0, 5), (0, 1, 0))
    return scene


def driven() -> Scene:
    """Two links over the ground with a drive of limited force, a spring and a limit that stops one of them."""
    scene = Scene()
    scene.add_half_space(friction=0.5)
    first = scene.add_box((0.3, 0.1, 0.1), (0.15, 0, 0.0499), mass=1.0)
    second = scene.add_box((0.3, 0.1, 0.1), (0.45, 0, 0.0499), mass=1.0)
    weak, strong = Drive(damping=9.0, velocity=-2.0, limit=1.0), Drive(stiffness=200.0, damping=5.0, position=0.3)
    scene.add_revolute(None, first, (0, 0, 0.05), (0, 1, 0), drive=weak, limits=(-0.5, 0.0))
    scene.add_revolute(first, second, (0.3, 0, 0.05), (0, 1, 0), drive=strong)
    return scene


def hinged() -> Scene:
    """A ball on a hinge that lies on the ground: contacts without torsion and rigid joints, which FCLIB has, too."""
    scene = Scene()
    scene.add_half_space(friction=0.8)
    ball = scene.add_sphere(0.1, (0.4, 0, 0.0999), mass=2.0)
    scene.add_revolute(None, ball, (0, 0, 0.1), (0, 1, 0))
    scene.add_sphere(0.1, (0, 2, 0.0999), mass=1.0)
    return scene


def soft(filled: bool = True, cells: int = 2) -> Scene:
    """Soft boxes on the ground, one welded to a ball and with a volume to keep, beside a rigid ball."""
    scene = Scene()
    scene.add_half_space(friction=0.4)
    mesh, material = tet_generators.box((0.1, 0.1, 0.1), cells), elastic(2e5, 0.3, beta=0.01)
    body = scene.add_soft(mesh, material, (0, 0, 0.0499), friction=0.4, velocity=(0.2, 0.1, 0))
    scene.add_soft(mesh, material, (0.3, 0, 0.0499), friction=0.4)
    scene.add_sphere(0.05, (0.6, 0, 0.0499), friction=0.4)
    if filled:
        ball = scene.add_sphere(0.02, (-0.07, 0, 0.08))
        scene.weld_nodes(body, mesh.nodes_on_plane("x", float(mesh.nodes[:, 0].min())), ball)
        scene.add_cavity(body, mesh.surface, volume=1.01e-3)
    return scene


def cushions() -> Scene:
    """Balls in a groove, of whose contacts some give way."""
    scene = Scene()
    for side in (-1.0, 1.0):
        scene.add_half_space((side, 0, 1), friction=0.3, contact_stiffness=2e4 if side > 0 else None)
    for k in range(2):
        scene.add_sphere(0.1, (0, 0.19 * k, 0.1414), mass=1.0 + 3.0 * k, friction=0.3, velocity=(0.1, -0.4 * k, -0.2))
    return scene


def step(scene: Scene, solver: str | Solver = "auto", **options: object) -> ContactProblem:
    """The problem of the second step."""
    sim = Simulation(scene, solver=solver, stepping=Stepping(dt=0.005, **options))
    sim.step()
    return sim.step().problem


@dataclass(frozen=True)
class Keeping(NonsmoothNewton):
    """newton, which keeps the problems that it asks for."""

    kept: list[ContactProblem] = field(default_factory=list)

    def run(
        self, problem: ContactProblem, warm: np.ndarray | None = None, relinearise: Relinearise | None = None
    ) -> Solution:
        def keep(v: np.ndarray, lam: np.ndarray | None = None) -> ContactProblem:
            self.kept.append(relinearise(v, lam))
            return self.kept[-1]

        return super().run(problem, warm, keep)


def turning() -> ContactProblem:
    """Links with the turning of joint forces in A, and masses beside it."""
    solver = Keeping()
    step(driven(), solver)
    return [problem for problem in solver.kept if problem.scale.masses is not None][-1]


def with_masses() -> ContactProblem:
    """Soft bodies, with masses of rigid bodies beside A."""
    problem = step(soft())
    rigid = problem.A.dense
    masses = problem.A.with_dense(rigid._replace(data=0.9 * rigid.data, inverse=rigid.inverse / 0.9))
    return replace(problem, scale=problem.scale._replace(masses=masses))


def given() -> ContactProblem:
    """A problem that is given by W."""
    rng = np.random.default_rng(3)
    half = rng.normal(size=(12, 9))
    return from_delassus(half @ half.T, rng.normal(size=12), [0.0, 0.3, 1.5, 0.6])


PROBLEMS: dict[str, Callable[[], ContactProblem]] = {
    "contacts": lambda: step(boxes()),
    "torsion": lambda: step(boxes(0.01)),
    "falling hinge": lambda: step(falling_hinge()),
    "drive and limit": lambda: step(driven()),
    "hinge and contacts": lambda: step(hinged()),
    "turning": turning,
    "soft": lambda: step(soft()),
    "soft with masses": with_masses,
    "soft contacts": lambda: step(soft(False)),
    "soft, prox-gs": lambda: step(soft(False), "prox-gs"),
    "soft, many nodes": lambda: step(soft(False, 5), "sap"),
    "soft, cond": lambda: step(soft(), "cond"),
    "soft, pgs": lambda: step(soft(False), make_solver("pgs", criterion="velocity", tolerance=1e-6)),
    "soft as rows": lambda: step(soft(), "newton", elasticity="rows"),
    "soft over impulses": lambda: step(soft()).condensed,
    "cushions": lambda: step(cushions()),
    "cushioned": lambda: cushioned(step(cushions())),
    "potentials": lambda: with_potentials(step(driven()))[0],
    "soft potentials": lambda: with_potentials(step(soft()), prepared=False)[0],
    "reordered": lambda: reordered(step(boxes()), np.arange(step(boxes()).block_count, dtype=np.int32)[::-1].copy())[0],
    "given W": given,
}
"""Problems of all kinds, by name."""
FCLIB = ("contacts", "hinge and contacts", "soft contacts", "soft, prox-gs", "soft, many nodes", "soft, pgs", "given W")
"""Those that FCLIB can express and that must come back; others may."""


@cache
def problem_of(name: str) -> ContactProblem:
    return PROBLEMS[name]()


# ---- what is measured ------------------------------------------------------------------------------------------------


def impulses(problem: ContactProblem) -> list[np.ndarray]:
    """None, some, and others."""
    rng = np.random.default_rng(5)
    size = np.linalg.norm(problem.bias) / max(float(np.abs(problem.J.data).max(initial=1.0)), 1e-9) + 1e-3
    return [np.zeros(problem.row_count), *(size * rng.normal(size=(2, problem.row_count)))]


def measures(problem: ContactProblem, backwards: bool = False) -> dict[str, bytes]:
    """All that judges and solvers ask of a problem, by name, from one end of the list or from the other."""
    lams = impulses(problem)
    v = 1.001 * np.linspace(-1.0, 1.0, problem.unknown_count)

    def judged(lam: np.ndarray) -> object:
        solution = Solution(v, lam, "converged", 1, np.zeros((0, 2)))
        return judge_solution(make_solver("prox-gs"), problem, solution)

    def by_island(lam: np.ndarray) -> object:
        u = problem.constraint_velocity(v)
        return island_residual(problem, lam, u, problem_islands(problem), 1e-12)

    asked: dict[str, Callable[[], object]] = {
        "free speed": lambda: problem.free_speed,
        "diagonal": lambda: problem.diagonal,
        "free velocities": lambda: problem.v_free,
        "exact": lambda: [residual(problem, lam) for lam in lams],
        "convex": lambda: [residual(problem, lam, law="convex") for lam in lams],
        "box": lambda: [residual(problem, lam, law="box") for lam in lams],
        "momentum": lambda: [momentum_error(problem, lam, v) for lam in lams],
        "islands": lambda: [by_island(lam) for lam in lams],
        "island speeds": lambda: problem.island_speed,
        "verdict": lambda: [judged(lam) for lam in lams],
        "velocities": lambda: [problem.velocity(lam) for lam in lams],
        "condensed": lambda: [
            problem.condensed.A.delassus(problem.condensed.J).data,
            problem.condensed.free_speed,
            problem.condensed.v_free,
        ],
        "delassus": lambda: problem.delassus.data,
        "cushioned": lambda: [residual(cushioned(problem), lam) for lam in lams],
        "response": lambda: np.zeros(0) if problem.A.has_soft else problem.response.data,
    }
    names = list(asked)[::-1] if backwards else list(asked)
    return {name: bits(asked[name]()) for name in names}


def bits(value: object) -> bytes:
    """Numbers as they are in memory; floats print so that they come back."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, list):
        return b"|".join(bits(each) for each in value)
    return repr(value).encode()


def same(one: ContactProblem, other: ContactProblem, path: str = "problem") -> None:
    """Both have the same fields, bit for bit."""
    for name in (
        "momentum.at", "momentum.missing", "bias", "step", "prescribed", "soft", "v_before", "v_likely", "gap", "keys",
        "scale.speed", "scale.island_speed", "scale.rounding", "scale.momentum", "scale.mobility",
    ):  # fmt: skip
        a, b = one, other
        for part in name.split("."):
            a, b = getattr(a, part), getattr(b, part)
        assert bits(a if isinstance(a, np.ndarray | None) else float(a)) == bits(
            b if isinstance(b, np.ndarray | None) else float(b)
        ), f"{path}: {name}"
    for name in ("J", "laws"):
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
    for a, b in ((one.A, other.A), (one.scale.masses, other.scale.masses)):
        assert (a is None) == (b is None)
        if a is None:
            continue
        for part in ("dense", "given"):
            ours, theirs = getattr(a, part), getattr(b, part)
            assert (ours is None) == (theirs is None)
            assert ours is None or all(map(np.array_equal, ours, theirs))
        assert a.has_soft == b.has_soft
        assert all(map(np.array_equal, [*a.nodes.pattern, a.nodes.data], [*b.nodes.pattern, b.nodes.data]))
        for ours, theirs in zip(a.nodes.parts, b.nodes.parts, strict=True):
            assert ours.plan.order.tobytes() == theirs.plan.order.tobytes()
            assert ours.plan.last.tobytes() == theirs.plan.last.tobytes()


# ---- ways to copy ----------------------------------------------------------------------------------------------------


def stored(ending: str) -> Callable[[ContactProblem, Path], ContactProblem]:
    def through_a_file(problem: ContactProblem, folder: Path) -> ContactProblem:
        file = folder / f"problem{ending}"
        save_problem(problem, file)
        return load_problem(file)

    return through_a_file


COPIES: dict[str, Callable[[ContactProblem, Path], ContactProblem]] = {
    "replace": lambda problem, _: replace(problem),
    "copy": lambda problem, _: copy.copy(problem),
    "deepcopy": lambda problem, _: copy.deepcopy(problem),
    "pickle": lambda problem, _: pickle.loads(pickle.dumps(problem)),
    "npz": stored(".npz"),
    "fclib": stored(".hdf5"),
}


def copied(name: str, way: str, folder: Path) -> ContactProblem:
    """A copy, or a skipped test where FCLIB has no words for the problem."""
    try:
        return COPIES[way](problem_of(name), folder)
    except FileError as error:
        if way != "fclib" or name in FCLIB or "FCLIB cannot express" not in str(error):
            raise
        pytest.skip("FCLIB cannot express it")


@pytest.mark.filterwarnings("ignore::stickslip.errors.ProblemWarning")
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_residuals_are_the_same(name: str, way: str, tmp_path: Path) -> None:
    other = copied(name, way, tmp_path)
    same(problem_of(name), other)
    assert measures(other) == measures(problem_of(name))
    assert measures(copied(name, way, tmp_path), backwards=True) == measures(problem_of(name))


@pytest.mark.filterwarnings("ignore::stickslip.errors.ProblemWarning")
@pytest.mark.parametrize("solver", ["prox-gs", "sap"])
@pytest.mark.parametrize("way", ["npz", "fclib", "pickle"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions_are_the_same(name: str, way: str, solver: str, tmp_path: Path) -> None:
    method = make_solver(solver, max_iterations=30)
    other = copied(name, way, tmp_path)
    try:
        expected = method.solve(problem_of(name))
    except InputError as refused:  # friction sets that the solver does not know
        with pytest.raises(InputError, match=str(refused)[:20]):
            method.solve(other)
        return
    found = method.solve(other)
    assert found.lam.tobytes() == expected.lam.tobytes()
    assert found.v.tobytes() == expected.v.tobytes()
    assert (found.status, found.iterations) == (expected.status, expected.iterations)


def test_the_kinds_of_problems_are_what_their_names_say() -> None:
    kinds = {name: problem_of(name) for name in PROBLEMS}
    assert kinds["soft, cond"].momentum.missing is not None
    assert kinds["soft, cond"].A.nodes.parts[0].plan.last.size == 0
    assert kinds["soft"].A.nodes.parts[0].plan.last.size > 0
    assert kinds["soft"].scale.momentum is not None
    assert kinds["soft as rows"].scale.mobility is not None
    assert kinds["turning"].scale.masses is not None
    assert kinds["cushioned"].contact_compliance is None
    assert kinds["cushions"].contact_compliance is not None
    assert kinds["potentials"].A.has_soft
    assert kinds["soft over impulses"].A.is_given
    assert {int(law) for law in kinds["drive and limit"].laws.law} > {CONTACT}


def test_the_free_speed_of_what_falls_together_is_that_of_its_rounding() -> None:
    problem = problem_of("falling hinge")
    assert (problem.scale.rounding > 0.0).all()
    assert problem.free_speed == problem.scale.rounding.max() > 1e3 * np.linalg.norm(problem.free_constraint_velocity)


def test_orders_of_elimination_do_not_depend_on_those_before() -> None:
    A = problem_of("soft, many nodes").A
    assert A.has_soft
    fresh = step(soft(False, 5), "cond").A
    for ours, theirs in zip(A.least_fill().nodes.parts, fresh.nodes.parts, strict=True):
        assert ours.plan.order.tobytes() == theirs.plan.order.tobytes()


# ---- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "given W"])
def test_keys_name_each_block_once(name: str) -> None:
    problem = problem_of(name)
    assert problem.keys.shape == (problem.block_count, 2)
    assert problem.keys.dtype == np.int64
    assert len(np.unique(problem.keys, axis=0)) == problem.block_count
    of_contacts = problem.keys[problem.laws.law == CONTACT, 0]
    assert set(of_contacts) <= {KINDS.index("contact"), KINDS.index("soft contact")}
    assert (problem.keys[problem.laws.law != CONTACT, 0] >= KINDS.index("joint")).all()


@pytest.mark.parametrize(
    ("scene", "options", "kinds"),
    [
        (boxes, {}, {"contact"}),
        (driven, {}, {"contact", "joint"}),
        (soft, {}, {"contact", "soft contact", "weld", "cavity"}),
        (soft, {"elasticity": "rows"}, set(KINDS) - {"joint", "coordinate", "island", "lead"}),
    ],
)
def test_keys_stay_from_step_to_step(scene: Callable[[], Scene], options: dict[str, object], kinds: set[str]) -> None:
    sim = Simulation(scene(), stepping=Stepping(dt=1e-4, **options))
    one, two = sim.step().problem, sim.step().problem
    assert {KINDS[k] for k in one.keys[:, 0]} == kinds
    (a, b), (c, d) = (({tuple(key): k for k, key in enumerate(p.keys.tolist())}, p.J) for p in (one, two))
    common = a.keys() & c.keys()
    assert {key for key in a if key[0] > 1} == {key for key in c if key[0] > 1} <= common
    assert len(common) > 0.5 * len(a)
    for key in common:  # the same bodies and nodes
        ours, theirs = (J.entry_column[J.entry_start[k] : J.entry_start[k + 1]] for k, J in ((a[key], b), (c[key], d)))
        assert np.array_equal(ours, theirs)


def test_keys_of_joints_are_rows_of_the_model_whichever_are_broken() -> None:
    sim = Simulation(driven(), dt=1e-3)
    whole = sim.step().problem
    broken = sim.state.joint_broken.copy()
    broken[0] = True
    sim.state = replace(sim.state, joint_broken=broken)
    left = sim.step().problem
    joint = KINDS.index("joint")
    rows, all_rows = (set(p.keys[p.keys[:, 0] == joint, 1].tolist()) for p in (left, whole))
    assert rows < all_rows
    assert rows == {k for k in all_rows if sim.model.joints.row_joint[k] == 1}


def test_keys_go_with_their_blocks() -> None:
    problem = problem_of("contacts")
    order = np.random.default_rng(1).permutation(problem.block_count).astype(np.int32)
    assert np.array_equal(reordered(problem, order)[0].keys, problem.keys[order])
    assert np.array_equal(problem_of("soft").condensed.keys, problem_of("soft").keys)
    stiff, recover = with_potentials(problem_of("drive and limit"))
    of_row = np.repeat(problem_of("drive and limit").keys, np.diff(problem_of("drive and limit").J.row_start), axis=0)
    assert np.array_equal(np.repeat(stiff.keys, np.diff(stiff.J.row_start), axis=0), of_row[recover.rows])
