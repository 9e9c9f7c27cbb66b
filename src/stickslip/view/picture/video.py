"""Films of a recording as GIF and MP4 files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stickslip.arrays import Array, LongInts
from stickslip.checks import finite, positive
from stickslip.errors import FileError, InputError, MissingDependencyError
from stickslip.files import whole_file
from stickslip.view.frame import spread
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR, STATUS_COLOURS
from stickslip.view.soft_colours import value_colours

if TYPE_CHECKING:
    from stickslip.view.picture.shots import Look, Shots

Progress = Callable[[int, int], None]
"""Told how many of all pictures are drawn."""
MOST_FRAMES = 20_000
"""Pictures of the longest film: at 30 a second eleven minutes."""
GIF_FPS = 50.0
"""Fastest GIF that browsers play as it is."""
QUALITY = 18
"""H.264's constant rate factor: lower is better and larger; this one cannot be told from the pictures."""
PALETTE_PICTURES = 4
"""Pictures of a film that its palette is made from."""
SCALE_COLOURS = 24
"""Colours of a palette that are kept for a scale of values."""


def film_frames(
    time: Array, fps: float, speed: float = 1.0, start: float | None = None, end: float | None = None
) -> LongInts:
    """Numbers of the recorded frames (time (n,) [s]) that are nearest to those of a film; some may come twice.

    fps [1/s]: pictures a second; speed: simulated seconds a second of the film; start, end [s]: simulated times.
    """
    fps, speed = positive("film", "fps", fps), positive("film", "speed", speed)
    if not len(time):
        raise InputError("the recording has no frames; there is nothing to show")
    first, last = float(time[0]), float(time[-1])
    begin = first if start is None else finite("film", "start", start)
    until = last if end is None else finite("film", "end", end)
    if begin > until:
        raise InputError(f"start is {begin:g} s, after the end at {until:g} s; it must be before it")
    if begin > last or until < first:
        raise InputError(f"{begin:g} s to {until:g} s is outside the recording, which has {first:g} s to {last:g} s")
    begin, until = max(begin, first), min(until, last)
    count = (until - begin) * fps / speed
    if count > MOST_FRAMES:
        raise InputError(
            f"the film would have {count:.0f} pictures, more than {MOST_FRAMES}; give a larger speed, less fps, or a "
            "part by start and end"
        )
    wanted = begin + np.arange(int(count + 1e-9) + 1) * speed / fps
    after = np.clip(np.searchsorted(time, wanted), 1, max(1, len(time) - 1))
    after = np.minimum(after, len(time) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(wanted - time[before] <= time[after] - wanted, before, after)


def write_gif(
    shots: Shots, frames: LongInts, path: str | os.PathLike[str], fps: float, progress: Progress | None = None
) -> None:
    """Write frames as an endless GIF, whole or not at all; needs the extra ``view``."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependencyError("GIF films need Pillow; install it with: pip install 'stickslip[view]'") from None
    if fps > GIF_FPS:
        raise InputError(f"fps is {fps:g}; browsers slow down GIF films above {GIF_FPS:g}, so give less, or write .mp4")
    chosen = frames[spread(len(frames), PALETTE_PICTURES)]
    several = np.concatenate([shots.picture(int(number)) for number in np.unique(chosen)])
    kept = key_colours(shots.look)
    common = Image.fromarray(several).quantize(256 - len(kept)).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*common[: 3 * (256 - len(kept))], *kept.ravel().tolist()])
    pictures = (Image.fromarray(p).quantize(palette=palette, dither=0) for p in _pictures(shots, frames, progress))
    # times are in hundredths of a second: rounding each end, and not each duration, keeps the film in step
    ends = np.round(100.0 * np.arange(1, len(frames) + 1) / fps)
    duration = (10.0 * np.diff(ends, prepend=0.0)).astype(int).tolist()
    with whole_file(path) as temporary:
        next(pictures).save(
            temporary, format="GIF", save_all=True, append_images=pictures, duration=duration, loop=0, optimize=False
        )


def key_colours(look: Look) -> NDArray[np.uint8]:
    """sRGB (k, 3) that every palette has: with them marks and scales look like their key, however rare they are."""
    found = [np.zeros((0, 3))]
    if look.contacts:
        found.append(np.array(list(STATUS_COLOURS.values())))
    if look.joints:
        found.append(np.array([JOINT_COLOUR, BROKEN_COLOUR]))
    if look.colour_by is not None:
        found.append(value_colours(np.linspace(0.0, 1.0, SCALE_COLOURS), (0.0, 1.0)))
    return np.round(255.0 * np.concatenate(found)).astype(np.uint8)


def write_mp4(
    shots: Shots, frames: LongInts, path: str | os.PathLike[str], fps: float, progress: Progress | None = None
) -> None:
    """Write frames as H.264 in an MP4 file that every browser plays, whole or not at all; needs the extra ``video``."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise MissingDependencyError(
            "MP4 films need imageio-ffmpeg; install it with: pip install 'stickslip[video]', or write .gif or .html"
        ) from None
    width, height = shots.look.width, shots.look.height
    if width % 2 or height % 2:
        raise InputError(f"size is {width} x {height}; both sides of an MP4 film must be even")
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-s", f"{width}x{height}",
        "-pix_fmt", "rgb24", "-r", str(Fraction(fps).limit_denominator()), "-i", "-", "-an", "-vcodec", "libx264",
        "-pix_fmt", "yuv420p", "-crf", str(QUALITY), "-movflags", "+faststart", "-f", "mp4",
    ]  # fmt: skip
    # What FFmpeg says goes to a file and into our own message: a run that is interrupted takes its file away, and
    # FFmpeg would complain about that on the terminal. Its own session keeps Ctrl-C from it.
    with whole_file(path) as temporary, tempfile.TemporaryFile() as said:
        writer = subprocess.Popen(
            [*command, str(temporary)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said,
            start_new_session=True,
        )  # fmt: skip
        assert writer.stdin is not None
        try:
            for picture in _pictures(shots, frames, progress):
                writer.stdin.write(np.ascontiguousarray(picture).data)
            writer.stdin.close()
            code = writer.wait()
        except OSError as error:
            writer.wait()
            raise FileError(f"cannot write {Path(path)}: FFmpeg stopped: {_last_line(said) or error}") from None
        finally:
            writer.kill()  # where something went wrong before the end; else it has left
            writer.wait()
            with suppress(OSError):
                writer.stdin.close()
        if code or not temporary.stat().st_size:
            raise FileError(f"cannot write {Path(path)}: FFmpeg stopped: {_last_line(said) or f'code {code}'}")


def _pictures(shots: Shots, frames: LongInts, progress: Progress | None) -> Iterator[NDArray[np.uint8]]:
    """Pictures of frames in turn; one that stays is drawn once."""
    shown, picture = -1, np.zeros((0, 0, 3), np.uint8)
    for done, number in enumerate(frames.tolist(), start=1):
        if number != shown:
            shown, picture = number, shots.picture(number)
        yield picture
        if progress is not None:
            progress(done, len(frames))


def _last_line(said: IO[bytes]) -> str:
    """The last line of what FFmpeg said; empty where it said nothing."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
