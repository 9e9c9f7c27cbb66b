"""A real browser without a screen: the Chromium of the system, driven by Playwright."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SOFTWARE_GRAPHICS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(CHROMIUM)} is installed; on Debian: apt install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=list(SOFTWARE_GRAPHICS))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of laptop size; a console error or an exception in it fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 720})
    opened = context.new_page()
    opened.set_default_timeout(240_000)  # without a graphics card, on a busy machine, a frame takes seconds
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []
