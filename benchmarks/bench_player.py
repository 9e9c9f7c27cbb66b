"""Size of a recording as one HTML file, the time to write it, and how fast Chromium opens and draws it.

Run: python benchmarks/bench_player.py [--quick] [--browser] [--keep FOLDER]. The runs are those of the table in
docs/viewing.md; recordings that FOLDER already has are not run again. --browser needs Playwright and Chromium; without
a graphics card it draws in software, which says little about a real one, so the JavaScript's own share is listed too.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stickslip.io.recording import read_recording
from stickslip.view.player.html_player import write_player

LOOSE = ("--dt", "0.01", "--set", "solver.tolerance=1e-2", "--set", "solver.max_iterations=20")
RUNS = {
    "500 balls, 10 s": ("spheres", "--set", "count=500", "--time", "10", *LOOSE, "--every", "3"),
    "500 jacks, 10 s": ("jacks", "--set", "count=500", "--time", "10", *LOOSE, "--every", "3"),
    "2000 balls, 10 s": ("spheres", "--set", "count=2000", "--time", "10", *LOOSE, "--every", "3"),
    "soft fingers, 2.5 s": ("pneunet", "--time", "2.5", "--every", "4"),
}
QUICK = {"50 balls, 0.5 s": ("spheres", "--set", "count=50", "--time", "0.5", *LOOSE)}
GRAPHICS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small run")
    parser.add_argument("--browser", action="store_true", help="open the pages in Chromium")
    parser.add_argument("--keep", type=Path, help="folder for recordings and pages")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'run':<20} {'bodies':>6} {'frames':>6} {'HDF5 MB':>8} {'HTML MB':>8} {'written s':>9}", end="")
        print(f" {'open s':>7} {'place ms':>8} {'frame ms':>8}" if chosen.browser else "")
        for label, options in (QUICK if chosen.quick else RUNS).items():
            measure(label, options, folder, chosen.browser)


def measure(label: str, options: tuple[str, ...], folder: Path, browser: bool) -> None:
    stem = label.replace(",", "").replace(" ", "-")
    source, page = folder / f"{stem}.h5", folder / f"{stem}.html"
    if not source.exists():
        command = [sys.executable, "-m", "stickslip", "run", *options, "--out", str(source)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with read_recording(source) as recording:
        bodies = recording.model.body_count + recording.model.soft.count
        start = time.perf_counter()
        write_player(recording, page, colour_by="von-mises" if recording.model.soft.count else None)
        seconds, frames = time.perf_counter() - start, len(recording)
    print(f"{label:<20} {bodies:>6} {frames:>6} {source.stat().st_size / 1e6:>8.1f} ", end="")
    print(f"{page.stat().st_size / 1e6:>8.2f} {seconds:>9.1f}", end="", flush=True)
    print(" {:>7.1f} {:>8.2f} {:>8.0f}".format(*opened(page)) if browser else "")


def opened(page: Path) -> tuple[float, float, float]:
    """Seconds until the page is ready, ms to put bodies in their places, ms a drawn frame; the shortest of 20."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium: Any = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(GRAPHICS))
        tab = chromium.new_page(viewport={"width": 1280, "height": 720})
        start = time.perf_counter()
        tab.goto(page.resolve().as_uri())
        while not tab.evaluate("!!window.stickslip && (stickslip.ready || !!stickslip.error)"):
            time.sleep(0.02)
        ready = time.perf_counter() - start
        place, drawn = tab.evaluate("stickslip.timed(20)")
        chromium.close()
    return ready, place, drawn


if __name__ == "__main__":
    main()
