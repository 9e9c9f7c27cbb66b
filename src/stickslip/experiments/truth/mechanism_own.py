"""The mechanisms of the truth tests on stickslip itself: one setting per solver name."""

import numpy as np

from stickslip.experiments.truth.mechanisms import RobotRun, RobotScene, empty_run
from stickslip.model.stepping import Stepping
from stickslip.scene.robots import Robot
from stickslip.scene.scene import Scene
from stickslip.simulation import Simulation

SETTINGS: dict[str, None] = {"prox-gs": None}


def prepared(scene: RobotScene, solver: str = "auto") -> tuple[Simulation, Robot]:
    """A simulation of the scene at its start."""
    world = Scene(gravity=scene.gravity)
    robot = world.add_tree(scene.record)
    sim = Simulation(world, solver=solver, stepping=Stepping(dt=scene.dt, scheme=scene.scheme))
    sim.set_joint_velocities(robot, scene.velocity)
    return sim, robot


def simulate(scene: RobotScene, setting: str) -> RobotRun:
    """Run `scene` with the solver called `setting` and the scheme of the scene."""
    sim, robot = prepared(scene, setting)
    out = empty_run(scene, len(sim.joint_positions(robot)), robot.dof_count)
    before = 0.0
    for k in range(scene.steps + 1):
        if k:
            ledger = sim.step().certificate.energy
            out.energy[k] = ledger.total
            if k == 1:
                before = ledger.total - (
                    ledger.work - ledger.friction - ledger.damping - ledger.impact + ledger.numerical
                )
        out.q[k], out.v[k] = sim.joint_positions(robot), sim.joint_velocities(robot)
        out.momentum[k] = np.concatenate(sim.robot_momentum(robot))
        for i, link in enumerate(robot.link_names):
            position, rotation = sim.link_pose(robot, link)
            out.pose[k, i, :3], out.pose[k, i, 3:] = position, rotation
    out.energy[0] = before
    return out
