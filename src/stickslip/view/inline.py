"""Pictures and players that a notebook shows in a cell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stickslip.files import whole_file
from stickslip.io.recording import Recording
from stickslip.view.html_page import png_bytes

if TYPE_CHECKING:
    from stickslip.simulation import Simulation


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture; a notebook shows it, and ``save`` writes it to a file .png."""

    pixels: NDArray[np.uint8]
    """(height, width, 3) sRGB."""

    def __repr__(self) -> str:
        height, width = self.pixels.shape[:2]
        return f"Picture({width} x {height})"

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        return png_bytes(self.pixels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a PNG file."""
        with whole_file(path) as temporary:
            temporary.write_bytes(png_bytes(self.pixels))


@dataclass(frozen=True, eq=False)
class Player:
    """A recording that plays in a cell, without a network."""

    page: str
    """HTML."""
    width: int
    height: int

    def __repr__(self) -> str:
        return f"Player({len(self.page) // 1000} kB)"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame of its own."""
        page = escape(self.page, quote=True)
        return f'<iframe srcdoc="{page}" width="{self.width}" height="{self.height}" style="border:0"></iframe>'


def picture_of(sim: Simulation, width: int, height: int, **options: Any) -> Picture:
    """A simulation now; options are those of ``render_frame``."""
    from stickslip.view.frame import live_frame
    from stickslip.view.picture.picture import render_frame

    frame = live_frame(sim)
    return Picture(render_frame(sim.model, frame.q, width, height, nodes=frame.nodes, **options))


def player_of(recording: Recording, width: int, height: int, fps: float) -> Player:
    """A recording as a player."""
    from stickslip.view.player.html_player import page_text, player_data

    return Player(
        page_text(player_data(recording, fps=fps, autoplay=True), recording.scene or "recording"), width, height
    )
