"""The command line: ``stickslip list | run | solve | compare | reproduce | render | export | view | robot | ...``.

No physics here. Exit codes: 0 success; 1 the computation failed (diverged, or did not converge under ``--strict``);
2 bad usage or bad input, with one line on stderr. Modules that compute are imported inside the commands, so that help
is quick.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from stickslip import __version__
from stickslip.cli.compare import compare
from stickslip.cli.completion import answer_shells, completion
from stickslip.cli.diagnose import doctor, warmup
from stickslip.cli.export import export
from stickslip.cli.listing import list_names
from stickslip.cli.output import say
from stickslip.cli.problems import problems
from stickslip.cli.render import render
from stickslip.cli.report import report
from stickslip.cli.reproduce import reproduce
from stickslip.cli.robot import robot
from stickslip.cli.run import run
from stickslip.cli.solve import solve
from stickslip.cli.sweep import sweep
from stickslip.cli.train import play, train
from stickslip.cli.truth import truth
from stickslip.cli.view import view
from stickslip.errors import DivergenceError, FileError, SimulationWarning, SolverWarning, StickslipError
from stickslip.files import PARTIAL, UNFINISHED

# Some versions of Typer carry their own copy of Click: reach the base of its errors through a public name
ClickException: Any = next(item for item in typer.BadParameter.__mro__ if item.__name__ == "ClickException")

app = typer.Typer(
    name="stickslip",
    help="Rigid bodies in frictional contact, every step certified.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_names)
app.command("run")(run)
app.command("sweep")(sweep)
app.command("solve")(solve)
app.command("compare")(compare)
app.command("problems")(problems)
app.command("truth")(truth)
app.command("reproduce")(reproduce)
app.command("render")(render)
app.command("report")(report)
app.command("export")(export)
app.command("view")(view)
app.command("robot")(robot)
app.command("train")(train)
app.command("play")(play)
app.command("warmup")(warmup)
app.command("doctor")(doctor)
app.command("completion")(completion)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Rigid bodies in frictional contact, every step certified."""
    if version:
        print(f"stickslip {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command (``sys.argv`` by default) and return its exit code; errors of ours become one line on stderr."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup and background jobs ignore some on purpose
                signal.signal(number, _leave)
    answer_shells()
    try:
        with _solver_warnings():
            code = app(
                args=None if arguments is None else list(arguments), prog_name="stickslip", standalone_mode=False
            )
    except DivergenceError as error:
        return _fail(_with_notes(error), 1)
    except StickslipError as error:
        code = _fail(_with_notes(error), 2)
        if isinstance(error, FileError) and error.unsafe_exit:
            sys.stdout.flush()
            os._exit(code)
        return code
    except ClickException as error:
        return _fail(error.format_message(), 2)
    except (typer.Abort, KeyboardInterrupt) as error:
        return _fail("; ".join(["interrupted", *getattr(error, "__notes__", ())]), 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; say nothing at exit
        return 1
    return code if isinstance(code, int) else 0


@contextmanager
def _solver_warnings() -> Iterator[None]:
    """Say at once, in one line, which solver of another package cannot be loaded."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
            if issubclass(category, SolverWarning | SimulationWarning):
                say(f"warning: {' '.join(str(message).split())}", sys.stderr)
            else:
                others(message, category, *place, **rest)

        warnings.showwarning = show
        yield


def _leave(number: int, _frame: object) -> None:
    """Signal handler: remove unfinished files and leave, with the code that shells expect.

    At once and not by an exception, because C code such as HDF5's may swallow one that is raised inside it.
    """
    for file in (*UNFINISHED, *(file for file, frames in PARTIAL.items() if not frames)):
        file.unlink(missing_ok=True)
    kept = "".join(f"; {file} holds the first {frames} frames" for file, frames in PARTIAL.items() if frames)
    if sys.stderr.isatty():
        sys.stderr.write("\x1b[?25h\n")  # the cursor that a progress bar hides
    reason = "interrupted" if number == signal.SIGINT else f"stopped by signal {number}"
    code = _fail(reason + kept, 128 + number)
    sys.stderr.flush()
    os._exit(code)


def _with_notes(error: BaseException) -> str:
    """The text of an error and what was noted on its way: where a recording stays."""
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def _fail(message: str, code: int) -> int:
    say(f"error: {' '.join(message.split())}", sys.stderr)
    return code
