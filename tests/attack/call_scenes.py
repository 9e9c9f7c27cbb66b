"""Calls that make scenes: bodies, joints, rods, soft bodies and their meshes, with arguments that are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from call_world import (
    CORNERS,
    FACES,
    Target,
    World,
    add_ball,
    cube_mesh,
    keep,
    run_scene,
    still,
)

from stickslip import Drive, Scene, TetMesh, elastic, placed
from stickslip.geometry import generators, plane_meshes, shapes, tet_generators
from stickslip.geometry.tet_mesh import merged, without_unused
from stickslip.geometry.tet_stuffing import fill_implicit


def options_of_bodies() -> dict[str, Any]:
    """Options of every ``add_*`` method of rigid bodies."""
    return {
        "name": "thing", "kind": "dynamic", "density": 500.0, "mass": None, "inertia": None, "material": None,
        "friction": (0.3, 0.4), "restitution": 0.1, "torsion": 0.01, "tangential_restitution": 0.0,
        "friction_axis": (1, 0, 0), "contact_stiffness": None, "contact_dissipation": None, "velocity": (0.1, 0, 0),
        "angular_velocity": (0, 0, 0.1), "force": (0, 0, 0), "torque": (0, 0, 0), "motion": None,
        "colour": (0.5, 0.5, 0.5),
    }  # fmt: skip


def body_targets() -> list[Target]:
    """Rigid bodies, materials and whole scenes."""
    world = World()
    scene, options = world.scene, options_of_bodies()
    place = {"position": (0, 0, 3), "rotation": (1, 0, 0, 0)}

    def go(_: object) -> None:
        run_scene(scene)

    parts = [placed(shapes.Sphere(0.1)), placed(shapes.Box((0.1, 0.1, 0.1)), (0.2, 0, 0))]
    weighed = {**options, "density": None, "mass": 2.0, "inertia": (0.1, 0.1, 0.1)}
    moved = {**options, "kind": "kinematic", "motion": still, "density": None}
    plain = {key: options[key] for key in ("name", "friction", "velocity")}
    solid = {"vertices": CORNERS, "triangles": FACES}
    return [
        Target("add_sphere", scene.add_sphere, {"radius": 0.1, **place, **options}, go),
        Target("add_sphere with mass", scene.add_sphere, {"radius": 0.1, **place, **weighed}, go),
        Target("add_box with motion", scene.add_box, {"size": (0.1, 0.2, 0.3), **place, **moved}, go),
        Target("add_box", scene.add_box, {"size": (0.1, 0.2, 0.3), **place, **plain}, go),
        Target("add_capsule", scene.add_capsule, {"radius": 0.1, "length": 0.2, **place, **plain}, go),
        Target("add_cylinder", scene.add_cylinder, {"radius": 0.1, "length": 0.2, **place, **plain}, go),
        Target("add_hull", scene.add_hull, {"points": CORNERS, **place, "file": None, **plain}, go),
        Target("add_mesh", scene.add_mesh, {**solid, **place, "file": None, "units": "m", "scale": None, **plain}, go),
        Target(
            "add_half_space", scene.add_half_space,
            {"normal": (0, 0, 1), "position": (0, 0, -1), "name": "low"}, go,
        ),
        Target("add_compound", scene.add_compound, {"parts": parts, **place, **plain}, go),
        Target("add_body", scene.add_body, {"parts": parts, **place, **options}, go),
        Target("body", scene.body, {"name": "sphere-1"}, go),
        Target("ignore_collision", scene.ignore_collision, {"a": world.ball, "b": world.box}, go),
        Target("Scene", Scene, {"gravity": (0, 0, -9.81), "friction_rule": "min", "restitution_rule": "max"}, add_ball),
        Target(
            "add_material", scene.add_material,
            {
                "name": "tar", "friction": (1.0, 2.0), "restitution": 0.1, "torsion": 0.0, "contact_stiffness": 1e5,
                "tangential_restitution": 0.2, "friction_axis": (1, 0, 0), "contact_dissipation": 0.1,
            },
            lambda name: (scene.add_sphere(0.1, (0, 1, 0.0999), material=name), go(name)),
        ),
        Target(
            "set_pair", scene.set_pair,
            {
                "a": "ice", "b": "oak", "friction": 0.3, "restitution": "max", "torsion": 0.0,
                "tangential_restitution": 0.2, "contact_stiffness": 1e5, "contact_dissipation": 0.1,
            },
            lambda _: (
                scene.add_sphere(0.1, (0, 1, 1), material="ice"), scene.add_sphere(0.1, (0, 1, 1.19), material="oak"),
                go(None),
            ),
        ),
    ]  # fmt: skip


def joint_targets() -> list[Target]:
    """Joints, drives and rods."""
    world = World()
    scene = world.scene

    def go(_: object) -> None:
        run_scene(scene)

    pair = {"a": world.ball, "b": world.box}
    broken = {"break_force": 1e3, "break_torque": None, "collide": False, "name": "link"}
    options = {"stiffness": 1e4, "damping": 1.0, **broken}
    points = {"point_a": (0, 0, 0.1), "point_b": (0.5, 0, 0.1)}
    point = {"point": (0.2, 0, 0.1)}
    drive, bending = Drive(1.0, 1.0), {"bending_stiffness": 10.0, "bending_damping": 0.1}
    driven = {"limits": (-1.0, 1.0), "drive": drive}
    rod = {
        "points": [(2, 0, 0.5), (2.2, 0, 0.5), (2.4, 0, 0.5)], "radius": 0.02, "young": 1e6, "poisson": 0.4,
        "density": 900.0, "damping": 0.01, "rest": (0.0, 0.1, 0.0), "closed": False, "fixed_start": False,
        "fixed_end": False, "name": "wire", "material": None, "friction": 0.2, "restitution": 0.0,
        "velocity": (0, 0, 0), "colour": (1, 0, 0),
    }  # fmt: skip
    return [
        Target("add_fixed", scene.add_fixed, {**pair, **point, **bending, **options}, go),
        Target("add_ball", scene.add_ball, {**pair, **point, **bending, **options}, go),
        Target("add_revolute", scene.add_revolute, {**pair, **point, "axis": (0, 0, 1), **driven, **options}, go),
        Target("add_prismatic", scene.add_prismatic, {**pair, **point, "axis": (0, 0, 1), **driven, **options}, go),
        Target(
            "add_cylindrical", scene.add_cylindrical,
            {**pair, **point, "axis": (0, 0, 1), **driven, "turn_limits": (-2, 2), "turn_drive": None, **options}, go,
        ),
        Target(
            "add_universal", scene.add_universal,
            {
                **pair, **point, "axis_a": (1, 0, 0), "axis_b": (0, 1, 0), **driven, "other_limits": (-1, 1),
                "other_drive": None, **options,
            }, go,
        ),
        Target("add_distance", scene.add_distance, {**pair, **points, "length": 0.5, "limits": None, **options}, go),
        Target("add_distance, rope", scene.add_distance, {**pair, **points, "limits": (0.1, 0.6), **options}, go),
        Target(
            "add_spring", scene.add_spring,
            {**pair, **points, "stiffness": 10.0, "damping": 0.1, "length": 0.4, **broken}, go,
        ),
        Target("joint", scene.joint, {"name": world.hinge.name}, go),
        Target("add_rod", scene.add_rod, rod, go),
        Target("rod", scene.rod, {"name": "none"}, go, refuses=True),
        Target(
            "Drive", Drive, {"stiffness": 1.0, "damping": 0.1, "position": 0.1, "velocity": 0.2, "limit": 5.0},
            lambda drive: (scene.add_revolute(world.ball, world.box, axis=(0, 0, 1), drive=drive), go(None)),
        ),
    ]  # fmt: skip


def soft_targets() -> list[Target]:
    """Soft bodies, their materials and meshes."""
    world = World(soft=True)
    scene, soft = world.scene, world.soft
    rubber = elastic(1e5, 0.3)

    def go(_: object) -> None:
        run_scene(scene)

    def soften(mesh: Any) -> None:
        assert isinstance(mesh, TetMesh)
        scene.add_soft(mesh, rubber, (0, 1, 1))
        mesh.quality()
        go(None)

    described = {
        "mesh": cube_mesh(), "elastic": rubber, "position": (0, 1, 1), "rotation": (1, 0, 0, 0), "name": "jelly",
        "region": np.zeros(6, dtype=int), "velocity": (0, 0, 0.1), "angular_velocity": (0, 0, 0.1), "material": None,
        "friction": 0.3, "restitution": 0.0, "contact_stiffness": None, "contact_dissipation": None,
        "self_contact": False, "plane_strain": False, "colour": (0, 1, 0),
    }  # fmt: skip
    shell = tet_generators.hollow_hemisphere(0.1, 0.05, 1, 1)
    damped = {"model": None, "density": 900.0, "alpha": 0.1, "beta": 1e-3}

    def made(material: Any) -> None:
        scene.add_soft(cube_mesh(), material, (0, 1, 0.049))
        go(None)

    return [
        Target("add_soft", scene.add_soft, described, go),
        Target("soft_body", scene.soft_body, {"name": "soft-0"}, go),
        Target(
            "hold_nodes", scene.hold_nodes,
            {"body": soft, "nodes": [0, 1], "motion": rest, "centre": (0, 0, 0)}, go,
        ),
        Target("weld_nodes", scene.weld_nodes, {"body": soft, "nodes": [0, 1], "to": world.ball, "collide": True}, go),
        Target("push_nodes", scene.push_nodes, {"body": soft, "nodes": [0, 1], "force": (0, 0, 1)}, go),
        Target("activate", scene.activate, {"body": soft, "elements": [0, 1], "stress": 100.0}, go),
        Target("activate in time", scene.activate, {"body": soft, "elements": [0], "stress": lambda t: 100.0 * t}, go),
        Target(
            "add_cavity", scene.add_cavity,
            {"body": soft, "triangles": cube_mesh().surface, "pressure": 10.0, "volume": None, "bulk": 1e5}, go,
        ),
        Target(
            "add_cavity of a volume", scene.add_cavity,
            {"body": soft, "triangles": cube_mesh().surface, "pressure": None, "volume": 1e-3, "bulk": 1e5}, go,
        ),
        Target("elastic", elastic, {"young": 1e5, "poisson": 0.3, **damped}, made),
        Target("elastic by Lame", elastic, {"mu": 1e5, "lam": 1e5, **damped}, made),
        Target("elastic by Mooney", elastic, {"mooney": (1e4, 1e4, 1e6), **damped}, made),
        Target("TetMesh", TetMesh, {"nodes": CORNERS, "tets": [[0, 1, 2, 3]], "where": "one"}, soften),
        Target(
            "transformed", cube_mesh().transformed,
            {"position": (0, 0, 1), "rotation": (1, 0, 0, 0), "scale": 2}, soften,
        ),
        Target("nodes_where", cube_mesh().nodes_where, {"inside": lambda x: x[:, 2] < 0}, keep),
        Target("nodes_on_plane", cube_mesh().nodes_on_plane, {"axis": "z", "value": 0.05, "tolerance": 1e-3}, keep),
        Target("merged", merged, {"meshes": [cube_mesh(), shell], "where": "both"}, keep),
        Target("without_unused", without_unused, {"nodes": CORNERS, "tets": [[0, 1, 2, 3]]}, keep),
        Target(
            "tet box", tet_generators.box,
            {"size": (0.1, 0.1, 0.2), "divisions": (1, 1, 2), "pattern": "five"}, soften,
        ),
        Target(
            "tet cylinder", tet_generators.cylinder,
            {"radius": 0.1, "length": 0.1, "rings": 1, "layers": 1}, soften,
        ),
        Target("tet sphere", tet_generators.sphere, {"radius": 0.1, "divisions": (1, 1), "base": "octahedron"}, soften),
        Target(
            "tet torus", tet_generators.torus,
            {"major": 0.2, "minor": 0.05, "rings": 1, "sectors": 4, "corners": 3, "turn": 0.1}, soften,
        ),
        Target(
            "hollow_hemisphere", tet_generators.hollow_hemisphere,
            {"outer": 0.1, "inner": 0.05, "divisions": 1, "layers": 1}, soften,
        ),
        Target(
            "crossed_disc", plane_meshes.crossed_disc,
            {"radius": 0.1, "thickness": 0.1, "divisions": 1, "layers": 1}, soften,
        ),
        Target(
            "fill_implicit", fill_implicit,
            {"field": ball_field, "low": (-0.2,) * 3, "high": (0.2,) * 3, "spacing": 0.1, "where": "ball"}, keep,
        ),
        Target(
            "surface_of_revolution", generators.surface_of_revolution,
            {"profile": [(0, 0), (1, 0), (0, 1)], "segments": 5}, keep,
        ),
    ]  # fmt: skip


def rest(time: float) -> tuple[Any, Any]:
    """Held nodes that stay."""
    return (0, 0, 0), (1, 0, 0, 0)


def ball_field(x: Any) -> Any:
    """Negative in a ball."""
    return np.linalg.norm(x, axis=1) - 0.15
