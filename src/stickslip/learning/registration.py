"""Environments by name: registered with gymnasium as ``stickslip/NAME-v0``."""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

from stickslip.errors import InputError
from stickslip.keywords import unknown
from stickslip.learning.extra import gymnasium
from stickslip.learning.names import ENVIRONMENTS
from stickslip.learning.task import Task
from stickslip.names import shown

NAMESPACE = "stickslip"


def find_task(name: str) -> Task:
    """The task of a name, with or without ``stickslip/`` and ``-v0``; an InputError lists them all."""
    short = name.removeprefix(f"{NAMESPACE}/").removesuffix("-v0") if isinstance(name, str) else ""
    if short not in ENVIRONMENTS:
        raise unknown("environment", name, ENVIRONMENTS)
    task: Task = import_module(f"stickslip.learning.tasks.{ENVIRONMENTS[short].module}").TASK
    return task


def task_named(name: str) -> Task:
    """A task that is registered, or one of a file of Python: ``my.py:TASK``."""
    file, _, attribute = name.partition(".py:") if isinstance(name, str) else ("", "", "")
    if not attribute:
        return find_task(name)
    path = Path(f"{file}.py")
    if not path.is_file():
        raise InputError(f"environment {shown(name)}: the file {path} does not exist")
    found = runpy.run_path(str(path)).get(attribute)
    if not isinstance(found, Task):
        raise InputError(f"environment {shown(name)}: {attribute} in {path} is {shown(found)}; a Task is needed")
    return found


def make_single(task: str, **options: Any) -> Any:
    """What ``gymnasium.make`` calls; its own wrapper cuts episodes."""
    from stickslip.learning.environment import Environment

    return Environment(find_task(task), **{"max_episode_steps": None, **options})


def make_vector(task: str, num_envs: int = 1, **options: Any) -> Any:
    """What ``gymnasium.make_vec`` calls."""
    from stickslip.learning.vector import VectorEnvironment

    return VectorEnvironment(find_task(task), num_envs, **options)


def register() -> None:
    """Register all environments that are not yet."""
    place = "stickslip.learning.registration"
    for name, entry in ENVIRONMENTS.items():
        if f"{NAMESPACE}/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                id=f"{NAMESPACE}/{name}-v0", entry_point=f"{place}:make_single",
                vector_entry_point=f"{place}:make_vector", max_episode_steps=entry.steps, kwargs={"task": name},
            )  # fmt: skip
