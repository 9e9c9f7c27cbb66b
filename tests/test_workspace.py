"""Memories between steps are in workspaces: they change no bit, and nothing that changes is shared."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from stickslip import Scene, Simulation, State, Stepping, elastic, tet_generators
from stickslip.model.model import Model, compile_scene
from stickslip.solvers.registry import make_solver
from stickslip.step import step
from stickslip.workspace import Same, Workspace

STEPS = 4


def chain() -> Scene:
    """Links on ball joints above the ground, a box beside them, and a soft cube on top of that."""
    scene = Scene()
    scene.add_half_space()
    last = None
    for k in range(3):
        body = scene.add_box((0.2, 0.06, 0.1), (0.2 * k + 0.1, 0.0, 0.04), mass=1.0, velocity=(0, 1.0 * k, 0))
        scene.add_ball(last, body, (0.2 * k, 0.0, 0.05))
        last = body
    scene.add_box((0.3, 0.3, 0.1), (0.0, 1.0, 0.05), mass=2.0)
    cube = tet_generators.box((0.1, 0.1, 0.1), (2, 2, 2))
    scene.add_soft(cube, elastic(1e5, 0.3), position=(0.0, 1.0, 0.148), velocity=(0.3, 0, 0))
    return scene


CASES = {
    "auto": ("auto", Stepping(dt=0.005)),
    "sap": ("sap", Stepping(dt=0.005)),
    "cond": ("cond", Stepping(dt=0.005)),
    "sap, potentials": ("sap", Stepping(dt=0.005, joints="potentials")),
}


@pytest.fixture(scope="module")
def model() -> Model:
    return compile_scene(chain())


def bits(sim: Simulation) -> bytes:
    state = sim.state
    return b"".join(each.tobytes() for each in (state.q, state.v, state.node_position, state.node_velocity))


def simulation(model: Model, case: str) -> Simulation:
    solver, stepping = CASES[case]
    return Simulation(model, solver=solver, stepping=stepping)


def course(sim: Simulation, forget: bool = False) -> list[bytes]:
    found = []
    for _ in range(STEPS):
        if forget:
            sim.workspace = Workspace()
        sim.step()
        found.append(bits(sim))
    return found


@pytest.mark.parametrize("case", CASES)
def test_memories_change_no_bit(model: Model, case: str) -> None:
    """Alone, without a memory, interleaved with another simulation of the same model, and in two threads."""
    alone = course(simulation(model, case))
    assert course(simulation(model, case), forget=True) == alone
    first, second = simulation(model, case), simulation(model, case)
    second.step()  # one step ahead
    ahead = [bits(second)]
    together = []
    for _ in range(STEPS - 1):
        first.step()
        second.step()
        together.append(bits(first))
        ahead.append(bits(second))
    assert (together, ahead) == (alone[:-1], alone)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(course, [simulation(model, case) for _ in range(2)])) == [alone, alone]


@pytest.mark.parametrize("case", CASES)
def test_steps_of_other_simulations_between_change_no_bit(model: Model, case: str) -> None:
    """Whatever else the process simulates."""
    alone = course(simulation(model, case))
    sim, other = simulation(model, case), Simulation(chain(), dt=0.004, solver=CASES[case][0])
    found = []
    for _ in range(STEPS):
        other.step()
        sim.step()
        found.append(bits(sim))
    assert found == alone


@pytest.mark.parametrize("name", ["cond", "sap", "auto", "newton"])
def test_solvers_hold_nothing(model: Model, name: str) -> None:
    """One solver object for two simulations: what it is after the steps, it was before."""
    solver = make_solver(name)
    solver.takes  # noqa: B018  (what it declares is kept with it)
    first, second = Simulation(model, dt=0.005, solver=solver), Simulation(model, dt=0.005, solver=solver)
    alone = course(Simulation(model, dt=0.005, solver=name))
    first.step()
    before = pickle.dumps(solver)
    found = [[bits(first)], []]
    for _ in range(STEPS - 1):
        for sim, list_of in zip((second, first), reversed(found), strict=True):
            sim.step()
            list_of.append(bits(sim))
    assert pickle.dumps(solver) == before
    assert found == [alone, alone[:-1]]


def test_models_hold_nothing_that_changes(model: Model) -> None:
    """What the model is after a first simulation, it is after others."""
    course(simulation(model, "auto"))
    parts = model.soft_parts
    before = pickle.dumps(parts)
    for case in CASES:
        course(simulation(model, case))
    assert model.soft_parts is parts
    assert pickle.dumps(parts) == before


def test_problems_keep_the_workspace_and_copies_have_their_own(model: Model) -> None:
    sim = simulation(model, "sap, potentials")
    problem = sim.step().problem
    assert problem.workspace is sim.workspace
    for made in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert made.workspace is not sim.workspace
    assert "workspace" not in repr(problem)


def test_the_latest_are_kept() -> None:
    known, made = Workspace(), []

    def recall(key: int) -> object:
        def make() -> object:
            made.append(key)
            return object()

        return known.recall("numbers", key, make, 2)

    one = recall(1)
    assert recall(1) is one
    recall(2)
    assert recall(1) is one
    recall(3)
    assert recall(1) is one
    recall(2)
    assert made == [1, 2, 3, 2]
    assert known.slot("list", list) is known.slot("list", list)
    assert not copy.copy(known)._slots
    array = np.zeros(2)
    assert Same(array) == Same(array)
    assert Same(array) != Same(array.copy())


def test_a_step_is_a_function_of_its_arguments(model: Model) -> None:
    """The same steps in another order, with workspaces that are new, used or another's, and in threads."""
    sim = simulation(model, "auto")
    states = [sim.state, *(sim.step().state for _ in range(3))]

    def taken(state: State, workspace: Workspace) -> str:
        result = step(model, state, sim.control, sim.method, sim.stepping, workspace)
        return result.state.digest() + repr(result.certificate)

    alone = [taken(state, Workspace()) for state in states]
    assert [one[:64] for one in alone[:3]] == [state.digest() for state in states[1:]]
    shared = Workspace()
    backwards = [taken(state, shared) for state in reversed(states)][::-1]
    assert backwards == alone
    assert [taken(state, sim.workspace) for state in states] == alone
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda state: taken(state, Workspace()), states)) == alone
