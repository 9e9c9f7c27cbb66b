"""Reading a robot, whatever its format: the root element tells."""

from __future__ import annotations

import os
from collections.abc import Sequence

from stickslip.errors import FileError, InputError
from stickslip.names import shown
from stickslip.reading import regular_file
from stickslip.robots.records import RobotRecord
from stickslip.robots.xml_file import parse_file

NEEDED = "the path of a URDF or MJCF file"


def read_robot(
    path: str | os.PathLike[str],
    *,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    exact_meshes: bool = False,
    convex_pieces: bool = False,
    allow_outside: bool = False,
    repair: bool = False,
    fixed_base: bool | None = None,
) -> RobotRecord:
    """The robot of a URDF file (root <robot>, or ``.xacro``) or an MJCF file (root <mujoco>); see the two readers.

    ``package_dirs`` and ``fixed_base`` are for URDF.
    """
    file = regular_file(path, "robot file", NEEDED)
    if exact_meshes and convex_pieces:
        raise InputError("exact_meshes and convex_pieces are both given; a mesh is taken one way or the other")
    root = "robot" if file.suffix.lower() == ".xacro" else parse_file(file, "robot file", NEEDED).tag
    if root == "robot":
        from stickslip.robots.urdf import read_urdf

        return read_urdf(
            file, package_dirs=package_dirs, exact_meshes=exact_meshes, convex_pieces=convex_pieces,
            allow_outside=allow_outside, repair=repair, fixed_base=fixed_base,
        )  # fmt: skip
    if root == "mujoco":
        from stickslip.robots.mjcf import read_mjcf

        return read_mjcf(
            file, exact_meshes=exact_meshes, convex_pieces=convex_pieces, allow_outside=allow_outside, repair=repair
        )
    raise FileError(f"robot file {file} has the root element {shown(root)}; URDF has 'robot' and MJCF has 'mujoco'")
