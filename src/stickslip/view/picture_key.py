"""The key of a picture: what its colours and force bars stand for, written into its lower left corner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.contact_report import OPEN, SLIP, STICK
from stickslip.errors import MissingDependencyError
from stickslip.view import soft_colours
from stickslip.view.marks import STATUS_COLOURS
from stickslip.view.quantity_words import prefixed

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

NARROWEST = 320
"""Pixels; narrower pictures have no room for a key."""
PAPER, INK = (255, 255, 255, 205), (35, 40, 48, 255)
THREE = "\N{SUPERSCRIPT THREE}"
"""Pillow's own font lacks it."""
WORDS = {STICK: "stick", SLIP: "slip", OPEN: "open"}


class ColourKey(NamedTuple):
    """What the colours of soft bodies show."""

    quantity: str
    unit: str
    limits: tuple[float, float]


class ForceKey(NamedTuple):
    """How long bars of forces are."""

    force: float
    """[N]"""
    length: float
    """Its bar in the middle of what the camera looks at, relative to the width of the picture."""


def draw_key(picture: NDArray[np.uint8], colours: ColourKey | None, forces: ForceKey | None) -> NDArray[np.uint8]:
    """The picture (h, w, 3) with a key; as it is where there is nothing to say or no room. Needs the extra ``view``."""
    height, width = picture.shape[:2]
    if width < NARROWEST or (colours is None and forces is None):
        return picture
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise MissingDependencyError("keys need Pillow; install it with: pip install 'stickslip[view]'") from None
    em = int(np.clip(round(width / 50), 10, 40))
    font = ImageFont.load_default(em)
    sheet = Image.new("RGBA", (width, height), (255, 255, 255, 0))
    pen = ImageDraw.Draw(sheet)
    drawn: list[tuple[int, int, int, int]] = []
    bottom = height - em
    if forces is not None:
        drawn.append(_draw_forces(pen, font, forces, em, bottom, width))
        bottom = drawn[-1][1] - em // 2
    if colours is not None:
        drawn.append(_draw_colours(pen, font, colours, em, bottom, width))
    edge = em // 2
    paper = Image.new("RGBA", (width, height), (255, 255, 255, 0))
    box = (em - edge, min(d[1] for d in drawn) - edge, max(d[2] for d in drawn) + edge, height - em + edge)
    ImageDraw.Draw(paper).rounded_rectangle(box, radius=edge, fill=PAPER)
    whole = Image.fromarray(picture).convert("RGBA")
    whole.alpha_composite(paper)
    whole.alpha_composite(sheet)
    return np.asarray(whole.convert("RGB"))


def _draw_colours(
    pen: ImageDraw, font: FreeTypeFont | ImageFont, key: ColourKey, em: int, bottom: int, width: int
) -> tuple[int, int, int, int]:
    """Name, bar and the two numbers, from below; the box that they take."""
    low, high = key.limits
    factor, prefix = prefixed(max(abs(low), abs(high))) if key.unit != "1" else (1.0, "")
    unit = "" if key.unit == "1" else f" {prefix}{key.unit.replace(THREE, '^3')}"
    least, most = (f"{value / factor:.3g}{unit}" for value in (low, high))
    long = max(width // 5, round(pen.textlength(least, font) + pen.textlength(most, font)) + em)
    name = soft_colours.WORDS[key.quantity]
    top = bottom - round(3.4 * em)
    pen.text((em, top), name, font=font, fill=INK)
    from_y, to_y = bottom - round(2.1 * em), bottom - round(1.3 * em)
    for k, colour in enumerate(soft_colours.value_colours(np.linspace(0.0, 1.0, long), (0.0, 1.0))):
        pen.line([(em + k, from_y), (em + k, to_y)], fill=_ink(tuple(colour)))
    pen.text((em, bottom), least, font=font, fill=INK, anchor="ls")
    pen.text((em + long, bottom), most, font=font, fill=INK, anchor="rs")
    return em, top, max(em + long, em + round(pen.textlength(name, font))), bottom


def _draw_forces(
    pen: ImageDraw, font: FreeTypeFont | ImageFont, key: ForceKey, em: int, bottom: int, width: int
) -> tuple[int, int, int, int]:
    """A bar with its force, and below it what colours of bars mean; the box that they take."""
    long, thick = max(2, round(key.length * width)), max(2, round(em / 6))
    top, middle = bottom - round(2.5 * em), bottom - round(2.0 * em)
    head = min(3 * thick, long // 2)
    pen.rectangle((em, middle - thick // 2, em + long - head, middle - thick // 2 + thick - 1), fill=INK)
    pen.polygon(
        [(em + long - head, middle - 2 * thick), (em + long - head, middle + 2 * thick), (em + long, middle)], INK
    )
    factor, prefix = prefixed(key.force)
    pen.text((em + long + em // 2, middle), f"{key.force / factor:.3g} {prefix}N", font=font, fill=INK, anchor="lm")
    right = em + long + em // 2 + round(pen.textlength(f"{key.force / factor:.3g} {prefix}N", font))
    x = em
    for code, word in WORDS.items():
        pen.rectangle(
            (x, bottom - round(0.65 * em), x + round(0.6 * em), bottom - round(0.05 * em)), _ink(STATUS_COLOURS[code])
        )
        pen.text((x + em, bottom), word, font=font, fill=INK, anchor="ls")
        x += round(em + pen.textlength(word, font) + 0.8 * em)
    return em, top, max(right, x - round(0.8 * em)), bottom


def _ink(colour: tuple[float, ...]) -> tuple[int, ...]:
    """0 to 255 of sRGB from 0 to 1, opaque."""
    return *(round(255.0 * c) for c in colour), 255
