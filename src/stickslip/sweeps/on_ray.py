"""Runs of a sweep as tasks of a Ray cluster: of this machine, or of the one at an address.

Ray, because it is what people in robot learning have, it starts a task again whose worker was lost, and a cluster is
joined by one command (``ray start --address``). Machines of a cluster need stickslip, and files that a scene reads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from stickslip.ray_cluster import TRIES, ray_cluster
from stickslip.sweeps.one_run import Row, empty_row, one_run
from stickslip.sweeps.plan import RunRequest


def run_on_ray(
    requests: Sequence[RunRequest], processes: int | None, time_limit: float, address: str | None
) -> Iterator[Row]:
    """Rows of the runs, as they end; a task is made again where its worker is lost."""
    with ray_cluster("sweep", processes, address) as ray:
        yield from _rows(ray, requests, time_limit)


def _rows(ray: Any, requests: Sequence[RunRequest], time_limit: float) -> Iterator[Row]:
    """Rows as they end. No more tasks than processors are handed in: one that waits for one would use up its time."""
    task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(one_run)
    at_once = max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, running = list(reversed(requests)), dict[Any, tuple[RunRequest, float]]()
    while waiting or running:
        while waiting and len(running) < at_once:
            request = waiting.pop()
            running[task.remote(request)] = request, time.monotonic() + time_limit
        left = min(deadline for _, deadline in running.values()) - time.monotonic()
        ended, _ = ray.wait(list(running), num_returns=1, timeout=None if math.isinf(left) else max(left, 0.0))
        for reference in ended:
            request, _ = running.pop(reference)
            try:
                yield ray.get(reference)
            except ray.exceptions.RayError as error:
                yield empty_row(request, "crashed", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        for reference in [each for each, (_, deadline) in running.items() if deadline <= time.monotonic()]:
            request, _ = running.pop(reference)
            ray.cancel(reference, force=True)
            yield empty_row(request, "time-limit", f"no end within {time_limit:g} s")
