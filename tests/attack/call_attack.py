"""Bad calls, and odd but good ones: every function of the public interface with one or two arguments that are wrong.

A call must be accepted or refused with one of stickslip's own errors; what is accepted must not fail later with another
one: the case goes on to compile, step and read everything back.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from call_targets import GROUPS
from call_world import Target, World, folder
from outcome import Outcome

from stickslip import Body, Joint, SoftBody, State, jit
from stickslip.errors import StickslipError

SECONDS = 20.0
"""[s] of this process: a call that takes longer hangs, unless kernels are compiled for it."""
CALLS = 10
"""Calls of one case, each with a world of its own."""


class CallersOwn(Exception):
    """Raised by functions that the caller gave: it passes through as it is."""


class Unwilling:
    """Raises at whatever is asked of it."""

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise RuntimeError("no array")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    __hash__ = None  # type: ignore[assignment]


def raising(*given: object, **options: object) -> object:
    """A function of the caller that fails."""
    raise CallersOwn("mine")


POISON: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "nan": lambda: np.nan, "inf": lambda: np.inf, "-inf": lambda: -np.inf, "-1": lambda: -1,
    "0": lambda: 0, "1": lambda: 1, "2.5": lambda: 2.5, "10**400": lambda: 10**400, "-10**400": lambda: -(10**400),
    "2**63": lambda: 2**63, "1e308": lambda: 1e308, "1e40": lambda: 1e40, "1e12": lambda: 1e12, "1e-12": lambda: 1e-12,
    "1e-40": lambda: 1e-40, "1e-320": lambda: 1e-320, "text '1'": lambda: "1", "text ''": lambda: "",
    "text 'x'": lambda: "x", "long text": lambda: "x" * 10_000, "escape text": lambda: "\x1b[2J\n",
    "half": lambda: "\ud800",
    "bytes": lambda: b"", "True": lambda: True, "False": lambda: False, "[]": list, "{}": dict,
    "(1,)": lambda: (1,), "ragged": lambda: [[1, 2], [3]], "ragged 3": lambda: [1, [2], 3], "set": lambda: {1, 2, 3},
    "iterator": lambda: iter([1, 2, 3]), "range": lambda: range(3), "objects": lambda: np.array([1, 2, None]),
    "object numbers": lambda: np.array([1.0, 2.0, 3.0], dtype=object), "complex": lambda: 1j,
    "complex array": lambda: np.array([1j, 0, 0]), "text array": lambda: np.array(["a", "b", "c"]),
    "numbers as text": lambda: ["1", "2", "3"], "nan vector": lambda: (0.0, np.nan, 0.0),
    "far vector": lambda: (1e308,) * 3,
    "large vector": lambda: (1e40, 0, 0), "(3,) ones": lambda: np.ones(3),
    "(3,) float32": lambda: np.ones(3, np.float32),
    "(3,) ints": lambda: np.arange(3), "(3,) bools": lambda: np.ones(3, bool), "(4,)": lambda: np.ones(4),
    "(3, 1)": lambda: np.ones((3, 1)), "(1, 3)": lambda: np.ones((1, 3)), "(0, 3)": lambda: np.ones((0, 3)),
    "(3, 3)": lambda: np.ones((3, 3)), "0-d": lambda: np.array(0.3), "0-d int": lambda: np.array(1),
    "masked": lambda: np.ma.masked_array(np.ones(3), mask=[0, 1, 0]), "matrix": lambda: np.eye(3)[:, ::-1],
    "date": lambda: np.datetime64("2020-01-01"), "span": lambda: np.timedelta64(1, "s"),
    "day": lambda: date(2020, 1, 1),
    "Fraction": lambda: Fraction(1, 3), "Decimal": lambda: Decimal("0.1"), "object": object, "unwilling": Unwilling,
    "nowhere": lambda: Path("nowhere/at/all.npz"), "folder": folder, "null path": lambda: "a\0b",
    "raising": lambda: raising, "nonsense": lambda: lambda *given: "nonsense",
    "nan function": lambda: lambda *given: np.nan, "None function": lambda: lambda *given: None,
    "far motion": lambda: lambda t: ((1e300, 0, 0), (1, 0, 0, 0)), "ragged motion": lambda: lambda t: ([1, [2]], 3),
    "no body": lambda: Body(99, "no"), "odd body": lambda: Body("0", None), "float body": lambda: Body(1.0, "sphere-1"),  # type: ignore[arg-type]
    "no joint": lambda: Joint(99, "no"), "no soft body": lambda: SoftBody(-1, "soft-0"),
    "true body": lambda: Body(True, "sphere-1"),
    "other scene": lambda: World().scene, "other body": lambda: World().box, "other joint": lambda: World().hinge,
    "empty state": lambda: State(0.0, 0, *(np.zeros(0) for _ in range(6))), "float16": lambda: np.float16(0.5),
    "uint8": lambda: np.uint8(1), "longdouble": lambda: np.longdouble("0.1"),
    "huge longdouble": lambda: np.longdouble("1e400"),
}  # fmt: skip
"""Values by name; each is made anew for a call."""
NUMBERS = (
    "-1", "0", "1", "2.5", "1e40", "1e12", "1e-12", "1e-40", "10**400", "2**63", "1e308", "1e-320", "inf", "0-d",
    "0-d int", "float16", "uint8", "longdouble", "True",
)  # fmt: skip
"""Those that come often in the place of numbers: some of them are fine."""
ODD: dict[str, Callable[[Any], Any]] = {
    "as float32": lambda good: np.asarray(good, dtype=np.float32),
    "as a list": lambda good: np.asarray(good).tolist(),
    "read-only": lambda good: _frozen(np.array(good)),
    "strided": lambda good: np.repeat(np.asarray(good), 2, axis=0)[::2],
    "Fortran order": np.asfortranarray,
    "other byte order": lambda good: np.asarray(good).astype(np.asarray(good).dtype.newbyteorder()),
    "one row more": lambda good: np.concatenate([np.asarray(good), np.asarray(good)[-1:]]),
    "with a nan": lambda good: _spoiled(good, np.nan),
    "with 1e200": lambda good: _spoiled(good, 1e200),
    "negative": lambda good: -np.asarray(good),
    "as floats": lambda good: np.asarray(good, dtype=float),
    "empty": lambda good: np.asarray(good)[:0],
}
"""What is made of good arrays and sequences of numbers."""


def attack(seed: int, index: int) -> Outcome:
    """Ten calls, each with one or two arguments replaced."""
    rng = np.random.default_rng([seed, index])
    found = Outcome()
    names = [name for name, (_, weight) in GROUPS.items() for _ in range(weight)]
    for _ in range(CALLS):
        group = str(rng.choice(names))
        # names that are taken for files are written where nobody looks
        with TemporaryDirectory() as place, chdir(place), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            targets = GROUPS[group][0]()
            target = targets[int(rng.integers(len(targets)))]
            _one_call(rng, target, found)
    return found


def _one_call(rng: np.random.Generator, target: Target, found: Outcome) -> None:
    """Call a target with poison, and go on where it is taken."""
    given, changed = poisoned(rng, target)
    found.counts["calls"] += 1
    sentence = f"{target.name}({', '.join(f'{name}={value}' for name, value in changed.items())})"
    kernels, stage = jit.compiled_count(), "call"
    try:
        with _limited():
            result = target.call(**given)
            stage = "use"
            found.counts["accepted"] += 1
            found.counts.update(f"accepted: {value}" for value in changed.values())
            target.follow(result)
    except StickslipError as error:
        found.counts["refused" if stage == "call" else f"accepted, then {type(error).__name__}"] += 1
    except CallersOwn:
        found.counts["error of the caller's own function"] += 1
    except _TooLong:
        if jit.compiled_count() > kernels:
            found.counts["left while kernels were compiled"] += 1
        else:
            found.fail("hang", f"{sentence} takes longer than {SECONDS:g} s in its {stage}")
    except Exception as error:
        found.fail(
            f"raw error in its {stage}", f"{sentence}: {type(error).__name__}: {str(error)[:150]} ({_place(error)})"
        )


def poisoned(rng: np.random.Generator, target: Target) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments of a call with one or two of them replaced, and what they were replaced by."""
    free = [name for name in target.good if name not in target.fixed]
    count = min(len(free), 1 if rng.random() < 0.8 else 2)
    given, changed = dict(target.good), {}
    for name in rng.choice(free, count, replace=False).tolist():
        numbers = _is_array(given[name])
        if numbers and rng.random() < 0.35:
            kind = str(rng.choice(list(ODD)))
            try:
                given[name], changed[name] = ODD[kind](given[name]), kind
                continue
            except (TypeError, ValueError, IndexError):  # not of this array
                pass
        plain = isinstance(given[name], int | float) and rng.random() < 0.5
        kind = str(rng.choice(NUMBERS if plain else list(POISON)))
        given[name], changed[name] = POISON[kind](), kind
    return given, changed


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    flat = isinstance(value, tuple | list) and len(value) > 0
    return flat and all(isinstance(each, int | float | tuple | list) for each in value)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def _spoiled(good: Any, value: float) -> Any:
    spoiled = np.array(good, dtype=float)
    spoiled.reshape(-1)[-1] = value
    return spoiled


def _place(error: BaseException) -> str:
    """The last line of stickslip that an error came through."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "stickslip" in Path(file).parts:
            place = f"{Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class _TooLong(BaseException):
    pass


@contextmanager
def _limited() -> Iterator[None]:
    """Raise _TooLong in this thread after SECONDS, as soon as Python is at work again."""

    def stop(number: int, frame: object) -> None:
        raise _TooLong

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
