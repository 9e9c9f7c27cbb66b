"""A recording in the viewer: its clock, its page in a browser, and the command that serves it."""

import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

import child_process
from stickslip import Scene, Simulation
from stickslip.cli import main
from stickslip.errors import FileError
from stickslip.geometry import tet_generators
from stickslip.io.recording import Recorder
from stickslip.scene.soft_body import elastic
from stickslip.view.course import course_of_recording
from stickslip.view.frame import spread
from stickslip.view.playback.clock import SPEEDS, PlaybackClock
from stickslip.view.playback.page import SCALED, PlaybackPage, serve_recording
from stickslip.view.playback.plots import grouped, limits, neighbours
from stickslip.view.soft_colours import recorded_values
from stickslip.view.web.run_charts import CHARTS

CANVAS_COLOURS = """() => {
    const view = document.querySelector('canvas[data-engine]'), small = document.createElement('canvas');
    small.width = 60; small.height = 60;
    const paint = small.getContext('2d');
    paint.drawImage(view, 0, 0, 60, 60);
    return Array.from(paint.getImageData(0, 0, 60, 60).data);
}"""


class Seconds:
    """A clock of which tests say what time it is."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def wait_until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ball that rolls past a soft cube."""
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.1, (0.0, -0.3, 0.1), velocity=(1.0, 0.0, 0.0), name="ball", colour=(0.9, 0.1, 0.1))
    cube = tet_generators.box((0.2, 0.2, 0.2), (1, 1, 1))
    scene.add_soft(cube, elastic(1e5, 0.3, density=1000.0), (0.2, 0.1, 0.12), name="cube")
    sim = Simulation(scene, dt=0.01)
    path = tmp_path_factory.mktemp("playback") / "roll.h5"
    with Recorder(path, sim, "roll") as recorder:
        for _ in range(40):
            recorder(sim.step())
    return path


@pytest.fixture
def served(recorded: Path) -> Iterator[PlaybackPage]:
    with serve_recording(recorded) as page:
        page.scene.shadows = False  # drawn by the processor here
        yield page


def test_clock_plays_in_real_time() -> None:
    now = Seconds()
    clock = PlaybackClock(np.array([0.1, 0.2, 0.3, 0.4]), now)
    assert (clock.frame, clock.playing) == (0, False)
    clock.play()
    now.now += 0.15
    assert clock.frame == 1
    clock.speed = 0.5
    now.now += 0.2
    assert clock.frame == 2
    now.now += 60.0
    assert clock.frame == 3
    assert not clock.playing
    clock.toggle()  # from the start
    assert (clock.frame, clock.playing) == (0, True)


def test_clock_steps_and_jumps() -> None:
    now = Seconds()
    clock = PlaybackClock(np.linspace(0.0, 1.0, 11), now)
    clock.play()
    clock.step(1)
    assert (clock.frame, clock.playing) == (1, False)
    clock.step(-5)
    assert clock.frame == 0
    clock.seek(99)
    assert clock.frame == 10
    clock.faster(-1)
    assert clock.speed == 0.5
    clock.faster(100)
    assert clock.speed == SPEEDS[-1]


def test_clock_loops_and_shows_the_last_frame() -> None:
    now = Seconds()
    clock = PlaybackClock(np.array([0.0, 1.0, 2.0]), now)
    clock.loop = True
    clock.play()
    now.now += 2.5
    assert clock.frame == 2
    now.now += 1.0
    assert clock.frame == 0
    assert clock.playing


def test_clock_of_one_frame() -> None:
    clock = PlaybackClock(np.array([0.3]), Seconds())
    clock.loop = True
    clock.play()
    assert clock.frame == 0


def test_neighbours_and_limits() -> None:
    assert neighbours(3, 400).tolist() == [0, 1, 2]
    assert len(neighbours(100_000, 400)) <= 400
    assert limits([np.zeros(3)], None) == (0.0, 1.0)
    assert limits([np.zeros(3)], (-3, 2)) == (0.001, 100.0)
    low, high = limits([np.array([-1.0, 4.0])], None)
    assert low < -1.0 < 4.0 < high
    values, starts = np.array([1.0, 5.0, np.nan, -2.0]), np.array([0, 2])
    assert grouped(values, starts, worst=True).tolist() == [5.0, 0.0]
    assert grouped(values, starts, worst=False).tolist() == [1.0, 0.0]


def test_page_shows_frames_with_their_numbers(served: PlaybackPage) -> None:
    wait_until(lambda: served.frame == 0)
    served.clock.seek(30)
    wait_until(lambda: served.frame == 30)
    x = float(np.asarray(served.recording.q[30])[1, 0])
    assert served.scene.frame.q[1, 0] == pytest.approx(x)
    wait_until(lambda: "frame 30 of 39" in served._when.content)
    assert "converged" in served._numbers.content
    assert served._slider.value == 30
    served.panel.quantity = "von-mises"
    wait_until(lambda: served.scene._colours is not None)
    recording = served.recording
    largest = max(float(recorded_values(recording, "von-mises", k).max()) for k in spread(len(recording), SCALED))
    assert served.panel.limits[1] >= largest > 0.0  # one scale for all frames, also before they are shown


def test_plots_have_the_energy_ledger(served: PlaybackPage) -> None:
    titles = [plot.title for plot in CHARTS]
    assert "Energy ledger, sums" in titles
    assert len(served.plots._plots) == len(titles)
    course, ledger = course_of_recording(served.recording), served.plots._plots[titles.index("Energy ledger, sums")]
    sums = [course.cumulated(name) for name, _, _ in CHARTS[titles.index("Energy ledger, sums")].series]
    most = max(range(len(sums)), key=lambda k: float(np.abs(sums[k]).max()))
    drawn = ledger._data[1 + most]
    np.testing.assert_allclose(drawn / drawn[-1], sums[most] / sums[most][-1], rtol=1e-9)


def test_a_page_that_scrubs_is_told_its_place_again(served: PlaybackPage) -> None:
    """It may hear of an older place after its click; viser would not send what it takes for known."""
    sent: list[int] = []
    queue = served.server._websock_server.queue_message

    def listen(message: Any) -> None:
        if getattr(message, "uuid", None) == served._slider._impl.uuid:
            sent.append(message.updates["value"])
        queue(message)

    wait_until(lambda: served.frame == 0)
    served._slider._impl.gui_api._websock_interface.queue_message = listen
    served._slider._impl.value = 20  # as viser does when a page says so
    served._scrub(SimpleNamespace(client=object(), target=served._slider))
    wait_until(lambda: "frame 20 of 39" in served._when.content)
    assert sent
    assert sent[-1] == 20
    assert served._slider.value == 20
    assert served.frame == 20


def test_incomplete_recordings_say_so(tmp_path: Path) -> None:
    scene = Scene()
    scene.add_sphere(0.1, (0.0, 0.0, 1.0))
    sim = Simulation(scene, dt=0.01)
    path = tmp_path / "cut.h5"
    with suppress(KeyError), Recorder(path, sim, "cut") as recorder:
        for _ in range(4):
            recorder(sim.step())
        raise KeyError("stopped")
    with serve_recording(tmp_path / "cut.h5.partial") as page:
        assert not page.recording.complete
        assert "incomplete" in page._heading.content
    with pytest.raises(FileError, match="does not exist"):
        serve_recording(tmp_path / "none.h5")


@pytest.mark.slow
def test_command_serves_and_leaves_with_zero(recorded: Path) -> None:
    run = child_process.start("-m", "stickslip", "view", recorded, "--no-browser", "--host", "0.0.0.0")
    assert run.stdout is not None
    try:
        assert run.stdout.readline().startswith(f"warning: everyone who reaches {socket.gethostname()} can")
        assert re.match(r".*roll\.h5: http://127\.0\.0\.1:\d+ ", run.stdout.readline())
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=240)
    finally:
        run.kill()
    assert (run.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.h5"], "none.h5 does not exist"),
        ([""], "nothing to show"),
        (["no-such-scene"], "no-such-scene"),
        (["roll.h5", "--dt", "0.1"], "--dt is for scenes"),
        (["roll.h5", "--dt", "0.1", "--solver", "nsgs"], "--solver and --dt are for scenes"),
        ([str(Path(__file__).parent)], "is a folder"),
        (["demo", "--port", "0"], "port is 0"),
    ],
)
def test_command_explains_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_missing_viser_is_named(recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", str(recorded), "--no-browser"]) == 2
    assert "stickslip[view]" in capsys.readouterr().err


@pytest.mark.slow
def test_browser_plays_steps_and_scrubs(served: PlaybackPage, page: Any) -> None:
    page.goto(served.url)
    page.wait_for_selector("canvas[data-engine]")
    wait_until(lambda: len(served.server.get_clients()) == 1)
    slider = page.get_by_role("slider").first
    slider.wait_for()
    page.keyboard.press("n")
    wait_until(lambda: served.frame == 1)
    page.keyboard.press("b")
    wait_until(lambda: served.frame == 0)
    first = page.evaluate(CANVAS_COLOURS)
    slider.focus()
    page.keyboard.press("End")
    wait_until(lambda: served.frame == 39)
    page.get_by_text("frame 39 of 39").wait_for()
    wait_until(lambda: page.evaluate(CANVAS_COLOURS) != first)
    assert len({tuple(first[k : k + 3]) for k in range(0, len(first), 4)}) > 20  # ground, ball, cube, shades
    served.clock.loop = True
    before = served.frames_shown
    page.get_by_role("button", name="Play").click()
    wait_until(lambda: served.clock.playing and served.frames_shown > before + 5)
    page.keyboard.press("Space")  # the button has the focus: it must not be pressed as well
    wait_until(lambda: not served.clock.playing)
    time.sleep(0.5)
    assert not served.clock.playing
    page.keyboard.press("c")
    wait_until(lambda: not served.scene.contacts)
