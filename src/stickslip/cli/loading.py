"""Problem files for commands: folders expanded, warnings as lines on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.output import say

if TYPE_CHECKING:
    from stickslip.io.stored_problem import ProblemFile


def load_problems(paths: Sequence[str | Path]) -> list[tuple[Path, ProblemFile]]:
    """Every file, and every problem file of a folder; all before any is solved, so that a bad one costs no time."""
    from stickslip.io.problem_file import load_file, problem_files

    loaded = [(path, load_file(path)) for path in problem_files(paths)]
    for _, content in loaded:
        for text in content.warnings:
            say(f"warning: {' '.join(text.split())}", sys.stderr)
    return loaded
