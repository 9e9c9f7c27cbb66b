"""Elements and attributes of URDF that are understood; every other one is a warning."""

from __future__ import annotations

from stickslip.names import shown
from stickslip.robots.import_notes import ImportNotes
from stickslip.robots.xml_file import Element, number, numbers

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "robot": ("name", "version"), "link": ("name",), "joint": ("name", "type"), "drake:joint": ("name", "type"),
    "origin": ("xyz", "rpy", "quat_xyzw"), "inertial": (), "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "visual": ("name",), "collision": ("name",),
    "geometry": (), "box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"), "drake:capsule": ("radius", "length"), "mesh": ("filename", "scale"),
    "material": ("name",), "color": ("rgba",), "texture": ("filename",), "parent": ("link",), "child": ("link",),
    "axis": ("xyz",), "limit": ("lower", "upper", "effort", "velocity"), "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"), "contact": (), "lateral_friction": ("value",),
    "drake:screw_thread_pitch": ("value",), "screw_thread_pitch": ("value",),
}  # fmt: skip
"""Attributes that are read, by element."""
JOINT = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "drake:screw_thread_pitch",
         "screw_thread_pitch")  # fmt: skip
CHILDREN: dict[str, tuple[str, ...]] = {
    "robot": ("link", "joint", "drake:joint", "material", "transmission", "gazebo"),
    "link": ("inertial", "visual", "collision", "contact"), "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"), "collision": ("origin", "geometry", "material"),
    "material": ("color", "texture"),
    "joint": JOINT, "drake:joint": JOINT, "contact": ("lateral_friction",),
    "geometry": ("box", "sphere", "cylinder", "capsule", "drake:capsule", "mesh"),
}  # fmt: skip
"""Elements that are read, by the element that they are in."""
WITHOUT_MEANING = {
    "safety_controller": "soft limits of a controller outside; the joint's own limits hold",
    "calibration": "where encoders have their marks; nothing here measures so",
    "ros2_control": "interfaces of controllers outside; actuators are made of the joints",
    "verbose": "a word for people",
    "klampt": "settings of another program",
    "self_collision_checking": "a hint for planners",
    "mujoco": "settings of another program's compiler",
}
"""Elements that say nothing to a simulation, and why."""
GAZEBO_NOTES = ("material", "visual", "preserveFixedJoint", "disableFixedJointLumping", "provideFeedback", "static")


def look_for_unknown(element: Element, notes: ImportNotes) -> None:
    """Warn of every element and attribute within one that no reader looks at."""
    for name in element.attributes:
        if name not in ATTRIBUTES.get(element.tag, (name,)):
            notes.warn(element, f"the attribute {shown(name)} is not known and left out", f"{element.tag} {name}")
    for child in element.children:
        if child.tag in CHILDREN.get(element.tag, ()):
            if child.tag not in ("gazebo", "transmission"):
                look_for_unknown(child, notes)
        elif child.tag in WITHOUT_MEANING:
            notes.note(child, WITHOUT_MEANING[child.tag], child.tag)
        elif element.tag != "geometry":  # an unknown shape is judged by whoever reads it
            notes.warn(child, "the element is not known and left out", f"{element.tag} {child.tag}")


def gazebo_friction(file: str, robot: Element, notes: ImportNotes) -> dict[str, float]:
    """Coefficients of friction that <gazebo reference=link> gives, by link; all else of Gazebo is warned of by kind."""
    found: dict[str, float] = {}
    for gazebo in robot.all("gazebo"):
        reference = gazebo.attributes.get("reference")
        friction = [_value(file, child) for child in gazebo.children if child.tag in ("mu1", "mu2", "mu")]
        if friction and reference is not None:
            found[reference] = min(max(friction[0], 0.0), 1e6)
            if any(value != friction[0] for value in friction):
                notes.warn(gazebo, f"friction is {friction} by direction; {friction[0]:g} is taken for all", "mu2")
        for child in gazebo.children:
            if child.tag in GAZEBO_NOTES:
                notes.note(child, "Gazebo's own; left out", f"gazebo {child.tag}")
            elif child.tag not in ("mu1", "mu2", "mu"):
                notes.warn(child, "Gazebo's own; left out", f"gazebo {child.tag}")
    return found


def _value(file: str, element: Element) -> float:
    """A number given as an attribute or as the text of an element."""
    if "value" in element.attributes:
        return number(file, element, "value")
    return numbers(file, Element(element.tag, {"text": element.text}, element.line), "text", 1)[0]
