"""stickslip: rigid and soft bodies in frictional contact, every step certified.

Names are loaded at first use, so that ``import stickslip`` is quick and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stickslip.moved import install

__version__ = "0.2.0"
install()

_PLACES = {
    "Body": "scene.scene",
    "Certificate": "certify.certificate",
    "ContactProblem": "contact.problem",
    "Control": "model.control",
    "DivergenceError": "errors",
    "Environment": "learning.environment",
    "Drive": "scene.joint",
    "FileError": "errors",
    "InputError": "errors",
    "Joint": "scene.joint",
    "MissingDependencyError": "errors",
    "Model": "model.model",
    "Rod": "scene.rod",
    "Scene": "scene.scene",
    "RunSummary": "certify.run_watch",
    "Simulation": "simulation",
    "SimulationWarning": "errors",
    "SoftBody": "scene.soft_body",
    "State": "model.state",
    "Stepping": "model.stepping",
    "StickslipError": "errors",
    "Task": "learning.task",
    "TetMesh": "geometry.tet_mesh",
    "VectorEnvironment": "learning.vector",
    "Worlds": "worlds.worlds",
    "compile_scene": "model.model",
    "elastic": "scene.soft_body",
    "make_solver": "solvers.registry",
    "placed": "geometry.shapes",
    "rollout": "worlds.rollouts",
    "shapes": "geometry.shapes",
    "show": "view.showing",
    "sweep": "sweeps.run_sweep",
    "tet_generators": "geometry.tet_generators",
}
__all__ = sorted([*_PLACES, "__version__"])

if TYPE_CHECKING:
    from stickslip.certify.certificate import Certificate as Certificate
    from stickslip.certify.run_watch import RunSummary as RunSummary
    from stickslip.contact.problem import ContactProblem as ContactProblem
    from stickslip.errors import DivergenceError as DivergenceError
    from stickslip.errors import FileError as FileError
    from stickslip.errors import InputError as InputError
    from stickslip.errors import MissingDependencyError as MissingDependencyError
    from stickslip.errors import SimulationWarning as SimulationWarning
    from stickslip.errors import StickslipError as StickslipError
    from stickslip.geometry import shapes as shapes
    from stickslip.geometry import tet_generators as tet_generators
    from stickslip.geometry.shapes import placed as placed
    from stickslip.geometry.tet_mesh import TetMesh as TetMesh
    from stickslip.learning.environment import Environment as Environment
    from stickslip.learning.task import Task as Task
    from stickslip.learning.vector import VectorEnvironment as VectorEnvironment
    from stickslip.model.control import Control as Control
    from stickslip.model.model import Model as Model
    from stickslip.model.model import compile_scene as compile_scene
    from stickslip.model.state import State as State
    from stickslip.model.stepping import Stepping as Stepping
    from stickslip.scene.joint import Drive as Drive
    from stickslip.scene.joint import Joint as Joint
    from stickslip.scene.rod import Rod as Rod
    from stickslip.scene.scene import Body as Body
    from stickslip.scene.scene import Scene as Scene
    from stickslip.scene.soft_body import SoftBody as SoftBody
    from stickslip.scene.soft_body import elastic as elastic
    from stickslip.simulation import Simulation as Simulation
    from stickslip.solvers.registry import make_solver as make_solver
    from stickslip.sweeps.run_sweep import sweep as sweep
    from stickslip.view.showing import show as show
    from stickslip.worlds.rollouts import rollout as rollout
    from stickslip.worlds.worlds import Worlds as Worlds


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    place = import_module(f"stickslip.{_PLACES[name]}")
    return place if _PLACES[name].endswith(f".{name}") else getattr(place, name)


def __dir__() -> list[str]:
    return __all__
