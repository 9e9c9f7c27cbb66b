"""Element tables of small boxes for tests of elements: one model in all elements, some nodes held."""

import numpy as np

from stickslip.geometry.element_chunks import element_chunks
from stickslip.geometry.tet_generators import box
from stickslip.linalg.block_matrix import BlockPattern, block_pattern, places_of
from stickslip.model.soft_tables import ElementTables
from stickslip.scene.soft_body import MODELS, MOONEY_RIVLIN, elastic


def box_elements(
    code: int, divisions: tuple[int, int, int], held: int = 0, beta: float = 0.0, size: float = 1.0
) -> tuple[ElementTables, np.ndarray, np.ndarray, BlockPattern]:
    """Tables of a box, its nodes (nn, 3), the block of each (the first ``held`` have none), the matrix's pattern."""
    mesh = box((size, size, size), divisions)
    order, chunk_start, colour_start = element_chunks(mesh.tets, 7)
    nodes = np.ascontiguousarray(mesh.tets[order])
    corners = mesh.nodes[nodes]
    Dm = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    block = np.arange(len(mesh.nodes), dtype=np.int32) - held
    block[:held] = -1
    pattern = block_pattern(block[nodes], len(block) - held)
    given = {"mooney": (0.7, 0.4, 9.0)} if code == MOONEY_RIVLIN else {"mu": 1.3, "lam": 2.1}
    material = elastic(**given, model=MODELS[code])
    count = len(nodes)
    elements = ElementTables(
        nodes=nodes,
        gradient=np.ascontiguousarray(np.linalg.inv(Dm)),
        volume=np.linalg.det(Dm) / 6.0,
        model=np.full(count, code, dtype=np.int32),
        parameter=np.tile(material.parameters, (count, 1)),
        beta=np.full(count, beta),
        normal=np.zeros((count, 3)),
        place=places_of(pattern, block[nodes]),
        chunk_start=chunk_start,
        colour_start=colour_start,
    )
    return elements, mesh.nodes, block, pattern


def deformed(x: np.ndarray, seed: int, amount: float) -> np.ndarray:
    """Nodes moved at random, then turned as a whole."""
    rng = np.random.default_rng(seed)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R *= np.sign(np.linalg.det(R))
    return np.ascontiguousarray((x + amount * rng.normal(size=x.shape)) @ R.T + rng.normal(size=3))
