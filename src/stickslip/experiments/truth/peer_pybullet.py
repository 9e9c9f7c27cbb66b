"""The truth scenes on PyBullet (extra `peers`)."""

from dataclasses import dataclass, field
from typing import Any

from stickslip.errors import MissingDependencyError
from stickslip.experiments.truth.scenes import GRAVITY, GROUND, SceneData, surface_friction
from stickslip.experiments.truth.trajectory import Trajectory, empty_trajectory


@dataclass(frozen=True)
class Setting:
    """Arguments of setPhysicsEngineParameter, and of changeDynamics for every body."""

    engine: dict[str, float] = field(default_factory=dict)
    body: dict[str, float] = field(default_factory=dict)


SETTINGS: dict[str, Setting] = {
    "default": Setting(),
    "1000 iterations, contactERP 0.2, no slop, no damping": Setting(
        {
            "numSolverIterations": 1000,
            "solverResidualThreshold": 0.0,
            "contactERP": 0.2,
            "frictionERP": 0.0,
            "contactSlop": 0.0,
        },
        {"linearDamping": 0.0, "angularDamping": 0.0},
    ),
}


def simulate(scene: SceneData, setting: str) -> Trajectory:
    """Run `scene` with the named setting of `SETTINGS`."""
    try:
        import pybullet
    except ImportError as error:
        raise MissingDependencyError("PyBullet is not installed; pip install 'stickslip[peers]'") from error

    client = pybullet.connect(pybullet.DIRECT)
    try:
        return _simulate(pybullet, client, scene, SETTINGS[setting])
    finally:
        pybullet.disconnect(client)


def _simulate(bullet: Any, client: int, scene: SceneData, setting: Setting) -> Trajectory:
    """Build and step the scene in an open client; PyBullet multiplies friction coefficients."""
    mu = surface_friction(scene, "product")
    bullet.setGravity(0.0, 0.0, -GRAVITY, physicsClientId=client)
    bullet.setTimeStep(scene.dt, physicsClientId=client)
    if setting.engine:
        bullet.setPhysicsEngineParameter(**setting.engine, physicsClientId=client)
    plane = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=scene.normal, physicsClientId=client)
    ground = bullet.createMultiBody(0.0, plane, physicsClientId=client)
    bullet.changeDynamics(ground, -1, lateralFriction=mu[GROUND], physicsClientId=client)
    bodies = []
    for body in scene.bodies:
        if body.shape == "sphere":
            shape = bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=body.size[0], physicsClientId=client)
        else:
            half = [0.5 * edge for edge in body.size]
            shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
        w, x, y, z = body.rotation
        handle = bullet.createMultiBody(body.mass, shape, -1, body.position, (x, y, z, w), physicsClientId=client)
        bullet.changeDynamics(handle, -1, lateralFriction=mu[body.surface], **setting.body, physicsClientId=client)
        bodies.append(handle)
    out = empty_trajectory(scene)
    for k in range(1, scene.steps + 1):
        for handle, body, at in zip(bodies, scene.bodies, out.position[k - 1], strict=True):
            if any(body.force):  # PyBullet forgets applied forces after every step
                bullet.applyExternalForce(handle, -1, body.force, at, bullet.WORLD_FRAME, physicsClientId=client)
        bullet.stepSimulation(physicsClientId=client)
        for i, handle in enumerate(bodies):
            out.position[k, i] = bullet.getBasePositionAndOrientation(handle, physicsClientId=client)[0]
            out.velocity[k, i] = bullet.getBaseVelocity(handle, physicsClientId=client)[0]
    return out
