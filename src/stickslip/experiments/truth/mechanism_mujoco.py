"""The mechanisms of the truth tests on MuJoCo (extra `peers`)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stickslip.errors import MissingDependencyError
from stickslip.experiments.truth.mechanisms import RobotRun, RobotScene, empty_run
from stickslip.experiments.truth.peer_mujoco import Setting
from stickslip.geometry import rotation
from stickslip.geometry.shapes import Box, Hull
from stickslip.robots.records import Connect, LinkShape, RobotRecord, TreeLink

# MuJoCo refuses a time constant of constraints below two steps
_STIFF = 'solref="TWO_DT 1" solimp="0.9999 0.9999 0.0001"'
_EXACT = 'cone="elliptic" tolerance="0" iterations="100"'

SETTINGS: dict[str, Setting] = {
    "default": Setting(),
    "RK4, elliptic, solref 2 dt, solimp 0.9999": Setting(f'integrator="RK4" {_EXACT}', _STIFF),
}

_KINDS = {"revolute": "hinge", "prismatic": "slide", "ball": "ball", "free": "free"}


def simulate(scene: RobotScene, setting: str) -> RobotRun:
    """Run `scene` with the named setting of `SETTINGS`."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError("MuJoCo is not installed; pip install 'stickslip[peers]'") from error
    model = mujoco.MjModel.from_xml_string(robot_xml(scene, SETTINGS[setting]))
    data = mujoco.MjData(model)
    record = scene.record
    if record.start is not None:
        data.qpos[:] = record.start
    floats = record.links[0].joints[0].kind == "free"
    data.qvel[:] = scene.velocity
    if floats:  # MuJoCo's angular velocity of a free joint is in the frame of the link
        data.qvel[3:6] = rotation.matrix(data.qpos[3:7]).T @ data.qvel[3:6]
    out = empty_run(scene, model.nq, model.nv)
    mujoco.set_mju_user_warning(lambda _: None)  # or what diverges writes a file; the numbers say it
    try:
        for k in range(scene.steps + 1):
            if k:
                mujoco.mj_step(model, data)
            _read(mujoco, model, data, floats, out, k)
    finally:
        mujoco.set_mju_user_warning(None)
    return out


def _read(mujoco: Any, model: Any, data: Any, floats: bool, out: RobotRun, k: int) -> None:
    """Write the state after k steps; poses and energies of a step are those before it until they are asked for."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    mujoco.mj_crb(model, data)
    mujoco.mj_subtreeVel(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    out.q[k], out.v[k], out.energy[k] = data.qpos, data.qvel, data.energy.sum()
    out.momentum[k, :3] = model.body_subtreemass[0] * data.subtree_linvel[0]
    out.momentum[k, 3:] = data.subtree_angmom[0]
    if floats:
        out.v[k, 3:6] = rotation.matrix(data.qpos[3:7]) @ data.qvel[3:6]
    out.pose[k, :, :3], out.pose[k, :, 3:] = data.xpos[1:], data.xquat[1:]


def robot_xml(scene: RobotScene, setting: Setting) -> str:
    """MJCF text of `scene`."""
    record, stiff = scene.record, setting.geom.replace("TWO_DT", repr(2.0 * scene.dt))
    meshes: list[str] = []
    ground = [_geom(shape, meshes) for shape in record.surroundings]
    bodies = [_body(record, i, meshes) for i, link in enumerate(record.links) if link.parent < 0]
    loops = [each for each in record.couplings if isinstance(each, Connect)]
    # by sites: anchors of bodies are measured where all coordinates are zero
    closed = [f'<connect site1="{each.name}-a" site2="{each.name}-b"/>' for each in loops]
    fixed = [f'<site name="{each.name}-b" pos="{_row(each.point_b)}"/>' for each in loops if each.b is None]
    return "\n".join([
        f'<mujoco><compiler angle="radian"/><option timestep="{scene.dt!r}" gravity="{_row(scene.gravity)}" '
        f"{setting.option}/>",
        f'<default><geom condim="3" contype="1" conaffinity="2" {stiff}/><equality {stiff}/></default>',
        "<asset>", *meshes, "</asset><worldbody>", *ground, *fixed, *bodies, "</worldbody><equality>", *closed,
        "</equality></mujoco>",
    ])  # fmt: skip


def _row(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def _body(record: RobotRecord, i: int, meshes: list[str]) -> str:
    """Link i with all that hangs on it."""
    link = record.links[i]
    joints = "".join(
        f'<joint name="{each.name}" type="{_KINDS[each.kind]}" axis="{_row(each.axis)}" pos="{_row(each.position)}" '
        f'damping="{each.damping!r}"/>'
        if each.kind != "free"
        else f'<freejoint name="{each.name}"/>'
        for each in link.joints
    )
    sites = "".join(
        f'<site name="{each.name}-{side}" pos="{_row(point)}"/>'
        for each in record.couplings
        if isinstance(each, Connect)
        for side, body, point in (("a", each.a, each.point_a), ("b", each.b, each.point_b))
        if body == link.name
    )
    below = [_body(record, k, meshes) for k, each in enumerate(record.links) if each.parent == i]
    where = f'pos="{_row(link.position)}" quat="{_row(link.rotation)}"'
    return "\n".join([
        f'<body name="{link.name}" {where}>{joints}{_inertial(link)}{sites}',
        *(_geom(shape, meshes, 'contype="2" conaffinity="1"') for shape in link.shapes), *below, "</body>",
    ])  # fmt: skip


def _inertial(link: TreeLink) -> str:
    I = np.asarray(link.inertia)
    full = _row((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
    return f'<inertial pos="{_row(link.centre)}" mass="{link.mass!r}" fullinertia="{full}"/>'


def _geom(shape: LinkShape, meshes: list[str], more: str = "") -> str:
    """A box or a hull; MuJoCo moves the origin of a mesh to its centre and back again."""
    own, at = shape.placed.shape, shape.placed
    where = f'pos="{_row(at.position)}" quat="{_row(at.rotation)}" friction="{shape.friction!r} 0 0" {more}'
    if isinstance(own, Box):
        return f'<geom type="box" size="{_row(0.5 * np.asarray(own.size))}" {where}/>'
    if not isinstance(own, Hull):
        raise TypeError(f"{type(own).__name__}: mechanisms of the truth tests have boxes and hulls only")
    name = f"hull{len(meshes)}"
    meshes.append(f'<mesh name="{name}" vertex="{_row(np.asarray(own.points).reshape(-1))}"/>')
    return f'<geom type="mesh" mesh="{name}" {where}/>'
