"""Scenes of bench_small.py as MuJoCo models: same masses, inertias, shapes, friction, joints, drives and step.

Bodies that no joint holds have a free joint. Others hang in trees, by the first joint that holds them; a joint that
closes a loop becomes a ``connect`` (its point holds, its axis does not). Contacts have elliptic cones and three rows;
their softness and all tolerances are MuJoCo's defaults. A body's frame is at its centre of mass.

Ball joints of MuJoCo's chain are damped. Its tension bends the joints of light links at up to 2,000 rad/s, which the
scene's step of 8.3 ms does not resolve: without damping, which its integrator takes implicitly, MuJoCo's twin diverges
within a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stickslip import Scene
from stickslip.arrays import Array
from stickslip.geometry.rotation import conjugate, matrix, multiply
from stickslip.geometry.shapes import Box, Capsule, HalfSpace, Hull, Placed, Sphere
from stickslip.model.model import DYNAMIC, Model, compile_scene
from stickslip.scene.joint import WORLD, JointDescription

HINGES = {"ball": "ball", "revolute": "hinge"}
"""Kinds of joints here, and their names in MJCF."""
BALL_DAMPING = 20.0
"""[N m s/rad]"""


def mjcf(scene: Scene, dt: float, ball_damping: float = BALL_DAMPING) -> str:
    """MJCF text of a scene of free bodies, hinges and ball joints, with a step of ``dt`` [s]."""
    return _Twin(scene, ball_damping).text(dt)


class Peer:
    """A model in MuJoCo, which repeats the same steps as often as asked."""

    def __init__(self, text: str, warmup: int, finer: int = 1) -> None:
        """``finer``: each step is taken in so many, and contacts and loops are as stiff as MuJoCo's guide allows."""
        import mujoco

        self._mujoco, self._finer = mujoco, finer
        self._model = mujoco.MjModel.from_xml_string(text)
        if finer > 1:
            self._model.opt.timestep /= finer
            stiff = 2.0 * self._model.opt.timestep, 1.0  # time constant [s], share of critical damping
            self._model.geom_solref[:] = stiff
            self._model.eq_solref[:] = stiff
        self._data = mujoco.MjData(self._model)
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._start = np.zeros(mujoco.mj_stateSize(self._model, self._kind))
        self.run(warmup)
        mujoco.mj_getState(self._model, self._data, self._start, self._kind)

    @property
    def stable(self) -> bool:
        """Whether MuJoCo has seen no position, velocity or acceleration that is not finite, or huge."""
        kinds = self._mujoco.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return not any(self._data.warning[int(kind)].number for kind in bad)

    def errors(self, steps: int) -> tuple[float, float]:
        """Of the steps after the warm-up: deepest overlap [m], and how far a loop is open [m]."""
        self.restart()
        deepest, apart = 0.0, 0.0
        equality = int(self._mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        for _ in range(steps):
            self.run(1)
            data = self._data
            deepest = max(deepest, -float(data.contact.dist.min(initial=0.0)))
            apart = max(apart, float(np.abs(data.efc_pos[data.efc_type == equality]).max(initial=0.0)))
        return deepest, apart

    def restart(self) -> None:
        """Go back to the state after the warm-up."""
        self._mujoco.mj_setState(self._model, self._data, self._start, self._kind)

    def run(self, steps: int) -> None:
        """Take steps, one call each."""
        step, model, data = self._mujoco.mj_step, self._model, self._data
        for _ in range(steps * self._finer):
            step(model, data)


class _Twin:
    """Lines of MJCF as they are gathered."""

    def __init__(self, scene: Scene, ball_damping: float) -> None:
        self.scene, self.ball_damping = scene, ball_damping
        self.model: Model = compile_scene(scene)
        self.above: dict[int, JointDescription] = {}
        self.loops: list[JointDescription] = []
        for joint in scene.joints:
            if joint.b in self.above:
                self.loops.append(joint)
            else:
                self.above[joint.b] = joint
        self.meshes: list[str] = []
        self.drives: list[str] = []

    def text(self, dt: float) -> str:
        """The whole model."""
        roots = [i for i in range(self.model.body_count) if i not in self.above or self.above[i].a == WORLD]
        bodies = [self.body(i) for i in roots]
        loops = [
            f'<connect body1="{self.name(joint.b)}" {self.second(joint)} anchor="{_text(self.local(joint.b, joint))}"/>'
            for joint in self.loops
        ]
        return "\n".join(
            [
                f'<mujoco><option timestep="{dt!r}" gravity="{_text(self.model.gravity)}" cone="elliptic"',
                'integrator="implicitfast"/>',
                '<compiler angle="radian"/><default><geom condim="3"/></default>',
                f"<asset>{''.join(self.meshes)}</asset>",
                f"<worldbody>{''.join(bodies)}</worldbody>",
                f"<equality>{''.join(loops)}</equality>",
                f"<actuator>{''.join(self.drives)}</actuator></mujoco>",
            ]
        )

    def name(self, i: int) -> str:
        """Name of a body."""
        return self.model.body_names[i]

    def second(self, joint: JointDescription) -> str:
        """The other body of a loop; the world where none is named."""
        return "" if joint.a == WORLD else f'body2="{self.name(joint.a)}"'

    def local(self, i: int, joint: JointDescription) -> Array:
        """Point (3,) of a joint in the frame of body i."""
        pose = self.model.q_start[i]
        return matrix(pose[3:]).T @ (joint.point_b - pose[:3])

    def body(self, i: int) -> str:
        """A body with its shapes, its joint, and what hangs from it."""
        model, joint = self.model, self.above.get(i)
        parent = WORLD if joint is None else joint.a
        position, rotation = _relative(model.q_start[i], None if parent == WORLD else model.q_start[parent])
        lines = [f'<body name="{self.name(i)}" pos="{_text(position)}" quat="{_text(rotation)}">']
        if model.body_kind[i] == DYNAMIC:
            lines += [self.joint(i, joint), self.inertia(i)]
        lines += [self.geom(i, part) for part in self.scene.bodies[i].parts]
        lines += [self.body(child) for child, held in self.above.items() if held.a == i]
        return "".join([*lines, "</body>"])

    def joint(self, i: int, joint: JointDescription | None) -> str:
        """The joint that holds a body, and its drive among the actuators."""
        if joint is None:
            return "<freejoint/>"
        axis = matrix(self.model.q_start[i, 3:]).T @ matrix(joint.frame)[:, 2]
        for drive in joint.drives:
            if drive is not None:
                aim = drive.stiffness * drive.position + drive.damping * drive.velocity
                self.drives.append(
                    f'<general joint="{joint.name}" gainprm="0" biastype="affine" '
                    f'biasprm="{_text((aim, -drive.stiffness, -drive.damping))}"/>'
                )
        damping = self.ball_damping if joint.kind == "ball" else 0.0
        return (
            f'<joint name="{joint.name}" type="{HINGES[joint.kind]}" pos="{_text(self.local(i, joint))}" '
            f'axis="{_text(axis)}" damping="{damping!r}"/>'
        )

    def inertia(self, i: int) -> str:
        """Mass and inertia of a body."""
        I = self.model.inertia[i]
        entries = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        return f'<inertial pos="0 0 0" mass="{self.model.mass[i]!s}" fullinertia="{_text(entries)}"/>'

    def geom(self, i: int, part: Placed) -> str:
        """A shape of a body."""
        material = self.scene.bodies[i].material
        friction = float(self.model.pairs.friction[material, material, 0])
        pose = f'pos="{_text(part.position - self.model.centre[i])}" quat="{_text(part.rotation)}"'
        return f'<geom {self.shape(part.shape)} {pose} friction="{friction!r} 0 0"/>'

    def shape(self, shape: Any) -> str:
        """Type and size of a shape; MuJoCo takes half lengths."""
        match shape:
            case HalfSpace():
                return 'type="plane" size="100 100 1"'
            case Sphere(radius=radius):
                return f'type="sphere" size="{radius!r}"'
            case Capsule(radius=radius, length=length):
                return f'type="capsule" size="{_text((radius, 0.5 * length))}"'
            case Box(size=size):
                return f'type="box" size="{_text(0.5 * np.array(size))}"'
            case Hull(points=points):
                name = f"hull-{len(self.meshes)}"
                # MuJoCo moves a mesh to its centre and turns it, and undoes both in the pose of the geom
                self.meshes.append(f'<mesh name="{name}" vertex="{_text(points.ravel())}"/>')
                return f'type="mesh" mesh="{name}"'
        raise NotImplementedError(f"no twin of {type(shape).__name__}")


def _relative(pose: Array, parent: Array | None) -> tuple[Array, Array]:
    """Position (3,) and rotation (4,) of a pose (7,) seen from another one; from the world where that is None."""
    if parent is None:
        return pose[:3], pose[3:]
    return matrix(parent[3:]).T @ (pose[:3] - parent[:3]), multiply(conjugate(parent[3:]), pose[3:])


def _text(numbers: Iterable[float]) -> str:
    """Numbers as MJCF has them, without loss."""
    return " ".join(repr(float(x)) for x in numbers)
