"""What counts as a number, a vector, a name and a path, and names that harm nobody."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stickslip import checks
from stickslip.errors import FileError, InputError
from stickslip.names import shown, visible, visible_text


class Unwilling:
    """Raises at whatever is asked of it."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("no")

    def __fspath__(self) -> str:
        raise RuntimeError("no")


NO_NUMBERS = [
    "1", "", b"1", None, True, np.bool_(True), 1j, np.complex128(1), Fraction(1, 2), Decimal(1), [], [1.0], (1,), {},
    np.array([1.0]), np.array("1"), np.array(1, dtype=object), np.datetime64(1, "s"), np.timedelta64(1, "s"),
    np.ma.masked_array(1.0, mask=True), Unwilling(), 10**400, float("nan"), np.nan, lambda: 1.0,
]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("check", [checks.any_number, checks.finite, checks.positive, checks.whole])
def test_what_is_no_number_is_refused(check: Callable[..., Any], value: object) -> None:
    with pytest.raises(InputError, match=r"^ball: mass "):
        check("ball", "mass", value)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), np.uint64(2), np.array(2), np.float16(2)])
def test_numbers_become_plain_floats(value: Any) -> None:
    number = checks.positive("ball", "mass", value)
    assert (type(number), number) == (float, 2.0)


def test_numbers_that_later_would_overflow_are_refused() -> None:
    for value in (1e308, -1e51, 1e51):
        with pytest.raises(InputError, match=r"at most 1e\+50"):
            checks.finite("ball", "mass", value)
    for value in (1e-320, 1e-51):
        with pytest.raises(InputError, match="at least 1e-50"):
            checks.positive("ball", "mass", value)
    with pytest.raises(InputError, match="at most 2147483647"):
        checks.whole("run", "steps", 2**31)
    with pytest.raises(InputError, match="at least 0"):
        checks.whole("run", "steps", np.int64(-1))


@pytest.mark.parametrize(
    "value",
    [
        None, "123", b"123", (1, 2), [[1, 2, 3]], [1, [2], 3], ["1", "2", "3"], [1, 2, None], [True, False, True],
        [1j, 0, 0], np.array([1, 2, 3], dtype=object), np.array([1, 2, 3], dtype="m8[s]"), [10**400, 0, 0], Unwilling(),
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), {1, 2, 3}, iter((1, 2, 3)), [1, 2, np.nan], [1, 2, 1e51],
        np.array(["a", "b", "c"]), 5,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_vector_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^ball: position"):
        checks.vector("ball", "position", value)


def test_vectors_are_new_contiguous_doubles() -> None:
    for given in ((1, 2, 3), [1, 2.0, np.float32(3)], np.arange(6)[::2] // 2 + 1, np.arange(1, 4, dtype=np.uint8)):
        found = checks.vector("ball", "position", given)
        assert found.dtype == np.float64
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert not np.shares_memory(found, np.asarray(given))
        np.testing.assert_array_equal(found, (1, 2, 3))


def test_shapes_are_named() -> None:
    with pytest.raises(InputError, match=r"shape \(2,\).*3 numbers or \(3, 3\) numbers are needed"):
        checks.array("top", "inertia", (1, 2), (3,), (3, 3))
    with pytest.raises(InputError, match=r"points\[1\] is \[ 0. nan\]"):
        checks.array("rod", "points", [[0, 1], [0, np.nan]], (None, 2))
    with pytest.raises(InputError, match="nodes go from 0 to 7; there are 5"):
        checks.indices("soft", "nodes", [0, 7], 5)
    np.testing.assert_array_equal(checks.indices("soft", "nodes", [True, False, True], 3), (0, 2))
    for wrong in ([0.0], [], [[0]], "0", [0, 0], [None], [10**400]):
        with pytest.raises(InputError, match="soft: nodes"):
            checks.indices("soft", "nodes", wrong, 5)


def test_words_and_truth_values() -> None:
    for wrong in ([], {}, np.zeros(2), None, "", "other", 1, Unwilling()):
        with pytest.raises(InputError, match="it must be one of this, that"):
            checks.choice("run", "way", wrong, ("this", "that"))
    for wrong in (0, 1, None, "True", np.zeros(2), []):
        with pytest.raises(InputError, match="True or False"):
            checks.boolean("run", "way", wrong)
    assert checks.boolean("run", "way", np.bool_(True)) is True


@pytest.mark.parametrize(
    "bad", ["a\x1b[2Jb", "a\nb", "a\rb", "\x00", "\x9b31m", "\u202eabc", "a\u2028b", "\ud800", "\x7f"]
)
def test_names_have_no_control_characters(bad: str) -> None:
    with pytest.raises(InputError, match=r"^body: name is") as caught:
        checks.name("body", bad)
    assert str(caught.value).isprintable()
    assert visible(bad).isprintable()
    assert visible_text(bad).replace("\n", "").isprintable()


def test_names_of_people_stay_as_they_are() -> None:
    for good in ("Kugel 1", "Würfel/3", "球", "[bold]box[/]", "<b>", "a\\nb", "שלום", "👩‍🚀"):
        assert checks.name("body", good) == visible(good) == good
    with pytest.raises(InputError, match="has 201 characters"):
        checks.name("body", "x" * 201)
    assert len(visible("x" * 10_000)) <= 120
    assert visible("ab\x1b[31m") == "ab\\x1b[31m"


def test_values_of_any_kind_are_shown_on_one_line() -> None:
    for value in (Unwilling(), "x" * 100_000, b"x" * 100_000, 10**10_000, np.zeros((50, 50)), ["\x1b\n"], -(10**5000)):
        text = shown(value)
        assert text.isprintable()
        assert len(text) <= 140


def test_paths() -> None:
    for wrong in (None, 1, b"file", "", [], Unwilling()):
        with pytest.raises(InputError, match=r"^state: path is"):
            checks.path("state", wrong)
    for impossible in ("a\0b", "x" * 10_000):
        with pytest.raises(FileError, match=r"^state: path"):
            checks.path("state", impossible)
    assert checks.path("state", "nowhere/at/all") == Path("nowhere/at/all")


def test_terminal_and_page_show_names_of_files_harmlessly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording from a stranger: its names can neither drive the terminal nor forge a line of the report."""
    import h5py

    from stickslip import Scene, Simulation
    from stickslip.cli import main
    from stickslip.io.recording import Recorder

    scene = Scene()
    scene.add_half_space(name="ground")
    scene.add_sphere(0.1, (0, 0, 0.5), name="ball", velocity=(0, 0, 1e4))  # an error of the report names it
    sim = Simulation(scene, dt=0.01)
    file = tmp_path / "strange.h5"
    with Recorder(file, sim, "scene") as record:
        sim.run(3, record)
    nasty = "\x1b]0;owned\x07\x1b[31m\nerror: forged<script>[bold]$\\frac{1}{$"
    with h5py.File(file, "r+") as stored:
        stored.attrs["scene"] = stored.attrs["solver"] = nasty
        names = stored["model/body_names"]
        names[...] = [nasty.encode() if name == b"ball" else name for name in names[...]]
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--out", str(page), "--pictures", "0"]) == 0
    said = capsys.readouterr()
    for line in (said.out + said.err).splitlines():
        assert line.isprintable()
        assert not line.startswith("error")
    text = page.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "<script" not in text
    assert main(["report", str(tmp_path / "\x1b[31m.h5")]) == 2
    assert "\x1b" not in capsys.readouterr().err
