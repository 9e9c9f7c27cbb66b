"""The page that plays a recording: what is packed comes out again, nothing is loaded, and a browser plays it."""

import io
import itertools
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from stickslip import Scene, Simulation, elastic, tet_generators
from stickslip.errors import FileError, InputError
from stickslip.geometry.rotation import matrix
from stickslip.io.recording import RecordedContacts, Recorder, Recording, read_recording
from stickslip.model.model import DYNAMIC
from stickslip.view import marks
from stickslip.view.picture.camera import frame_poses
from stickslip.view.picture.outlines import body_balls
from stickslip.view.picture.traced_scene import linear
from stickslip.view.player import html_player
from stickslip.view.player.course import thinned
from stickslip.view.player.data import (
    STEADY,
    continuous_quaternions,
    float_block,
    integer_block,
    joined,
    read_block,
    rounded,
    taken_apart,
    time_block,
)
from stickslip.view.player.frames import CONTACT_BUDGET, played_frames
from stickslip.view.player.html_player import page_text, player_data, write_player

EVIL = "</script><script>window.hacked = 1</script><b>\"'&"


def _scene() -> Scene:
    scene = Scene()
    scene.add_half_space(name="floor")
    scene.add_box((0.2, 0.2, 0.2), (-0.5, 0, 0.11), name="red", colour=(0.9, 0.1, 0.1))
    scene.add_sphere(0.12, (0, 0, 0.5), name="blue", colour=(0.1, 0.2, 0.9), velocity=(0.4, 0, 0))
    scene.add_capsule(0.05, 0.1, (0.5, 0, 0.3), name="capsule")
    scene.add_cylinder(0.08, 0.1, (0.5, 0.4, 0.3), name="cylinder")
    scene.add_hull([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)], (-0.4, 0.4, 0.4), name=EVIL)
    return scene


def _record(path: Path, scene: Scene, steps: int, dt: float = 0.01, name: str = "five shapes") -> Recording:
    sim = Simulation(scene, dt=dt)
    with Recorder(path, sim, scene_name=name, parameters={"steps": steps}) as record:
        sim.run(steps, record)
    return read_recording(path)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return _record(tmp_path_factory.mktemp("player") / "five.h5", _scene(), 60)


@pytest.fixture(scope="module")
def soft_recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    scene = Scene()
    scene.add_half_space()
    sponge = elastic(young=1e5, poisson=0.3, density=500, beta=0.01)
    scene.add_soft(tet_generators.box((0.2, 0.1, 0.1), (2, 1, 1)), sponge, position=(0, 0, 0.08), name="sponge")
    return _record(tmp_path_factory.mktemp("player") / "soft.h5", scene, 12)


@pytest.fixture(scope="module")
def walled_recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A ball of 0.25 m on a floor between two walls."""
    scene = Scene()
    scene.add_half_space()
    scene.add_half_space((1, 0, 0), (-0.3, 0, 0.1))
    scene.add_half_space((-1, 0, 0), (0.3, 0, 0.2))
    scene.add_sphere(0.25, (0, 0, 0.25))
    return _record(tmp_path_factory.mktemp("player") / "walled.h5", scene, 4)


# ---- packing ---------------------------------------------------------------------------------------------------


@given(arrays.arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=st.integers(-(2**30), 2**30)))
@settings(max_examples=60, deadline=None)
def test_integers_come_back(table: np.ndarray) -> None:
    assert (read_block(integer_block(table)) == table).all()
    facts, blocks = taken_apart(joined({"a": 1}, {"x": integer_block(table), "y": float_block(table[:, :1] / 7.0)}))
    assert facts == {"a": 1}
    assert (read_block(blocks["x"]) == table).all()
    assert (read_block(blocks["y"]) == (table[:, :1] / 7.0).astype(np.float32)).all()


def test_rounding_keeps_to_its_bound_and_rest_at_rest() -> None:
    rng = np.random.default_rng(0)
    path = np.cumsum(rng.normal(size=(200, 20)) * 0.01, axis=0)
    step = 0.004
    assert np.abs(rounded(path, step) * step - path).max() <= STEADY * step * (1.0 + 1e-9)
    # jitter within a quarter of a step stays where it was first seen
    jitter = rng.normal(size=20) + rng.uniform(-0.124, 0.124, size=(200, 20)) * step
    assert (np.diff(rounded(jitter, step), axis=0) == 0).all()
    assert np.abs(read_block(time_block(path[:, 0]))[:, 0] - path[:, 0]).max() <= 1e-9


def test_quaternions_do_not_jump() -> None:
    rng = np.random.default_rng(1)
    angle = np.linspace(0.0, 9.0, 50)[:, None]
    smooth = np.stack([np.cos(angle), np.sin(angle), 0 * angle, 0 * angle], axis=2)
    mixed = smooth * rng.choice([-1.0, 1.0], size=(50, 1, 1))
    found = continuous_quaternions(mixed)
    assert np.abs(np.diff(found, axis=0)).max() < 0.2
    assert np.allclose(np.abs(found), np.abs(smooth))


def test_frames_are_the_nearest_ones() -> None:
    time_of = np.arange(1, 1001) * 0.01
    found = played_frames(time_of, 30.0, None, None)
    assert len(found) == pytest.approx(301, abs=2)
    assert found[0] == 0 and found[-1] == 999  # noqa: PT018
    assert np.abs(np.diff(time_of[found])[:-1] - 1 / 30).max() <= 0.0101
    assert (played_frames(time_of[::50], 30.0, None, None) == np.arange(20)).all()  # none twice
    part = time_of[played_frames(time_of, 30.0, 2.0, 3.0)]
    assert part[0] == pytest.approx(2.0)
    assert part[-1] == pytest.approx(3.0)
    assert (played_frames(np.array([0.5]), 30.0, None, None) == [0]).all()
    for bad in ({"fps": 0.0}, {"fps": np.nan}, {"start": 20.0}, {"start": np.nan}, {"start": 3.0, "end": 2.0}):
        with pytest.raises(InputError, match="player"):
            played_frames(time_of, **{"fps": 30.0, "start": None, "end": None, **bad})
    with pytest.raises(InputError, match="no frames"):
        played_frames(np.zeros(0), 30.0, None, None)


def test_poses_and_contacts_come_back(recording: Recording) -> None:
    facts, blocks = taken_apart(player_data(recording, fps=50.0))
    frames = played_frames(recording.time, 50.0, None, None)
    count = recording.model.body_count
    q = np.array([recording.q[int(f)] for f in frames])
    position = read_block(blocks["position"]).reshape(len(frames), 3, count).transpose(0, 2, 1)
    assert np.abs(position - q[:, :, :3]).max() <= facts["error"] * (1.0 + 1e-6)
    assert facts["error"] <= 1e-4 * facts["size"]
    turn = read_block(blocks["turn"]).reshape(len(frames), 4, count).transpose(0, 2, 1)
    turn = turn / np.linalg.norm(turn, axis=2, keepdims=True)
    angle = 2.0 * np.arccos(np.clip(np.abs(np.einsum("nbk,nbk->nb", turn, q[:, :, 3:])), 0.0, 1.0))
    assert angle.max() <= 2.0 * np.sqrt(4.0) * STEADY * facts["turn_step"] + 1e-6
    # contacts of each frame as a set of rows
    frame, point = read_block(blocks["contact_frame"])[:, 0], read_block(blocks["contact_point"])
    level = read_block(blocks["contact_force"]) / facts["force_levels"]
    force = level * np.abs(level) * facts["largest_force"]
    assert facts["contacts_kept"] is None
    assert force[:, 2].max() > 0.0  # the ground pushes upwards
    for k, f in enumerate(frames):
        own, found = recording.contacts(int(f)), np.flatnonzero(frame == k)
        assert len(own) == len(found)
        if len(own):
            match = np.linalg.norm(own.point[:, None] - point[None, found], axis=2).argmin(axis=1)
            assert np.abs(own.point - point[found][match]).max() <= facts["contact_step"]
            free = recording.model.body_kind == DYNAMIC
            towards = np.where(free[own.body_b] | ~free[own.body_a], 1.0, -1.0)[:, None]
            loss = np.abs(towards * own.force - force[found][match]).max()
            assert loss <= 1.01 * facts["largest_force"] / facts["force_levels"]


def test_balls_hold_the_shapes_of_their_bodies(recording: Recording) -> None:
    balls = dict(zip(recording.model.body_names, body_balls(recording.model), strict=True))
    assert balls["floor"][3] == 0.0
    assert balls["red"][3] == pytest.approx(0.1 * np.sqrt(3.0))
    assert balls["blue"][3] == pytest.approx(0.12)
    assert 0.1 <= balls[EVIL][3] <= 0.1 * np.sqrt(3.0) + 1e-9


def test_the_page_frames_all_places(recording: Recording) -> None:
    """What is kept gives the same camera as all places would, for any shape of the page."""
    facts, _ = taken_apart(player_data(recording, fps=50.0))
    framed = np.array(facts["framed"])
    assert 0 < len(framed) < 64
    frames = played_frames(recording.time, 50.0, None, None)
    axes = frame_poses(recording.model, [(recording.q[0], recording.node_position[0])], 100, 100).axes
    balls = body_balls(recording.model)
    for half in (0.05, 0.2, 0.28):
        for across in (*axes[:2], *-axes[:2]):
            edge = (framed[:, :3] @ (across - half * axes[2]) + framed[:, 3] * np.hypot(1.0, half)).max()
            for k in frames:
                middle = recording.q[int(k)][balls[:, 3] > 0.0, :3]
                assert (middle @ (across - half * axes[2])).max() <= edge + 1e-5


def test_soft_bodies_come_back_with_their_colours(soft_recording: Recording) -> None:
    facts, blocks = taken_apart(player_data(soft_recording, colour_by="von-mises"))
    frames = played_frames(soft_recording.time, 30.0, None, None)
    shown = soft_recording.model.soft.surface.nodes
    x = np.array([soft_recording.node_position[int(f)][shown] for f in frames])
    found = read_block(blocks["nodes"]).reshape(len(frames), 3, len(shown)).transpose(0, 2, 1)
    assert np.abs(found - x).max() <= STEADY * facts["node_step"] * (1.0 + 1e-6)
    level = read_block(blocks["node_level"])
    assert level.shape == (len(frames), len(shown))
    assert level.max() == 255
    assert facts["unit"] == "Pa"
    with pytest.raises(InputError, match="colour_by is 'heat'"):
        player_data(soft_recording, colour_by="heat")


def test_walls_are_in_the_frames_of_their_bodies(walled_recording: Recording) -> None:
    facts, _ = taken_apart(player_data(walled_recording))
    assert [wall["body"] for wall in facts["walls"]] == [1, 2]
    for wall, x in zip(facts["walls"], (-0.3, 0.3), strict=True):
        q = walled_recording.model.q_start[wall["body"]]
        corners = q[:3] + np.array(wall["corners"]) @ matrix(q[3:]).T
        np.testing.assert_allclose(corners[:, 0], x, atol=1e-6)
        assert corners[:, 2].min() == pytest.approx(0.0, abs=1e-6)  # on the floor
        assert corners[:, 2].max() > 0.5  # above the ball


def test_marks_of_a_crowd_are_smaller(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    facts, blocks = taken_apart(player_data(recording, fps=50.0))
    assert facts["mark_size"] == 1.0
    counts = np.bincount(read_block(blocks["contact_frame"])[:, 0])
    monkeypatch.setattr(marks, "CROWD", np.median(counts[counts > 0]) / 8.0)
    assert taken_apart(player_data(recording, fps=50.0))[0]["mark_size"] == pytest.approx(0.5)


def test_curves_of_a_plot_have_colours_that_can_be_told_apart() -> None:
    """Distances in CIE L*a*b*; from 20 on nobody takes one for the other."""
    text = (Path(html_player.__file__).parent / "player_plots.js").read_text(encoding="utf-8")
    plots = re.findall(r"curves: \[(.*?)\]\s*(?:,\s*apart: true\s*)?,?\s*\}", text, flags=re.DOTALL)
    assert len(plots) == 4
    for plot in plots:
        colours = [_lab(colour) for colour in re.findall(r"#[0-9a-f]{6}", plot)]
        for a, b in itertools.combinations(colours, 2):
            assert np.linalg.norm(a - b) > 20.0


def _lab(colour: str) -> np.ndarray:
    """CIE L*a*b* of #rrggbb."""
    light = linear([int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    mix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = mix @ light / (0.9505, 1.0, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


def test_curves_keep_their_extremes() -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(size=(54321, 3))
    when, thin = thinned(np.arange(54321.0), table)
    assert len(when) == len(thin) <= 2000
    assert (thin.max(axis=0) == table.max(axis=0)).all()
    assert (thin.min(axis=0) == table.min(axis=0)).all()
    assert (np.diff(when) > 0).all()


# ---- size ------------------------------------------------------------------------------------------------------


class _Contacts:
    """Made-up contacts: each of 1,500 lasts, and jitters."""

    def read(self, frame: int) -> RecordedContacts:
        rng, fixed = np.random.default_rng(frame), np.random.default_rng(5)
        k = 1500
        pairs, point, force = (
            fixed.integers(0, 500, (k, 2)),
            fixed.uniform(0, 3, (k, 3)),
            fixed.normal(size=(k, 3)) * 50.0,
        )
        none, empty = np.full((k, 3), -1, np.int32), np.zeros((k, 3))
        return RecordedContacts(
            body_a=pairs[:, 0].astype(np.int32), body_b=pairs[:, 1].astype(np.int32),
            point=point + 1e-3 * rng.normal(size=(k, 3)), normal=empty, gap=np.zeros(k),
            impulse=0.01 * (force + 0.1 * rng.normal(size=(k, 3))), torsion=np.zeros(k), friction=empty,
            status=rng.integers(1, 3, k).astype(np.int32), node_a=none, node_b=none,
            weight_a=empty, weight_b=empty, dt=0.01,
        )  # fmt: skip


@pytest.mark.slow
def test_ten_seconds_of_500_bodies_are_below_5_mb(tmp_path: Path) -> None:
    """The worst there is: nothing ever rests. Bodies fly and tumble at 5 rad/s, 1,500 contacts jitter."""
    scene = Scene()
    for k in range(500):
        scene.add_box((0.1, 0.1, 0.1), (0.3 * (k % 20), 0.3 * (k // 20), 1.0))
    short = _record(tmp_path / "short.h5", scene, 1)
    n, rng = 300, np.random.default_rng(4)
    when = np.arange(1, n + 1) / 30.0
    wave, phase = rng.uniform(1.0, 4.0, (1, 500, 3)), rng.uniform(0, 6, (1, 500, 3))
    place = rng.uniform(0.0, 3.0, (1, 500, 3)) + 0.3 * np.sin(wave * when[:, None, None] + phase)
    axis = rng.normal(size=(1, 500, 3))
    axis /= np.linalg.norm(axis, axis=2, keepdims=True)
    angle = 2.5 * when[:, None, None] + 0.3 * np.sin(3.0 * when[:, None, None] + phase[:, :, :1])
    q = np.concatenate([place, np.cos(angle), np.sin(angle) * axis], axis=2)
    made: Any = replace(
        short,
        time=when,
        q=q,  # type: ignore[arg-type]
        joint_broken=np.zeros((n, 0), bool),  # type: ignore[arg-type]
        contact_offset=1500 * np.arange(n + 1),
        contact_reader=_Contacts(),  # type: ignore[arg-type]
        iterations=np.full(n, 9, np.int32),
        certificate={name: np.repeat(column, n) for name, column in short.certificate.items()},
        energy={name: rng.normal(size=n) for name in short.energy},
        timings={name: rng.normal(size=n) for name in short.timings},
    )
    done: list[tuple[int, int]] = []
    data = player_data(made, progress=lambda k, total: done.append((k, total)))
    assert len(page_text(data, "big")) < 5e6
    assert done[-1] == (600, 600)
    facts, blocks = taken_apart(data)
    assert facts["contacts_kept"] == CONTACT_BUDGET // n
    assert len(read_block(blocks["contact_frame"])) <= CONTACT_BUDGET


# ---- the page --------------------------------------------------------------------------------------------------


def test_page_is_whole_and_loads_nothing(recording: Recording, tmp_path: Path) -> None:
    write_player(recording, tmp_path / "five.html", title=EVIL)
    text = (tmp_path / "five.html").read_text()
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    assert text.count("<script") == 2
    assert "%%" not in text
    assert "hacked" not in text.replace("&lt;script&gt;window.hacked", "")
    with pytest.raises(FileError, match=r"\.html"):
        write_player(recording, tmp_path / "five.mp4")
    with pytest.raises(InputError, match="soft bodies"):
        write_player(recording, tmp_path / "soft.html", colour_by="speed")
    assert not (tmp_path / "soft.html").exists()


def _open(page: Any, path: Path) -> None:
    page.goto(path.as_uri())
    for _ in range(300):
        if page.evaluate("!!window.stickslip && (stickslip.ready || !!stickslip.error)"):
            break
        time.sleep(0.1)
    assert page.evaluate("stickslip.error") is None
    _drawn(page)


def _drawn(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _pixels(page: Any, selector: str = "#view") -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB")).astype(int)


def _share(pixels: np.ndarray, channel: int) -> float:
    """Share of pixels in which a channel is far above the others."""
    others = np.delete(pixels, channel, axis=2).max(axis=2)
    return float((pixels[:, :, channel] > others + 60).mean())


@pytest.mark.slow
def test_browser_shows_plays_and_scrubs(recording: Recording, tmp_path: Path, page: Any) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    write_player(recording, tmp_path / "five.html", fps=50.0)
    _open(page, tmp_path / "five.html")
    page.evaluate("stickslip.seek(0.01)")
    _drawn(page)
    first = _pixels(page)
    assert _share(first, 0) > 0.002  # the red box and the blue ball
    assert _share(first, 2) > 0.002
    assert first.mean() > 120  # a light background
    # what the picture shows is where the recording says
    ball = list(recording.model.body_names).index("blue")
    frame = int(played_frames(recording.time, 50.0, None, None)[15])
    page.evaluate(f"stickslip.seek({recording.time[frame]})")
    _drawn(page)
    error = page.evaluate("stickslip.facts.error")
    assert (
        np.abs(np.array(page.evaluate(f"stickslip.pose({ball})"))[:3] - recording.q[frame][ball, :3]).max()
        <= error + 1e-6
    )
    assert np.abs(_pixels(page) - first).max() > 60
    # playing moves time on, and pausing stops the drawing
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    for _ in range(1200):  # a busy machine draws few frames a second
        if page.evaluate("stickslip.frame") > 2:
            break
        time.sleep(0.05)
    assert page.evaluate("stickslip.playing")
    assert page.evaluate("stickslip.frame") > 2
    page.keyboard.press("Space")
    time.sleep(0.8)  # after a quarter of a second at rest it draws once more, in full
    _drawn(page)
    drawn = page.evaluate("stickslip.drawn")
    time.sleep(0.3)
    assert page.evaluate("stickslip.drawn") == drawn
    # step, plots and the time line
    page.keyboard.press("End")
    assert page.evaluate("stickslip.frame") >= 0
    _drawn(page)
    last = page.evaluate("stickslip.frames") - 1
    assert page.evaluate("stickslip.frame") == last
    page.keyboard.press("ArrowLeft")
    _drawn(page)
    assert page.evaluate("stickslip.frame") == last - 1
    plot = page.locator("#plots canvas").first.bounding_box()
    page.mouse.click(plot["x"] + 0.5 * plot["width"], plot["y"] + 0.5 * plot["height"])
    assert 0.2 < page.evaluate("stickslip.time") < 0.45
    assert len([url for url in requests if not url.startswith("data:")]) == 1


def test_browser_follows_a_body_and_escapes_names(recording: Recording, tmp_path: Path, page: Any) -> None:
    named = replace(recording, scene=EVIL, parameters={EVIL: EVIL}, complete=False)
    write_player(named, tmp_path / "evil.html", fps=20.0)
    _open(page, tmp_path / "evil.html")
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("#title").text_content() == EVIL
    assert page.title() == EVIL
    assert "cut off" in page.locator("#badges").text_content()
    box = list(recording.model.body_names).index("red")
    page.mouse.dblclick(*page.evaluate(f"stickslip.place({box})"))
    assert page.evaluate("stickslip.following") == box
    assert page.locator("#followed").text_content() == "following red"
    page.keyboard.press("f")
    assert page.evaluate("stickslip.following") == -1
    page.keyboard.press("c")
    _drawn(page)
    assert page.locator("#legend").is_hidden()
    page.keyboard.press("?")
    assert page.locator("#about-page").is_visible()
    assert "window.hacked" in page.locator("#facts").text_content()  # as text


def test_browser_on_a_phone_with_soft_body(soft_recording: Recording, tmp_path: Path, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    write_player(soft_recording, tmp_path / "soft.html", colour_by="speed")
    _open(page, tmp_path / "soft.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shown = "const s = document.getElementById('follow'), c = s.cloneNode(true); c.style.maxWidth = 'none';"
    whole = f"{shown} s.after(c); const wide = c.offsetWidth; c.remove(); return s.offsetWidth >= wide;"
    assert page.evaluate(f"(() => {{ {whole} }})()")  # "follow nothing" is not cut off
    for button in page.locator("#buttons button:visible, #buttons select:visible").all():
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert "m/s" in page.locator("#legend").text_content()
    assert len(np.unique(_pixels(page).reshape(-1, 3), axis=0)) > 200


def test_browser_with_one_frame_and_no_contacts(recording: Recording, tmp_path: Path, page: Any) -> None:
    write_player(recording, tmp_path / "one.html", start=0.2, end=0.2, contacts=False)
    _open(page, tmp_path / "one.html")
    assert page.evaluate("stickslip.frames") == 1
    assert page.locator("#play").is_disabled()
    assert page.locator("#contacts").is_disabled()
    assert _share(_pixels(page), 0) > 0.002


def test_browser_without_webgl_says_so(recording: Recording, tmp_path: Path, page: Any) -> None:
    page.add_init_script(
        "HTMLCanvasElement.prototype.getContext = ((own) => function (kind, ...rest) {"
        " return kind === 'webgl2' ? null : own.call(this, kind, ...rest); })(HTMLCanvasElement.prototype.getContext)"
    )
    write_player(recording, tmp_path / "plain.html", fps=10.0)
    _open(page, tmp_path / "plain.html")
    assert "WebGL 2" in page.locator("#message").text_content()
    page.evaluate("stickslip.seek(0.4)")
    assert page.evaluate("stickslip.time") == pytest.approx(0.4)


def test_browser_keeps_plots_readable_in_a_small_window(recording: Recording, tmp_path: Path, page: Any) -> None:
    page.set_viewport_size({"width": 1000, "height": 600})
    write_player(recording, tmp_path / "small.html", fps=20.0)
    _open(page, tmp_path / "small.html")
    heights = [canvas.bounding_box()["height"] for canvas in page.locator("#plots canvas").all()]
    assert len(heights) == 4
    assert min(heights) >= 90
    column = page.locator("#plots").bounding_box()
    assert column["y"] + column["height"] <= 601  # the column scrolls, and not the page
    assert page.evaluate("document.documentElement.scrollHeight") <= 600
    # and where there is no room at all, labels are left out
    page.evaluate("for (const c of document.querySelectorAll('#plots canvas')) c.style = 'flex: none; height: 44px'")
    page.set_viewport_size({"width": 1010, "height": 600})
    _drawn(page)
    for tall in (False, True):
        for heights in page.evaluate("stickslip.labels()"):
            assert len(heights) >= 1
            assert (np.abs(np.diff(heights)) >= 13).all()
        if not tall:
            page.evaluate("for (const c of document.querySelectorAll('#plots canvas')) c.style = ''")
            page.set_viewport_size({"width": 1000, "height": 600})
            _drawn(page)


def test_browser_caps_arrows_of_impacts(recording: Recording, tmp_path: Path, page: Any) -> None:
    facts, blocks = taken_apart(player_data(recording, fps=50.0))
    level = read_block(blocks["contact_force"]) / facts["force_levels"]
    force = np.linalg.norm(level * np.abs(level) * facts["largest_force"], axis=1)
    frame = int(read_block(blocks["contact_frame"])[force.argmax(), 0])
    assert force.max() > 4.4 * facts["usual_force"]
    longest = 4.0 * 0.1 * facts["size"] * facts["mark_size"]
    write_player(recording, tmp_path / "five.html", fps=50.0)
    _open(page, tmp_path / "five.html")
    page.evaluate(f"stickslip.seek({read_block(blocks['time'])[frame, 0] + 1e-6})")
    _drawn(page)
    assert page.evaluate("stickslip.frame") == frame
    assert max(page.evaluate("stickslip.arrows()")) == pytest.approx(longest, rel=1e-3)


def test_browser_shows_walls_and_counts_one_contact(walled_recording: Recording, tmp_path: Path, page: Any) -> None:
    facts, blocks = taken_apart(player_data(walled_recording))
    pictures = []
    for name, walls in (("walled", facts["walls"]), ("free", [])):
        (tmp_path / f"{name}.html").write_text(page_text(joined({**facts, "walls": walls}, blocks), name))
        _open(page, tmp_path / f"{name}.html")
        pictures.append(_pixels(page))
    changed = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert (changed > 4).mean() > 0.1
    assert np.median(changed[changed > 4]) < 60
    assert "1 contact" in page.locator("#legend").text_content()
    assert "contacts" not in page.locator("#legend").text_content()
