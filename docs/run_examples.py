"""Run examples in one process, and keep what each prints, and a picture of the simulation that it leaves behind.

    python docs/run_examples.py FOLDER EXAMPLE.py ...

For NAME.py the folder gets NAME.txt and, where the example has a simulation to look at, NAME.png. Each runs in an empty
folder, one after the other; the first one that fails ends it. One whose optional package is missing says so.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import stickslip
from stickslip.solvers.registry import SOLVERS

WIDTH, HEIGHT = 640, 360


def main(arguments: list[str]) -> None:
    """Run the examples named."""
    folder = Path(arguments[0]).resolve()
    for name in arguments[1:]:
        file, begin = Path(name).resolve(), time.process_time()
        printed, seen = run(file)
        (folder / f"{file.stem}.txt").write_text(printed.rstrip() + "\n", encoding="utf-8")
        if seen is not None:
            seen.picture(WIDTH, HEIGHT).save(folder / f"{file.stem}.png")
        print(f"{file.name}: {time.process_time() - begin:.1f} s of CPU time", flush=True)


def run(file: Path) -> tuple[str, Any]:
    """What an example prints, and the simulation that it made last and that moved; None where there is none."""
    made: list[Any] = []
    begin = stickslip.Simulation.__init__

    def noted(sim: Any, *arguments: Any, **options: Any) -> None:
        begin(sim, *arguments, **options)
        made.append(sim)

    known, place, given = dict(SOLVERS), os.getcwd(), sys.argv
    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()) as out:
        stickslip.Simulation.__init__ = noted  # type: ignore[method-assign]
        sys.argv = [str(file)]
        os.chdir(empty)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", stickslip.SimulationWarning)
                runpy.run_path(str(file), run_name="__main__")
        except (stickslip.MissingDependencyError, ModuleNotFoundError) as error:
            return f"Not run where this page was made: {error}", None
        finally:
            os.chdir(place)
            sys.argv = given
            stickslip.Simulation.__init__ = begin  # type: ignore[method-assign]
            SOLVERS.clear()
            SOLVERS.update(known)
    return out.getvalue(), next((sim for sim in reversed(made) if sim.state.steps), None)


if __name__ == "__main__":
    main(sys.argv[1:])
