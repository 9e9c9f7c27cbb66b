"""The live page in a real browser: run, pause, step, change friction and solver, drag a body, look at the plots."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

from stickslip.scenes.running import prepare
from stickslip.view.live import page as live_page
from stickslip.view.live.page import LivePage
from stickslip.view.live.run import LiveRun

PATIENCE = 240.0
"""[s] for anything: graphics are computed on the processor, and machines are busy."""


@pytest.fixture(params=["box-slope"])
def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    # few frames a second, which a browser without a graphics card can draw
    monkeypatch.setattr(live_page, "FRAME_INTERVAL", 0.2)
    monkeypatch.setattr(live_page, "INTERVAL", 0.5)
    with live_page.serve_scene(prepare(request.param)) as page:
        page.run.step_once()  # kernels are compiled before a browser waits for them
        page.run.settled(300.0)
        page.run.reset()
        page.run.play()
        page.run.settled()
        yield page


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.perf_counter() + PATIENCE
    while not true():
        assert time.perf_counter() < deadline, f"not seen within {PATIENCE} s: {what}"
        time.sleep(0.05)


def opened(page: Any, served: LivePage) -> None:
    """Open the page, and wait until it draws and runs."""
    assert served.run.snapshot().steps == 0, "it runs before anybody looks"
    page.set_viewport_size({"width": 1000, "height": 500})
    page.goto(served.url)
    page.get_by_role("button", name="Pause").wait_for()
    until(lambda: served.run.snapshot().steps > 0, "the scene runs")
    page.wait_for_function("Object.keys(window.__viserTestpoints?.uplots ?? {}).length === 6")


def press(page: Any, button: str) -> None:
    """Click a button, at once: frames come slowly, and waiting until nothing moves takes several."""
    page.get_by_role("button", name=button, exact=True).dispatch_event("click")


def box_speed(served: LivePage) -> float:
    first = served.run.snapshot().frame
    until(lambda: served.run.snapshot().frame.time > first.time, "time goes on")
    last = served.run.snapshot().frame
    return float(np.linalg.norm(last.q[1, :3] - first.q[1, :3]) / (last.time - first.time))


def stands(run: LiveRun) -> bool:
    steps = run.snapshot().steps
    time.sleep(0.3)
    return run.snapshot().steps == steps


@pytest.mark.slow
def test_controls(page, served):
    run = served.run
    opened(page, served)

    press(page, "Pause")
    page.get_by_role("button", name="Run", exact=True).wait_for()
    steps = run.settled().steps
    press(page, "Step")
    until(lambda: run.snapshot().steps == steps + 1, "one step")
    page.get_by_text("paused").wait_for()
    page.keyboard.press("n")
    until(lambda: run.snapshot().steps == steps + 2, "one more step, by key")
    press(page, "Reset")
    until(lambda: run.snapshot().steps == 0, "reset")
    page.keyboard.press("Space")
    until(lambda: run.snapshot().steps > 5, "it runs again, by key")

    assert box_speed(served) < 1e-3
    page.keyboard.press("z")
    until(lambda: run.snapshot().friction == 0.0, "zero friction, by key")
    until(lambda: box_speed(served) > 0.05, "the box slides")
    numbers = page.locator("input.mantine-NumberInput-input")
    friction, size = numbers.nth(0), numbers.nth(4)  # after three of gravity
    friction.fill("0.9")
    friction.press("Enter")
    until(lambda: run.snapshot().friction == pytest.approx(0.9), "friction as a number")

    chosen = page.locator("input.mantine-Select-input[value='auto']")
    chosen.evaluate("input => input.scrollIntoView()")  # below the edge of a small window; options hide with it
    chosen.dispatch_event("click")
    page.get_by_role("option", name="nsgs").dispatch_event("click")
    until(lambda: run.snapshot().solver == "nsgs", "another solver")
    page.get_by_text("nsgs:").wait_for()
    size.fill("")
    size.press_sequentially("0.5", delay=150)  # every key tells the page; only the whole number counts
    until(lambda: run.snapshot().dt == pytest.approx(5e-4), "another step size, typed key by key")
    until(lambda: size.input_value() == "0.5", "it stays in its field, though the page is told of the size before it")
    size.fill("2")
    size.press("Enter")
    until(lambda: run.snapshot().dt == pytest.approx(2e-3), "the old one again")
    size.fill("-1")
    size.press("Enter")
    page.get_by_text("refused").wait_for()
    assert run.snapshot().dt == 0.002
    size.blur()
    page.keyboard.press("h")
    until(lambda: run.snapshot().gravity == (0.0, 0.0, 0.0), "no gravity, by key")

    drawn = "Object.values(window.__viserTestpoints.uplots).map(plot => plot.chart.data[0].length)"
    until(lambda: min(page.evaluate(drawn)[1:]) > 5, "curves over time")


def start_drag(page: Any, up: int) -> None:
    """Take hold of what is in the middle of the view and pull it up by some pixels; the button stays down."""
    where = """() => { const boxes = [...document.querySelectorAll("canvas")].map(c => c.getBoundingClientRect());
        const b = boxes.sort((a, b) => b.width * b.height - a.width * a.height)[0];
        return [b.x + b.width / 2, b.y + b.height / 2]; }"""
    x, y = page.evaluate(where)
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 6):
        page.mouse.move(x + 4 * k, y - up * k / 5)
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("served", ["soft-ball"], indirect=True)
def test_drag_a_soft_body_that_is_coloured_by_stress(page, served):
    """Its painted mesh is another one in every frame; the mouse must not lose hold of it."""
    run = served.run
    opened(page, served)
    served.panel.quantity = "von-mises"
    until(lambda: run.snapshot().frame.time > 0.5, "it has landed")
    before = run.snapshot().frame.nodes.mean(axis=0)
    served.panel.see_everything()
    until(lambda: served.scene._soft._painted[0].visible, "the painted mesh")
    time.sleep(1.0)
    start_drag(page, 150)
    until(lambda: run.snapshot().spring is not None, "a spring")
    until(lambda: float(np.linalg.norm(run.snapshot().frame.nodes.mean(axis=0) - before)) > 0.01, "the ball moves")
    steps = run.snapshot().steps
    until(lambda: run.snapshot().steps > steps + 50, "more frames")
    assert run.snapshot().spring is not None, "it was let go"
    page.mouse.up()
    until(lambda: run.snapshot().spring is None, "the spring is gone")


@pytest.mark.slow
def test_drag_a_box_and_leave(page, served):
    run = served.run
    opened(page, served)
    before = run.snapshot().frame.q[1, :3]
    start_drag(page, 200)
    until(lambda: run.snapshot().spring is not None, "a spring")
    until(lambda: float(np.linalg.norm(run.snapshot().frame.q[1, :3] - before)) > 0.02, "the box moves")
    page.mouse.up()
    until(lambda: run.snapshot().spring is None, "the spring is gone")

    page.goto("about:blank")
    until(lambda: not served.server.get_clients(), "the page has left")
    until(lambda: stands(run), "it stands still")
    assert not run.snapshot().paused
