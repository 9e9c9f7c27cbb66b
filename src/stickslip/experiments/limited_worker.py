"""A process that does one thing after the other, and can be ended when one of them takes too long.

Nothing inside a process can stop a kernel that runs, so a limit on time needs another process. It is started
when first needed, and again after it was ended. Long work can report while it goes on: what it reported is there
even when it is ended.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

from stickslip.errors import InputError, StickslipError

STARTING = 60.0
"""[s] for a process to start; more means that something is broken."""
FROM_A_SCRIPT = 'a script must start its work below `if __name__ == "__main__":`, since that process loads it, too'
"""Why a process may end before it has begun."""


class TimeUp(StickslipError):
    """The work took longer than its limit; the process was ended."""


class WorkerEnded(StickslipError):
    """The process ended on its own: a crash below Python, or too little memory."""


@dataclass(frozen=True)
class _Stream:
    """Marks a function whose values are to be sent one by one."""

    generator: Callable[..., Iterator[Any]]


def check_sendable(where: str, value: object) -> None:
    """Raise an InputError that begins with ``where`` unless the value can be sent to another process."""
    try:
        pickle.dumps(value)
    except Exception as error:
        raise InputError(
            f"{where} cannot be sent to the process that runs it: {error}. Its class must stand at the top of a module "
            "or script, not inside a function, and what it holds must be plain data"
        ) from error


class LimitedWorker:
    """Calls functions in another process, each with a limit on its time. Use as a context."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Connection | None = None

    def __enter__(self) -> LimitedWorker:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    @property
    def running(self) -> bool:
        """Whether there is a process: whatever it loaded before is lost where not."""
        return self._process is not None

    def call(self, limit: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments) in the process, within ``limit`` [s]; its exceptions are raised here."""
        self._send(function, arguments)
        value, error, _ = self._receive(limit, limit)
        if error is not None:
            raise error
        return value

    def stream(self, limit: float, function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
        """What the generator function(*arguments) yields in the process, as it comes, all of it within ``limit`` [s].

        Who does not take all of it ends the process.
        """
        self._send(_Stream(function), arguments)
        deadline = time.perf_counter() + limit
        while True:
            value, error, more = self._receive(max(0.0, deadline - time.perf_counter()), limit)
            if error is not None:
                raise error
            if not more:
                return
            try:
                yield value
            except GeneratorExit:
                self.end()
                raise

    def _send(self, function: Callable[..., Any] | _Stream, arguments: tuple[Any, ...]) -> None:
        """Give the process something to do; one that has ended is noticed when its answer is waited for."""
        if self._connection is None:
            self._start()
        assert self._connection is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send((function, arguments))

    def _receive(self, patience: float, limit: float) -> tuple[Any, Exception | None, bool]:
        """The next value or error, and whether more will come; ended after ``patience`` [s] of the ``limit``."""
        assert self._connection is not None
        try:
            if not self._connection.poll(patience):
                self.end()
                raise TimeUp(f"no end within {limit:g} s")
            answer: tuple[Any, Exception | None, bool] = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._process.exitcode if self._process.join(STARTING) is None else None
            self.end()
            raise WorkerEnded(f"the process of the solver ended with code {code}") from None
        return answer

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        assert self._connection is not None
        self._connection.close()
        self._process.kill()
        self._process.join()
        self._process = self._connection = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the threads of Numba half
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(STARTING):
            self.end()
            raise WorkerEnded(f"the process of the solver did not start within {STARTING:g} s")
        try:
            self._connection.recv()
        except (EOFError, ConnectionResetError):
            self.end()
            raise WorkerEnded(f"the process of the solver ended before it began; {FROM_A_SCRIPT}") from None


def _serve(connection: Connection) -> None:
    """In the process: say that it has started, then do what comes until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, too, and ends this process
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    connection.send(None)
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        except Exception as error:
            reason = f"the solver cannot be loaded in the process that runs it ({type(error).__name__}: {error}); its "
            reason += "class must stand in a module or script that can be imported, not in an interactive session"
            connection.send((None, InputError(reason), False))
            continue
        value: Any = None
        failure: Exception | None = None
        try:
            if isinstance(function, _Stream):
                for item in function.generator(*arguments):
                    connection.send((item, None, True))
            else:
                value = function(*arguments)
        except StickslipError as error:
            failure = error
        except Exception as error:
            failure = RuntimeError(f"{type(error).__name__}: {error}")  # any exception can be sent as text
        connection.send((value, failure, False))


def _follow(sentinel: int) -> None:
    """Wait for the end of the parent and leave: a kernel that runs would not hear it."""
    wait_for([sentinel])
    os._exit(1)
