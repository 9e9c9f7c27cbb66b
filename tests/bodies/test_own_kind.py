"""A kind of body from outside the package: a point mass on a spring, through the protocols alone."""

from dataclasses import dataclass

import numpy as np
import pytest

from stickslip import InputError, Scene, Simulation, Stepping
from stickslip.bodies.protocol import FramedBodies, IslandBooks, KindEnergy, KindMomentum, Motion
from stickslip.bodies.registry import frame_poses
from stickslip.geometry.shapes import Sphere, placed
from stickslip.io.recorder import Recorder
from stickslip.io.recording import read_recording
from stickslip.linalg.dense_blocks import equal_blocks
from stickslip.scene.materials import Material
from stickslip.scene.other_bodies import Frame
from stickslip.view.picture.picture import render_frame

H = 0.005


@dataclass(frozen=True)
class Bob:
    """What a person says: a ball of ``mass`` [kg] that a spring of ``stiffness`` [N/m] pulls to ``anchor`` (3,) [m]."""

    name: str
    mass: float
    stiffness: float
    anchor: tuple[float, float, float]
    radius: float = 0.05
    position: tuple[float, float, float] | None = None

    def compile(self, context):
        return BobKind(self, context)


class BobKind(FramedBodies):
    """The ball in a model: three coordinates, three unknowns, one frame that does not turn."""

    def __init__(self, said, context):
        self.said, self.gravity, self.name = said, context.gravity, said.name
        self.anchor = np.array(said.anchor)
        self.q_start = np.array(said.anchor if said.position is None else said.position)
        self.v_start = np.zeros(3)
        self.widths = np.array([3], dtype=np.int32)
        self.frame_count, self.frame_block = 1, np.zeros(1, dtype=np.int32)
        self.frames = (Frame("ball", (placed(Sphere(said.radius)),), said.mass, Material("rubber", (0.5, 0.5))),)

    def poses(self, q):
        return np.concatenate([q.reshape(3), [1.0, 0.0, 0.0, 0.0]])[None]

    def frame_rows(self, q):
        return [np.vstack([np.eye(3), np.zeros((3, 3))])]

    def begin(self, state, control, options):
        return BobMotion(self, state, control, options)

    def unknowns(self, state):
        return state.part_v(self.name).ravel()

    def scattered(self, velocities, own):
        return own.reshape(1, 3)


class BobMotion(Motion):
    """The ball in one step: m (v' - v) = h (f + m g - k (x + h v' - anchor)), an implicit spring."""

    def __init__(self, kind, state, control, options):
        self.kind, self.h, said = kind, options.horizon, kind.said
        self.x, self.v = state.part_q(kind.name).ravel(), state.part_v(kind.name).ravel()
        self.start, self.placed = self.v, (self.x, self.v)
        self.m, self.k = said.mass, said.stiffness
        force = control.part_force(kind.name).ravel() + self.m * kind.gravity - self.k * (self.x - kind.anchor)
        self.mass = self.m + self.h**2 * self.k
        self.free = (self.m * self.v + self.h * force) / self.mass

    def momentum(self, place, own):
        return KindMomentum(equal_blocks(self.mass * np.eye(3)[None], np.eye(3)[None] / self.mass), None, self.free)

    def end(self, own):
        return self.x + self.h * own, own

    def closing(self, own, v_end):
        return v_end

    def velocities(self, own):
        return own

    def masses(self, after):
        return equal_blocks(self.m * np.eye(3)[None], np.eye(3)[None] / self.m)

    def rounding(self, place):
        return np.full(1, 1e-15 * np.abs(self.x).max() / self.h)

    def energy(self, before, after, control, mean, books: IslandBooks):
        x, v = after.part_q(self.kind.name).ravel(), after.part_v(self.kind.name).ravel()

        def energies(x, v):
            stretched = x - self.kind.anchor
            return 0.5 * self.m * v @ v, -self.m * self.kind.gravity @ x, 0.5 * self.k * stretched @ stretched

        (kinetic_0, potential_0, elastic_0), (kinetic, potential, elastic) = energies(self.x, self.v), energies(x, v)
        work = control.part_force(self.kind.name).ravel() @ (x - self.x)
        island = books.column[-1]
        books.change[island] += kinetic + potential + elastic - kinetic_0 - potential_0 - elastic_0
        books.given[island] += work
        books.known[island] += kinetic_0 + elastic_0 + abs(potential - potential_0) + abs(work)
        return KindEnergy((kinetic_0, kinetic), (potential_0, potential), (elastic_0, elastic), float(work), 0.0)


def bob_over_a_box():
    """A bob that its spring, of no force 5 cm above the floor, presses onto a box of 10 cm."""
    scene = Scene()
    scene.add_half_space()
    box = scene.add_box((0.2, 0.2, 0.1), (0.0, 0.0, 0.05), mass=2.0)
    scene.add_bodies(Bob("bob", 0.5, 400.0, (0.0, 0.0, 0.05), position=(0.0, 0.0, 0.2)))
    return scene, box


def test_alone_it_swings_as_the_implicit_euler_scheme_says():
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_bodies(Bob("bob", 0.5, 50.0, (0.0, 0.0, 1.0), position=(0.1, 0.0, 1.0)))
    sim = Simulation(scene, dt=H)
    x, v = 0.1, 0.0
    for _ in range(50):
        sim.step()
        v = (v - H * 100.0 * x) / (1.0 + H * H * 100.0)
        x += H * v
    np.testing.assert_allclose(sim.state.part_q("bob").ravel(), [x, 0.0, 1.0], atol=1e-13)
    assert sim.last is not None
    assert sim.last.certificate.converged


@pytest.mark.parametrize("solver", ["auto", "prox-gs", "nsgs", "newton", "sap", "apgd", "admm", "cond", "implicit"])
def test_it_rests_on_a_box_and_the_floor_carries_both(solver):
    scene, _box = bob_over_a_box()
    sim = Simulation(scene, dt=H, solver=solver)
    sim.run(200)
    result = sim.step()
    certificate = result.certificate
    assert certificate.converged, certificate
    q = sim.state.part_q("bob").ravel()
    close = 1e-3 if solver == "sap" else 1e-6  # the convex law lets sliding contacts open, and springs of sap give way
    np.testing.assert_allclose(q, [0.0, 0.0, 0.15], atol=close)
    # the spring presses the ball with k 0.1 m, and the floor carries that, the ball and the box
    pressed = 400.0 * 0.1 + 0.5 * 9.81
    contacts = sim.contacts()
    names = sim.model.body_names
    on_ball = sum(f[2] for f, b in zip(contacts.force, contacts.on_body, strict=True) if names[b] == "bob/ball")
    on_ball -= sum(f[2] for f, a in zip(contacts.force, contacts.from_body, strict=True) if names[a] == "bob/ball")
    assert on_ball == pytest.approx(pressed, rel=1e-3 if solver == "sap" else 1e-6)
    assert certificate.momentum_relative < 1e-6
    ledger = certificate.energy
    assert ledger.elastic == pytest.approx(0.5 * 400.0 * 0.1**2, rel=2e-2)


def test_energy_of_a_fall_onto_the_box_is_booked():
    scene, _ = bob_over_a_box()
    sim = Simulation(scene, dt=H)
    before, spent = None, 0.0
    for _ in range(60):
        ledger = sim.step().certificate.energy
        if before is not None:
            change = ledger.total - before
            given = ledger.work - ledger.friction - ledger.damping - ledger.impact + ledger.numerical
            assert change == pytest.approx(given, abs=1e-9)
        before = ledger.total
        spent += ledger.impact
    assert spent > 0.05  # it fell by 5 cm, pulled by the spring as well


def test_the_users_force_moves_it():
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_bodies(Bob("bob", 0.5, 50.0, (0.0, 0.0, 1.0)))
    sim = Simulation(scene, dt=0.05)
    force = sim.control.force.copy()
    force[sim.model.layout.v_slice["bob"]] = [0.0, 5.0, 0.0]
    sim.control = type(sim.control)(sim.control.layout, force, sim.control.target, sim.control.effort)
    sim.run(200)  # implicit steps damp the swing, by exp(-25)
    np.testing.assert_allclose(sim.state.part_q("bob").ravel(), [0.0, 0.1, 1.0], atol=1e-4)


def test_it_is_recorded_and_drawn(tmp_path):
    scene, _ = bob_over_a_box()
    sim = Simulation(scene, dt=H)
    file = tmp_path / "bob.h5"
    with Recorder(file, sim) as record:
        sim.run(30, record)
    recording = read_recording(file)
    ball = recording.model.body_names.index("bob/ball")
    np.testing.assert_array_equal(recording.q[-1][ball], frame_poses(sim.model, sim.state)[ball])
    np.testing.assert_array_equal(recording.q[-1][ball, :3], sim.state.part_q("bob").ravel())
    picture = render_frame(recording.model, recording.q[-1], width=160, height=90)
    empty = np.array(recording.q[-1])
    empty[ball, 2] = -10.0
    assert (picture != render_frame(recording.model, empty, width=160, height=90)).any()


def test_a_state_saved_in_contact_continues_bit_for_bit(tmp_path):
    scene, _ = bob_over_a_box()
    one = Simulation(scene, dt=H)
    one.run(40)
    one.save(tmp_path / "state.npz")
    other = Simulation(scene, dt=H)
    other.load(tmp_path / "state.npz")
    one.run(20)
    other.run(20)
    assert one.state.digest() == other.state.digest()


def test_what_moves_poses_alone_is_rejected():
    scene, _ = bob_over_a_box()
    with pytest.raises(InputError, match="stabilisation is 2, but the scene has bodies of the kind 'bob'"):
        Simulation(scene, stepping=Stepping(dt=H, stabilisation=2))
    sim = Simulation(scene, dt=H, solver="xpbd")
    with pytest.raises(InputError, match="solver xpbd: the scene has bodies of kind 'bob'"):
        sim.step()
