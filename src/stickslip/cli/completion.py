"""``stickslip completion``: the script by which a shell completes commands, options and names."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer

VARIABLE = "_STICKSLIP_COMPLETE"
"""Where a shell says what it wants completed (Click's protocol)."""


class Shell(StrEnum):
    """Shells that are served."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell to complete in.")],
) -> None:
    """Print the script that a shell reads to complete commands, options, scenes, solvers and robots.

    Examples:

    eval "$(stickslip completion bash)"        # in ~/.bashrc

    eval "$(stickslip completion zsh)"         # in ~/.zshrc, after compinit

    stickslip completion fish | source         # in ~/.config/fish/config.fish
    """
    completing: Any = import_module("typer.completion")

    print(completing.get_completion_script(prog_name="stickslip", complete_var=VARIABLE, shell=shell.value))


def answer_shells() -> None:
    """Have the command line answer a shell that asks what could come next; for others it does nothing."""
    if VARIABLE in os.environ:
        known: Any = import_module("typer._completion_classes")
        known.completion_init()


def beginning(names: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    """A function that completes an argument by names, which are looked up when a shell asks; files end the list."""

    def found(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return found


def scene_names() -> list[str]:
    """Scenes that are built in."""
    from stickslip.scenes.registry import SCENES

    return list(SCENES)


def scene_and_robot_names() -> list[str]:
    """Scenes and robots that are built in."""
    from stickslip.scenes.robots.registry import ROBOTS

    return [*scene_names(), *ROBOTS]


def solver_names() -> list[str]:
    """Solvers that are known."""
    from stickslip.solvers.registry import known_solvers

    return list(known_solvers())


def paper_names() -> list[str]:
    """Papers that can be measured again."""
    from stickslip.experiments.registry import PAPERS

    return list(PAPERS)
