"""The truth scenes on MuJoCo (extra `peers`)."""

from dataclasses import dataclass

from stickslip.errors import MissingDependencyError
from stickslip.experiments.truth.scenes import GRAVITY, GROUND, SceneData, surface_friction
from stickslip.experiments.truth.trajectory import Trajectory, empty_trajectory


@dataclass(frozen=True)
class Setting:
    """Attributes of MuJoCo's <option> and of every <geom>, as MJCF text; TWO_DT stands for twice the time step."""

    option: str = ""
    geom: str = ""


# MuJoCo refuses a contact time constant below two steps, so the stiffest recipes ask for exactly that
_STIFF = 'solref="TWO_DT 1" solimp="0.9999 0.9999 0.0001"'
_EXACT = 'cone="elliptic" tolerance="0" iterations="100"'

SETTINGS: dict[str, Setting] = {
    "default": Setting(),
    "elliptic, solref 2 dt, solimp 0.9999, impratio 1e4": Setting(f'{_EXACT} impratio="10000"', _STIFF),
    "elliptic, solref 2 dt, solimp 0.9999, noslip 30": Setting(
        f'{_EXACT} noslip_iterations="30" noslip_tolerance="0"', _STIFF
    ),
}


def simulate(scene: SceneData, setting: str) -> Trajectory:
    """Run `scene` with the named setting of `SETTINGS`."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError("MuJoCo is not installed; pip install 'stickslip[peers]'") from error

    model = mujoco.MjModel.from_xml_string(scene_xml(scene, SETTINGS[setting]))
    data = mujoco.MjData(model)
    for i, body in enumerate(scene.bodies):
        data.xfrc_applied[i + 1, :3] = body.force
    out = empty_trajectory(scene)
    bodies = len(scene.bodies)
    for k in range(1, scene.steps + 1):
        mujoco.mj_step(model, data)
        out.position[k] = data.qpos.reshape(bodies, 7)[:, :3]
        out.velocity[k] = data.qvel.reshape(bodies, 6)[:, :3]
    return out


def scene_xml(scene: SceneData, setting: Setting) -> str:
    """MJCF text of `scene`; MuJoCo combines friction coefficients by their maximum."""
    mu = surface_friction(scene, "max")
    normal = " ".join(map(repr, scene.normal))
    geom = setting.geom.replace("TWO_DT", repr(2.0 * scene.dt))
    lines = [
        f'<mujoco><option timestep="{scene.dt!r}" gravity="0 0 {-GRAVITY!r}" {setting.option}/>',
        f'<default><geom condim="3" {geom}/></default><worldbody>',
        f'<geom type="plane" size="100 100 1" zaxis="{normal}" friction="{mu[GROUND]!r} 0 0"/>',
    ]
    for body in scene.bodies:
        # a box is given by half extents, a sphere by its radius
        size = body.size if body.shape == "sphere" else [0.5 * edge for edge in body.size]
        lines.append(
            f'<body pos="{" ".join(map(repr, body.position))}" quat="{" ".join(map(repr, body.rotation))}"><freejoint/>'
            f'<geom type="{body.shape}" size="{" ".join(map(repr, size))}" mass="{body.mass!r}"'
            f' friction="{mu[body.surface]!r} 0 0"/></body>'
        )
    return "\n".join([*lines, "</worldbody></mujoco>"])
