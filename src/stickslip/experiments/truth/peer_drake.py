"""The truth scenes on Drake's discrete multibody plant (extra `peers`)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.errors import MissingDependencyError
from stickslip.experiments.truth.scenes import GRAVITY, GROUND, BodyData, SceneData, surface_friction
from stickslip.experiments.truth.trajectory import Trajectory, empty_trajectory


@dataclass(frozen=True)
class Setting:
    """Discrete contact approximation, hydroelastic modulus [Pa] of every box and sphere, stiction tolerance [m/s]."""

    approximation: str
    modulus: float
    stiction: float = 1e-4  # Drake's default


SETTINGS: dict[str, Setting] = {
    "SAP, hydroelastic 1e7 Pa": Setting("sap", 1e7),
    "SAP, hydroelastic 1e8 Pa": Setting("sap", 1e8),
    "lagged, hydroelastic 1e10 Pa, stiction 1e-7 m/s": Setting("lagged", 1e10, 1e-7),
}


def simulate(scene: SceneData, setting: str) -> Trajectory:
    """Run `scene` with the named setting of `SETTINGS`."""
    try:
        import pydrake.all as drake
    except ImportError as error:
        raise MissingDependencyError("Drake is not installed; pip install 'stickslip[peers]'") from error
    return _simulate(drake, scene, SETTINGS[setting])


def _simulate(drake: Any, scene: SceneData, setting: Setting) -> Trajectory:
    """Build the diagram, apply the constant forces and step."""
    builder = drake.DiagramBuilder()
    config = drake.MultibodyPlantConfig(
        time_step=scene.dt,
        discrete_contact_approximation=setting.approximation,
        stiction_tolerance=setting.stiction,
        use_sampled_output_ports=False,
    )
    plant, _ = drake.AddMultibodyPlant(config, builder)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
    mu = surface_friction(scene, "harmonic")  # Drake combines by 2 a b / (a + b)
    plane = drake.HalfSpace.MakePose(scene.normal, [0.0, 0.0, 0.0])
    ground = _contact_properties(drake, mu[GROUND])
    drake.AddRigidHydroelasticProperties(ground)
    plant.RegisterCollisionGeometry(plant.world_body(), plane, drake.HalfSpace(), "ground", ground)
    bodies = [_add_body(drake, plant, body, mu[body.surface], setting) for body in scene.bodies]
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    inside = plant.GetMyMutableContextFromRoot(context)
    forces = []
    for handle, body in zip(bodies, scene.bodies, strict=True):
        turn = drake.Quaternion(body.rotation)
        plant.SetFreeBodyPose(inside, handle, drake.RigidTransform(turn, body.position))
        force = drake.ExternallyAppliedSpatialForce()
        force.body_index = handle.index()
        force.F_Bq_W = drake.SpatialForce(np.zeros(3), np.array(body.force))
        forces.append(force)
    plant.get_applied_spatial_force_input_port().FixValue(inside, forces)
    simulator = drake.Simulator(diagram, context)
    out = empty_trajectory(scene)
    for k in range(1, scene.steps + 1):
        simulator.AdvanceTo(k * scene.dt)
        for i, handle in enumerate(bodies):
            out.position[k, i] = plant.EvalBodyPoseInWorld(inside, handle).translation()
            out.velocity[k, i] = plant.EvalBodySpatialVelocityInWorld(inside, handle).translational()
    return out


def _contact_properties(drake: Any, mu: float) -> Any:
    """Proximity properties with friction only; dissipation stays at Drake's default."""
    properties = drake.ProximityProperties()
    drake.AddContactMaterial(friction=drake.CoulombFriction(mu, mu), properties=properties)
    return properties


def _add_body(drake: Any, plant: Any, body: BodyData, mu: float, setting: Setting) -> Any:
    """A free body with one compliant hydroelastic shape."""
    if body.shape == "sphere":
        inertia = drake.UnitInertia.SolidSphere(body.size[0])
        shape, resolution = drake.Sphere(body.size[0]), 0.2 * body.size[0]
    else:
        inertia = drake.UnitInertia.SolidBox(*body.size)
        shape, resolution = drake.Box(*body.size), max(body.size)
    handle = plant.AddRigidBody(body.name, drake.SpatialInertia(body.mass, np.zeros(3), inertia))
    properties = _contact_properties(drake, mu)
    drake.AddCompliantHydroelasticProperties(resolution, setting.modulus, properties)
    plant.RegisterCollisionGeometry(handle, drake.RigidTransform(), shape, body.name, properties)
    return handle
