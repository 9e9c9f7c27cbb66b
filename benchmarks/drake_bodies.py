"""Soft bodies and materials of stickslip's scenes for Drake, which is imported only where it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stickslip import Scene, TetMesh
from stickslip.geometry.tet_files import write_tet_mesh


def properties(rigid: bool, friction: float = 0.5, relaxation: float | None = None) -> Any:
    """Friction, and the relaxation time [s] of contacts (Drake's own where None: 0.1 s), for Drake."""
    from pydrake.geometry import AddContactMaterial, AddRigidHydroelasticProperties, ProximityProperties
    from pydrake.multibody.plant import CoulombFriction

    made = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(friction, friction), properties=made)
    if relaxation is not None:
        made.AddProperty("material", "relaxation_time", relaxation)
    if rigid:
        AddRigidHydroelasticProperties(1.0, made)
    return made


def deformable(model: Any, scene: Scene, index: int, folder: Path, material: Any) -> Any:
    """A soft body of the scene in Drake, its nodes where they start, with the given properties."""
    from pydrake.geometry import GeometryInstance, Mesh
    from pydrake.math import RigidTransform
    from pydrake.multibody.fem import DeformableBodyConfig

    body = scene.soft_bodies[index]
    file = folder / f"soft-{index}.vtk"
    write_tet_mesh(file, TetMesh(body.start, body.mesh.tets))
    (made_of,) = body.elastic
    config = DeformableBodyConfig()
    poisson = made_of.lam / (2.0 * (made_of.lam + made_of.mu))
    config.set_youngs_modulus(2.0 * made_of.mu * (1.0 + poisson))
    config.set_poissons_ratio(poisson)
    config.set_mass_density(made_of.density)
    config.set_mass_damping_coefficient(made_of.alpha)
    config.set_stiffness_damping_coefficient(made_of.beta)
    geometry = GeometryInstance(RigidTransform(), Mesh(str(file), 1.0), body.name)
    geometry.set_proximity_properties(material)
    return model.RegisterDeformableBody(geometry, config, 1.0)
