"""The picture of a performance profile [dolan2002]."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stickslip.experiments.comparison import Comparison
from stickslip.view.drawing import DASHES, canvas, check_plot, save


def draw_profile(comparison: Comparison, file: Path) -> None:
    """Share of problems solved against the ratio of time to the quickest solver's, one line a solver."""
    check_plot(file)
    figure, axes = canvas(1, 1, 7.0, 4.4)
    axis = axes[0, 0]
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
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, file)
