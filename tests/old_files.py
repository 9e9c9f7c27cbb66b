"""States and recordings as stickslip wrote them before q and v were flat and the control was apart from the state."""

from pathlib import Path
from typing import Any

import h5py

from stickslip import Simulation


def old_state(sim: Simulation) -> dict[str, Any]:
    """The arrays of a state file, by name, and so the group ``final_state`` of recordings of version 2."""
    state, control = sim.state, sim.control
    return {
        "time": state.time, "steps": state.steps, "q": state.body_pose, "v": state.body_velocity,
        "force": control.body_force, "contact_key": state.contact_key, "contact_impulse": state.contact_impulse,
        "joint_impulse": state.joint_impulse, "joint_angle": state.joint_angle, "joint_target": control.target,
        "joint_broken": state.joint_broken, "node_position": state.node_position, "node_velocity": state.node_velocity,
        "node_force": control.node_force, "soft_key": state.soft_key, "soft_impulse": state.soft_impulse,
        "weld_impulse": state.weld_impulse,
    }  # fmt: skip


def make_version_2(path: Path, sim: Simulation) -> None:
    """Turn the recording of a simulation, which has not gone on since, into one of version 2."""
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 2
        del file["final_state"]
        for name, value in old_state(sim).items():
            file[f"final_state/{name}"] = value
