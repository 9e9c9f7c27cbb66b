"""Teleoperation in a real browser: the target frame is typed and dragged, fingers close, reset, and a script yields."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: pip install 'stickslip[view]'")

from stickslip.geometry import rotation as rotations
from stickslip.reading_robots import robots_of
from stickslip.scenes.registry import SceneEntry
from stickslip.scenes.robots.registry import find_robot
from stickslip.scenes.running import prepare_entry
from stickslip.simulation import FIRST_STEPS
from stickslip.view.live import page as live_page
from stickslip.view.live.page import LivePage
from stickslip.view.live.robot_scene import robot_scene
from stickslip.view.live.teleoperation import HandState
from stickslip.view.web.target_gizmo import SIZE

PATIENCE = 240.0
"""[s] for anything: graphics are computed on the processor, and machines are busy."""
REACHED = 1e-3
"""[m]"""


class Nods:
    """A script: the hand goes up and down."""

    def __init__(self, sim: Any, parameters: Any) -> None:
        self.observe(sim, None)

    def observe(self, sim: Any, result: Any) -> None:
        (robot,) = robots_of(sim.model).values()
        sim.set_control(robot, position={"joint6": 1.57 + 0.3 * np.sin(3.0 * sim.state.time)})

    def values(self) -> dict[str, float | bool]:
        return {}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    # few frames a second, which a browser without a graphics card can draw
    monkeypatch.setattr(live_page, "FRAME_INTERVAL", 0.2)
    monkeypatch.setattr(live_page, "INTERVAL", 0.5)
    entry = SceneEntry("nods", "", lambda: robot_scene(find_robot("panda").build()), 0.004, 1.0, Nods)
    with live_page.serve_scene(prepare_entry(entry)) as page:
        for _ in range(FIRST_STEPS + 1):  # kernels are compiled before a browser waits for them
            page.run.step_once()
        page.run.settled(600.0)
        page.run.reset()
        page.run.play()
        page.run.settled()
        yield page


def until(true: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.perf_counter() + patience
    while not true():
        assert time.perf_counter() < deadline, f"not seen within {patience} s: {what}"
        time.sleep(0.05)


def press(page: Any, button: str) -> None:
    """Click a button, at once: frames come slowly, and waiting until nothing moves takes several."""
    page.get_by_role("button", name=button, exact=True).dispatch_event("click")


def hand(served: LivePage) -> HandState:
    found = served.run.snapshot().robot
    assert found is not None
    return found.hands[0]


def fingers(served: LivePage) -> list[float]:
    found = served.run.snapshot().robot
    assert found is not None
    return [float(row.position[0]) for row in found.joints if "finger" in row.name]


def joint(served: LivePage, name: str) -> float:
    found = served.run.snapshot().robot
    assert found is not None
    return next(float(row.position[0]) for row in found.joints if row.name == name)


def pixel(page: Any, served: LivePage, point: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Where a point of the world [m] is drawn, in pixels of the page."""
    where = """() => { const boxes = [...document.querySelectorAll("canvas")].map(c => c.getBoundingClientRect());
        const b = boxes.sort((a, b) => b.width * b.height - a.width * a.height)[0];
        return [b.x, b.y, b.width, b.height]; }"""
    x, y, width, height = page.evaluate(where)
    (client,) = served.server.get_clients().values()
    camera = client.camera
    seen = rotations.matrix(camera.wxyz).T @ (served.scene.unit * point - camera.position)
    focus = 0.5 * height / np.tan(0.5 * camera.fov)
    return x + 0.5 * width + focus * seen[0] / seen[2], y + 0.5 * height + focus * seen[1] / seen[2]


def arrow(served: LivePage, axis: int, share: float) -> np.ndarray[Any, Any]:
    """(3,) [m] a point of an arrow of the frame; share: of its length."""
    state = hand(served)
    at, turn = state.target or (state.position, state.rotation)
    return np.asarray(at + share * SIZE / served.scene.unit * rotations.matrix(turn)[:, axis])


def fill(page: Any, number: int, text: str, done: Callable[[], bool], what: str) -> None:
    """Type into a field of the panel beside the view until the run has it: a busy page may put back what was before."""
    panel = page.locator("input.mantine-NumberInput-input")

    def typed() -> bool:
        field = panel.nth(number)
        field.fill(text)
        field.press("Enter")
        time.sleep(1.5)
        return done()

    until(typed, what)


@pytest.mark.slow
def test_a_hand_is_led_its_gripper_closes_and_a_script_yields(page, served):
    run = served.run
    assert run.snapshot().steps == 0, "it runs before anybody looks"
    start = hand(served).position
    page.set_viewport_size({"width": 1200, "height": 700})
    page.goto(served.url)
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_text("x [m]", exact=True).wait_for()
    until(lambda: run.snapshot().steps > 0, "it runs")
    script = page.get_by_label("Script drives")
    until(lambda: run.snapshot().script is True and script.is_checked(), "the script drives")
    until(lambda: np.linalg.norm(hand(served).position - start) > 0.01, "it moves the hand")

    # a target as numbers: the first three fields beside the view, after those of friction, gravity and step size
    press(page, "Reset")
    until(lambda: run.snapshot().steps < 20, "reset")
    wanted = {5: "0.35", 6: "-0.10", 7: "0.45"}
    for field, text in wanted.items():
        axis, value = field - 5, float(text)
        fill(
            page, field, text,
            lambda axis=axis, value=value: (
                hand(served).target is not None and abs(hand(served).target[0][axis] - value) < 1e-9
            ),
            f"target {text} of axis {axis}",
        )  # fmt: skip
    assert run.snapshot().script is False, "the script has not yielded"
    until(lambda: not script.is_checked(), "the page says so")
    until(lambda: hand(served).words == "there", "the hand is there")
    goal = np.array([float(text) for text in wanted.values()])
    until(lambda: np.linalg.norm(hand(served).position - goal) < 0.1 * REACHED, "it comes to rest")
    page.get_by_text("there", exact=True).wait_for()

    # the arrow that points down (the hand's own axis z), dragged upwards
    time.sleep(1.0)
    x, y = pixel(page, served, arrow(served, 2, 0.8))
    page.mouse.move(x, y)
    time.sleep(0.5)
    page.mouse.down()
    for k in range(1, 8):
        page.mouse.move(x, y - 8 * k)
        time.sleep(0.15)
    until(lambda: hand(served).target[0][2] > goal[2] + 0.02, "the target is dragged")
    assert run.snapshot().spring is None, "the mouse pulls a link, too"
    page.mouse.up()
    until(lambda: not served.robots.gizmo.held, "the mouse lets go")
    until(lambda: hand(served).words == "there", "the hand has followed")
    target = hand(served).target
    assert target is not None
    axis, moved = rotations.matrix(target[1])[:, 2], target[0] - goal
    assert np.linalg.norm(moved - (axis @ moved) * axis) < REACHED, "an arrow moves along its axis alone"
    until(lambda: np.linalg.norm(hand(served).position - target[0]) < 0.1 * REACHED, "it comes to rest")

    assert min(fingers(served)) > 0.035
    press(page, "Close")
    until(lambda: max(fingers(served)) < 1e-3, "fingers close")
    page.get_by_role("button", name="Open", exact=True).wait_for()
    page.keyboard.press("o")
    until(lambda: min(fingers(served)) > 0.035, "fingers open, by key")

    press(page, "Release target")
    until(lambda: hand(served).target is None, "nobody leads it")
    page.keyboard.press("i")
    until(lambda: run.snapshot().script is True, "the script drives again, by key")
    until(lambda: abs(joint(served, "joint6") - 1.57) > 0.1, "the script moves the hand")
    until(script.is_checked, "the page says that it drives")
    script.dispatch_event("click")
    until(lambda: run.snapshot().script is False, "the script is switched off")

    page.keyboard.press("r")
    until(lambda: run.snapshot().script is True and run.snapshot().steps < 200, "reset, by key")
    until(script.is_checked, "the script drives after a reset")
    press(page, "Pause")
    press(page, "Reset")
    until(lambda: run.snapshot().steps == 0, "reset")
    assert np.allclose(hand(served).position, start, atol=1e-12)
    assert hand(served).target is None
    assert min(fingers(served)) == pytest.approx(0.04, abs=1e-9)
