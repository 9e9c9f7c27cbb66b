"""Ray: a cluster of this machine, or one that is joined by its address, and an error that says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stickslip.errors import InputError, MissingDependencyError

TRIES = 3
"""How often work is done whose process ends."""


@contextmanager
def ray_cluster(who: str, processes: int | None, address: str | None) -> Iterator[Any]:
    """The module ray, joined to a cluster; one that was begun here ends with the block."""
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(f"{who} on Ray needs it; pip install 'stickslip[ray]'") from error
    begun = not ray.is_initialized()
    if begun:
        _join(ray, who, processes, address)
    try:
        yield ray
    finally:
        if begun:
            ray.shutdown()


def _join(ray: Any, who: str, processes: int | None, address: str | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        ray.init(num_cpus=processes, include_dashboard=False, **quiet)
        return
    if processes is not None:
        raise InputError(f"{who}: processes is {processes}, but the cluster at {address} has its own; leave it out")
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"{who}: no Ray cluster answers at {address} ({' '.join(str(error).split())[:200]})") from None
