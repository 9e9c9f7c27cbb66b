"""``stickslip compare --simulate --plot``: the courses of several solvers in one picture, or on one page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.compare_scenes import LEGEND, table_of
from stickslip.files import whole_file
from stickslip.view.drawing import FORMATS, save, svg
from stickslip.view.html_page import figure, html_page, image, section, table
from stickslip.view.report.plots import PLOTS, comparison_figure, legend_figure, run_figure

if TYPE_CHECKING:
    from stickslip.experiments.scene_comparison import SceneComparison
    from stickslip.view.course import Course

PLOT_FORMATS = (*FORMATS, ".html")


def draw_simulations(found: SceneComparison, file: Path) -> None:
    """Write the plots of all runs, scene by scene: a picture, or a page with the tables as well."""
    courses = {scene: courses_of(found, scene) for scene in found.scenes}
    if file.suffix.lower() != ".html":
        titles = {f"{scene}: {_about(found, scene)}": runs for scene, runs in courses.items()}
        save(comparison_figure(titles), file)
        return
    body = "".join(
        (
            "<header><h1>Solvers compared</h1>",
            f'<p class="about">{escape(", ".join(found.solvers))}: each simulates from the start.</p></header>',
            *(_scene_section(found, scene, runs) for scene, runs in courses.items()),
            f"<footer>{escape(LEGEND)}</footer>",
        )
    )
    with whole_file(file) as temporary:
        temporary.write_text(html_page(f"{', '.join(found.scenes)}: solvers compared", body), encoding="utf-8")


def courses_of(found: SceneComparison, scene: str) -> list[Course]:
    """Courses of the runs of a scene, of solvers that took a step at least."""
    return [row.course for row in found.of_scene(scene) if row.course is not None and len(row.course)]


def _scene_section(found: SceneComparison, scene: str, courses: list[Course]) -> str:
    text = table_of(found, scene)
    titles = [title.replace("\n", " ") for title in text.titles]
    parts = [f'<p class="about">{escape(text.about)}</p>', table(titles, text.cells, range(text.words))]
    parts += [f"<p>{escape(note)}</p>" for note in text.notes]
    if courses:
        who = ", ".join(course.label for course in courses)
        parts.append(f'<div class="legend">{image(svg(legend_figure(courses)), "svg+xml", f"lines of {who}")}</div>')
        drawn = []
        for plot in PLOTS:
            picture = image(svg(run_figure(plot, courses)), "svg+xml", f"{plot.title} of {who}: {plot.about}")
            drawn.append(f"<div><h3>{escape(plot.title)}</h3>{figure(picture, escape(plot.about))}</div>")
        parts.append(f'<div class="plots">{"".join(drawn)}</div>')
    return section(scene, *parts)


def _about(found: SceneComparison, scene: str) -> str:
    """What was run, and who is missing from the plots."""
    rows = found.of_scene(scene)
    first = next((row.summary for row in rows if row.summary is not None), None)
    steps = f"{rows[0].steps_asked} steps" + (f" of {1e3 * first.dt:g} ms" if first is not None else "")
    missing = [row.solver for row in rows if row.course is None or not len(row.course)]
    return steps + (f"; without {', '.join(missing)}, which took no step" if missing else "")
