"""Warnings of runs: known mistakes are named, with the right bodies and the right time; good runs have none."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import stickslip
from stickslip.geometry.rotation import about_axis
from stickslip.geometry.shapes import Sphere
from stickslip.io.recording import RecordedContacts, Recorder, Recording, read_recording
from stickslip.model.model import compile_scene
from stickslip.model.state import initial_state
from stickslip.model.stepping import Stepping
from stickslip.simulation import Simulation
from stickslip.solvers.prox.gauss_seidel import ProxGaussSeidel
from stickslip.solvers.registry import make_solver
from stickslip.view.live.drag_spring import FREQUENCY, grab
from stickslip.view.picture.outlines import CORNERS, body_balls
from stickslip.view.report.suspect_contacts import cone_excess, contact_motion, culprit_words, feeding_friction
from stickslip.view.report.warnings import RunWarning, run_warnings, verdict
from stickslip.view.scene_scales import scene_scales
from stickslip.view.solver_law import solver_law


def recorded(folder: Path, sim: Simulation, steps: int, every: int = 1) -> Recording:
    with Recorder(folder / "run.h5", sim, "test", every=every) as record:
        sim.run(steps, record)
    return read_recording(folder / "run.h5")


def resting_box() -> stickslip.Scene:
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), name="box", density=125.0)  # 1 kg
    return scene


def the_one(warnings: list[RunWarning], word: str) -> RunWarning:
    found = [warning for warning in warnings if word in warning.text]
    assert len(found) == 1, warnings
    return found[0]


def test_a_good_run_has_no_warnings(tmp_path):
    recording = recorded(tmp_path, Simulation(resting_box(), dt=0.005), 30)
    assert run_warnings(recording) == []
    assert verdict(recording, []) == "Every step converged, and there is nothing to warn of."


def hasty_stack(tmp_path, steps):
    """Boxes of which each is eight times as heavy as the one below, solved with one iteration a step."""
    scene = stickslip.Scene()
    scene.add_half_space()
    for level in range(6):
        scene.add_box((0.2, 0.2, 0.2), (0.01 * level, 0, 0.1 + 0.2 * level), density=10.0 * 8.0**level)
    hasty = ProxGaussSeidel(max_iterations=1, subspace=0)
    return recorded(tmp_path, Simulation(scene, dt=0.01, solver=hasty), steps)


def test_steps_that_did_not_converge_are_counted(tmp_path):
    recording = hasty_stack(tmp_path, 8)
    failed = ~recording.certificate["converged"]
    assert failed.sum() > 2  # else this test is about nothing
    warnings = run_warnings(recording)
    warning = the_one(warnings, f"{failed.sum()} of 8 steps did not")
    assert warning.severity == "error"
    short = int((recording.certificate["status"] == "max-iterations").sum())
    assert f"{short} ran out of iterations" in warning.text
    worst = np.where(failed, recording.certificate["natural_residual"], 0.0).argmax()
    assert warning.time == pytest.approx(recording.time[worst])
    assert verdict(recording, warnings).startswith("Do not trust this run as it is")
    assert warnings[0].severity == "error"  # the worst first


def test_steps_that_are_wrong_whatever_the_solver_says_are_named(tmp_path):
    """A box that spins on the floor by two radians in a step, and a solver that has no iterations left for pieces."""
    scene = stickslip.Scene()
    scene.add_half_space()
    scene.add_box((0.2, 0.2, 0.2), (0, 0, 0.1), angular_velocity=(0, 0, 400.0))
    sim = Simulation(scene, dt=0.005, solver=ProxGaussSeidel(max_iterations=1))
    with Recorder(tmp_path / "run.h5", sim, "spinning") as record:
        sim.run(5, record)
    recording = read_recording(tmp_path / "run.h5")
    count = int((recording.certificate["status"] == "turned-too-far").sum())
    assert count > 2
    text = the_one(run_warnings(recording), "did not converge").text
    assert f"{count} turned a touching body by more than its contacts can carry" in text
    assert f"turns by up to {np.max(recording.certificate['turn']):.2g} rad in one step" in text


def test_friction_outside_its_cone_has_a_name_a_size_and_a_time(tmp_path):
    """A law that puts a square in the place of the disc allows up to sqrt(2) of it to what slides diagonally."""
    scene = resting_box()
    scene.add_box((0.2, 0.2, 0.2), (1, 0, 0.1), name="slider", velocity=(1, 1, 0), density=125.0)
    sim = Simulation(scene, dt=0.005, solver="pgs")
    largest, pair, when = 0.0, "", 0.0
    with Recorder(tmp_path / "run.h5", sim, "slide") as record:
        for _ in range(10):
            record(sim.step())
            contacts = sim.contacts()
            normal = np.einsum("ij,ij->i", contacts.force, contacts.normal)
            tangential = np.linalg.norm(contacts.force - normal[:, None] * contacts.normal, axis=1)
            excess = tangential - 0.5 * normal
            if excess.max() > largest:
                bodies = (contacts.from_body[excess.argmax()], contacts.on_body[excess.argmax()])
                pair = " / ".join(sim.model.body_names[body] for body in bodies)
                largest, when = excess.max(), sim.state.time
    assert largest > 0.4 * 0.5 * 9.81 / 4  # (sqrt(2) - 1) mu m g, shared by four contacts
    assert "slider" in pair
    warning = the_one(run_warnings(read_recording(tmp_path / "run.h5")), "friction exceeded its cone")
    assert warning.severity == "warning"
    assert f"by {largest:.2g} N at t = {when:.4g} s, contact {pair} (normal force" in warning.text
    assert warning.time == pytest.approx(when)


def test_deep_overlaps_name_the_pair(tmp_path):
    scene = resting_box()
    scene.add_sphere(0.1, (2.0, 0, 1.0), name="left")
    scene.add_sphere(0.1, (2.16, 0, 1.0), name="right")
    recording = recorded(tmp_path, Simulation(scene, stepping=Stepping(dt=0.002, recovery=0.0)), 5)
    warning = the_one(run_warnings(recording), "overlap")
    assert warning.severity == "error"
    assert "overlap by 40 mm at t = 0.002 s, contact left / right: 20 % of the size" in warning.text
    assert warning.text.endswith("; 5 of 5 steps are above 1 %")


def test_the_size_of_a_body_does_not_depend_on_its_origin(tmp_path):
    """Points of a hull may be far from the origin in which they are given, as those of the arch are."""
    found = []
    for far in (0.0, 10.0):
        scene = resting_box()
        corners = 0.1 * CORNERS + (far, 0.0, -far)
        scene.add_hull(corners, (2.0 - far, 0, 1.0 + far), name="left")
        scene.add_hull(corners, (2.15 - far, 0, 1.0 + far), name="right")
        stepping = Stepping(dt=0.002, recovery=0.0)
        found.append(recorded(tmp_path, Simulation(scene, stepping=stepping), 3))
        warning = the_one(run_warnings(found[-1]), "overlap")
        assert warning.severity == "error"
        # 50 mm of a cube whose diagonal is 346 mm
        assert "overlap by 50 mm at t = 0.002 s, contact left / right: 14 % of the size" in warning.text
    near, far_away = map(scene_scales, found)
    for name in ("size", "length", "extent", "middle", "energy", "usual_speed", "power"):
        assert getattr(far_away, name) == pytest.approx(getattr(near, name), rel=1e-9), name
    assert near.length == pytest.approx(0.2 * np.sqrt(3.0))
    state = initial_state(found[0].model), initial_state(found[1].model)
    springs = [grab(r.model, s, 2, s.body_pose[2, :3]) for r, s in zip(found, state, strict=True)]
    assert springs[1].frequency == pytest.approx(springs[0].frequency, rel=1e-9)
    assert springs[0].frequency > FREQUENCY  # so that it is its size that decides


def test_balls_about_bodies_hold_them_tightly():
    scene = stickslip.Scene()
    scene.add_half_space()
    turn = about_axis((1, 2, 3), 0.7)
    scene.add_sphere(0.3, (1, 2, 3), turn)
    scene.add_capsule(0.1, 0.4, (0, 0, 3), turn)
    scene.add_cylinder(0.3, 0.8, (0, 3, 3), turn)
    scene.add_hull(CORNERS * (0.1, 0.2, 0.3) + (5.0, 6.0, 7.0), (1, 0, 0), turn)
    parts = [stickslip.placed(Sphere(0.1), (x, 0, 0)) for x in (-1.0, 0.0, 1.0)]
    scene.add_body(parts, (9, 0, 0))
    balls = body_balls(compile_scene(scene))
    assert balls[:, 3] == pytest.approx([0.0, 0.3, 0.3, 0.5, np.linalg.norm([0.1, 0.2, 0.3]), 1.1])
    assert np.abs(balls[:, :3]).max() < 1e-9  # all are as wide on both sides of their centres of mass


class Blame(NamedTuple):
    """The worst contact of a run by one measure."""

    value: float
    pair: str
    time: float


def hasty_slide(folder: Path, scheme: str) -> tuple[Recording, dict[str, Blame]]:
    """Boxes that slide and topple, with a solver that hardly solves; who is worst, from the problems themselves."""
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    for k in range(4):
        scene.add_box((0.2, 0.2, 0.2), (0.03 * k, 0, 0.1 + 0.2 * k), name=f"box-{k}", velocity=(0.5 * k, 0.2 * k, 0))
    hasty = ProxGaussSeidel(max_iterations=2, subspace=0)
    sim = Simulation(scene, stepping=Stepping(dt=0.005, scheme=scheme), solver=hasty)
    worst = dict.fromkeys(("fed", "pointed", "gave way"), Blame(0.0, "", 0.0))
    with Recorder(folder / "run.h5", sim, "slide") as record:
        for _ in range(40):
            result = sim.step()
            record(result)
            contacts, solution, certificate = sim.contacts(), result.solution, result.certificate
            if not len(contacts):
                continue
            u = result.problem.constraint_velocity(solution.v).reshape(-1, 3)
            lam = solution.lam.reshape(-1, 3)
            rate = np.einsum("ij,ij->i", lam[:, 1:], u[:, 1:]) / 0.005
            size = np.linalg.norm(lam[:, 1:], axis=1) * np.linalg.norm(u[:, 1:], axis=1)
            angle = np.arccos(np.clip(-0.005 * rate / np.maximum(size, 1e-300), -1.0, 1.0))
            off = int(np.abs(angle - certificate.direction_error).argmin())
            for word, value, contact in (
                ("fed", certificate.wrong_dissipation, int(rate.argmax())),
                ("pointed", certificate.direction_error, off),
                ("gave way", certificate.velocity_violation, int(u[:, 0].argmin())),
            ):
                if value > worst[word].value:
                    bodies = contacts.from_body[contact], contacts.on_body[contact]
                    names = " / ".join(sim.model.body_names[body] for body in bodies)
                    worst[word] = Blame(value, names, sim.state.time)
    return read_recording(folder / "run.h5"), worst


@pytest.mark.parametrize("scheme", ["euler", "moreau"])
def test_contacts_that_feed_give_way_or_push_askew_are_named(tmp_path, scheme):
    recording, worst = hasty_slide(tmp_path, scheme)
    warnings = run_warnings(recording)
    for word, blame in worst.items():
        warning = the_one(warnings, word)
        assert warning.time == pytest.approx(blame.time)
        assert f", contact {blame.pair}" in warning.text, word


def test_nobody_is_named_where_numbers_do_not_fit(tmp_path):
    """Velocities that have nothing to do with the certificate tell nothing about who it was."""
    recording, worst = hasty_slide(tmp_path, "euler")
    still = replace(recording, v=np.zeros(recording.v.shape))
    warnings = run_warnings(still)
    for word in worst:
        assert ", contact" not in the_one(warnings, word).text
    # a little off: the contact is likely, but not certain
    frame = int(recording.certificate["wrong_dissipation"].argmax())
    power = float(recording.certificate["wrong_dissipation"][frame])
    exact, doubtful = feeding_friction(recording, frame, power), feeding_friction(recording, frame, 1.2 * power)
    assert exact is not None
    assert doubtful is not None
    assert (exact.certain, doubtful.certain) == (True, False)
    assert exact.contact == doubtful.contact
    assert culprit_words(recording, frame, doubtful).startswith(", probably contact ")
    assert feeding_friction(recording, frame, 3.0 * power) is None


def test_a_soft_body_that_slips_is_named(tmp_path):
    """Velocities of contacts with soft bodies are those of their nodes."""
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    jelly = stickslip.elastic(young=2e5, poisson=0.3, density=500)
    soft = stickslip.tet_generators.sphere(0.1, 1)
    scene.add_soft(soft, jelly, position=(0, 0, 0.1), velocity=(2, 0, -1), name="jelly")
    sim = Simulation(scene, dt=0.005)
    with Recorder(tmp_path / "run.h5", sim, "jelly") as record:
        for _ in range(20):
            record(sim.step())
            report = sim.contacts()
            if len(report) and np.linalg.norm(report.slip_velocity, axis=1).max() > 0.1:
                break
    recording = read_recording(tmp_path / "run.h5")
    last = len(recording) - 1
    motion = contact_motion(recording, last, recording.contacts(last))
    assert np.linalg.norm(motion.slip, axis=1).max() > 0.1
    assert motion.slip == pytest.approx(report.slip_velocity, abs=1e-6)


def test_a_soft_body_that_sinks_in_is_named(tmp_path):
    """Springs that only push after an overlap let a soft block sink into the ground."""
    scene = stickslip.Scene()
    scene.add_half_space(name="ground")
    jelly = stickslip.elastic(young=2e5, poisson=0.3, density=500)
    scene.add_soft(stickslip.tet_generators.sphere(0.1, 1), jelly, position=(0, 0, 0.11), name="jelly")
    recording = recorded(tmp_path, Simulation(scene, dt=0.005, solver="penalty"), 60)
    warning = the_one(run_warnings(recording), "bodies overlap")
    deepest = recording.certificate["penetration"].argmax()
    assert "ground" in warning.text
    assert "jelly" in warning.text
    assert warning.time == pytest.approx(recording.time[deepest])


@pytest.mark.parametrize(
    ("entry", "value", "severity", "words"),
    [
        ("momentum_relative", 0.02, "warning", "2 % of the momentum"),
        ("momentum_relative", 0.5, "error", "50 % of the momentum"),
        ("velocity_violation", 0.03, "warning", "contacts gave way by 30 mm/s"),
        ("wrong_dissipation", 1.0, "warning", "friction fed the motion with 1 W"),
        ("gliding_gap", 0.02, "warning", "across a gap of 20 mm"),
    ],
)
def test_errors_of_one_step_are_told_with_its_time(tmp_path, entry, value, severity, words):
    recording = recorded(tmp_path, Simulation(resting_box(), dt=0.005), 10)
    values = recording.certificate[entry].copy()
    values[6] = value
    warnings = run_warnings(replace(recording, certificate={**recording.certificate, entry: values}))
    assert [(warning.severity, warning.time) for warning in warnings] == [(severity, pytest.approx(0.035))]
    assert words in warnings[0].text
    assert "t = 0.035 s" in warnings[0].text


def test_energy_from_nowhere_is_told_and_what_impacts_gave_back_is_not(tmp_path):
    recording = recorded(tmp_path, Simulation(resting_box(), dt=0.005), 10)
    numerical, impact = recording.energy["numerical"].copy(), recording.energy["impact"].copy()
    numerical[4] = 5.0
    made = replace(recording, energy={**recording.energy, "numerical": numerical})
    warning = the_one(run_warnings(made), "from nowhere")
    assert warning.severity == "error"
    assert warning.text.startswith("5 J of energy")
    assert warning.time == pytest.approx(0.025)
    impact[4] = 5.0  # an impact that took what the discretisation gives back
    assert run_warnings(replace(made, energy={**made.energy, "impact": impact})) == []


def test_joints_that_break_are_noted(tmp_path):
    scene = stickslip.Scene()
    post = scene.add_box((0.1, 0.1, 0.1), (0, 0, 2), kind="static", name="post")
    weight = scene.add_sphere(0.1, (0, 0, 1), name="weight", density=1000.0)
    scene.add_distance(post, weight, (0, 0, 2), (0, 0, 1), limits=(0, 1.0), break_force=60.0, name="rope")
    sim = Simulation(scene, dt=0.005)
    with Recorder(tmp_path / "run.h5", sim, "rope") as record:
        sim.run(10, record)
        sim.set_force(weight, (0, 0, -500))
        sim.run(10, record)
    recording = read_recording(tmp_path / "run.h5")
    first = int(np.asarray(recording.joint_broken)[:, 0].argmax())
    assert first >= 10
    warning = the_one(run_warnings(recording), "broke")
    assert (warning.severity, warning.text) == ("note", f"joint rope broke at t = {recording.time[first]:.4g} s")


def test_bodies_that_fly_away_are_named(tmp_path):
    scene = resting_box()
    scene.add_sphere(0.1, (0.5, 0, 1.0), name="rocket", velocity=(0, 0, 900))
    warning = the_one(run_warnings(recorded(tmp_path, Simulation(scene, dt=0.005), 20)), "left the scene")
    assert warning.text.startswith("body rocket left the scene: at t = 0.1 s it is 9")


def test_bodies_that_speed_are_named(tmp_path):
    sim = Simulation(resting_box(), dt=0.002)
    sim.set_force(stickslip.Body(1, "box"), (0, 0, 1e5))
    warning = the_one(run_warnings(recorded(tmp_path, sim, 2)), "much faster")
    assert warning.text.startswith("body box is much faster")


def test_only_recorded_steps_are_judged_and_that_is_said(tmp_path):
    recording = recorded(tmp_path, Simulation(resting_box(), dt=0.005), 22, every=5)
    (note,) = run_warnings(recording)
    assert note.severity == "note"
    assert "only every 5th step was recorded, and only those 5" in note.text
    assert verdict(recording, [note]).startswith("Every recorded step converged")


def test_a_run_that_was_cut_off_says_so(tmp_path):
    sim = Simulation(resting_box(), dt=0.005)
    with suppress(KeyboardInterrupt), Recorder(tmp_path / "run.h5", sim, "test") as record:
        sim.run(12, record)
        raise KeyboardInterrupt
    recording = read_recording(tmp_path / "run.h5.partial")
    warning = the_one(run_warnings(recording), "without the end of the run")
    assert "after 12 frames, at t = 0.06 s" in warning.text


def test_a_recording_without_frames(tmp_path):
    recording = recorded(tmp_path, Simulation(resting_box(), dt=0.005), 0)
    assert "no frames" in the_one(run_warnings(recording), "recording").text
    assert "nothing to judge" in verdict(recording, run_warnings(recording))


def contacts_with(force: list[list[float]], friction: list[list[float]], torsion: list[float]) -> RecordedContacts:
    k = len(force)
    none, zero = np.full((k, 3), -1, np.int32), np.zeros((k, 3))
    return RecordedContacts(
        body_a=np.zeros(k, np.int32), body_b=np.arange(1, k + 1, dtype=np.int32), point=zero,
        normal=np.tile([0.0, 0.0, 1.0], (k, 1)), gap=np.zeros(k), impulse=0.5 * np.array(force),
        torsion=0.5 * np.array(torsion), friction=np.array(friction), status=np.ones(k, np.int32), node_a=none,
        node_b=none, weight_a=zero, weight_b=zero, dt=0.5,
    )  # fmt: skip


def test_who_left_the_cone_is_told_as_far_as_it_is_known():
    inside, outside = [3.0, 4.0, 10.0], [4.0, 4.5, 10.0]  # [N] along x, y and the normal
    found = cone_excess(contacts_with([inside, outside], [[0.5, 0.5, 0.0]] * 2, [0.0, 0.0]))
    assert (found.contact, found.certain, found.pulls) == (1, True, False)
    assert found.excess == pytest.approx(np.hypot(4.0, 4.5) - 5.0)
    assert cone_excess(contacts_with([inside], [[0.5, 0.5, 0.0]], [0.0])) is None
    assert not cone_excess(contacts_with([outside], [[0.5, 0.8, 0.0]], [0.0])).certain
    assert cone_excess(contacts_with([inside, [0.0, 0.0, -2.0]], [[0.5, 0.5, 0.0]] * 2, [0.0, 0.0])).pulls
    # torsion of 0.2 N m at a radius of 0.02 / 0.5 m is a force of 5 N
    twisted = cone_excess(contacts_with([[0.0, 0.0, 8.0]], [[0.5, 0.5, 0.02]], [0.2]))
    assert twisted.excess == pytest.approx(5.0 - 0.5 * 8.0)


def test_the_law_of_a_recording_is_that_of_its_solver_with_its_options(tmp_path: Path) -> None:
    scene = stickslip.Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0, 0, 0.1))
    for name, options, law in (
        ("cond", {"operator": "proximal"}, "convex"), ("cond", {}, "exact"), ("pgs", {"friction": "disc"}, "exact")
    ):  # fmt: skip
        sim = Simulation(scene, dt=0.005, solver=make_solver(name, **options))
        assert solver_law(recorded(tmp_path, sim, 1)) == law

    class Mine:
        def solve(self, problem: object, warm: object = None, relinearise: object = None) -> object:
            return make_solver("auto").solve(problem)

    assert solver_law(recorded(tmp_path, Simulation(scene, dt=0.005, solver=Mine()), 1)) == "exact"
