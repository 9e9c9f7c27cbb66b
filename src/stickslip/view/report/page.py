"""One page about a recorded run: what happened, how right it is, and what it cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from stickslip import __version__
from stickslip.checks import function, whole
from stickslip.files import whole_file
from stickslip.names import visible
from stickslip.view.course import FLOWS, Course, course_of_recording
from stickslip.view.drawing import needed_packages, svg
from stickslip.view.html_page import figure, html_page, image, png_bytes, section, table
from stickslip.view.picture.strip import picture_strip
from stickslip.view.quantity_words import count_words, ordinal
from stickslip.view.report.facts import MEASURES, report_facts
from stickslip.view.report.plots import PLOTS, run_figure

if TYPE_CHECKING:
    from stickslip.io.recording import Recording

PICTURES = 6
"""Pictures in the strip."""
LEAST_SHARE = 1e-3
"""Share of a step's time below which a stage is not worth a line."""
Progress = Callable[[int, int, str], None]
"""Told how many parts are done, of how many, and what is under way."""
WORDS = {"error": "Error", "warning": "Warning", "note": "Note"}


def write_report(
    recording: Recording,
    path: str | os.PathLike[str],
    pictures: int = PICTURES,
    progress: Progress = lambda done, total, text: None,
) -> dict[str, Any]:
    """Write the page of a recording as one HTML file, and return its facts (view/report/facts.py).

    pictures: how many the strip has, 0 for none. Needs the extras ``plot`` and, with pictures, ``view``.
    """
    needed_packages()
    pictures = whole("report", "pictures", pictures)
    function("report", "progress", progress, "a function of done, total and a text")
    with whole_file(path) as temporary:  # where nothing can be written, that is said before pictures are drawn
        text, facts = _page(recording, pictures, progress)
        temporary.write_text(text, encoding="utf-8")
    return facts


def _page(recording: Recording, pictures: int, progress: Progress) -> tuple[str, dict[str, Any]]:
    """The page and the facts on it."""
    course = course_of_recording(recording)
    shown = min(pictures, len(course))
    total = shown + len(PLOTS) + 1
    progress(0, total, "looking for what went wrong")
    facts = report_facts(recording, course)
    strip = []
    for number, (time, picture) in enumerate(picture_strip(recording, shown)):
        progress(1 + number, total, f"picture {number + 1} of {shown}")
        text = f"{facts['scene'] or 'the scene'} at t = {time:.3g} s"
        strip.append(figure(image(png_bytes(picture), "png", text), f"t = {time:.3g} s"))
    plots = []
    for number, plot in enumerate(PLOTS if len(course) else ()):
        progress(1 + shown + number, total, f"plot: {plot.title}")
        drawn = image(svg(run_figure(plot, [course])), "svg+xml", f"{plot.title}: {plot.about}")
        plots.append(f"<div><h3>{escape(plot.title)}</h3>{figure(drawn, escape(plot.about))}</div>")
    progress(total, total, "writing")
    return html_page(f"{facts['scene'] or facts['file']}: report", _body(facts, course, strip, plots)), facts


def _body(facts: dict[str, Any], course: Course, strip: list[str], plots: list[str]) -> str:
    """The page between its tags."""
    title = facts["scene"] or facts["file"]
    parts = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="about">{escape(facts["about"])}</p>',
        f'<p class="verdict {facts["severity"]}">{escape(facts["verdict"])}</p>',
        f'<ul class="facts">{"".join(_key_facts(facts))}</ul></header>',
        f'<div class="strip">{"".join(strip)}</div>' if strip else "",
        section("Warnings", _warnings(facts["warnings"])),
    ]
    if len(course):
        parts += [
            section("Worst step", _worst_table(facts)),
            section("Over time", f'<div class="plots">{"".join(plots)}</div>'),
            section("Time and energy", f'<div class="tables">{_stages(facts)}{_energies(facts)}</div>'),
        ]
    if facts["robots"]:
        parts.append(section("Robots", f'<div class="tables">{"".join(map(_joints, facts["robots"]))}</div>'))
    parts += [section("Settings", f'<div class="tables">{_settings(facts)}</div>'), _footer(facts)]
    return "\n".join(parts)


def _key_facts(facts: dict[str, Any]) -> list[str]:
    """The numbers that everybody wants first."""
    bodies = f"{facts['bodies']} rigid" if facts["bodies"] else ""
    soft = f"{facts['soft_bodies']} soft" if facts["soft_bodies"] else ""
    rate = facts["realtime_rate"]
    found = {
        "simulated": f"{facts['end_s']:.4g} s" if facts["end_s"] is not None else "-",
        f"steps of {1e3 * facts['stepping']['dt']:g} ms": f"{facts['steps']}",
        "bodies": ", ".join(filter(None, (bodies, soft))),
        "joints": str(facts["joints"]) if facts["joints"] else "",
        "contacts, mean and most": f"{facts['contacts_mean']:.0f}, {facts['contacts_max']}",
        "iterations, mean and most": f"{facts['iterations_mean']:.1f}, {facts['iterations_max']}",
        "a step, median": f"{facts['ms_per_step_median']:.3g} ms" if rate else "",
        "of real time, mean": f"{rate:.2g} x" if rate else "",
        f"solver, {facts['solver']['law']} law": facts["solver"]["name"],
    }
    return [f"<li><b>{escape(value)}</b><span>{escape(name)}</span></li>" for name, value in found.items() if value]


def _warnings(warnings: list[dict[str, Any]]) -> str:
    """The warnings as a list, or that there are none."""
    none = "<p>No warnings: every number of the certificate is where it should be.</p>"
    lines = [
        f'<li class="{w["severity"]}"><b>{WORDS[w["severity"]]}</b><span>{escape(_sentence(w["text"]))}</span></li>'
        for w in warnings
    ]
    listed = f'<ul class="warnings">{"".join(lines)}</ul>' if lines else ""
    return listed if any(w["severity"] != "note" for w in warnings) else none + listed


def _worst_table(facts: dict[str, Any]) -> str:
    """Largest errors of all steps, with units, and when."""
    rows = []
    for name, measure in MEASURES.items():
        found = facts["worst"][name]
        worst, median = found["value"], found["median"]
        rows.append(
            [
                f"{measure.title}\n{measure.about}",
                _quantity(worst, measure.unit),
                f"{found['time_s']:.4g} s" if worst else "-",
                _quantity(median, measure.unit),
            ]
        )
    judged = "recorded step" if facts["every"] > 1 else "step"
    note = f"The largest errors of {count_words(facts['frames'], judged)}, each measured against the exact law."
    return f'<p class="about">{note}</p>' + table(("error", "worst", "at", "median"), rows, kind="worst")


def _quantity(value: float | None, unit: str) -> str:
    """A number in two digits with its unit; a dash where it is not known."""
    if value is None:
        return "-"
    number = f"{value:.0f}" if value >= 100.0 else f"{value:.2g}"
    return number if unit == "1" else f"{number} {unit}"


def _stages(facts: dict[str, Any]) -> str:
    total = sum(facts["stages_ms"].values())
    rows = [
        [name, f"{value:.3g} ms", f"{100.0 * value / total:.0f} %"]
        for name, value in facts["stages_ms"].items()
        if value > LEAST_SHARE * total
    ]
    return table(("stage", "usual", "share"), [*rows, ["together", f"{total:.3g} ms", ""]], name="Time of a step")


def _energies(facts: dict[str, Any]) -> str:
    """The ledger: what there is at the end, and what came and went, with the sign with which it counts."""
    words = {
        "work": "work of forces, drives and prescribed motions", "friction": "friction", "damping": "damping",
        "impact": "impacts", "numerical": "time discretisation",
    }  # fmt: skip
    stored = [[name, f"{value:.4g} J"] for name, value in facts["energy_end_J"].items()]
    given = {name: FLOWS[name] * value for name, value in facts["energy_flows_J"].items()}
    flows = [[words[name], f"{value:+.4g} J" if value else "0 J"] for name, value in given.items()]
    about = "Energy given (+) and taken (-)" + (", estimated from the recorded steps" if facts["every"] > 1 else "")
    return table((), stored, name="Energy at the end") + table((), flows, name=about)


def _joints(robot: dict[str, Any]) -> str:
    """Where the joints of a robot were, and the largest efforts along them."""
    rows = [
        [
            joint["name"],
            *(f"{joint[name]:.3f} {joint['unit']}" for name in ("first", "last", "least", "most")),
            f"{joint['effort']:.3g} {joint['effort_unit']}",
        ]
        for joint in robot["joints"]
    ]
    return table(("joint", "first", "last", "least", "most", "largest effort"), rows, name=robot["name"])


def _settings(facts: dict[str, Any]) -> str:
    solver = facts["solver"]
    return "".join(
        (
            table((), _pairs(facts["parameters"]) or [["none", ""]], (0, 1), "Parameters of the scene"),
            table((), [["name", solver["name"]], ["law", solver["law"]], *_pairs(solver["options"])], (0, 1), "Solver"),
            table((), _pairs(facts["stepping"]), (0, 1), "Stepping"),
            table((), _file_rows(facts), (0, 1), "Recording"),
        )
    )


def _file_rows(facts: dict[str, Any]) -> list[list[str]]:
    return [
        ["file", facts["file"]],
        ["frames", f"{facts['frames']}, every {ordinal(facts['every']) + ' ' if facts['every'] > 1 else ''}step"],
        ["complete", "yes" if facts["complete"] else "no: the run was cut off, or still goes on"],
        ["unknowns", str(facts["unknowns"])],
        ["state at the end", facts["state_digest"] or "-"],
        ["stickslip", facts["stickslip_version"]],
    ]


def _pairs(values: Mapping[str, Any]) -> list[list[str]]:
    """Names and values as texts."""
    return [[visible(name), "-" if value is None else _setting(value)] for name, value in values.items()]


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(_setting, value)) if isinstance(value, list) else visible(value)


def _footer(facts: dict[str, Any]) -> str:
    digest = facts["state_digest"]
    same = (
        f"The same digest of the state at the end ({digest[:16]}) means the same run, bit for bit. " if digest else ""
    )
    return (
        f"<footer>{escape(same)}Written by stickslip {escape(__version__)} from {escape(facts['file'])}, recorded by "
        f"stickslip {escape(facts['stickslip_version'])}.</footer>"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
