"""Elements in an order for assembly: chunks that one thread walks, in colours that share no nodes.

Chunks of one colour may add to the same arrays at the same time, and every sum has its terms in a fixed order:
colour by colour, and within a chunk element by element. So the result has the same bits for any number of threads.
"""

from __future__ import annotations

import numpy as np

from stickslip.arrays import Ints, LongInts

COLOURS_A_ROUND = 63
"""Colours that the bits of one word tell apart; chunks that find none of them free wait for the next round."""

CHUNKS = 64
"""At most so many: enough for some threads, and few enough that large meshes are walked nearly in order."""


def element_chunks(nodes: Ints, chunk_size: int = 96) -> tuple[Ints, Ints, Ints]:
    """The order (nt,) in which to store elements with nodes (nt, 4), and where its chunks and their colours start.

    Elements near each other in the numbering of nodes share a chunk, so that a chunk's nodes stay in the cache: of
    ``chunk_size``, or of a CHUNKS-th of all elements if that is more. ``chunk_start`` (nc + 1,) counts elements in the
    new order, ``colour_start`` (colours + 1,) chunks.
    """
    count = len(nodes)
    chunk_count = min(-(-count // chunk_size), CHUNKS)
    near = np.argsort(nodes.sum(axis=1, dtype=np.int64), kind="stable").astype(np.int32)
    bounds = np.linspace(0, count, chunk_count + 1).astype(np.int32)
    colour = _chunk_colours(nodes[near], bounds)
    chunk_order = np.argsort(colour, kind="stable")
    sizes = np.diff(bounds)[chunk_order]
    chunk_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    moved = np.repeat(bounds[chunk_order] - chunk_start[:-1], sizes) + np.arange(count)
    colour_start = np.concatenate([[0], np.cumsum(np.bincount(colour))]).astype(np.int32)
    return near[moved], chunk_start, colour_start


def _chunk_colours(nodes: Ints, bounds: Ints) -> LongInts:
    """Colour (nc,) of each chunk of elements: the lowest that no chunk before it has at one of its nodes."""
    colour = np.zeros(len(bounds) - 1, dtype=np.int64)
    waiting, first_colour = list(range(len(colour))), 0
    while waiting:
        taken = np.zeros(int(nodes.max()) + 1, dtype=np.int64)  # bit k: a chunk of colour first_colour + k has the node
        late = []
        for c in waiting:
            own = nodes[bounds[c] : bounds[c + 1]].ravel()
            used = int(np.bitwise_or.reduce(taken[own]))
            k = (~used & (used + 1)).bit_length() - 1
            if k >= COLOURS_A_ROUND:
                late.append(c)
                continue
            taken[own] |= 1 << k
            colour[c] = first_colour + k
        waiting, first_colour = late, first_colour + COLOURS_A_ROUND
    return colour
