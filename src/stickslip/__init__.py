"""stickslip: rigid and soft bodies in frictional contact, every step certified.

Names are loaded at first use, so that ``import stickslip`` is quick and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PLACES = {
    "Body": "scene",
    "Certificate": "certificate",
    "ContactProblem": "contact.problem",
    "DivergenceError": "errors",
    "Drive": "joint_description",
    "FileError": "errors",
    "InputError": "errors",
    "Joint": "joint_description",
    "MissingDependencyError": "errors",
    "Model": "model",
    "Rod": "rod_description",
    "Scene": "scene",
    "Simulation": "simulation",
    "SoftBody": "soft_description",
    "State": "state",
    "Stepping": "stepping",
    "StickslipError": "errors",
    "TetMesh": "geometry.tet_mesh",
    "compile_scene": "model",
    "elastic": "soft_description",
    "make_solver": "solvers.registry",
    "placed": "geometry.shapes",
    "shapes": "geometry.shapes",
    "tet_generators": "geometry.tet_generators",
}
__all__ = sorted([*_PLACES, "__version__"])

if TYPE_CHECKING:
    from stickslip.certificate import Certificate as Certificate
    from stickslip.contact.problem import ContactProblem as ContactProblem
    from stickslip.errors import DivergenceError as DivergenceError
    from stickslip.errors import FileError as FileError
    from stickslip.errors import InputError as InputError
    from stickslip.errors import MissingDependencyError as MissingDependencyError
    from stickslip.errors import StickslipError as StickslipError
    from stickslip.geometry import shapes as shapes
    from stickslip.geometry import tet_generators as tet_generators
    from stickslip.geometry.shapes import placed as placed
    from stickslip.geometry.tet_mesh import TetMesh as TetMesh
    from stickslip.joint_description import Drive as Drive
    from stickslip.joint_description import Joint as Joint
    from stickslip.model import Model as Model
    from stickslip.model import compile_scene as compile_scene
    from stickslip.rod_description import Rod as Rod
    from stickslip.scene import Body as Body
    from stickslip.scene import Scene as Scene
    from stickslip.simulation import Simulation as Simulation
    from stickslip.soft_description import SoftBody as SoftBody
    from stickslip.soft_description import elastic as elastic
    from stickslip.solvers.registry import make_solver as make_solver
    from stickslip.state import State as State
    from stickslip.stepping import Stepping as Stepping


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    place = import_module(f"stickslip.{_PLACES[name]}")
    return place if _PLACES[name].endswith(f".{name}") else getattr(place, name)


def __dir__() -> list[str]:
    return __all__
