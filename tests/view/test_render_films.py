"""Films and pictures from the command line: the right frames, whole files, clear errors."""

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import child_process
from stickslip import InputError, Scene, Simulation
from stickslip.cli import main
from stickslip.geometry.tet_generators import box
from stickslip.io.recorder import Recorder
from stickslip.io.recording import read_recording
from stickslip.scene.soft_body import elastic
from stickslip.view import marks
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR
from stickslip.view.picture.camera import body_position, frame_poses, projected
from stickslip.view.picture.see_through import see_through
from stickslip.view.picture.shots import Look, Shots, find_body
from stickslip.view.picture.video import MOST_FRAMES, SCALE_COLOURS, film_frames, key_colours, write_gif, write_mp4

SMALL = ["--width", "48", "--samples", "1"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A red ball that rolls, with a joint elsewhere and a soft box; 21 frames of 0.01 s."""
    scene = Scene()
    scene.add_half_space()
    scene.add_sphere(0.2, (0, 0, 0.2), name="ball", velocity=(3, 0, 0), colour=(0.9, 0.1, 0.1))
    bob = scene.add_sphere(0.1, (0, 1, 0.6), name="bob")
    scene.add_ball(None, bob, (0, 1, 1))
    scene.add_soft(box((0.3, 0.3, 0.3), 1), elastic(1e5, 0.3), (1, 0.6, 0.2), name="jelly")
    sim = Simulation(scene, dt=0.01)
    path = tmp_path_factory.mktemp("films") / "run.h5"
    with Recorder(path, sim, "test") as record:
        sim.run(21, record)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main([str(item) for item in arguments])
    return code, capsys.readouterr().err


def test_frames_of_a_film_are_the_nearest_ones() -> None:
    time = np.arange(101) * 0.01
    assert film_frames(time, 10.0).tolist() == list(range(0, 101, 10))
    assert film_frames(time, 10.0, speed=0.5).tolist() == list(range(0, 101, 5))
    assert film_frames(time, 10.0, start=0.5, end=0.8).tolist() == [50, 60, 70, 80]
    assert film_frames(time, 400.0, end=0.01).tolist() == [0, 0, 0, 1, 1]
    assert film_frames(time[:1], 30.0).tolist() == [0]
    assert film_frames(time, 10.0, start=-5.0, end=0.1).tolist() == [0, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fps": 0.0}, "fps is 0"),
        ({"speed": -1.0}, "speed is -1"),
        ({"start": 0.6, "end": 0.4}, "start is 0.6 s, after the end"),
        ({"start": 2.0}, "after the end"),
        ({"start": 2.0, "end": 3.0}, "outside the recording"),
        ({"end": float("nan")}, "end is nan"),
        ({"speed": 1e-6}, f"more than {MOST_FRAMES}"),
    ],
)
def test_films_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        film_frames(np.arange(101) * 0.01, **{"fps": 30.0, **options})


def test_a_gif_has_its_frames_in_time(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "run.gif"
    assert run(capsys, "render", recorded, out, *SMALL, "--fps", 30, "--speed", 0.5)[0] == 0
    film = image.open(out)
    assert film.size == (48, 27)
    assert film.info["loop"] == 0
    durations, pictures = [], []
    for k in range(film.n_frames):
        film.seek(k)
        durations.append(film.info["duration"])
        pictures.append(np.asarray(film.convert("RGB")).astype(int))
    # 0.2 s at half speed are 0.4 s: 13 pictures, some of which may be the same and are then stored as one
    assert sum(durations) == pytest.approx(1e3 * 13 / 30, abs=10)
    assert film.n_frames >= 9
    red = [np.nonzero((p[..., 0] > 90) & (p[..., 0] > 2 * p[..., 2]))[1].mean() for p in (pictures[0], pictures[-1])]
    assert red[1] > red[0] + 2  # the ball rolls to the right, and the camera stands still
    assert [file.name for file in tmp_path.iterdir()] == ["run.gif"]


def test_an_mp4_has_even_sides_and_plays_anywhere(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    out = tmp_path / "run.mp4"
    assert run(capsys, "render", recorded, out, "--width", 80, "--samples", 1, "--end", 0.15)[0] == 0
    reader = ffmpeg.read_frames(str(out))
    facts = next(reader)
    frames = list(reader)
    assert facts["size"] == (80, 46)  # 45 high, made even
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"].startswith("yuv420p")
    assert facts["fps"] == 30.0
    assert len(frames) == 5
    assert frames[0] != frames[-1]
    code, error = run(capsys, "render", recorded, tmp_path / "odd.mp4", "--width", 71, "--height", 40)
    assert code == 2
    assert "must be even" in error
    assert [file.name for file in tmp_path.iterdir()] == ["run.mp4"]


def test_a_page_is_written(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.html"
    assert run(capsys, "render", recorded, out, "--fps", 20, "--colour-by", "speed")[0] == 0
    assert "<html" in out.read_text(encoding="utf-8")


def test_pictures_show_the_frame_that_is_asked_for(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("PIL")
    for name, options in (
        ("last", []),
        ("minus", ["--frame", -1]),
        ("first", ["--frame", 0]),
        ("time", ["--time", 0.011]),
        ("wide", ["--frame", 0, "--wide"]),
        ("marked", ["--frame", 0, "--contacts"]),
        ("joined", ["--frame", 0, "--joints"]),
        ("coloured", ["--frame", 0, "--colour-by", "speed"]),
        ("turned", ["--frame", 0, "--azimuth", 30]),
        ("near", ["--frame", 0, "--follow", "bob"]),
        ("tall", ["--frame", 0, "--height", 48]),
    ):
        assert run(capsys, "render", recorded, tmp_path / f"{name}.png", *SMALL, *options)[0] == 0
    data = {file.stem: file.read_bytes() for file in tmp_path.iterdir()}
    assert data["last"] == data["minus"]
    assert data["first"] == data["time"]
    different = {name: data[name] for name in data.keys() - {"minus", "time"}}
    assert len(set(different.values())) == len(different)


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("a.avi", [], "'.avi' is unknown; it must be one of .png, .gif, .mp4, .html"),
        ("a", [], "must be one of"),
        ("a.png", ["--fps", "30"], "fps does not apply to a PNG picture"),
        ("a.gif", ["--frame", "3"], "frame does not apply to a GIF film"),
        ("a.html", ["--azimuth", "3"], "azimuth does not apply to an HTML page"),
        ("a.png", ["--frame", "21"], "frame 21 does not exist"),
        ("a.png", ["--frame", "1", "--time", "0.1"], "give one of them"),
        ("a.png", ["--time", "99"], "time is 99 s; "),
        ("a.png", ["--time", "-1"], "time is -1 s; "),
        ("a.html", ["--no-key"], "no-key does not apply to an HTML page"),
        ("a.png", ["--width", "4"], "width is 4"),
        ("a.png", ["--samples", "9"], "samples is 9"),
        ("a.png", ["--follow", "moon"], "body 'moon' does not exist; give one of"),
        ("a.png", ["--colour-by", "mood"], "must be one of von-mises, strain, energy, speed"),
        ("a.gif", ["--start", "0.2", "--end", "0.1"], "after the end"),
        ("a.gif", ["--fps", "100"], "browsers slow down"),
        ("missing/a.gif", SMALL, "cannot write"),
        ("missing/a.mp4", SMALL, "cannot write"),
    ],
)
def test_bad_requests_say_what_would_be_right(
    out: str, options: list[str], message: str, recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error = run(capsys, "render", recorded, tmp_path / out, *options)
    assert code == 2
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_colours_need_soft_bodies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene()
    scene.add_sphere(0.2)
    sim = Simulation(scene)
    with Recorder(tmp_path / "run.h5", sim) as record:
        sim.run(2, record)
    code, error = run(capsys, "render", tmp_path / "run.h5", tmp_path / "a.png", "--colour-by", "speed")
    assert code == 2
    assert "has no soft bodies" in error


@pytest.mark.parametrize(
    ("out", "package", "extra"),
    [("a.gif", "PIL", "view"), ("a.mp4", "imageio_ffmpeg", "video"), ("a.png", "PIL", "view")],
)
def test_missing_extras_are_named(
    out: str, package: str, extra: str, recorded: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, package, None)
    code, error = run(capsys, "render", recorded, tmp_path / out, *SMALL)
    assert code == 2
    assert f"stickslip[{extra}]" in error
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_fails_leaves_no_file(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    pytest.importorskip("imageio_ffmpeg")
    drawn = []

    def picture(number: int) -> np.ndarray:
        drawn.append(number)
        if len(drawn) > 6:
            raise InputError("the light went out")
        return np.full((32, 48, 3), 40 * len(drawn), np.uint8)

    shots = SimpleNamespace(picture=picture, look=Look(48, 32))
    for write, name in ((write_gif, "a.gif"), (write_mp4, "a.mp4")):
        drawn.clear()
        with pytest.raises(InputError, match="light went out"):
            write(shots, np.arange(20), tmp_path / name, 10.0)
    assert list(tmp_path.iterdir()) == []


def test_what_ffmpeg_says_is_in_our_own_words(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    stub = tmp_path / "ffmpeg"
    stub.write_text("#!/bin/sh\necho 'first' >&2\necho 'no space left' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setattr(ffmpeg, "get_ffmpeg_exe", lambda: str(stub))
    assert main(["render", str(recorded), str(tmp_path / "a.mp4"), *SMALL, "--height", "28"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "FFmpeg stopped: no space left" in error
    assert not (tmp_path / "a.mp4").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_film_says_so_in_one_line(number: signal.Signals, recorded: Path, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    options = [*SMALL, "--height", "28", "--fps", "50", "--speed", "0.001"]
    with child_process.start("-m", "stickslip", "render", recorded, tmp_path / "a.mp4", *options) as film:
        for _ in range(1200):
            if any(file.stat().st_size for file in tmp_path.iterdir()) or film.poll() is not None:
                break
            time.sleep(0.05)
        film.send_signal(number)
        _, error = film.communicate()
    assert film.returncode == 128 + number
    assert error.count("\n") == 1, error
    assert "interrupted" in error or f"signal {int(number)}" in error
    assert list(tmp_path.iterdir()) == []


def test_the_end_is_told(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.png", "a.html"):
        assert main(["render", str(recorded), str(tmp_path / name), *(SMALL if name == "a.png" else [])]) == 0
        assert capsys.readouterr().out == f"written to {tmp_path / name}\n"


def test_limits_of_colours_and_forces_are_those_of_the_whole_film(recorded: Path) -> None:
    with read_recording(recorded) as recording:
        look = Look(48, 27, 1, colour_by="von-mises", contacts=True)
        film, single = Shots(recording, look, range(21)), Shots(recording, look, [20])
        largest = max(float(film._values(i).max()) for i in range(21))
        assert film._limits == (0.0, pytest.approx(largest))
        assert single._limits[1] == pytest.approx(float(film._values(20).max()))
        assert film._limits[1] >= single._limits[1]


def test_a_key_says_what_colours_and_bars_stand_for(recorded: Path) -> None:
    pytest.importorskip("PIL")
    with read_recording(recorded) as recording:
        look = Look(320, 180, 1, colour_by="energy", contacts=True)
        shots = Shots(recording, look, range(21))
        assert shots._key[1] is not None
        assert shots._key[1].force <= shots._arrows.force
        plain = Shots(recording, replace(look, key=False), range(21)).picture(20)
        changed = (shots.picture(20) != plain).any(axis=2)
        rows, columns = np.nonzero(changed)
        assert columns.max() < 200  # only in the lower left corner
        assert rows.min() > 60
        assert changed.mean() > 0.03
        small = replace(look, width=300)
        pictures = [Shots(recording, replace(small, key=key), range(21)).picture(20) for key in (True, False)]
        assert (pictures[0] == pictures[1]).all()


def test_the_key_explains_joints(recorded: Path) -> None:
    pytest.importorskip("PIL")
    with read_recording(recorded) as recording:
        look = Look(640, 360, 1, joints=True)
        corner = Shots(recording, look, [20]).picture(20)[240:, :213].reshape(-1, 3).astype(int)
        for colour in (JOINT_COLOUR, BROKEN_COLOUR):
            assert (np.abs(corner - 255.0 * np.array(colour)).max(axis=1) <= 1.0).sum() > 20
        plain = Shots(recording, replace(look, joints=False), [20])
        assert (plain.picture(20) == Shots(recording, replace(look, joints=False, key=False), [20]).picture(20)).all()


def test_arrows_of_a_crowd_are_smaller_in_the_whole_film_and_in_its_key(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with read_recording(recorded) as recording:
        count = [len(recording.contacts(k)) for k in range(21)]
        look = Look(320, 180, 1, contacts=True)
        few = Shots(recording, look, range(21))
        monkeypatch.setattr(marks, "CROWD", np.median([k for k in count if k]) / 8.0)
        many = Shots(recording, look, range(21))
        assert few._arrows is not None
        assert many._arrows == (few._arrows.force, pytest.approx(0.5))
        assert few._key[1] is not None
        assert many._key[1] is not None
        assert many._key[1].length == pytest.approx(0.5 * few._key[1].length)


def test_a_gif_has_the_colours_of_its_key(recorded: Path, tmp_path: Path) -> None:
    """Rare colours are kept in the palette: the key explains slipping contacts in red where none slips."""
    image = pytest.importorskip("PIL.Image")
    with read_recording(recorded) as recording:
        shots = Shots(recording, Look(320, 180, 1, colour_by="speed", contacts=True), [0, 20])
        write_gif(shots, np.array([0, 20]), tmp_path / "a.gif", 10.0)
        kept = key_colours(shots.look)
    assert kept.shape == (3 + SCALE_COLOURS, 3)
    with image.open(tmp_path / "a.gif") as film:
        drawn = np.asarray(film.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in (*kept[:3], kept[3], kept[-1]):
        assert np.abs(drawn - colour).max(axis=1).min() <= 2


def test_a_followed_body_stays_in_the_middle(recorded: Path) -> None:
    with read_recording(recorded) as recording:
        model = recording.model
        ball = find_body(model, "ball")
        shots = Shots(recording, Look(160, 90, 1, follow=ball), range(21))
        from stickslip.view.frame import recorded_frame

        for number in (0, 10, 20):
            frame = recorded_frame(recording, number)
            point = body_position(model, (frame.q, frame.nodes), ball)
            np.testing.assert_allclose(projected(shots.camera(frame), point[None], 160, 90), [[80, 45]], atol=0.5)
        assert find_body(model, "jelly") == model.body_count
        assert find_body(model, "1") == 1
        x = body_position(model, (recording.q[0], recording.node_position[0]), model.body_count)
        np.testing.assert_allclose(x, (1, 0.6, 0.2), atol=0.02)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("place", [0.0, 1e4])
def test_the_camera_frames_bodies_of_any_size_anywhere(size: float, place: float) -> None:
    scene = Scene()
    scene.add_half_space(position=(place * size, 0, 0))
    for k in range(4):
        scene.add_box((size, 0.5 * size, 0.3 * size), (place * size + 1.5 * k * size, 0.4 * k * size, 0.2 * size))
    scene.add_box((1000 * size, 1000 * size, size), (place * size, 0, -0.6 * size), kind="static")
    from stickslip import compile_scene

    model = compile_scene(scene)
    camera = frame_poses(model, [(model.q_start, np.zeros((0, 3)))], 160, 90)
    seen = projected(camera, model.q_start[1:5, :3], 160, 90)
    assert (seen > 0).all()
    assert (seen < (160, 90)).all()
    assert np.ptp(seen[:, 0]) > 60  # and they fill it


def test_walls_before_the_scene_become_glass() -> None:
    from stickslip import compile_scene

    scene = Scene()
    scene.add_half_space()
    for y in (-1.0, 1.0):
        scene.add_box((3, 0.1, 2), (0, y, 1), kind="static")
    for x in (-0.5, 0.0, 0.5):
        scene.add_sphere(0.2, (x, 0, 0.2))
    model = compile_scene(scene)
    pose = (model.q_start, np.zeros((0, 3)))
    front = frame_poses(model, [pose], 160, 90, azimuth=-90.0, elevation=5.0)
    assert see_through(model, [pose], front).tolist() == [False, True, False, False, False, False]
    above = frame_poses(model, [pose], 160, 90, azimuth=-90.0, elevation=80.0)
    assert not see_through(model, [pose], above).any()
    from stickslip.view.picture.picture import render_frame

    free = Scene()
    free.add_half_space()
    for x in (-0.5, 0.0, 0.5):
        free.add_sphere(0.2, (x, 0, 0.2), colour=(0.9, 0.1, 0.1))
    other = compile_scene(free)
    colour = render_frame(other, other.q_start, 160, 90, camera=front, samples=1).astype(int)
    mask = (colour[..., 0] > 2 * colour[..., 2]) & (colour[..., 0] > 60)
    seen = render_frame(model, model.q_start, 160, 90, camera=front, samples=1)
    gone = model.q_start.copy()
    gone[3:, 1] -= 1e4
    empty = render_frame(model, gone, 160, 90, camera=front, samples=1)
    assert mask.sum() > 200
    assert (seen[mask] != empty[mask]).any(axis=1).mean() > 0.9
