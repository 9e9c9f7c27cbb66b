"""Draws docs/images/step.png: four stages of a step of a box that falls on the ground, from the simulation.

python docs/make_step_figure.py        (needs the extra plot)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import stickslip
from stickslip.geometry.rotation import about_axis, matrix

OUT = Path(__file__).resolve().parent / "images" / "step.png"
DT, EDGE, TILT, FRICTION = 0.02, 0.2, 0.06, 0.5
GREY, BLUE, ORANGE, GREEN = "#8a8f98", "#2f6db5", "#d9772b", "#3c8d5a"


def corners(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """(5, 2) [m] outline of the box seen from the side, closed."""
    half = 0.5 * EDGE
    outline = np.array([(-half, 0, -half), (half, 0, -half), (half, 0, half), (-half, 0, half), (-half, 0, -half)])
    return (position + outline @ matrix(rotation).T)[:, [0, 2]]


def main() -> None:
    """Take the step and draw it."""
    scene = stickslip.Scene()
    scene.add_half_space(friction=FRICTION)
    turned = about_axis((0, 1, 0), TILT)
    lowest = 0.5 * EDGE * (np.cos(TILT) + np.sin(TILT))
    start = np.array((0.0, 0.0, lowest + 0.004))
    box = scene.add_box((EDGE,) * 3, start, turned, mass=1.0, friction=FRICTION, velocity=(1.0, 0, -1.2))
    sim = stickslip.Simulation(scene, dt=DT)
    free = np.array((1.0, 0, -1.2)) + DT * np.array((0, 0, -9.81))
    result = sim.step()
    found = sim.contacts(box)
    before, would = corners(start, turned), corners(start + DT * free, turned)
    after = corners(sim.position(box), sim.rotation(box))

    figure, axes = plt.subplots(1, 4, figsize=(12.8, 3.6), constrained_layout=True)
    titles = ("1  where would it go?", "2  what may touch?", "3  which impulses hold?", "4  move, and measure")
    for axis, title in zip(axes, titles):
        axis.axhspan(-0.08, 0.0, color="#e6e2da", zorder=0)
        axis.axhline(0.0, color="#6b665c", lw=1)
        axis.set(xlim=(-0.17, 0.2), ylim=(-0.06, 0.27), aspect="equal", title=title)
        axis.axis("off")
    axes[0].plot(*before.T, color=BLUE)
    axes[0].plot(*would.T, color=GREY, ls="--")
    axes[0].annotate("", start[[0, 2]] + 0.1 * free[[0, 2]], start[[0, 2]], arrowprops={"color": BLUE, "width": 1.5})
    axes[0].text(0.05, 0.24, f"v_free = ({free[0]:.2f}, {free[2]:.2f}) m/s", color=BLUE, ha="center")
    axes[1].plot(*before.T, color=BLUE)
    for point, normal in zip(found.point, found.normal):
        axes[1].plot(point[0], point[2], "o", color=ORANGE, ms=5)
        axes[1].annotate("", (point + 0.06 * normal)[[0, 2]], point[[0, 2]], arrowprops={"color": ORANGE, "width": 1})
    axes[1].text(
        0.02, 0.24, f"{len(found)} points, least gap {1e3 * found.gap.min():.1f} mm", color=ORANGE, ha="center"
    )
    axes[2].plot(*before.T, color=BLUE)
    impulse = DT * found.force
    scale = 0.1 / max(np.linalg.norm(impulse, axis=1).max(), 1e-12)
    for point, push in zip(found.point, impulse):
        base = point[[0, 2]]
        axes[2].fill(*np.array([base, base + (-0.05, 0.1), base + (0.05, 0.1)]).T, color=GREEN, alpha=0.2, lw=0)
        if np.linalg.norm(push) > 0.05 * np.linalg.norm(impulse, axis=1).max():
            axes[2].annotate("", base + scale * push[[0, 2]], base, arrowprops={"color": GREEN, "width": 1.5})
    total = impulse.sum(axis=0)
    words = f"lam = ({total[0]:.2f}, {total[2]:.2f}) N s, {found.status_names[0]}"
    axes[2].text(0.02, 0.24, words, color=GREEN, ha="center")
    axes[3].plot(*after.T, color=BLUE)
    seen = result.certificate
    axes[3].text(0.02, 0.24, f"{seen.status}: law {seen.natural_residual:.0e}", color="black", ha="center")
    words = f"momentum {seen.momentum_relative:.0e}, friction took {seen.energy.friction:.2f} J"
    axes[3].text(0.02, -0.045, words, ha="center")
    figure.savefig(OUT, dpi=110)
    print(f"written: {OUT.name}; {len(found)} contacts, {seen.status}")


if __name__ == "__main__":
    main()
