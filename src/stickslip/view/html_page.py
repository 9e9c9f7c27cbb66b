"""Pages of HTML that need nothing but themselves: no server, no network, no scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import MissingDependencyError
from stickslip.names import visible

LONG_WORD = 24
"""Letters of words that may be broken anywhere: digests, names of files."""


def html_page(title: str, body: str) -> str:
    """A whole page with the style of reports; a policy in it forbids browsers to load anything from elsewhere."""
    css = resources.files("stickslip.view").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(visible(title))}</title>\n<style>{css}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def png_bytes(picture: NDArray[np.uint8]) -> bytes:
    """A picture (h, w, 3) as PNG; needs the extra ``view``."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependencyError("pictures need Pillow; install it with: pip install 'stickslip[view]'") from None
    written = BytesIO()
    Image.fromarray(picture).save(written, format="PNG", optimize=True)
    return written.getvalue()


def image(data: bytes, kind: str, text: str) -> str:
    """An image inside the page; kind as in image/png, text for who does not see it."""
    return f'<img src="data:image/{kind};base64,{base64.b64encode(data).decode()}" alt="{escape(text)}">'


def figure(picture: str, caption: str) -> str:
    """A picture with words below; both are HTML."""
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], words: Iterable[int] = (0,), name: str = "", kind: str = ""
) -> str:
    """A table of texts, which are escaped; columns that are not among those of ``words`` hold numbers.

    name: what stands above it; kind: its class, for the style.
    """
    left = set(words)
    head = "".join(f"<th{_kind(k, left)}>{escape(title)}</th>" for k, title in enumerate(titles))
    lines = [f"<tr>{''.join(_cell(cell, k, left) for k, cell in enumerate(row))}</tr>" for row in rows]
    caption = f"<caption>{escape(name)}</caption>" if name else ""
    top = f"<thead><tr>{head}</tr></thead>" if titles else ""
    return f'<div class="scroll {kind}"><table>{caption}{top}<tbody>{"".join(lines)}</tbody></table></div>'


def section(title: str, *parts: str) -> str:
    """A part of the page under a heading."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _cell(text: str, column: int, words: set[int]) -> str:
    """A cell; what follows a first line break is in small letters, and words that fit nowhere may be broken."""
    first, _, rest = text.partition("\n")
    small = f"<small>{escape(rest)}</small>" if rest else ""
    kind = ' class="long"' if any(len(word) > LONG_WORD for word in text.split()) else _kind(column, words)
    return f"<td{kind}>{escape(first)}{small}</td>"


def _kind(column: int, words: set[int]) -> str:
    return "" if column in words else ' class="number"'
