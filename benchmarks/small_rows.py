"""Rows of bench_small.py: what is told of a scene, tables of them, and how times are taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.jit import numba

BARS: dict[str, tuple[float, float | None]] = {
    "box": (25.0, None), "box-worlds": (3.0, 1.0), "heavy-stack": (60.0, 2.0), "four-bar": (15.0, None),
    "chain": (120.0, None), "arch": (200.0, None), "wall": (900.0, None), "humanoid": (45.0, 1.5),
    "arm-box": (40.0, None), "four-bar-bodies": (1500.0, None), "chain-bodies": (3500.0, None),
}  # fmt: skip
"""What was aimed at: us a step, and our time over MuJoCo's."""
STAGES = ("collide", "assemble", "solve", "integrate", "certify")


@dataclass
class Row:
    """Figures of one scene; times in us a step."""

    scene: str
    ours_us: float
    mujoco_us: float | None
    yardstick_us: float
    residual: float
    penetration_mm: float
    driver: str
    mujoco_mm: float | None = None
    """MuJoCo's largest error in the same steps: overlap, or how far a loop is open."""
    error_mm: float = 0.0
    """The same of ours."""
    contacts: float = 0.0
    """Mean of the steps."""
    converged: float = 1.0
    """Share of the steps."""
    compiled: float = 0.0
    """Share of the steps that the compiled driver took itself."""
    stages: dict[str, float] = field(default_factory=dict)
    mujoco_mm_in_our_time: float | None = None
    mujoco_us_at_our_error: float | None = None
    certificate_share: float | None = None
    memory_kb: float | None = None
    """[kB] of a world."""

    @property
    def ratio(self) -> float | None:
        """Our time over MuJoCo's."""
        return None if self.mujoco_us is None else self.ours_us / self.mujoco_us

    @property
    def ratios(self) -> dict[str, float]:
        """What is kept of a scene: our time over that of MuJoCo, if any, and of the yardstick."""
        found = {"yardstick": self.ours_us / self.yardstick_us}
        return found if self.ratio is None else {"mujoco": self.ratio, **found}

    @property
    def bar(self) -> tuple[float | None, float | None]:
        """What was aimed at."""
        return BARS.get(self.scene, (None, None))

    def as_json(self) -> dict[str, Any]:
        """The figures that scripts read."""
        names = (
            "scene", "ours_us", "mujoco_us", "ratio", "residual", "penetration_mm", "driver", "bar", "error_mm",
            "mujoco_mm", "mujoco_mm_in_our_time", "mujoco_us_at_our_error", "contacts", "converged", "compiled",
            "certificate_share", "memory_kb",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def cpu_seconds(function: Callable[[], object]) -> float:
    """CPU time [s] of a call, all threads."""
    start = time.process_time()
    function()
    return time.process_time() - start


def clock_seconds(function: Callable[[], object]) -> float:
    """Time [s] of a call on the clock."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


@numba.njit
def _arithmetic(a, b, c, d, e, f, g, out):
    """The product of two 6 x 6 matrices, some tens of times, and a few more arrays to pass."""
    for _ in range(20):
        for i in range(6):
            for j in range(6):
                total = c[i] * d[j] + e[i] * f[j] + g[i]
                for k in range(6):
                    total += a[i, k] * b[k, j]
                out[i, j] = 0.5 * (out[i, j] + total)


def yardstick() -> None:
    """What a step is made of, in fixed amounts: a hundred rounds of a kernel call, NumPy on small arrays, Python."""
    rng = np.random.default_rng(0)
    a, b, out = rng.normal(size=(6, 6)), rng.normal(size=(6, 6)), np.zeros((6, 6))
    vectors = rng.normal(size=(5, 6))
    for _ in range(100):
        _arithmetic(a, b, *vectors, out)
        joined = np.concatenate([vectors[0], vectors[1]])
        largest = float(np.abs(joined).max(initial=0.0))
        scaled = {index: largest * value for index, value in enumerate(joined.tolist())}
        vectors[2] = 0.5 * (out @ vectors[3]) / max(scaled.values())


def table(rows: list[Row]) -> str:
    """Times and their stages, as Markdown."""
    lines = [
        f"| scene | ours [us] | MuJoCo [us] | ratio | {' | '.join(STAGES)} | contacts | converged | residual | "
        "error [mm] | MuJoCo's |",
        "|---" * (len(STAGES) + 9) + "|",
    ]
    for row in rows:
        stages = " | ".join(f"{row.stages[stage]:.0f}" if row.stages else "-" for stage in STAGES)
        lines.append(
            f"| {row.scene} ({row.driver}) | {row.ours_us:.0f} | {told(row.mujoco_us, '.1f')} | "
            f"{told(row.ratio, '.2g')} | {stages} | {row.contacts:.0f} | {row.converged:.0%} | {row.residual:.1e} | "
            f"{row.error_mm:.2g} | {told(row.mujoco_mm, '.2g')} |"
        )
    return "\n".join(lines)


def markdown(rows: list[Row]) -> str:
    """The table of docs/performance.md."""
    lines = [
        "| scene | driver | ours [us] | aim | MuJoCo [us] | ratio | aim | residual | error [mm] | MuJoCo's | "
        "MuJoCo's in our time | MuJoCo at our error [us] | certificate | kB a world |",
        "|---|---|" + "---:|" * 12,
    ]
    for row in rows:
        time_bar, ratio_bar = row.bar
        cells = (
            row.scene, row.driver, f"{row.ours_us:.3g}", told(time_bar, "g"), told(row.mujoco_us, ".3g"),
            told(row.ratio, ".2g"), told(ratio_bar, "g"), f"{row.residual:.1e}", f"{row.error_mm:.1e}",
            told(row.mujoco_mm, ".2g"), told(row.mujoco_mm_in_our_time, ".2g"),
            told(row.mujoco_us_at_our_error, ".3g"), told(row.certificate_share, ".1%"), told(row.memory_kb, ".3g"),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def told(number: float | None, style: str) -> str:
    """A number as text; a dash where there is none."""
    return "-" if number is None else format(number, style)
