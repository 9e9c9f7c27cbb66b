"""The picture of a performance profile [dolan2002]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stickslip.experiments.comparison import Comparison
from stickslip.view.drawing import DASHES, canvas, check_plot, save

MOST_PROBLEMS = 6
"""Problems whose histories are drawn: those with most contacts."""


def draw_profile(comparison: Comparison, file: Path) -> None:
    """Share of problems solved against the ratio of time to the quickest solver's, one line a solver.

    Below it, of the problems with most contacts, the residual that each solver watches over its iterations.
    """
    check_plot(file)
    size = {row.problem: row.contacts for row in comparison.rows}
    drawn = sorted(comparison.problems, key=lambda name: -size.get(name, 0))[:MOST_PROBLEMS]
    rows = 1 + -(-len(drawn) // 2)
    figure, axes = canvas(rows, 2, 11.0, 3.6 * rows)
    _profile(axes[0, 0], comparison)
    axes[0, 1].axis("off")
    handles, names = axes[0, 0].get_legend_handles_labels()
    axes[0, 1].legend(handles, names, fontsize=8, loc="center left", ncols=2, frameon=False)
    places = [*axes[1:].ravel()]
    for axis, name in zip(places, drawn):
        _histories(axis, comparison, name)
    for axis in places[len(drawn) :]:
        axis.axis("off")
    save(figure, file)


def _histories(axis: Any, comparison: Comparison, problem: str) -> None:
    """Residuals over iterations on one problem, in the colours of the profile."""
    for k, name in enumerate(comparison.solvers):
        row = next(row for row in comparison.rows if (row.problem, row.solver) == (problem, name))
        course = row.history
        if course is None or not len(course):
            continue
        good = np.isfinite(course[:, 1]) & (course[:, 1] > 0.0)
        dashes, colour = DASHES[(k // 10) % len(DASHES)], f"C{k % 10}"
        axis.plot(course[good, 0], course[good, 1], linestyle=dashes, color=colour, linewidth=1.4, marker=".", ms=3)
    axis.set(yscale="log", xscale="symlog", title=Path(problem).name)
    axis.set_xlim(left=0.0)
    axis.title.set_fontsize(9)
    axis.set_xlabel("iterations")
    axis.set_ylabel("residual")
    axis.grid(alpha=0.3)


def _profile(axis: Any, comparison: Comparison) -> None:
    """The performance profile."""
    ratios, count = comparison.ratios(), len(comparison.problems)
    solved = ratios[np.isfinite(ratios)]
    right = 1.3 * float(solved.max(initial=10.0))
    for k, name in enumerate(comparison.solvers):
        tau = np.sort(ratios[np.isfinite(ratios[:, k]), k])
        share = np.arange(len(tau) + 1) / count
        x, y = np.concatenate([[1.0], tau, [right]]), np.append(share, share[-1])
        axis.step(x, y, where="post", linestyle=DASHES[(k // 10) % len(DASHES)], linewidth=1.6, label=name)
    axis.set(xscale="log", xlim=(1.0, right), ylim=(0.0, 1.02))
    axis.set_xlabel("tau: time over that of the quickest solver")
    axis.set_ylabel(f"share of {count} problems solved within tau")
    axis.grid(alpha=0.3)
    steps = (1.0, 2.0, 5.0) if right < 200.0 else (1.0,)
    ticks = [step * 10.0**k for k in range(int(np.log10(right)) + 1) for step in steps]
    axis.set_xticks([tick for tick in ticks if tick <= right])
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
