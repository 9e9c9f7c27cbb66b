"""The truth scenes on stickslip itself: one setting per solver name."""

from stickslip.experiments.truth.scenes import GRAVITY, GROUND, SceneData
from stickslip.experiments.truth.trajectory import Trajectory, empty_trajectory
from stickslip.scene.scene import Body, Scene
from stickslip.simulation import Simulation

SETTINGS: dict[str, None] = {"prox-gs": None}


def build_scene(data: SceneData) -> tuple[Scene, list[Body]]:
    """The scene of `data` and its bodies' handles in order; each surface is a material, each pair has its own mu."""
    scene = Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add_material(data.hub)
    for surface, mu in data.friction:
        scene.add_material(surface)
        scene.set_pair(data.hub, surface, friction=mu)
    scene.add_half_space(normal=data.normal, material=GROUND, name=GROUND)
    handles = []
    for body in data.bodies:
        if body.shape == "sphere":
            (radius,) = body.size
            handle = scene.add_sphere(
                radius, body.position, body.rotation, mass=body.mass, material=body.surface, name=body.name
            )
        else:
            x, y, z = body.size
            handle = scene.add_box(
                (x, y, z), body.position, body.rotation, mass=body.mass, material=body.surface, name=body.name
            )
        handles.append(handle)
    return scene, handles


def simulate(scene: SceneData, setting: str) -> Trajectory:
    """Run `scene` with the solver called `setting` and default stepping."""
    world, handles = build_scene(scene)
    sim = Simulation(world, dt=scene.dt, solver=setting)
    for handle, body in zip(handles, scene.bodies, strict=True):
        sim.set_force(handle, body.force)
    rows = [handle.index for handle in handles]
    out = empty_trajectory(scene)
    for k in range(1, scene.steps + 1):
        sim.step()
        out.position[k] = sim.state.body_pose[rows, :3]
        out.velocity[k] = sim.state.body_velocity[rows, :3]
    return out
