"""The exceptions of stickslip: each message names the object, the value and what would be right."""


class StickslipError(Exception):
    """Base of every exception that stickslip raises on purpose."""


class InputError(StickslipError, ValueError):
    """A value, option, name or file given by the user is not acceptable."""


class FileError(StickslipError, OSError):
    """A file cannot be read or written, or is not what it should be."""

    unsafe_exit = False
    """Whether HDF5 failed while writing: its own exit handler then crashes, so a program should leave at once."""


class MissingDependencyError(StickslipError, ImportError):
    """An optional package is needed; the message says which extra installs it."""


class DivergenceError(StickslipError, ArithmeticError):
    """A step produced a non-finite number; the simulation still holds the last good state."""


class ProblemWarning(UserWarning):
    """A contact problem from a file is not quite as it should be; it is solved as it is."""


class SolverWarning(UserWarning):
    """A solver that another package offers cannot be loaded; all others are there."""


class RecordingWarning(UserWarning):
    """A run found the unfinished recording of another where it wants to write; the warning says where that is now."""


class SimulationWarning(UserWarning):
    """A run does what its user may not mean: bodies overlap, a step did not converge, energy came from nowhere.

    Each kind once a simulation. ``warnings.simplefilter("error", stickslip.SimulationWarning)`` ends a run there.
    """


class WorldsWarning(UserWarning):
    """Many worlds are stepped more slowly than they could be; the warning says why."""
