"""The gallery has every scene, each with a picture that shows something and with commands that exist."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stickslip.scenes.parameters import parse_assignments
from stickslip.scenes.registry import SCENES

DOCS = Path(__file__).parents[2] / "docs"


@cache
def maker() -> ModuleType:
    found = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look for their own module
    found.loader.exec_module(module)
    return module


def test_the_page_is_what_its_maker_writes() -> None:
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == maker().page()


def test_every_scene_has_a_shot_with_settings_that_it_knows() -> None:
    gallery = maker()
    assert set(gallery.SHOTS) == set(SCENES)
    for name, entry in SCENES.items():
        run, _ = gallery.commands(name)
        assert f"## {name}\n" in gallery.page()
        given = [run[k + 1] for k, word in enumerate(run) if word == "--set"]
        entry.parameters(parse_assignments(given))


@pytest.mark.parametrize("name", SCENES)
def test_every_picture_exists_and_shows_something(name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    file = DOCS / "images" / "gallery" / f"{name}.png"
    assert file.stat().st_size < 120_000
    picture = np.asarray(image.open(file).convert("RGB")).astype(int)
    assert picture.shape == (maker().HEIGHT, maker().WIDTH, 3)
    assert picture.reshape(-1, 3).std(axis=0).max() > 4.0
    corner = picture[:12, :12].reshape(-1, 3).mean(axis=0)
    assert (np.abs(picture - corner).max(axis=2) > 40).mean() > 0.003
