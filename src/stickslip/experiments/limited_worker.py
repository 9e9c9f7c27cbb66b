"""A process that does one thing after the other, and can be ended when one of them takes too long.

Nothing inside a process can stop a kernel that runs, so a limit on time needs another process. It is started
when first needed, and again after it was ended.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

from stickslip.errors import StickslipError

STARTING = 60.0
"""[s] for a process to start; more means that something is broken."""


class TimeUp(StickslipError):
    """The work took longer than its limit; the process was ended."""


class WorkerEnded(StickslipError):
    """The process ended on its own: a crash below Python, or too little memory."""


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
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(limit):
                self.end()
                raise TimeUp(f"no end within {limit:g} s")
            value, error = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._process.exitcode if self._process.join(STARTING) is None else None
            self.end()
            raise WorkerEnded(f"the process of the solver ended with code {code}") from None
        if error is not None:
            raise error
        return value

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
        self._connection.recv()


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
        try:
            answer: tuple[Any, Exception | None] = function(*arguments), None
        except StickslipError as error:
            answer = None, error
        except Exception as error:
            answer = None, RuntimeError(f"{type(error).__name__}: {error}")  # any exception can be sent as text
        connection.send(answer)


def _follow(sentinel: int) -> None:
    """Wait for the end of the parent and leave: a kernel that runs would not hear it."""
    wait_for([sentinel])
    os._exit(1)
