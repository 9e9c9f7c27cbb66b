"""Speed of assembling forces and stiffness of tetrahedra: ms, growth with their number, memory, bits on more threads.

Elements of a deformed box. ``einsum`` is the same corotational stiffness (rotation of the start of the step) by NumPy,
timed in turns with the kernel on one thread, so that both see the same machine. Times are the smallest of all runs: of
the processor with one thread, of the clock with more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import bsr_array

from stickslip.bodies.soft.element_assembly import PARALLEL_ELEMENTS, assemble
from stickslip.geometry.element_chunks import element_chunks
from stickslip.geometry.tet_generators import box
from stickslip.jit import numba
from stickslip.linalg.block_matrix import BlockPattern, block_pattern, places_of
from stickslip.model.soft_tables import CHUNK, ElementTables
from stickslip.scene.soft_body import LAGGED, MODELS, MOONEY_RIVLIN, elastic

GROWTH = {
    7_000: (11, 11, 10), 30_000: (17, 17, 17), 100_000: (26, 26, 25), 300_000: (37, 37, 37), 1_000_000: (55, 55, 55),
}  # fmt: skip
"""Cells a side of boxes of about so many elements."""


class Body:
    """A box with about as many elements as asked for, deformed, and arrays to assemble into."""

    def __init__(self, count: int, code: int) -> None:
        mesh = box((1.0, 1.0, 1.0), GROWTH[count])
        order, chunk_start, colour_start = element_chunks(mesh.tets, CHUNK)
        nodes = np.ascontiguousarray(mesh.tets[order])
        corners = mesh.nodes[nodes]
        Dm = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
        material = elastic(mooney=(1e5, 2e4, 1e7)) if code == MOONEY_RIVLIN else elastic(1e6, 0.4, model=MODELS[code])
        self.count = len(nodes)
        self.pattern: BlockPattern = block_pattern(nodes, len(mesh.nodes))
        self.elements = ElementTables(
            nodes,
            np.ascontiguousarray(np.linalg.inv(Dm)),
            np.linalg.det(Dm) / 6.0,
            np.full(self.count, code, dtype=np.int32),
            np.tile(material.parameters, (self.count, 1)),
            np.full(self.count, 0.01),
            np.zeros((self.count, 3)),
            places_of(self.pattern, nodes),
            chunk_start,
            colour_start,
        )
        rng = np.random.default_rng(0)
        h = 1.0 / GROWTH[count][0]
        self.x = mesh.nodes + 0.05 * h * rng.normal(size=mesh.nodes.shape)
        self.v = rng.normal(size=self.x.shape)
        self.pressure, self.factor = np.zeros(self.count), np.full(self.count, 1e-4)
        self.force, self.A = np.zeros_like(self.x), np.zeros((len(self.pattern.indices), 3, 3))

    def assemble(self) -> None:
        self.force[:] = 0.0
        self.A[:] = 0.0
        assemble(self.elements, self.x, self.x, self.v, self.pressure, self.factor, True, self.force, self.A)

    @property
    def bytes_an_element(self) -> float:
        held = [*self.elements, *self.pattern, self.x, self.x, self.v, self.pressure, self.factor, self.force, self.A]
        return sum(array.nbytes for array in held) / self.count

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.force.tobytes() + self.A.tobytes()).hexdigest()[:16]


def einsum_assembly(body: Body) -> None:
    """Forces and stiffness of the lagged corotational model with NumPy and SciPy."""
    el = body.elements
    F = np.einsum("eki,ekj->eij", body.x[el.nodes[:, 1:]] - body.x[el.nodes[:, :1]], el.gradient)
    U, _, Vt = np.linalg.svd(F)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    R = U @ Vt
    g = np.concatenate([-el.gradient.sum(axis=1, keepdims=True), el.gradient], axis=1)
    g = np.einsum("eij,ekj->eki", R, g)
    rate = np.einsum("eki,ekj->eij", body.v[el.nodes], g)
    strain = np.einsum("eij,ekj->eik", F, R) - np.eye(3) + el.beta[:, None, None] * rate
    mu, lam = el.parameter[:, 0, None, None], el.parameter[:, 1, None, None]
    trace = np.einsum("eii->e", strain)[:, None, None]
    stress = mu * (strain + np.swapaxes(strain, 1, 2)) + lam * trace * np.eye(3)
    f = -el.volume[:, None, None] * np.einsum("eij,ekj->eki", stress, g)
    for k in range(3):
        body.force[:, k] = np.bincount(el.nodes.ravel(), f[:, :, k].ravel(), minlength=len(body.x))
    outer = np.einsum("eia,ejb->eijab", g, g)
    dots = np.einsum("eijaa->eij", outer)[:, :, :, None, None] * np.eye(3)
    w = (body.factor * el.volume)[:, None, None, None, None]
    K = w * (lam[..., None, None] * outer + mu[..., None, None] * (np.swapaxes(outer, 3, 4) + dots))
    row, column = np.repeat(el.nodes, 4, axis=1).ravel(), np.tile(el.nodes, (1, 4)).ravel()
    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(body.x)))])
    matrix = bsr_array((K.reshape(-1, 3, 3)[order], column[order], indptr), shape=(body.x.size, body.x.size))
    matrix.sum_duplicates()


def seconds(runs: int, *functions: Callable[[], None]) -> list[float]:
    """The smallest time of each function, in turns."""
    clock = time.process_time if numba.get_num_threads() == 1 else time.perf_counter
    best = [np.inf] * len(functions)
    for run in range(runs + 1):
        for k, function in enumerate(functions):
            start = clock()
            function()
            if run:  # the first one compiled
                best[k] = min(best[k], clock() - start)
    return best


def digest_with(threads: int) -> str:
    """Digest of what another process assembles on this many threads."""
    command = [sys.executable, __file__, "--digest", "--threads", str(threads)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=30, help="runs of each method")
    parser.add_argument("--largest", type=int, default=1_000_000, help="elements up to which growth is measured")
    parser.add_argument("--threads", type=int, default=1, help="threads of the growth table and of --digest")
    parser.add_argument("--digest", action="store_true", help="print a digest of the result and stop")
    options = parser.parse_args()
    numba.set_num_threads(options.threads)
    if options.digest:
        body = Body(7_000, LAGGED)
        body.assemble()
        print(body.digest)
        return
    values: dict[str, object] = {}
    for code, name in enumerate(MODELS):
        body = Body(7_000, code)
        others = [partial(einsum_assembly, body)] if code == LAGGED else []
        own, *plain = seconds(options.runs, body.assemble, *others)
        values[f"ms for 7,000 {name}"] = round(own * 7e6 / body.count, 3)
        if plain:
            values["einsum over kernel"] = round(plain[0] / own, 1)
    growth = {}
    for count in GROWTH:
        if count <= options.largest:
            body = Body(count, LAGGED)
            (own,) = seconds(max(2, options.runs * 7_000 // count), body.assemble)
            each = {"us an element": round(own * 1e6 / body.count, 4), "bytes an element": round(body.bytes_an_element)}
            growth[body.count] = each
    values["growth (lagged)"] = growth
    counts = sorted({1, min(2, numba.config.NUMBA_NUM_THREADS)})
    values["same bits on threads"] = {"threads": counts, "same": len({digest_with(n) for n in counts}) == 1}
    values["threads from elements"] = PARALLEL_ELEMENTS
    if options.json:
        print(json.dumps(values))
        return
    for name, value in values.items():
        if name.startswith("growth"):
            print(name)
            for count, row in growth.items():
                print(f"  {count:9d} elements  {row['us an element']:8.4f} us  {row['bytes an element']:5d} bytes each")
        else:
            print(f"{name:40s} {value}")


if __name__ == "__main__":
    main()
