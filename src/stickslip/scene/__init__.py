"""What a person writes: bodies, materials, joints, rods and soft bodies of a scene."""

from stickslip.moved import names_of

__getattr__ = names_of("stickslip.scene.scene")
