"""Tetrahedral meshes for soft bodies: made, looked at, written and read, and refused where they are wrong."""

import tempfile
from pathlib import Path

import numpy as np

from stickslip import InputError
from stickslip.geometry.tet_files import read_tet_mesh, write_tet_mesh
from stickslip.geometry.tet_generators import box, cylinder, hollow_hemisphere, sphere, torus
from stickslip.geometry.tet_mesh import TetMesh, merged

# structured meshes of simple bodies, all about the origin
bar = box(size=(0.4, 0.1, 0.1), divisions=(8, 2, 2))
ball = sphere(radius=0.05, divisions=3)
peg = cylinder(radius=0.02, length=0.1, rings=2, layers=10)
ring = torus(major=0.1, minor=0.03, rings=2, sectors=40)
dome = hollow_hemisphere(outer=0.05, inner=0.04, divisions=6, layers=1)
for name, mesh in {"bar": bar, "ball": ball, "peg": peg, "ring": ring, "dome": dome}.items():
    worst = mesh.quality().mean_ratio.min()
    print(f"{name:5}{len(mesh.nodes):5} nodes {len(mesh.tets):5} elements, worst mean ratio {worst:.2f}")

print(ball.quality())

# nodes to hold on to, and a mesh in another place
print(f"the bar's left end has {len(bar.nodes_on_plane('x', -0.2))} nodes, its surface {len(bar.surface_nodes)}")
pair = merged([ball, ball.transformed(position=(0.2, 0.0, 0.0), scale=0.5)])
print(f"two balls: {pair.piece_count} pieces, {1e6 * pair.volume:.1f} cm^3")

# VTK and TetGen are written; Gmsh and Medit are read, too
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "ball.vtk"
    write_tet_mesh(file, ball)
    again = read_tet_mesh(file)
print(f"read back the same: {np.array_equal(again.nodes, ball.nodes) and np.array_equal(again.tets, ball.tets)}")

# an element turned inside out is refused by its index
tets = ball.tets.copy()
tets[17, :2] = tets[17, 1::-1]
try:
    TetMesh(ball.nodes, tets, "ball")
except InputError as error:
    print(error)
