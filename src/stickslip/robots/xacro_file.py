"""Files with macros (``.xacro``), expanded by ROS's own package xacro where that is installed (extra ``xacro``)."""

from __future__ import annotations

from pathlib import Path

from stickslip.errors import FileError, MissingDependencyError
from stickslip.reading import reason
from stickslip.robots.xml_file import MOST_BYTES, Element, parse_file, parse_text


def parse_xacro(file: Path) -> Element:
    """Root element of the expanded file; lines in messages are those of the expanded text."""
    parse_file(file, "robot file", "the path of a URDF file with macros")  # refuses what must not reach xacro
    try:
        import xacro
    except ImportError:
        raise MissingDependencyError(
            f"{file} has macros, which the package xacro expands; install it with: pip install 'stickslip[xacro]'"
        ) from None
    try:
        text = xacro.process_file(str(file)).toprettyxml(indent="  ").encode()
    except Exception as error:  # xacro raises many kinds, of other packages, too
        raise FileError(f"{file} cannot be expanded by xacro: {reason(error)}") from None
    if len(text) > MOST_BYTES:
        raise FileError(f"{file} has {len(text) >> 20} MB once expanded; at most {MOST_BYTES >> 20} MB are read")
    return parse_text(text, f"{file} (expanded)")
