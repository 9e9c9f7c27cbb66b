"""Joints of a robot as a table in the viewer's page: names, positions, efforts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from stickslip.arrays import Array
from stickslip.names import visible
from stickslip.view.web.display_panel import framed

MOST_ROWS = 80
"""Joints in the table."""
HEAD = (("joint", "left"), ("position", "right"), ("effort", "right"))


class JointRow(NamedTuple):
    """One joint at a moment."""

    name: str
    kind: str
    position: Array
    """(1,), (4,) or (7,) [m or rad], rotations as (w, x, y, z)."""
    effort: Array
    """(1,), (3,) or (6,) [N or N m] of drives and of what the user applies."""


def joints_html(joints: Sequence[JointRow]) -> str:
    """The table."""
    head = "".join(f"<th style='text-align:{side};padding-right:8px'>{text}</th>" for text, side in HEAD)
    rows = "".join(_row(joint) for joint in joints[:MOST_ROWS])
    more = f"<div>and {len(joints) - MOST_ROWS} more</div>" if len(joints) > MOST_ROWS else ""
    return framed(f"<table style='border-spacing:0'><tr>{head}</tr>{rows}</table>{more}")


def joint_units(kind: str) -> tuple[str, str]:
    """Units of the position and of the effort of a joint of one degree of freedom."""
    return ("m", "N") if kind == "prismatic" else ("rad", "N m")


def _row(joint: JointRow) -> str:
    if joint.kind in ("free", "ball"):  # where it is, or how it is turned
        at = joint.position[:3] if joint.kind == "free" else joint.position
        texts = ", ".join(f"{x:.2f}" for x in at) + (" m" if joint.kind == "free" else ""), ""
    else:
        length, force = joint_units(joint.kind)
        texts = f"{joint.position[0]:.3f} {length}", f"{joint.effort[0]:.3g} {force}"
    style = "text-align:right;white-space:nowrap;padding-right:8px"
    cells = "".join(f"<td style='{style}'>{text}</td>" for text in texts)
    return f"<tr><td style='padding-right:8px'>{html.escape(visible(joint.name))}</td>{cells}</tr>"
