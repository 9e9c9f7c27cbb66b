"""Robots of bench_small.py as MJCF texts, which both engines read from one file: a humanoid, an arm, an ant.

All numbers are made up here, of the size of a person, of a light arm, and of the ant of gymnasium. Friction has three
rows in both engines. Drives are position actuators with a damping: ours are implicit, MuJoCo's with its Euler scheme
are explicit.
"""

from __future__ import annotations

from collections.abc import Sequence

DT = 0.002
"""[s] step of all of them."""
HEAD = (
    '<mujoco model="{name}"><option timestep="{dt!r}" integrator="Euler" cone="elliptic"/><compiler angle="radian"/>'
    '<default><geom condim="3" friction="{friction!r} 0 0" density="1000"/>'
    '<joint armature="{armature!r}" damping="{damping!r}"/></default>'
)
FLOOR = '<geom name="floor" type="plane" size="50 50 1"/>'
X, Y, Z = "1 0 0", "0 1 0", "0 0 1"


def humanoid(dt: float = DT) -> str:
    """A person of 1.6 m and 27 degrees of freedom, who stands on two feet of two capsules each: 8 contacts."""
    drives: list[str] = []

    def hinge(name: str, axis: str, stiffness: float, limits: tuple[float, float]) -> str:
        """A driven hinge at the origin of its link."""
        drives.append(f'<position name="{name}" joint="{name}" kp="{stiffness!r}" kv="{0.04 * stiffness!r}"/>')
        low, high = limits
        return f'<joint name="{name}" axis="{axis}" limited="true" range="{low!r} {high!r}"/>'

    def leg(side: str, y: float) -> str:
        """From the hip down."""
        return f"""
<body name="thigh-{side}" pos="0 {y!r} -0.06">
 {hinge(f"hip-x-{side}", X, 300.0, (-0.5, 0.5))}{hinge(f"hip-z-{side}", Z, 200.0, (-0.8, 0.8))}
 {hinge(f"hip-y-{side}", Y, 400.0, (-1.8, 0.6))}
 <geom type="capsule" fromto="0 0 -0.07 0 0 -0.32" size="0.055"/>
 <body name="shin-{side}" pos="0 0 -0.4">
  {hinge(f"knee-{side}", Y, 400.0, (-0.1, 2.5))}
  <geom type="capsule" fromto="0 0 -0.06 0 0 -0.31" size="0.042"/>
  <body name="foot-{side}" pos="0 0 -0.385">
   {hinge(f"ankle-y-{side}", Y, 600.0, (-0.8, 0.8))}{hinge(f"ankle-x-{side}", X, 300.0, (-0.5, 0.5))}
   <geom type="capsule" fromto="-0.06 -0.03 -0.04 0.15 -0.04 -0.04" size="0.025"/>
   <geom type="capsule" fromto="-0.06 0.03 -0.04 0.15 0.04 -0.04" size="0.025"/>
  </body>
 </body>
</body>"""

    def arm(side: str, y: float, out: float) -> str:
        """From the shoulder down."""
        return f"""
<body name="upper-arm-{side}" pos="0 {y!r} 0.2">
 {hinge(f"shoulder-x-{side}", X, 80.0, (-2.0, 2.0))}{hinge(f"shoulder-y-{side}", Y, 80.0, (-2.0, 2.0))}
 <geom type="capsule" fromto="0 {0.02 * out!r} -0.03 0 {0.02 * out!r} -0.25" size="0.035"/>
 <body name="lower-arm-{side}" pos="0 {0.02 * out!r} -0.3">
  {hinge(f"elbow-{side}", Y, 60.0, (-2.3, 0.3))}
  <geom type="capsule" fromto="0 0 -0.03 0 0 -0.24" size="0.028"/>
  <geom type="sphere" pos="0 0 -0.3" size="0.035"/>
 </body>
</body>"""

    trunk = f"""
<body name="pelvis" pos="0 0 0.9101">
 <freejoint name="root"/>
 <geom type="capsule" fromto="0 -0.07 0 0 0.07 0" size="0.08"/>
 {leg("right", -0.11)}{leg("left", 0.11)}
 <body name="waist" pos="0 0 0.12">
  {hinge("abdomen-z", Z, 300.0, (-0.8, 0.8))}{hinge("abdomen-y", Y, 400.0, (-1.3, 0.5))}
  <geom type="capsule" fromto="0 -0.06 0.05 0 0.06 0.05" size="0.07"/>
  <body name="chest" pos="0 0 0.13">
   {hinge("abdomen-x", X, 400.0, (-0.6, 0.6))}
   <geom type="capsule" fromto="0 -0.09 0.12 0 0.09 0.12" size="0.09"/>
   <geom type="sphere" pos="0 0 0.35" size="0.1"/>
   {arm("right", -0.25, -1.0)}{arm("left", 0.25, 1.0)}
  </body>
 </body>
</body>"""
    head = HEAD.format(name="humanoid", dt=dt, friction=0.9, armature=0.02, damping=1.0)
    return f"{head}<worldbody>{FLOOR}{trunk}</worldbody><actuator>{''.join(drives)}</actuator></mujoco>"


def arm_with_box(dt: float = DT) -> str:
    """A fixed arm of seven driven hinges, whose gripper holds a box of 0.2 kg by friction: 8 contacts."""
    links = (
        # origin in the link before, axis, end of the link, its radius, its drive's stiffness
        ("0 0 0.05", Z, (0.0, 0.0, 0.18), 0.05, 1000.0),
        ("0 0 0.18", Y, (0.0, 0.0, 0.20), 0.05, 3000.0),
        ("0 0 0.20", Z, (0.0, 0.0, 0.18), 0.045, 1000.0),
        ("0 0 0.18", Y, (0.22, 0.0, 0.0), 0.045, 2000.0),
        ("0.22 0 0", X, (0.18, 0.0, 0.0), 0.04, 500.0),
        ("0.18 0 0", Y, (0.0, 0.0, -0.15), 0.035, 500.0),
        ("0 0 -0.15", Z, (0.0, 0.0, -0.06), 0.03, 300.0),
    )
    inner, drives = _gripper(), []
    for k, (origin, axis, end, radius, stiffness) in reversed(list(enumerate(links))):
        drives.append(f'<position name="drive-{k}" joint="hinge-{k}" kp="{stiffness!r}" kv="{0.04 * stiffness!r}"/>')
        inner = (
            f'<body name="link-{k}" pos="{origin}"><joint name="hinge-{k}" axis="{axis}" limited="true" '
            f'range="-2.8 2.8"/>{_bone(end, radius)}{inner}</body>'
        )
    squeeze = "".join(  # 30 N, and a spring that keeps the fingers in the middle
        f'<general name="grip-{side}" joint="finger-{side}" gainprm="0" biastype="affine" biasprm="30 -2000 -40"/>'
        for side in ("left", "right")
    )
    # the box hangs between the fingers
    box = (
        '<body name="box" pos="0.4 0 0.245"><freejoint name="box"/>'
        '<geom type="box" size="0.02 0.02 0.03" mass="0.2"/></body>'
    )
    head = HEAD.format(name="arm", dt=dt, friction=0.8, armature=0.05, damping=0.5)
    actuators = "".join(reversed(drives)) + squeeze
    return f"{head}<worldbody>{FLOOR}{inner}{box}</worldbody><actuator>{actuators}</actuator></mujoco>"


def _gripper() -> str:
    """Two fingers that slide along y, each 0.5 mm away from a box of 40 mm between them."""
    fingers = "".join(
        f'<body name="finger-{side}" pos="0 {sign * 0.0255!r} -0.16"><joint name="finger-{side}" type="slide" '
        f'axis="0 {-sign!r} 0" limited="true" range="-0.03 0.03" armature="0.1" damping="5"/>'
        '<geom type="box" size="0.012 0.005 0.04"/></body>'
        for side, sign in (("left", 1.0), ("right", -1.0))
    )
    return f'<geom type="box" pos="0 0 -0.085" size="0.03 0.06 0.015"/>{fingers}'


def _bone(end: Sequence[float], radius: float) -> str:
    """A capsule along a link."""
    return f'<geom type="capsule" fromto="0 0 0 {" ".join(map(repr, end))}" size="{radius!r}"/>'


def ant(dt: float = DT) -> str:
    """A ball on four legs of two links, 14 degrees of freedom, that stands with its drives at rest."""
    legs, drives = [], []
    for k, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        for name, stiffness in ((f"hip-{k}", 20.0), (f"ankle-{k}", 20.0)):
            drives.append(f'<position name="{name}" joint="{name}" kp="{stiffness!r}" kv="1"/>')
        legs.append(
            f'<body name="leg-{k}" pos="{0.2 * x!r} {0.2 * y!r} 0">'
            f'<joint name="hip-{k}" axis="{Z}" limited="true" range="-0.6 0.6"/>'
            f'<geom type="capsule" fromto="{0.07 * x!r} {0.07 * y!r} 0 {0.2 * x!r} {0.2 * y!r} 0" size="0.05"/>'
            f'<body name="foot-{k}" pos="{0.2 * x!r} {0.2 * y!r} 0">'
            f'<joint name="ankle-{k}" axis="{-y} {x} 0" limited="true" range="-0.7 0.7"/>'
            f'<geom type="capsule" fromto="{0.07 * x!r} {0.07 * y!r} -0.07 {0.25 * x!r} {0.25 * y!r} -0.3" '
            'size="0.05"/></body></body>'
        )
    body = (
        '<body name="torso" pos="0 0 0.3501"><freejoint name="root"/><geom type="sphere" size="0.2" density="100"/>'
        f"{''.join(legs)}</body>"
    )
    head = HEAD.format(name="ant", dt=dt, friction=0.8, armature=0.02, damping=0.2).replace('"1000"', '"200"')
    return f"{head}<worldbody>{FLOOR}{body}</worldbody><actuator>{''.join(drives)}</actuator></mujoco>"


ROBOTS = {"humanoid": humanoid, "arm-box": arm_with_box, "ant": ant}
"""Texts, by the names of their scenes."""
