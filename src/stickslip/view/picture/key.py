"""The key of a picture: what its colours, arrows and bars stand for, written into its lower left corner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.certify.contact_report import OPEN, SLIP, STICK
from stickslip.errors import MissingDependencyError
from stickslip.view import soft_colours
from stickslip.view.marks import BROKEN_COLOUR, JOINT_COLOUR, STATUS_COLOURS
from stickslip.view.quantity_words import prefixed

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

NARROWEST = 320
"""Pixels; narrower pictures have no room for a key."""
PAPER, INK = (255, 255, 255, 205), (35, 40, 48, 255)
THREE = "\N{SUPERSCRIPT THREE}"
"""Pillow's own font lacks it."""
STATUS = {"stick": STATUS_COLOURS[STICK], "slip": STATUS_COLOURS[SLIP], "open": STATUS_COLOURS[OPEN]}
JOINTS = {"joint": JOINT_COLOUR, "broken": BROKEN_COLOUR}
"""Words of colours."""
FINE = 4
"""Points a side of a pixel of what is drawn larger and then reduced."""


class ColourKey(NamedTuple):
    """What the colours of soft bodies show."""

    quantity: str
    unit: str
    limits: tuple[float, float]


class ForceKey(NamedTuple):
    """How large arrows of forces are; lengths in the middle of what the camera looks at, in widths of the picture."""

    force: float
    """[N]"""
    length: float
    """Of its arrow."""
    thick: float
    """Diameter of shafts."""
    head: tuple[float, float]
    """Length and diameter of heads."""


def draw_key(
    picture: NDArray[np.uint8], colours: ColourKey | None, forces: ForceKey | None, joints: bool = False
) -> NDArray[np.uint8]:
    """The picture (h, w, 3) with a key; as it is where there is nothing to say or no room. Needs the extra ``view``.

    joints: whether colours of joints are explained.
    """
    height, width = picture.shape[:2]
    if width < NARROWEST or (colours is None and forces is None and not joints):
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
    if joints:
        drawn.append(_draw_swatches(pen, font, JOINTS, em, bottom))
        bottom = drawn[-1][1] - em // 2
    if forces is not None:
        drawn.append(_draw_swatches(pen, font, STATUS, em, bottom))
        drawn.append(_draw_arrow(sheet, font, forces, em, drawn[-1][1] - round(0.4 * em), width))
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


def _draw_arrow(
    sheet: Image, font: FreeTypeFont | ImageFont, key: ForceKey, em: int, bottom: int, width: int
) -> tuple[int, int, int, int]:
    """An arrow as large as those of the picture, and its force; the box that they take."""
    from PIL import Image, ImageDraw

    long, thick = max(4.0, key.length * width), max(1.0, key.thick * width)
    head = min(key.head[0] * width, 0.5 * long)
    wide = key.head[1] * head / key.head[0]
    tall = max(em, int(np.ceil(wide)))
    # drawn larger and then reduced: Pillow's own lines have steps
    large = Image.new("RGBA", (FINE * (int(np.ceil(long)) + 1), FINE * tall), (*INK[:3], 0))
    pen, middle = ImageDraw.Draw(large), 0.5 * FINE * tall
    pen.rectangle((0, middle - 0.5 * FINE * thick, FINE * (long - head), middle + 0.5 * FINE * thick - 1), fill=INK)
    neck = FINE * (long - head)
    pen.polygon([(neck, middle - 0.5 * FINE * wide), (neck, middle + 0.5 * FINE * wide), (FINE * long, middle)], INK)
    top = bottom - tall
    sheet.alpha_composite(large.reduce(FINE), (em, top))
    factor, prefix = prefixed(key.force)
    text, start = f"{key.force / factor:.3g} {prefix}N", em + round(long) + em // 2
    words = ImageDraw.Draw(sheet)
    words.text((start, top + tall // 2), text, font=font, fill=INK, anchor="lm")
    return em, top, start + round(words.textlength(text, font)), bottom


def _draw_swatches(
    pen: ImageDraw, font: FreeTypeFont | ImageFont, meanings: Mapping[str, tuple[float, ...]], em: int, bottom: int
) -> tuple[int, int, int, int]:
    """What colours mean, in a row; the box that it takes."""
    x = em
    for word, colour in meanings.items():
        pen.rectangle((x, bottom - round(0.65 * em), x + round(0.6 * em), bottom - round(0.05 * em)), _ink(colour))
        pen.text((x + em, bottom), word, font=font, fill=INK, anchor="ls")
        x += round(em + pen.textlength(word, font) + 0.8 * em)
    return em, bottom - em, x - round(0.8 * em), bottom


def _ink(colour: tuple[float, ...]) -> tuple[int, ...]:
    """0 to 255 of sRGB from 0 to 1, opaque."""
    return *(round(255.0 * c) for c in colour), 255
