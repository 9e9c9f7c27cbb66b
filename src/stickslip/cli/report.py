"""``stickslip report``: one page about a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.output import print_json, progress, say
from stickslip.errors import InputError

MOST_PICTURES = 100


def report(
    recording: Annotated[Path, typer.Argument(metavar="FILE.h5", help="A recording: stickslip run ... --out FILE.h5.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The page to write; FILE.report.html if left out.")
    ] = None,
    pictures: Annotated[int, typer.Option(help="Pictures in the strip; 0 for none.")] = 6,
    json: Annotated[
        bool, typer.Option("--json", help="Print the facts as one JSON object; a page is written only with --out.")
    ] = False,
) -> None:
    """Write one self-contained HTML page about a recorded run.

    It says in words how far the run can be trusted, and shows pictures, the certificate over time, iterations,
    contacts, time, energy, and all settings. Only recorded steps can be judged. Recordings that were cut off
    (FILE.h5.partial) can be given, too.

    Examples:

    stickslip report demo.h5

    stickslip report demo.h5 --out demo.html --pictures 12

    stickslip report demo.h5 --json
    """
    if not 0 <= pictures <= MOST_PICTURES:
        raise InputError(f"pictures is {pictures}; it must be between 0 and {MOST_PICTURES}")
    page = out if out is not None or json else default_page(recording)
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"out: {page} ends with {page.suffix!r}; pages end with .html")
    from stickslip.io.recording import read_recording
    from stickslip.view.course import course_of_recording
    from stickslip.view.report.facts import report_facts
    from stickslip.view.report.page import write_report

    with read_recording(recording) as recorded:
        if page is None:
            facts = report_facts(recorded, course_of_recording(recorded))
        else:
            with progress(100) as advance:
                facts = write_report(
                    recorded, page, pictures, lambda done, total, text: advance(100 * done // total, text)
                )
    if json:
        print_json(facts)
        return
    say(facts["verdict"])
    for warning in facts["warnings"]:
        say(f"{warning['severity']}: {warning['text']}")
    say(f"written to {page}")


def default_page(recording: Path) -> Path:
    """The page beside a recording: demo.report.html of demo.h5."""
    from stickslip.io.partial_file import finished_name

    return recording.with_name(f"{Path(finished_name(recording.name)).stem}.report.html")
