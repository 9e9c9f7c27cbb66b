"""How far robots from files are off, beside MuJoCo from the same files: loops that open, and a grip that slips.

    loops    agility_cassie falls from its posture "home", without torques, and lies on the floor     (10 s)
    hanging  the same with its pelvis held: legs swing on their springs                                (10 s)
    grip     robotiq_2f85 closes on a box of 1 kg by its own actuator; friction is such that gravity uses
             80 % of it                                                                               (60 s)

A loop error is the distance of two points that a file connects, the largest of all steps. The slip of the grip is the
largest displacement of the box in the frame of either pad since it was let go and settled. Steps are those of STEP, in
MuJoCo those that the file asks for (cassie 0.5 ms, gripper 2 ms); friction coefficients, box, actuator and sequence are
the same in both. The files are those of the folder ``robots`` of the shared data (``--data``).

``robot_errors.json`` keeps our numbers of an earlier run. ``--check`` exits with 1 where a bar is missed (a loop error
of 1e-8 m, a slip of 1e-6 m, a step that did not converge), or where a number is ten times what was kept.

Run: python benchmarks/bench_robots.py [--only loops,grip] [--seconds 2] [--json] [--check] [--record]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import Scene, Simulation
from stickslip.arrays import Array
from stickslip.bodies.tree.kind import TreeBodies
from stickslip.constraints.coordinates import largest_coupling_error
from stickslip.files import whole_file
from stickslip.geometry.rotation import matrix
from stickslip.robots.reading import read_robot
from stickslip.robots.records import RobotRecord
from stickslip.scene.body import Body
from stickslip.scene.robots import Robot

KEPT = Path(__file__).with_name("robot_errors.json")
DATA = Path(os.environ.get("STICKSLIP_DATA", Path(__file__).parents[2] / "shared" / "data")) / "robots"
STEP = 0.002
BARS = {"loop_m": 1e-8, "slip_m": 1e-6}
WORSE = 10.0
"""Factor by which a kept number may grow: most are rounding errors, which other libraries make otherwise."""
SECONDS = {"loops": 10.0, "hanging": 10.0, "grip": 60.0}

# ---- the grip ------------------------------------------------------------------------------------------------

WEIGHT = 9.81
"""[N] of the box."""
SHARE = 0.8
"""Of the friction limit that gravity uses."""
MOUNT = (0.0, 0.0, 0.5)
UPSIDE_DOWN = (0.0, 1.0, 0.0, 0.0)
BOX = (0.04, 0.04, 0.05)
AT = (0.0, 0.0, 0.3442)
"""[m] of the box at the start: between the pads, whose fingers point down."""
CLOSED = 255.0
"""Control of the actuator: as far as fingers go, with all of its force."""
LET_GO, SETTLED = 0.6, 1.0
"""[s] until which a force carries the box, and from which on slip is measured."""
ROCKS = 0.5
"""[s] for which pads rock once a box is let go, at most."""
PADS = ("left_pad", "right_pad")
PASSES = 3
"""Runs from which the coefficient of friction is found."""


@dataclass
class Row:
    """Figures of one scene; None: not of this scene, or MuJoCo is not installed."""

    scene: str
    seconds: float
    loop_m: float
    """Largest error of a loop in a step."""
    coupling: float
    """[m or rad] largest error of a coupling of coordinates."""
    slip_m: float | None
    share: float | None
    """Of friction that gravity uses where the grip has settled."""
    converged: float
    """Share of the steps."""
    residual: float
    """Largest of the steps."""
    mujoco_loop_m: float | None
    mujoco_slip_m: float | None

    def missed(self) -> list[str]:
        """Bars that are missed."""
        found = [name for name, bar in BARS.items() if (getattr(self, name) or 0.0) > bar]
        return found + (["converged"] if self.converged < 1.0 else [])


class Course:
    """What is measured of every step."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.loop, self.coupling, self.residual = sim, 0.0, 0.0, 0.0
        self.steps, self.converged = 0, 0

    def step(self) -> None:
        """Take one."""
        sim = self.sim
        certificate = sim.step().certificate
        self.steps += 1
        self.converged += certificate.converged
        self.loop = max(self.loop, certificate.joint_error)
        self.residual = max(self.residual, certificate.natural_residual)
        for kind in sim.model.others:
            if isinstance(kind, TreeBodies):
                q = sim.state.part_q(kind.name).reshape(-1)
                self.coupling = max(self.coupling, float(largest_coupling_error(kind.rows, q)))

    def row(self, scene: str, seconds: float, slip: float | None = None, share: float | None = None) -> Row:
        """The figures of a scene, without MuJoCo's."""
        converged = self.converged / self.steps
        return Row(scene, seconds, self.loop, self.coupling, slip, share, converged, self.residual, None, None)


# ---- loops ---------------------------------------------------------------------------------------------------


def cassie_file(data: Path, held: bool) -> Path:
    """With its floor, or alone."""
    return data / "mjcf" / "agility_cassie" / ("cassie.xml" if held else "scene.xml")


def cassie(data: Path, held: bool, dt: float = STEP) -> tuple[Simulation, Robot]:
    """Cassie above its floor in the posture "home"; ``held``: with a pelvis that is fixed, and no floor."""
    scene = Scene()
    robot = scene.add_robot(cassie_file(data, held), fixed_base=True if held else None)
    sim = Simulation(scene, dt=dt)
    sim.apply_keyframe(robot, "home")
    return sim, robot


def bench_loops(data: Path, seconds: float, held: bool) -> Row:
    """Loop errors of Cassie without torques."""
    sim, _ = cassie(data, held)
    course = Course(sim)
    for _ in range(round(seconds / STEP)):
        course.step()
    row = course.row("hanging" if held else "loops", seconds)
    if importlib.util.find_spec("mujoco") is not None:
        row.mujoco_loop_m = mujoco_cassie(data, seconds, held)
    return row


def mujoco_cassie(data: Path, seconds: float, held: bool) -> float:
    """MuJoCo's largest loop error [m] in the same course, after the first 0.1 s, in which it closes what was open."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(cassie_file(data, held)))
    if held:
        pelvis = spec.body("cassie-pelvis")
        spec.delete(pelvis.first_joint())
        for key in spec.keys:
            q = list(key.qpos)
            pelvis.pos, pelvis.quat, key.qpos = q[:3], q[3:7], q[7:]
    model = spec.compile()
    state = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, state, 0)
    worst = 0.0
    while state.time < seconds:
        mujoco.mj_step(model, state)
        if state.time > 0.1:
            worst = max(worst, mujoco_loop_error(model, state))
    return worst


def mujoco_loop_error(model: Any, state: Any) -> float:
    """Largest distance [m] of the points that a model connects."""
    import mujoco

    worst = 0.0
    mujoco.mj_kinematics(model, state)
    for k in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_CONNECT):
        a, b = model.eq_obj1id[k], model.eq_obj2id[k]
        ends = [
            state.xpos[i] + state.xmat[i].reshape(3, 3) @ model.eq_data[k, at : at + 3] for i, at in ((a, 0), (b, 3))
        ]
        worst = max(worst, float(np.linalg.norm(ends[0] - ends[1])))
    return worst


# ---- the grip ------------------------------------------------------------------------------------------------


def with_pad_friction(record: RobotRecord, friction: float) -> RobotRecord:
    """The gripper with other coefficients on its pads."""
    links = tuple(
        replace(link, shapes=tuple(replace(shape, friction=friction) for shape in link.shapes))
        if link.name in PADS
        else link
        for link in record.links
    )
    return replace(record, links=links)


def gripper(record: RobotRecord, friction: float, dt: float = STEP) -> tuple[Simulation, Robot, Body]:
    """The gripper with its fingers down, the box between them, which a force carries."""
    scene = Scene()
    robot = scene.add_tree(with_pad_friction(record, friction), position=MOUNT, rotation=UPSIDE_DOWN)
    box = scene.add_box(BOX, AT, mass=1.0, friction=friction, name="held")
    sim = Simulation(scene, dt=dt)
    sim.set_control(robot, actuators={"fingers_actuator": CLOSED})
    sim.set_force(box, (0.0, 0.0, WEIGHT))
    return sim, robot, box


def normal_force(sim: Simulation, box: Body) -> float:
    """Sum [N] of the forces with which pads press the box."""
    report = sim.contacts(box)
    return float(np.abs(np.einsum("ci,ci->c", report.force, report.normal)).sum())


def friction_needed(record: RobotRecord, dt: float = STEP) -> float:
    """Coefficient of which gravity uses SHARE once the box is let go; how hard pads press depends a little on it."""
    friction = 0.5
    for _ in range(PASSES):
        sim, _, box = gripper(record, friction, dt)
        sim.run(round(LET_GO / dt))
        sim.set_force(box, (0.0, 0.0, 0.0))
        sim.run(round(ROCKS / dt))
        friction = WEIGHT / (SHARE * normal_force(sim, box))
    return friction


def in_pads(pads: list[tuple[Array, Array]], x: Array) -> Array:
    """(2, 3) [m] position of the box in the frames of the pads."""
    return np.array([R.T @ (x - position) for position, R in pads])


def bench_grip(data: Path, seconds: float) -> Row:
    """Slip of the box."""
    file = data / "mjcf" / "robotiq_2f85" / "2f85.xml"
    record = read_robot(file)
    friction = friction_needed(record)
    sim, robot, box = gripper(record, friction)
    course = Course(sim)

    def place() -> Array:
        poses = [sim.link_pose(robot, name) for name in PADS]
        return in_pads([(position, matrix(turn)) for position, turn in poses], sim.position(box))

    start, slip = place(), 0.0
    for k in range(round((SETTLED + seconds) / STEP)):
        if k == round(LET_GO / STEP):
            sim.set_force(box, (0.0, 0.0, 0.0))
        if k == round(SETTLED / STEP):
            start = place()
        course.step()
        if k >= round(SETTLED / STEP):
            slip = max(slip, float(np.linalg.norm(place() - start, axis=1).max()))
    row = course.row("grip", seconds, slip, WEIGHT / (friction * normal_force(sim, box)))
    if importlib.util.find_spec("mujoco") is not None:
        row.mujoco_loop_m, row.mujoco_slip_m = mujoco_grip(file, friction, seconds)
    return row


def mujoco_grip(file: Path, friction: float, seconds: float) -> tuple[float, float]:
    """MuJoCo's largest loop error and slip [m] in the same sequence."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(file))
    mount = spec.body("base_mount")
    mount.quat, mount.pos = UPSIDE_DOWN, np.array(MOUNT) - mount.pos
    for geom in spec.geoms:
        if geom.name.startswith(("left_pad", "right_pad")):
            geom.friction[0] = friction
    body = spec.worldbody.add_body(name="held", pos=AT)
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=0.5 * np.array(BOX), mass=1.0, friction=[friction, 0.0, 0.0])
    model = spec.compile()
    state = mujoco.MjData(model)
    box, pads = model.body("held").id, [model.body(name).id for name in PADS]

    def place() -> Array:
        return in_pads([(state.xpos[i], state.xmat[i].reshape(3, 3)) for i in pads], state.xpos[box])

    state.ctrl[0] = CLOSED
    state.xfrc_applied[box, 2] = WEIGHT
    dt = model.opt.timestep
    start, loop, slip = np.zeros((2, 3)), 0.0, 0.0
    for k in range(round((SETTLED + seconds) / dt)):
        if k == round(LET_GO / dt):
            state.xfrc_applied[box, 2] = 0.0
        mujoco.mj_step(model, state)
        loop = max(loop, mujoco_loop_error(model, state))
        if k == round(SETTLED / dt):
            start = place()
        elif k > round(SETTLED / dt):
            slip = max(slip, float(np.linalg.norm(place() - start, axis=1).max()))
    return loop, slip


# ---- the table -----------------------------------------------------------------------------------------------

SCENES: dict[str, Callable[[Path, float], Row]] = {
    "loops": lambda data, seconds: bench_loops(data, seconds, False),
    "hanging": lambda data, seconds: bench_loops(data, seconds, True),
    "grip": bench_grip,
}


def printed(rows: list[Row]) -> str:
    """A table of rows."""
    lines = [
        "| scene | seconds | loop [m] | MuJoCo | coupling | slip [m] | MuJoCo | share | converged | residual |",
        "|" + 10 * "---|",
    ]
    for row in rows:
        cells = [row.loop_m, row.mujoco_loop_m, row.coupling, row.slip_m, row.mujoco_slip_m]
        shown = ["-" if x is None else f"{x:.1e}" for x in cells]
        share = "-" if row.share is None else f"{100.0 * row.share:.1f} %"
        tail = [share, f"{100.0 * row.converged:.2f} %", f"{row.residual:.1e}"]
        lines.append(f"| {' | '.join([row.scene, f'{row.seconds:g}', *shown, *tail])} |")
    return "\n".join(lines)


def grown(row: Row, kept: dict[str, Any]) -> list[str]:
    """Numbers that are worse than those that were kept of the scene."""
    was = kept.get(row.scene, {})
    return [name for name in BARS if was.get(name) and (getattr(row, name) or 0.0) > WORSE * was[name]]


def main() -> None:
    """Measure, print, compare and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with mjcf/agility_cassie, mjcf/robotiq_2f85")
    parser.add_argument("--only", default=",".join(SCENES), help="scenes, with commas between")
    parser.add_argument("--seconds", type=float, default=None, help="of every scene, instead of its own")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is missed or a number is worse")
    parser.add_argument("--record", action="store_true", help=f"keep the numbers in {KEPT.name}")
    options = parser.parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in SCENES:
            parser.error(f"scene {name!r} is unknown; there are {', '.join(SCENES)}")
    if not (options.data / "mjcf").is_dir():
        parser.error(f"{options.data} has no folder mjcf; give the folder of robots by --data")
    rows = [SCENES[name](options.data, options.seconds or SECONDS[name]) for name in names]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    worse = [f"{row.scene}: {name}" for row in rows for name in {*row.missed(), *grown(row, kept)}]
    print(json.dumps([asdict(row) for row in rows]) if options.json else printed(rows))
    if worse and not options.json:
        print("WORSE: " + ", ".join(sorted(worse)))
    if options.record:
        figures = {
            row.scene: {key: float(f"{x:.3g}") for key, x in asdict(row).items() if isinstance(x, float)}
            for row in rows
        }  # fmt: skip
        with whole_file(KEPT) as part:
            part.write_text(json.dumps({**kept, **figures}, indent=1) + "\n")
    if options.check and worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
