"""``stickslip robot``: what was understood of a robot file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.output import finite_or_none, print_json, say
from stickslip.errors import InputError
from stickslip.fields_as_arguments import fields_as_arguments
from stickslip.names import counted, visible

if TYPE_CHECKING:
    from stickslip.robots.records import Actuator, RobotRecord, TreeJoint, TreeLink

DOFS = {"free": 6, "ball": 3}
"""Degrees of freedom of joints that have more than one."""


@dataclass(frozen=True)
class RobotOptions:
    """What ``stickslip robot`` is asked for."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|NAME",
            help="A robot: .urdf, .urdf.xacro or MJCF .xml, or one built in (stickslip list robots).",
        ),
    ]
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a tree.")] = False
    render: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw the robot in the posture in which it starts.")
    ] = None
    collision: Annotated[
        bool, typer.Option("--collision", help="With --render: collision shapes, not what the file gives to look at.")
    ] = False
    width: Annotated[int, typer.Option(help="With --render: width in pixels.")] = 960
    height: Annotated[int, typer.Option(help="With --render: height in pixels.")] = 540
    azimuth: Annotated[float, typer.Option(help="Direction of the camera from x towards y in degrees.")] = -60.0
    elevation: Annotated[float, typer.Option(help="Camera above the horizon in degrees.")] = 18.0
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="Folder with packages, for package:// names; may be given several times.")
    ] = None
    exact_meshes: Annotated[
        bool, typer.Option("--exact-meshes", help="Closed meshes as they are, not their hulls.")
    ] = False
    convex_pieces: Annotated[bool, typer.Option("--convex-pieces", help="Meshes split into convex pieces.")] = False
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Meshes outside the folder of the file or package, too.")
    ] = False
    repair: Annotated[bool, typer.Option("--repair", help="Make impossible masses and inertias physical.")] = False
    floating: Annotated[bool, typer.Option("--floating", help="The root link of a URDF file moves freely.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where there is a warning.")] = False


@fields_as_arguments(RobotOptions)
def robot(asked: RobotOptions) -> None:
    """Print the tree of a robot's file, or of a robot built in, with masses, joints, actuators, shapes and warnings.

    Examples:

    stickslip robot panda.urdf

    stickslip robot hand.urdf --package-dir ~/ros/src --json

    stickslip robot robot.xml --render robot.png

    stickslip robot yumi --render yumi.png
    """
    if asked.render is not None and asked.render.suffix.lower() != ".png":
        raise InputError(f"cannot write {asked.render}: the ending is {asked.render.suffix!r}; it must be .png")
    record = _record(asked)
    if asked.render is not None:
        _draw(record, asked)
    if asked.json:
        print_json(summary(record))
    else:
        _print(record)
        if asked.render is not None:
            say(f"written to {asked.render}")
    if asked.strict and record.report.warnings:
        raise typer.Exit(1)


def _record(asked: RobotOptions) -> RobotRecord:
    """What the file says, or the robot of that name where there is no such file."""
    from stickslip.robots.reading import read_robot
    from stickslip.scenes.robots.registry import find_robot

    name = str(asked.file)
    if not asked.file.suffix and not asked.file.exists():
        given = [option for option, value in _of_files(asked).items() if value]
        if given:
            raise InputError(f"robot {name!r} is built in; {', '.join(given)} is for files")
        return find_robot(name).build()
    return read_robot(
        asked.file,
        package_dirs=asked.package_dir or (),
        exact_meshes=asked.exact_meshes,
        convex_pieces=asked.convex_pieces,
        allow_outside=asked.allow_outside,
        repair=asked.repair,
        fixed_base=False if asked.floating else None,
    )


def _of_files(asked: RobotOptions) -> dict[str, object]:
    """Options that say how a file is read."""
    return {
        "--package-dir": asked.package_dir, "--exact-meshes": asked.exact_meshes,
        "--convex-pieces": asked.convex_pieces, "--allow-outside": asked.allow_outside, "--repair": asked.repair,
        "--floating": asked.floating,
    }  # fmt: skip


def summary(record: RobotRecord) -> dict[str, Any]:
    """What scripts read: counts, the total mass [kg], warnings, and the tree link by link."""
    joints = [joint for link in record.links for joint in link.joints]
    return {
        "file": record.report.file,
        "format": record.report.format,
        "name": record.name,
        "links": len(record.links),
        "joints": len(joints),
        "dofs": sum(DOFS.get(joint.kind, 1) for joint in joints),
        "actuators": len(record.actuators),
        "mass": float(sum(link.mass for link in record.links)),
        "shapes": sum(len(link.shapes) for link in record.links),
        "visuals": sum(len(link.visuals) for link in record.links),
        "loops": loop_count(record),
        "couplings": len(record.couplings),
        "warnings": list(record.report.warnings),
        "repaired": list(record.report.repaired),
        "notes": list(record.report.notes),
        "paths": list(record.report.paths),
        "tree": [_link(record, link) for link in record.links],
        "drives": [_drive(actuator) for actuator in record.actuators],
    }


def loop_count(record: RobotRecord) -> int:
    """Couplings that close loops of links: points and frames held together; mimic joints close none."""
    from stickslip.robots.records import JointEquality

    return sum(not isinstance(coupling, JointEquality) for coupling in record.couplings)


def _link(record: RobotRecord, link: TreeLink) -> dict[str, Any]:
    return {
        "name": link.name,
        "parent": record.links[link.parent].name if link.parent >= 0 else None,
        "mass": float(link.mass),
        "centre": [float(x) for x in link.centre],
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "axis": [float(x) for x in joint.axis],
                "limits": None if joint.limits is None else [finite_or_none(float(x)) for x in joint.limits],
                "effort": finite_or_none(float(joint.effort)),
                "damping": float(joint.damping),
                "friction": float(joint.friction),
            }
            for joint in link.joints
        ],
        "shapes": [type(shape.placed.shape).__name__.lower() for shape in link.shapes],
        "visuals": len(link.visuals),
    }


def _drive(actuator: Actuator) -> dict[str, Any]:
    force = actuator.force_range
    return {
        "name": actuator.name,
        "kind": actuator.kind,
        "joints": {name: float(factor) for name, factor in actuator.terms},
        "force_range": None if force is None else [finite_or_none(float(x)) for x in force],
    }


def _print(record: RobotRecord) -> None:
    """The tree on stdout, line by line; names are made harmless."""
    found = summary(record)
    parts = [
        counted(found["links"], "link"), counted(found["joints"], "joint"), counted(found["dofs"], "dof"),
        counted(found["actuators"], "actuator"), counted(found["shapes"], "shape"), counted(found["loops"], "loop"),
        f"{found['mass']:.4g} kg",
    ]  # fmt: skip
    say(f"{visible(record.name)} ({record.report.format}): {', '.join(part for part in parts if part)}")
    children: dict[int, list[int]] = {}
    for number, link in enumerate(record.links):
        children.setdefault(link.parent, []).append(number)
    waiting = [(number, 0) for number in reversed(children.get(-1, []))]
    while waiting:
        number, depth = waiting.pop()
        say(f"{'  ' * min(depth, 40)}{_line(record.links[number], depth)}")
        waiting += [(child, depth + 1) for child in reversed(children.get(number, []))]
    for title, lines in (
        ("actuators", [_actuator_line(actuator) for actuator in record.actuators]),
        ("couplings", [f"{visible(item.name)}: {type(item).__name__}" for item in record.couplings]),
        ("repaired", record.report.repaired),
        ("notes", record.report.notes),
        ("warnings", record.report.warnings),
    ):
        if lines:
            say(f"{title}:")
        for line in lines:
            say(f"  {line}")


def _line(link: TreeLink, depth: int) -> str:
    moves = ", ".join(_joint_line(joint) for joint in link.joints)
    shapes = Counter(type(shape.placed.shape).__name__.lower() for shape in link.shapes)
    details = [
        moves or ("fixed" if depth else "fixed to the world"),
        f"{link.mass:.4g} kg",
        ", ".join(name if count == 1 else f"{count} {name}" for name, count in shapes.items()),
        counted(len(link.visuals), "visual"),
    ]
    return f"{visible(link.name)}: {'; '.join(detail for detail in details if detail)}"


def _joint_line(joint: TreeJoint) -> str:
    unit = "m" if joint.kind == "prismatic" else "rad"
    reach = "" if joint.limits is None else f" [{joint.limits[0]:.4g}, {joint.limits[1]:.4g}] {unit}"
    return f"{joint.kind} {visible(joint.name)}{reach}"


def _actuator_line(actuator: Actuator) -> str:
    on = ", ".join(
        visible(name) if factor == 1.0 else f"{factor:.4g} {visible(name)}" for name, factor in actuator.terms
    )
    force = (
        ""
        if actuator.force_range is None
        else f", force [{actuator.force_range[0]:.4g}, {actuator.force_range[1]:.4g}]"
    )
    return f"{visible(actuator.name)}: {actuator.kind} on {on}{force}"


def _draw(record: RobotRecord, asked: RobotOptions) -> None:
    """A picture of the robot alone, as the scene shows it at time zero."""
    from stickslip import Scene, Simulation
    from stickslip.bodies.registry import frame_poses
    from stickslip.view.picture.picture import render_frame, save_picture

    assert asked.render is not None
    scene = Scene()
    scene.add_tree(record, fixed_base=False if asked.floating else None)
    sim = Simulation(scene, dt=0.002)
    picture = render_frame(
        sim.model, frame_poses(sim.model, sim.state), asked.width, asked.height, azimuth=asked.azimuth,
        elevation=asked.elevation, samples=3, collision=asked.collision,
    )  # fmt: skip
    save_picture(picture, asked.render)
